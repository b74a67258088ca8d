"""The chat model of an endpoint that speaks OpenAI's wire format, be it OpenAI's own or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from rag.errors import AskbookError
from rag.model.endpoint_errors import RequestInfo, model_error


class EndpointChatModel(ChatOpenAI):
    """ChatOpenAI whose failures are `AskbookError`s.

    They become that in here, and not where the model is called: LangChain hands what is raised in here to its tracers,
    and the text of a foreign exception may repeat a key. `key_variable` is what a hint names.

    With `older_names` the length of an answer is sent as `max_tokens`, which every endpoint knows: `ChatOpenAI` renames
    it to OpenAI's newer `max_completion_tokens`, which Ollama ignores without a word, so that an answer has no end.
    """

    key_variable: str = "OPENAI_API_KEY"
    older_names: bool = False

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        try:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
        except Exception as failure:
            raise self._error(failure, kwargs) from None

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        except Exception as failure:
            raise self._error(failure, kwargs) from None

    def _error(self, failure: Exception, options: Mapping[str, Any]) -> AskbookError:
        sent = {"stream_options", *options}
        if "max_tokens" in options:
            sent.add("max_completion_tokens")
        return model_error(
            failure, RequestInfo(options.get("model", self.model_name), self.key_variable, frozenset(sent))
        )

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if self.older_names and "max_tokens" in kwargs and "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload
