"""ChatOpenAI for endpoints that speak OpenAI's wire format without being OpenAI's."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_openai import ChatOpenAI


class CompatibleChatOpenAI(ChatOpenAI):
    """Sends the length of the answer as `max_tokens`, the name that every such endpoint knows.

    `ChatOpenAI` renames it to OpenAI's newer `max_completion_tokens`, which Ollama ignores without a word, so that an
    answer has no end. A caller who says `max_completion_tokens` gets that.
    """

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if "max_tokens" in kwargs and "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload
