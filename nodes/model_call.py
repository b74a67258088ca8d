"""One call of the model: what it is sent, how it ends, what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig

from rag.errors import AskbookError, OptionRefusedError
from rag.model.endpoint_errors import model_error
from rag.ports import Parts
from rag.prompt.budget import estimate_tokens
from rag.prompt.tool import tool_schema
from rag.types import Tokens

CUT: Final = "The answer reached the most tokens that it may have and was cut."


class ModelRequest(NamedTuple):
    """What the model is asked. `model` is the profile's, or its fallback."""

    prompt: Sequence[BaseMessage]
    answer_tokens: int
    may_search: bool
    model: str


class Reader(Protocol):
    """Who reads the answer as it arrives. `first_shown` is when a part of it was shown to the user, None: not yet."""

    first_shown: float | None

    async def feed(self, text: str) -> None: ...

    def retract(self) -> None:
        """Withdraw what was shown; nothing to do where nothing was."""
        ...


class Unseen:
    """The reader of an answer that nobody is shown: the whole is read at the end."""

    first_shown: float | None = None

    async def feed(self, text: str) -> None:
        """Nothing is done with the parts."""

    def retract(self) -> None:
        """Nothing was shown."""


async def call_model(parts: Parts, call: ModelRequest, reader: Reader) -> AIMessage:
    """One answer of the model, its text fed to the reader as it comes. Raises `AskbookError`.

    An option that the model turns out not to know is left out from then on, and the model asked again without it. After
    a part was shown a failure is final: those tokens cannot be shown again as if nothing had been.
    """
    options = _options(parts, call)
    while True:
        try:
            return await _stream(parts, call.prompt, reader, parts.dialect.spoken(call.model, options))
        except Exception as failure:
            error = model_error(failure)
            news = isinstance(error, OptionRefusedError) and parts.dialect.note(call.model, error.option)
            if news and reader.first_shown is None:
                continue
            reader.retract()
            error.shown = reader.first_shown is not None
            error.retryable = error.retryable and not error.shown
            raise error from None


def _options(parts: Parts, call: ModelRequest) -> dict[str, Any]:
    model = parts.profile.model
    # Room for an answer is kept in any case; a profile without a maximum leaves its length to the model.
    most = call.answer_tokens if model.max_tokens else None
    options: dict[str, Any] = {"max_tokens": most, "temperature": model.temperature}
    if call.model != parts.model_name:
        options["model"] = call.model
    if call.may_search and parts.profile.tool and not parts.quotes:
        options["tools"] = [tool_schema(parts.profile.tool)]
    return {name: value for name, value in options.items() if value is not None}


async def _stream(
    parts: Parts, prompt: Sequence[BaseMessage], reader: Reader, options: Mapping[str, Any]
) -> AIMessageChunk:
    # Tagged, since what the model writes goes out through the reader and not as it stands.
    config = RunnableConfig(tags=["nostream"])
    whole: AIMessageChunk | None = None
    usage = None
    try:
        async for chunk in parts.model.astream(list(prompt), config, **options):
            whole = chunk if whole is None else whole + chunk
            usage = chunk.usage_metadata or usage  # some endpoints count up with every chunk: the last is the whole
            await reader.feed(chunk.text)
    except Exception as failure:
        if whole is None or model_error(failure).code != "unreachable":
            raise
        raise _broken_off() from None
    if whole is None:
        raise AskbookError("api_error", "empty_answer", "The model sent an empty answer.", retryable=True)
    whole.usage_metadata = usage
    _check_finished(whole)
    return whole


def _check_finished(message: AIMessage) -> None:
    """A stream that ended without a reason was cut, and what the provider's filter cut is no answer either."""
    reason = message.response_metadata.get("finish_reason")
    empty = not (message.text.strip() or message.tool_calls or message.invalid_tool_calls)
    if reason == "content_filter":
        raise AskbookError("invalid_input", "content_filter", "The provider's content filter stopped the answer.")
    if empty and reason == "length":  # a model that thinks before it writes can spend all of them on that
        hint = "Give it more with model.max_tokens of the profile."
        raise AskbookError("api_error", "empty_answer", "The model used up its tokens without an answer.", hint=hint)
    if empty:
        raise AskbookError("api_error", "empty_answer", "The model sent an empty answer.", retryable=True)
    if reason is None or reason == "error":  # the latter is OpenRouter's, when the provider behind it fails
        raise _broken_off()


def _broken_off() -> AskbookError:
    return AskbookError("api_error", "stream_cut", "The model's answer broke off.", retryable=True)


def was_cut(message: AIMessage) -> bool:
    """Whether the answer ended because it had reached its greatest length."""
    return message.response_metadata.get("finish_reason") == "length"


def tokens_used(
    parts: Parts, before: Mapping[str, Any], prompt: Sequence[BaseMessage], message: AIMessage
) -> dict[str, Any]:
    """The turn's tokens with this call's: the provider's count, or an estimate that says so. Quoting costs none."""
    if parts.quotes:
        return added(before, {})
    usage = message.usage_metadata
    counted = usage is not None and usage["input_tokens"] > 0  # a count of nothing is no count
    given = usage["input_tokens"] if usage and counted else sum(estimate_tokens(_said(one)) for one in prompt)
    written = usage["output_tokens"] if usage and counted else estimate_tokens(_said(message))
    return added(before, Tokens(input=given, output=written, total=given + written, estimated=not counted).model_dump())


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two counts of tokens as one; an empty one is none."""
    a, b = Tokens.model_validate(one), Tokens.model_validate(other)
    return Tokens(
        input=a.input + b.input,
        output=a.output + b.output,
        total=a.total + b.total,
        estimated=a.estimated or b.estimated,
    ).model_dump()


def _said(message: BaseMessage) -> str:
    """The text of a message with that of its tool calls, which cost tokens too."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return message.text + "".join(f"{call['name']}{json.dumps(call['args'])}" for call in calls)
