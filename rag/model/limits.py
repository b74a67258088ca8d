"""The limits of one answer: how long it may take, and how much a model may send for it.

A model or a server may send for ever. `max_tokens` is only a request: Ollama ignored it for years, and a broken or
hostile server ignores everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessageChunk

from rag.errors import AskbookError

WIRE_BYTES: Final = 64 * 2**20  # of a whole response, unpacked; an event takes about 300 bytes for a token
LINE_BYTES: Final = 2 * 2**20  # of one event of a stream, which the client keeps in memory
ARGUMENTS: Final = 20_000  # characters of a tool call's arguments; LangChain's parser takes quadratic time
_CALL: Final = 100  # a tool call counts as so many characters, however short it is


class EndlessResponseError(ValueError):
    """A response of a service exceeded a limit of this file, or is packed in a way that could exceed it."""


class AnswerLimits(NamedTuple):
    """Seconds, characters and chunks of one answer. A chunk takes about four kilobytes of memory."""

    seconds: float = 600.0
    characters: int = 200_000
    chunks: int = 50_000


ANSWER: Final = AnswerLimits()


class AnswerMeter:
    """Measures an answer while it arrives. `clock` gives seconds; tests use a fast one."""

    def __init__(self, limits: AnswerLimits = ANSWER, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock()
        self._characters = 0
        self._arguments = 0
        self._chunks = 0

    def count(self, chunk: AIMessageChunk) -> None:
        """Count one chunk. Raises `AskbookError` when the answer exceeds a limit; a retry would be as long."""
        limits = self._limits
        content = chunk.content
        self._chunks += 1
        self._characters += len(content) if isinstance(content, str) else sum(len(str(part)) for part in content)
        self._characters += _CALL * len(chunk.tool_call_chunks)
        self._arguments += sum(len(call["args"] or "") for call in chunk.tool_call_chunks)
        if self._clock() - self._began > limits.seconds:
            message = f"The model's answer was not complete after {_duration(limits.seconds)} and was stopped."
            raise AskbookError("api_error", "answer_timeout", message, hint="Choose a faster model.")
        if self._characters > limits.characters or self._chunks > limits.chunks:
            what = f"{limits.characters:,} characters or {limits.chunks:,} parts"
            raise _endless(f"The model's answer was longer than {what} and was stopped.")
        if self._arguments > ARGUMENTS:
            raise _endless(f"The model wrote more than {ARGUMENTS:,} characters for one search and was stopped.")


def check_arguments(chunk: Mapping[str, Any]) -> None:
    """Check the tool calls in a chunk of an OpenAI-compatible endpoint, before LangChain parses them.

    Raises `EndlessResponseError`.
    """
    choices = chunk.get("choices") or [None]
    delta = choices[0].get("delta") if isinstance(choices[0], dict) else None
    calls = delta.get("tool_calls") if isinstance(delta, dict) else None
    for call in calls or []:
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str) and len(arguments) > ARGUMENTS:
            raise EndlessResponseError(f"more than {ARGUMENTS:,} characters of arguments")


def _endless(message: str) -> AskbookError:
    hint = "The model or its server does not stop: choose another model, or set model.max_tokens of the profile."
    return AskbookError("api_error", "endless_answer", message, hint=hint)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"
