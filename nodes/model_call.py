"""One call of the model: its options, how its stream ends, the tokens it used."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_ai_message_chunks
from langchain_core.runnables import Runnable, RunnableConfig

from rag.caller_parts import with_options
from rag.errors import AskbookError, OptionRefusedError
from rag.model.endpoint_errors import RequestInfo, model_error
from rag.model.reading_pace import awaiting
from rag.model.received_answer import AnswerMeter, Finish, as_chunk, clean_calls, finish_of, names_its_finish, refuses
from rag.ports import Parts
from rag.private_apis import unstreamed
from rag.prompt.prompts import estimate_tokens
from rag.prompt.tool import tool_schema
from rag.types import Tokens

_NO_CHUNKS: Final = "No generation chunks were returned"  # LangChain's, for a stream without a chunk
_SILENCE: Final = 120.0  # seconds in which any model must send something, unless its profile allows more
_ANOTHER: Final = "If it keeps happening, set another model."
_MOST_TOKENS: Final = 10**9  # no call uses more; an endpoint that counts more sends nonsense


class ModelRequest(NamedTuple):
    """What the model is asked. `model` is the name of the profile's model, its fallback or its judge."""

    prompt: Sequence[BaseMessage]
    answer_tokens: int
    may_search: bool
    model: str


class TokenSink(Protocol):
    """Receives the answer as it arrives. `first_shown` is when its first part was shown to the user, None before."""

    first_shown: float | None

    async def feed(self, text: str) -> None: ...

    def retract(self) -> None:
        """Withdraw what was shown, if anything was."""
        ...


class DiscardingSink:
    """Ignores the text, for calls of which only the complete message is used."""

    first_shown: float | None = None

    async def feed(self, text: str) -> None:
        """Do nothing."""

    def retract(self) -> None:
        """Do nothing."""


async def call_model(
    parts: Parts,
    call: ModelRequest,
    reader: TokenSink,
    *,
    spent: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> AIMessage:
    """Call the model and feed its text to the reader as it arrives. Raises `AskbookError`.

    When the model refuses an option, the call is repeated without it, and later calls leave it out. Once a part of the
    answer was shown, a failure is not retryable, since another attempt would show the same part again. `AnswerMeter`
    limits the time and the length of an answer; `clock` measures the time, and `spent` is what earlier attempts took.
    """
    options, began = _options(parts, call), clock()
    while True:
        try:
            accepted = parts.rejected_options.accepted(call.model, options)
            meter = AnswerMeter(clock=clock, spent=spent + clock() - began)
            with unstreamed(), awaiting(lambda: reader.first_shown is None):
                return await _stream(parts, call.prompt, reader, accepted, meter)
        except Exception as failure:
            error = (
                model_error(failure, RequestInfo(call.model, "")) if parts.has_caller_model else model_error(failure)
            )
            is_new = isinstance(error, OptionRefusedError) and parts.rejected_options.add(call.model, error.option)
            if is_new and reader.first_shown is None:
                continue
            reader.retract()
            error.shown = reader.first_shown is not None
            error.retryable = error.retryable and not error.shown
            raise error from None


def _options(parts: Parts, call: ModelRequest) -> dict[str, Any]:
    model = parts.profile.model
    # Without a maximum in the profile, the model decides the length; the budget has kept room for an answer anyway.
    max_tokens = call.answer_tokens if model.max_tokens else None
    options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": model.temperature}
    if call.model != parts.model_name:
        options["model"] = call.model
    # Anthropic rejects tool results in a prompt unless a tool is offered. The node ignores calls of a tool offered only
    # for this.
    answered = parts.has_caller_model and any(isinstance(message, ToolMessage) for message in call.prompt)
    if (call.may_search or answered) and parts.profile.tool:
        options["tools"] = [tool_schema(parts.profile.tool)]
    return {name: value for name, value in options.items() if value is not None}


def _speaker(parts: Parts, options: Mapping[str, Any]) -> Runnable[LanguageModelInput, Any]:
    """The model with the options of a call. Without `bind_tools`, as with LangChain's fakes, it gets no tool."""
    assert parts.model is not None, "the answerer that quotes calls no model"  # noqa: S101
    rest = {name: value for name, value in options.items() if name != "tools"}
    model = with_options(parts.model, rest) if parts.has_caller_model else parts.model
    kept = {} if parts.has_caller_model else rest
    if "tools" in options:
        with suppress(NotImplementedError):
            return model.bind_tools(options["tools"], **kept)
    return model.bind(**kept)


async def _stream(
    parts: Parts, prompt: Sequence[BaseMessage], reader: TokenSink, options: Mapping[str, Any], meter: AnswerMeter
) -> AIMessageChunk:
    # Only checked sentences may reach the user. "nostream" keeps LangGraph from streaming the raw tokens.
    config = RunnableConfig(tags=["nostream"])
    answer = _ReceivedChunks()
    silence = max(_SILENCE, parts.profile.model.timeout_seconds)
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(silence) as timeout:  # a model of the caller may have no timeout of its own
            async for received in _speaker(parts, options).astream(list(prompt), config):
                timeout.reschedule(clock() + silence)
                chunk = as_chunk(received)
                answer.add(chunk)
                meter.count(chunk)
                await reader.feed(chunk.text)
                # Let the event loop run: a fast stream must not block timeouts and other conversations.
                await asyncio.sleep(0)
    except Exception as failure:
        answer.drop_calls()
        if (
            parts.has_caller_model and not answer.chunks and str(failure) == _NO_CHUNKS
        ):  # an endpoint of ours may have sent a page instead
            raise empty_answer() from None
        if not answer.chunks or model_error(failure).code != "unreachable":
            raise
        raise _broken_off() from None
    return answer.joined(parts)


class _ReceivedChunks:
    """The chunks of one answer, with the count of its tokens and the reason why it ended."""

    def __init__(self) -> None:
        self.chunks: list[AIMessageChunk] = []
        self._usage: UsageMetadata | None = None
        self._finish: Finish | None = None

    def add(self, chunk: AIMessageChunk) -> None:
        self.chunks.append(chunk)
        # Some OpenAI-compatible endpoints send running totals: the last one counts. Other providers' clients send
        # increments.
        self._usage = chunk.usage_metadata or self._usage
        if self._finish != "content_filter":  # a refusal ends as other answers do; merged chunks would say "stopstop"
            self._finish = "content_filter" if refuses(chunk) else finish_of(chunk.response_metadata) or self._finish

    def drop_calls(self) -> None:
        """Drop the tool calls of a failed answer. LangChain has kept the chunks too, and would read all arguments once
        more, in quadratic time.
        """
        for chunk in self.chunks:
            chunk.tool_call_chunks = []

    def joined(self, parts: Parts) -> AIMessageChunk:
        """The finished answer as one message. Raises `AskbookError` if it is empty, broke off or was stopped."""
        if not self.chunks:
            raise empty_answer()
        whole = add_ai_message_chunks(*self.chunks)  # all at once: one by one takes quadratic time
        if not parts.has_caller_model:
            whole.usage_metadata = self._usage
        finish = self._finish
        if finish is None and not names_its_finish(whole.response_metadata, parts.model):
            finish = "stop"
        _check_finished(whole, finish)
        whole.response_metadata["finish_reason"] = finish
        clean_calls(whole)
        return whole


def _check_finished(message: AIMessage, reason: Finish | None) -> None:
    """Raise `AskbookError` for an answer that is empty, broke off, or was stopped by the provider's filter."""
    empty = not (message.text.strip() or message.tool_calls or message.invalid_tool_calls)
    if reason == "content_filter":
        stopped = "The provider's content filter stopped the answer."
        raise AskbookError("invalid_input", "content_filter", stopped, hint="Ask in other words.")
    if empty:
        raise empty_answer(cut=reason == "length")
    if reason is None or reason == "error":
        raise _broken_off()


def empty_answer(*, cut: bool = False) -> AskbookError:
    """The error for an answer without a word. With `cut` a reasoning model used up all tokens before it wrote one."""
    if cut:
        hint = "Raise model.max_tokens in the profile."
        return AskbookError("api_error", "empty_answer", "The model used up its tokens before it answered.", hint=hint)
    return AskbookError("api_error", "empty_answer", "The model sent an empty answer.", hint=_ANOTHER, retryable=True)


def _broken_off() -> AskbookError:
    return AskbookError("api_error", "stream_cut", "The model's answer ended early.", hint=_ANOTHER, retryable=True)


def was_truncated(message: AIMessage) -> bool:
    """Whether the answer ended because it reached its maximum length."""
    return message.response_metadata.get("finish_reason") == "length"


def tokens_used(prompt: Sequence[BaseMessage], message: AIMessage) -> Tokens:
    """The tokens of a call: the provider's count, or an estimate marked as one."""
    usage = message.usage_metadata
    # Some servers send zeros instead of a count, and a broken one may send any number.
    counted = (
        usage is not None and 0 < usage["input_tokens"] < _MOST_TOKENS and 0 <= usage["output_tokens"] < _MOST_TOKENS
    )
    sent = usage["input_tokens"] if usage and counted else sum(estimate_tokens(_text(part)) for part in prompt)
    written = usage["output_tokens"] if usage and counted else estimate_tokens(_text(message))
    return Tokens(input=sent, output=written, total=sent + written, estimated=not counted)


def _text(message: BaseMessage) -> str:
    """The text of a message and of its tool calls, which cost tokens too."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return message.text + "".join(f"{call['name']}{json.dumps(call['args'])}" for call in calls)
