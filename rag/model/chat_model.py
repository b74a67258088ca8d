"""The chat model of an OpenAI-compatible endpoint."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from rag.errors import AskbookError
from rag.model.endpoint_errors import RequestInfo, model_error
from rag.model.event_stream import EventStream
from rag.model.reading_pace import OpenStreams
from rag.model.received_answer import usable_chunk

_SIGN_OF_LIFE: Final = 10.0  # seconds; of chunks that say nothing, one is passed on so often, for idle timeouts
# Raised by the client for an answer of another form, such as a list where an object belongs. Elsewhere they are bugs.
_UNREADABLE: Final = (AttributeError, LookupError, ArithmeticError, RecursionError)


class EndpointChatModel(ChatOpenAI):
    """ChatOpenAI that raises `AskbookError`.

    Exceptions are translated here and not by the caller, because LangChain passes them to its tracers, and their text
    may contain a key. `key_variable` is the variable that hints name.

    With `older_names` the limit on the answer's length is sent as `max_tokens`, which every endpoint knows.
    `ChatOpenAI` renames it to `max_completion_tokens`, which Ollama silently ignores, so its answers are unlimited.
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
        passed = -_SIGN_OF_LIFE
        try:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                # LangChain keeps every chunk until the end, and some models think in millions of empty ones.
                if _says_something(chunk) or time.monotonic() - passed >= _SIGN_OF_LIFE:
                    passed = time.monotonic()
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
        if isinstance(failure, _UNREADABLE):
            failure = ValueError()
        request = RequestInfo(options.get("model", self.model_name), self.key_variable, frozenset(sent))
        return model_error(failure, request)

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        return super()._convert_chunk_to_generation_chunk(
            usable_chunk(chunk), default_chunk_class, base_generation_info
        )

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        if self.older_names and "max_tokens" in kwargs and "max_completion_tokens" in payload:
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload


def _says_something(chunk: ChatGenerationChunk) -> bool:
    message = chunk.message
    calls, usage = getattr(message, "tool_call_chunks", None), getattr(message, "usage_metadata", None)
    return bool(message.content or calls or usage or chunk.generation_info or message.additional_kwargs)


_FOR_THE_CLIENT: Final = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "response_format"})


class PlainCompletions:
    """The chat completions of a client, for `ChatOpenAI.async_client`. A streamed request goes through the client's
    public method `post`, so that requests and chunks stay JSON; other requests go to `create`.

    `create` compares every message with every form of message that OpenAI knows, and builds a pydantic object for every
    chunk, which LangChain turns into JSON again.
    """

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client
        self._opened = OpenStreams()

    @property
    def with_raw_response(self) -> Any:
        return self._client.chat.completions.with_raw_response

    async def create(self, **request: Any) -> Any:
        """The response; if it is streamed, a stream of chunks as JSON. Raises what the client raises."""
        if not request.get("stream") or _FOR_THE_CLIENT & request.keys():
            return await self._client.chat.completions.create(**request)
        stream = await self._client.post(
            "/chat/completions", body=request, cast_to=object, stream=True, stream_cls=EventStream
        )
        stream.beside = self._opened
        return stream
