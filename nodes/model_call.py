"""One call of the model: what it is sent, how it ends, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import RunnableConfig

from rag.budget import estimate_tokens
from rag.errors import AskbookError
from rag.faults import model_error
from rag.ports import Parts
from rag.tool import tool_schema
from rag.types import Tokens


class Reader(Protocol):
    """Who reads the answer as it arrives. `first_shown` is when a part of it was shown to the user, None: not yet."""

    first_shown: float | None

    def feed(self, text: str) -> None: ...

    def retract(self) -> None:
        """Withdraw what was shown; nothing to do where nothing was."""
        ...


async def call_model(
    parts: Parts, prompt: Sequence[BaseMessage], reader: Reader, answer_tokens: int, *, may_search: bool
) -> AIMessage:
    """One call of the model, its text fed to the reader as it comes. Raises `AskbookError`.

    After a part was shown a failure is final: those tokens cannot be shown again as if nothing had been.
    """
    options = _options(parts, answer_tokens, may_search=may_search)
    try:
        return await _stream(parts, prompt, reader, options)
    except Exception as failure:
        error = model_error(failure)
        reader.retract()
        error.retryable = error.retryable and reader.first_shown is None
        raise error from failure


def _options(parts: Parts, answer_tokens: int, *, may_search: bool) -> dict[str, Any]:
    model = parts.profile.model
    # Room for an answer is kept in any case; a profile without a maximum leaves its length to the model.
    most = answer_tokens if model.max_tokens else None
    options: dict[str, Any] = {"max_tokens": most, "temperature": model.temperature}
    if may_search and parts.profile.tool and not parts.quotes:
        options["tools"] = [tool_schema(parts.profile.tool)]
    return {name: value for name, value in options.items() if value is not None}


async def _stream(
    parts: Parts, prompt: Sequence[BaseMessage], reader: Reader, options: Mapping[str, Any]
) -> AIMessageChunk:
    # Tagged, since what the model writes goes out through the reader and not as it stands.
    config = RunnableConfig(tags=["nostream"])
    whole: AIMessageChunk | None = None
    async for chunk in parts.model.astream(list(prompt), config, **options):
        whole = chunk if whole is None else whole + chunk
        reader.feed(chunk.text)
    if whole is None or not (whole.text.strip() or whole.tool_calls or whole.invalid_tool_calls):
        raise AskbookError("api_error", "empty_answer", "The model sent an empty answer.", retryable=True)
    _check_finished(whole)
    return whole


def _check_finished(message: AIMessage) -> None:
    """A stream that ended without a reason was cut, and what the provider's filter cut is no answer either."""
    reason = message.response_metadata.get("finish_reason")
    if reason is None:
        raise AskbookError("api_error", "stream_cut", "The model's answer broke off.", retryable=True)
    if reason == "content_filter":
        raise AskbookError("invalid_input", "content_filter", "The provider's content filter stopped the answer.")


def tokens_used(
    parts: Parts, before: Mapping[str, Any], prompt: Sequence[BaseMessage], message: AIMessage
) -> dict[str, Any]:
    """The turn's tokens with this call's: the provider's count, or an estimate that says so. Quoting costs none."""
    past = Tokens.model_validate(before)
    if parts.quotes:
        return past.model_dump()
    usage = message.usage_metadata
    given = usage["input_tokens"] if usage else sum(estimate_tokens(m.text) for m in prompt)
    written = usage["output_tokens"] if usage else estimate_tokens(message.text)
    return Tokens(
        input=past.input + given,
        output=past.output + written,
        total=past.total + given + written,
        estimated=past.estimated or usage is None,
    ).model_dump()
