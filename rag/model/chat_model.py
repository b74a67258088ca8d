"""`ChatOpenAI` that gives an endpoint its own fields back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.language_models import LanguageModelInput
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from rag.model.received_answer import FIELDS

_KNOWN: Final = frozenset({"role", "content", "tool_calls", "function_call", "audio", "annotations", "name"})
_KNOWN_OF_CALLS: Final = frozenset({"index", "id", "type", "function"})


class EndpointChatModel(ChatOpenAI):
    """ChatOpenAI that keeps the fields of a message which are not OpenAI's, and sends them back with the message.

    Endpoints of reasoning models want the reasoning, or a signature, back with a tool call, each in a field of its own.
    ChatOpenAI drops such fields, as its documentation says.
    """

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        found = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        delta = ((chunk.get("choices") or [{}])[0] or {}).get("delta")
        if found is not None and delta and (fields := _fields_of(delta)):
            found.message.additional_kwargs[FIELDS] = [{"delta": fields}]
        return found

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        messages = self._convert_input(input_).to_messages()
        for message, sent in zip(messages, payload.get("messages", ()), strict=False):
            fields = dict(message.additional_kwargs.get(FIELDS) or {})
            for call, of_call in zip(sent.get("tool_calls") or (), fields.pop("tool_calls", ()), strict=False):
                call.update(of_call)
            sent.update(fields)
        return payload


def _fields_of(delta: Mapping[str, Any]) -> dict[str, Any]:
    """What of a delta is not OpenAI's: its own fields, those of its tool calls, and blocks that are no text."""
    fields = {name: value for name, value in delta.items() if name not in _KNOWN and value is not None}
    content = delta.get("content")
    if blocks := [one for one in content if _is_block(one)] if isinstance(content, list) else []:
        fields["content"] = blocks
    calls = [
        {"index": call.get("index") or 0} | {name: call[name] for name in call.keys() - _KNOWN_OF_CALLS if call[name]}
        for call in delta.get("tool_calls") or ()
    ]
    return fields | ({"tool_calls": calls} if any(len(call) > 1 for call in calls) else {})


def _is_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") != "text"
