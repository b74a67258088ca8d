"""OpenAI's client without the work that grows with the conversation: requests and chunks stay plain JSON."""

from __future__ import annotations

from typing import Any, Final

from openai import AsyncOpenAI

from rag.model.event_stream import EventStream
from rag.model.reading_pace import OpenStreams

_FOR_THE_CLIENT: Final = frozenset({"extra_headers", "extra_query", "extra_body", "timeout", "response_format"})


class PlainCompletions:
    """The chat completions of a client, for `ChatOpenAI.async_client`; streamed requests and chunks stay JSON.

    `AsyncCompletions.create` compares every message of a request with every form of message that OpenAI knows, and
    builds an object of pydantic for every chunk, which LangChain turns into JSON again. LangChain makes and reads JSON
    of the right form, and askbook checks what an endpoint sends, so a streamed request goes through the public method
    `AsyncOpenAI.post`. Other requests go to `create`.
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


def with_all_keys(chunk: dict[str, Any]) -> dict[str, Any]:
    """The chunk with the keys that LangChain reads without a default, as OpenAI's client gives them: None if missing.

    Some endpoints leave out the index of a tool call, or the delta of the last chunk.
    """
    choices = chunk.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return chunk
    choice: dict[str, Any] = {"delta": None, **choices[0]}
    delta = choice["delta"]
    calls = delta.get("tool_calls") if isinstance(delta, dict) else None
    if isinstance(calls, list):
        keyed = [{"index": None, "function": None, **call} if isinstance(call, dict) else call for call in calls]
        choice["delta"] = {**delta, "tool_calls": keyed}
    return {**chunk, "choices": [choice, *choices[1:]]}
