"""One call of the model: its options, how its stream ends, the tokens it used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, Protocol

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_ai_message_chunks
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config

from rag.caller_parts import with_options
from rag.errors import AskbookError, OptionRefusedError
from rag.failures import failure_of
from rag.model.endpoint import call_options, service_of
from rag.model.received_answer import (
    FIELDS,
    AnswerMeter,
    Finish,
    as_chunk,
    clean_calls,
    finish_of,
    names_its_finish,
    refuses,
    whole_fields,
)
from rag.model.thoughts import ThoughtFilter, looks_like_call, written_calls
from rag.ports import Parts
from rag.prompt.prompts import estimate_tokens
from rag.prompt.tool import tool_schema
from rag.system.network import done
from rag.types import Tokens

_NO_CHUNKS: Final = "No generation chunks were returned"  # LangChain's, for a stream without a chunk
_EVENT_STREAMS: Final = ("langchain_core.tracers.event_stream", "langchain_core.tracers.log_stream")
_SILENCE: Final = 120.0  # seconds in which any model must send something, unless its profile allows more
_GARBLED: Final = 2  # searches that the model wrote and its endpoint could not read, before it gets no tool
_SHOWN_THOUGHT: Final = "shown_thought"
_WRITTEN_HINT: Final = "Turn on tool calls at the model's server (its tool parser), or set another model."
_ANOTHER: Final = "If it keeps happening, set another model."
_MOST_TOKENS: Final = 10**9  # no call uses more; an endpoint that counts more sends nonsense


class ModelRequest(NamedTuple):
    """What the model is asked. `model` is the name of the profile's model, its fallback or its judge.

    `schema` is the JSON schema of the reply, for endpoints that keep to one.
    """

    prompt: Sequence[BaseMessage]
    answer_tokens: int
    may_search: bool
    model: str
    schema: Mapping[str, Any] | None = None


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


async def call_model(parts: Parts, call: ModelRequest, reader: TokenSink) -> AIMessage:
    """Call the model and feed the text of its answer to the reader as it arrives. Raises `AskbookError`.

    The message has neither what the model thought aloud nor a search that it wrote as text: that is a tool call of the
    message. When the model refuses an option, the call is repeated without it, and later calls leave it out; when it
    writes two searches that its endpoint cannot read, the call is repeated without the tool. Once a part of the answer
    was shown, a failure is not retryable, since another attempt would show the same part again.
    """
    options, garbled = _options(parts, call), 0
    service = service_of(parts.key_variable)
    while True:
        prompt = [_with_accepted_fields(message, parts, call.model) for message in call.prompt]
        accepted = parts.rejected_options.accepted(call.model, options)
        if parts.rejected_options.rejects(call.model, "response_format"):
            accepted.pop("extra_body", None)
        try:
            with unstreamed():
                return await _stream(parts, call._replace(prompt=prompt), reader, accepted)
        except Exception as failure:
            error = failure_of(failure, service, _sent(accepted, prompt), call.model)
        shown = reader.first_shown is not None
        is_new = isinstance(error, OptionRefusedError) and parts.rejected_options.add(call.model, error.option)
        garbled += error.code == "tool_use_failed"
        if not shown and (is_new or (error.code == "tool_use_failed" and options.get("tools"))):
            if garbled >= _GARBLED:
                options.pop("tools", None)
            continue
        reader.retract()
        if error.code == _SHOWN_THOUGHT:  # withdrawn, and held back from now on
            parts.rejected_options.add(call.model, _SHOWN_THOUGHT)
            raise error
        error.shown = shown
        error.retryable = error.retryable and not shown
        raise error from None


def _sent(options: Mapping[str, Any], prompt: Sequence[BaseMessage]) -> set[str]:
    """The names of what was sent, by which a service may reject it."""
    sent = {"stream_options", *options, *options.get("extra_body", ())}
    if "max_tokens" in options:
        sent.add("max_completion_tokens")
    return sent.union(*(message.additional_kwargs.get(FIELDS, ()) for message in prompt)) - {"extra_body"}


def _with_accepted_fields(message: BaseMessage, parts: Parts, model: str) -> BaseMessage:
    """The message without the fields of other endpoints that this one has rejected."""
    fields = message.additional_kwargs.get(FIELDS)
    if not fields:
        return message
    kept = parts.rejected_options.accepted(model, fields)
    return message.model_copy(update={"additional_kwargs": message.additional_kwargs | {FIELDS: kept}})


@contextmanager
def unstreamed() -> Iterator[None]:
    """Run the block, a call of the model, without the callbacks of `astream_events` and `astream_log`.

    These streams pass on what a model writes before it is checked, also to a client of LangGraph's server in its mode
    `events`; the tag "nostream" affects only LangGraph's own streams. Tracers, such as LangSmith's, stay. The handlers
    are recognised by their module, since nothing else tells them (langchain-ai/langchain#32319). They are taken from
    the context variable, since `RunnableBinding` merges the callbacks of its own config with those of the context.
    """
    config = ensure_config()
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        for handler in [one for one in callbacks.handlers if type(one).__module__ in _EVENT_STREAMS]:
            callbacks.remove_handler(handler)  # of a copy
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _options(parts: Parts, call: ModelRequest) -> dict[str, Any]:
    model = parts.profile.model
    # Without a maximum in the profile, the model decides the length; the budget has kept room for an answer anyway.
    max_tokens = call.answer_tokens if model.max_tokens else None
    options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": model.temperature}
    if call.model != parts.model_name:
        provider = parts.model_name.partition(":")[0] if parts.has_caller_model else ""
        options["model"] = call.model.removeprefix(f"{provider}:")
    # Anthropic rejects tool results in a prompt unless a tool is offered. The node ignores calls of a tool offered only
    # for this.
    answered = parts.has_caller_model and any(isinstance(message, ToolMessage) for message in call.prompt)
    if (call.may_search or answered) and parts.profile.tool:
        options["tools"] = [tool_schema(parts.profile.tool)]
    if call.schema:
        form = {"name": "reply", "strict": True, "schema": call.schema}
        options["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": form}}
    return {name: value for name, value in options.items() if value is not None}


def _speaker(parts: Parts, options: Mapping[str, Any]) -> Runnable[LanguageModelInput, Any]:
    """The model with the options of a call. Without `bind_tools`, as with LangChain's fakes, it gets no tool."""
    assert parts.model is not None, "the answerer that quotes calls no model"  # noqa: S101
    rest = {name: value for name, value in options.items() if name != "tools"}
    model = with_options(parts.model, rest) if parts.has_caller_model else parts.model
    kept = {} if parts.has_caller_model else call_options(model, rest)
    if "tools" in options:
        with suppress(NotImplementedError):
            return model.bind_tools(options["tools"], **kept)
    return model.bind(**kept)


async def _stream(parts: Parts, call: ModelRequest, reader: TokenSink, options: Mapping[str, Any]) -> AIMessageChunk:
    # Only checked sentences may reach the user. "nostream" keeps LangGraph from streaming the raw tokens.
    config = RunnableConfig(tags=["nostream"])
    held = _SHOWN_THOUGHT not in parts.rejected_options.accepted(call.model, {_SHOWN_THOUGHT: ""})
    answer, meter = _ReceivedChunks(), AnswerMeter()
    text = ThoughtFilter(held=held, cautious=not isinstance(reader, DiscardingSink))
    silence = max(_SILENCE, parts.profile.model.timeout_seconds)
    clock = asyncio.get_running_loop().time
    ended = done.set(answer.done)
    try:
        async with asyncio.timeout(silence) as timeout:  # a model of the caller may have no timeout of its own
            async for received in _speaker(parts, options).astream(list(call.prompt), config):
                timeout.reschedule(clock() + silence)
                chunk = as_chunk(received)
                answer.add(chunk)
                meter.count(chunk)
                await _feed(reader, text.feed(chunk.text), text)
                # Let the event loop run: a fast stream must not block timeouts and other conversations.
                await asyncio.sleep(0)
        whole = answer.joined(parts)
        rest = text.close()
        _read_written_calls(whole, text, parts, call)
        if not whole.tool_calls:
            await _feed(reader, rest, text)
    except Exception as failure:
        answer.drop_calls()
        if (
            parts.has_caller_model and not answer.chunks and str(failure) == _NO_CHUNKS
        ):  # an endpoint of ours may have sent a page instead
            raise empty_answer() from None
        if not answer.chunks or failure_of(failure, service_of(parts.key_variable)).code != "unreachable":
            raise
        raise _broken_off() from None
    finally:
        done.reset(ended)
    return whole


async def _feed(reader: TokenSink, piece: str, text: ThoughtFilter) -> None:
    if text.late:
        raise AskbookError("api_error", "shown_thought", "What was shown was a thought of the model.", retryable=True)
    if piece:
        await reader.feed(piece)


def _read_written_calls(whole: AIMessageChunk, text: ThoughtFilter, parts: Parts, call: ModelRequest) -> None:
    """Give the message its text without thoughts, and as tool calls the searches that the model wrote as text.

    Raises `AskbookError` for such a search that cannot be read or was not offered.
    """
    tool = parts.profile.tool
    written = text.call or (text.answer if tool and looks_like_call(text.answer, tool.name) else "")
    if written and not whole.tool_calls:
        names = tool_schema(tool)["function"]["parameters"]["properties"] if tool else ()
        found = written_calls(written, tool.name, names) if tool and call.may_search else []
        calls = [ToolCall(name=tool.name, args=args, id=f"written-{n}") for n, args in enumerate(found) if tool]
        if not calls and not (text.call and text.answer.strip()):
            message = "The model wrote a search as text, where it cannot be carried out."
            raise AskbookError("api_error", "written_search", message, hint=_WRITTEN_HINT)
        whole.tool_calls = calls
    answer = text.answer if written == text.call else ""
    if answer != whole.text:
        blocks = [one for one in whole.content if isinstance(one, dict) and one.get("type") != "text"]
        whole.content = [*blocks, {"type": "text", "text": answer}] if blocks else answer
    if not (answer.strip() or whole.tool_calls or whole.invalid_tool_calls):
        raise empty_answer(cut=was_truncated(whole))


class _ReceivedChunks:
    """The chunks of one answer, with the count of its tokens and the reason why it ended. `done` has [DONE]."""

    def __init__(self) -> None:
        self.chunks: list[AIMessageChunk] = []
        self.done: list[bool] = []
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
        if deltas := whole.additional_kwargs.get(FIELDS):
            whole.additional_kwargs[FIELDS] = whole_fields(deltas)
        finish = self._finish
        if finish is None and (self.done or not names_its_finish(whole.response_metadata, parts.model)):
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
