"""The response of a model: limits on its size, why it ended, and tool calls fit to be stored.

A model or a server may send for ever. `max_tokens` is only a request: Ollama ignored it for years, and a broken or
hostile server may too.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.tool import tool_call_chunk

from rag.errors import AskbookError
from rag.http.http_clients import EndlessResponseError

LINE_BYTES: Final = 2 * 2**20  # of one event of a stream, which the client keeps in memory
# Characters of the arguments of one tool call and of all calls of an answer; a query has up to 2,000. LangChain's
# parser takes quadratic time for arguments that are not JSON, a tenth of a second for one call.
ARGUMENTS: Final = 4_000
ALL_ARGUMENTS: Final = 12_000
_CALL: Final = 100  # a tool call counts as so many characters, however short it is


class AnswerLimits(NamedTuple):
    """Seconds, characters and chunks of one answer. A chunk takes about four kilobytes of memory."""

    seconds: float = 600.0
    characters: int = 200_000
    chunks: int = 50_000


ANSWER: Final = AnswerLimits()


class AnswerMeter:
    """Measures an answer while it arrives. `clock` gives seconds; tests use a fast one.

    `spent` is the time in seconds that earlier attempts at this answer took, which counts too.
    """

    def __init__(
        self, limits: AnswerLimits = ANSWER, clock: Callable[[], float] = time.monotonic, *, spent: float = 0.0
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock() - spent
        self._characters = 0
        self._arguments: Counter[int | str | None] = Counter()  # characters, by the index of the call
        self._chunks = 0

    def count(self, chunk: AIMessageChunk) -> None:
        """Count one chunk. Raises `AskbookError` when the answer exceeds a limit; a retry would be as long."""
        limits = self._limits
        content = chunk.content
        self._chunks += 1
        self._characters += len(content) if isinstance(content, str) else sum(len(str(part)) for part in content)
        self._characters += _CALL * len(chunk.tool_call_chunks)
        for call in chunk.tool_call_chunks:
            self._arguments[call["index"]] += len(call["args"] or "")
        if self._clock() - self._began > limits.seconds:
            most = f"{limits.seconds / 60:g} minutes" if limits.seconds >= 60 else f"{limits.seconds:g} seconds"
            message = f"The model's answer was not complete after {most} and was stopped."
            raise AskbookError("api_error", "answer_timeout", message, hint="Choose a faster model.")
        if self._characters > limits.characters or self._chunks > limits.chunks:
            what = f"{limits.characters:,} characters or {limits.chunks:,} parts"
            raise _endless(f"The model's answer was longer than {what} and was stopped.")
        of_one = max((count for index, count in self._arguments.items() if index is not None), default=0)
        if of_one > ARGUMENTS or self._arguments.total() > ALL_ARGUMENTS:
            what = f"{ARGUMENTS:,} characters for one search, or {ALL_ARGUMENTS:,} for all of them,"
            raise _endless(f"The model wrote more than {what} and was stopped.")


def _endless(message: str) -> AskbookError:
    hint = "The model or its server does not stop: choose another model, or set model.max_tokens of the profile."
    return AskbookError("api_error", "endless_answer", message, hint=hint)


Finish = Literal["stop", "length", "tool_calls", "content_filter", "error"]

# Where LangChain's chat models put the reason. Some OpenAI-compatible endpoints use these names in their chunks, too.
_KEYS: Final = (
    "finish_reason",  # OpenAI, Gemini, Mistral, Groq, Cohere
    "stop_reason",  # Anthropic, and Bedrock's older interface
    "done_reason",  # Ollama
    "stopReason",  # Bedrock's Converse
)
# In lower case. A reason that is not listed is a normal end.
_MEANINGS: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",  # Anthropic, Bedrock, Gemini, Cohere
    "max_output_tokens": "length",  # OpenAI's Responses
    "max_length": "length",
    "model_length": "length",  # Mistral
    "model_context_window_exceeded": "length",  # Anthropic
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",  # Cohere
    "tool_use": "tool_calls",  # Anthropic, Bedrock
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",  # Bedrock
    "guardrail_intervened": "content_filter",  # Bedrock
    "refusal": "content_filter",  # Anthropic
    "safety": "content_filter",  # Gemini, up to the next comment
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "error_toxic": "content_filter",  # Cohere
    "error": "error",  # OpenRouter, when the provider behind it fails; Cohere
    "abort": "error",  # vLLM
    "malformed_function_call": "error",  # Gemini
    "malformed_model_output": "error",  # Bedrock
    "malformed_tool_use": "error",  # Bedrock
    "other": "error",  # Gemini
}
# Values of `model_provider`, which LangChain's chat models set. These providers always name a reason.
_NAME_IT: Final = frozenset(
    {"openai", "anthropic", "ollama", "bedrock", "bedrock_converse", "google_genai", "google_vertexai", "groq"}
    | {"mistralai", "deepseek", "xai", "cohere"}
)

# Classes of models that always name a reason, and their provider only together with it.
_NAME_IT_AT_THE_END: Final = frozenset({"ChatOllama"})


def finish_of(metadata: Mapping[str, Any]) -> Finish | None:
    """Why the answer ended, from the metadata of a message or chunk; None if it names no reason.

    >>> finish_of({"stopReason": "max_tokens"})
    'length'
    """
    for key in _KEYS:
        reason = metadata.get(key)
        if isinstance(reason, str) and reason:
            return _MEANINGS.get(reason.lower(), "stop")
    return None


def refuses(message: BaseMessage) -> bool:
    """Whether a message or chunk has the words of a model that refuses, which OpenAI's send instead of an answer."""
    blocks = message.content if isinstance(message.content, list) else []
    block = any(isinstance(one, dict) and one.get("type") == "refusal" for one in blocks)
    return block or bool(message.additional_kwargs.get("refusal"))


def names_its_finish(metadata: Mapping[str, Any], model: object = None) -> bool:
    """Whether the model's provider ends every complete answer with a reason, so that one without it broke off."""
    if metadata.get("model_provider") in _NAME_IT:
        return True
    return any(cls.__name__ in _NAME_IT_AT_THE_END for cls in type(model).__mro__)


def usable_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk of an OpenAI-compatible endpoint in the form that LangChain reads.

    Counts of tokens that are no whole numbers are left out, and so are all answers but the first, if an endpoint sends
    several. The keys that LangChain reads without a default are added, and the reason of the end, by whatever name, is
    in `finish_reason`. Raises `EndlessResponseError` for arguments of a tool call that are too long to be parsed.
    """
    if usage := chunk.get("usage"):
        chunk = {**chunk, "usage": _usable_usage(usage)}
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return chunk
    first = [one for one in choices if not isinstance(one, dict) or one.get("index") in (0, None)]
    if not first or not isinstance(first[0], dict):
        return {**chunk, "choices": first}
    choice: dict[str, Any] = {"delta": None, **first[0]}
    delta = choice["delta"]
    if isinstance(delta, dict) and isinstance(calls := delta.get("tool_calls"), list):
        keyed = [{"index": None, "function": None, **call} if isinstance(call, dict) else call for call in calls]
        choice["delta"] = {**delta, "tool_calls": keyed}
        for call in keyed:
            function = call["function"] if isinstance(call, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
            if isinstance(arguments, str) and len(arguments) > ARGUMENTS:
                raise EndlessResponseError(f"more than {ARGUMENTS:,} characters of arguments")
    if isinstance(delta, dict) and delta.get("refusal"):  # the words of a model that refuses, in place of content
        choice["finish_reason"] = "content_filter"
    elif not choice.get("finish_reason"):
        places = (choice, delta, chunk)
        found = (finish_of(place) for place in places if isinstance(place, dict))
        choice["finish_reason"] = next(filter(None, found), None)
    return {**chunk, "choices": [choice, *first[1:]]}


def _usable_usage(usage: Any) -> dict[str, Any] | None:
    """The counts of tokens as whole numbers, however an endpoint writes them.

    None if the prompt or the answer has no such count: half of the tokens would be taken for all of them.

    >>> _usable_usage({"prompt_tokens": "11", "completion_tokens": 7.0, "total_tokens": None})
    {'prompt_tokens': 11, 'completion_tokens': 7}
    """
    counts: dict[str, Any] = _counts(usage)
    if not {"prompt_tokens", "completion_tokens"} <= counts.keys():
        return None
    details = {name: _counts(usage.get(name)) for name in ("prompt_tokens_details", "completion_tokens_details")}
    return counts | {name: found for name, found in details.items() if found}


def _counts(named: Any) -> dict[str, int]:
    pairs = named.items() if isinstance(named, Mapping) else ()
    return {name: count for name, value in pairs if (count := _count(value)) is not None}


def _count(value: Any) -> int | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() and 0 <= number < _LARGEST else None


_LARGEST: Final = 2**63 - 1  # what msgpack, and with it a checkpoint, can hold
_DEEPEST: Final = 20  # levels of nested values; the tools take none
_CALLS: Final = 20  # of one message that are kept; three are carried out, and each refusal takes room in the prompt
_NAME: Final = 200  # characters of the id and of the name of a call; those of services have up to 64
_NOTHING: Final = "{}"  # the arguments of a call whose own cannot be stored


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """A message of a chat model as a chunk of a stream. Models that cannot stream yield one whole message instead."""
    if isinstance(message, AIMessageChunk):
        return message
    calls = [(call["name"], json.dumps(call["args"]), call["id"]) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "", call["id"]) for call in message.invalid_tool_calls]
    pieces = [tool_call_chunk(name=name, args=args, id=id_, index=n) for n, (name, args, id_) in enumerate(calls)]
    whole = message.model_dump(include={"content", "additional_kwargs", "response_metadata", "usage_metadata", "id"})
    return AIMessageChunk(**whole, tool_call_chunks=pieces)


def clean_calls(message: AIMessage) -> None:
    """Move the message's calls with arguments that cannot be stored to its invalid ones.

    Ids and names are cleaned and cut, and calls beyond the number that a model can mean are dropped.
    """
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for call in message.tool_calls:
        name, call_id = _text(call["name"], _NAME), _text(call["id"], _NAME)
        if _storable(call["args"]):
            good.append(ToolCall(name=name or "", args=call["args"], id=call_id, type="tool_call"))
        else:
            bad.append(_invalid(name, _NOTHING, call_id))
    broken = message.invalid_tool_calls
    bad += [_invalid(_text(call["name"], _NAME), _text(call["args"]), _text(call["id"], _NAME)) for call in broken]
    message.tool_calls, message.invalid_tool_calls = good[:_CALLS], bad[: max(0, _CALLS - len(good))]


def _invalid(name: str | None, args: str | None, call_id: str | None) -> InvalidToolCall:
    return InvalidToolCall(name=name, args=args, id=call_id, error=None, type="invalid_tool_call")


def _text(text: str | None, longest: int | None = None) -> str | None:
    """The text, cut to `longest` characters, without lone surrogates, which are not Unicode."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8") if text is not None else None


def _storable(value: Any, depth: int = 0) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN, which JSON does not have
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(_storable(part, depth + 1) for pair in value.items() for part in pair)
    if isinstance(value, Sequence):
        return all(_storable(part, depth + 1) for part in value)
    return value is None
