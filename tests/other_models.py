"""Chat models of other providers, real clients of LangChain, and what their services send, on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from tests.wire import EVENTS, Data, Reply, refusal

_KEY: Final = SecretStr("canary-0123456789")


@dataclass(frozen=True)
class Provider:
    """One provider: its client, its wire format, and its names for how an answer ends."""

    model: Callable[[str], BaseChatModel]
    says: Callable[..., Reply]
    stop: str
    length: str
    filtered: str | None
    tools: Callable[[Data], list[str]]

    def refuses(self, status: int) -> Reply:
        return refusal(status)


def _anthropic(address: str) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model_name="claude-x", api_key=_KEY, base_url=address, max_retries=0, timeout=5, stop=None)


def _ollama(address: str) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    return ChatOllama(model="llama-x", base_url=address)


def _gemini(address: str) -> BaseChatModel:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-x", api_key=_KEY, base_url=address, max_retries=0, timeout=5)


def _anthropic_says(*texts: str, finish: str | None, query: str | None = None) -> Reply:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    counted = {"input_tokens": 11, "output_tokens": 1}
    events: list[Data] = [
        {"type": "message_start", "message": start | {"stop_reason": None, "stop_sequence": None, "usage": counted}}
    ]
    if query is None:
        events += [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
        for text in texts:
            delta = {"type": "text_delta", "text": text}
            events += [{"type": "content_block_delta", "index": 0, "delta": delta}]
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": "search_book", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"query": query})}
        events += [{"type": "content_block_start", "index": 0, "content_block": block}]
        events += [{"type": "content_block_delta", "index": 0, "delta": delta}]
    if finish is not None:
        events += [{"type": "content_block_stop", "index": 0}]
        ended = {"stop_reason": finish, "stop_sequence": None}
        events += [
            {"type": "message_delta", "delta": ended, "usage": counted | {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(body=body, content_type=EVENTS)


def _ollama_says(*texts: str, finish: str | None, query: str | None = None) -> Reply:
    head = {"model": "llama-x", "created_at": "2026-01-01T00:00:00Z"}
    lines: list[Data] = [head | {"message": {"role": "assistant", "content": text}, "done": False} for text in texts]
    if query is not None:
        call = {"function": {"name": "search_book", "arguments": {"query": query}}}
        lines += [head | {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}]
    if finish is not None:
        counted = {"prompt_eval_count": 11, "eval_count": 7, "total_duration": 1}
        empty = {"message": {"role": "assistant", "content": ""}}
        lines += [head | empty | {"done": True, "done_reason": finish} | counted]
    return Reply(body="".join(f"{json.dumps(line)}\n" for line in lines), content_type="application/x-ndjson")


def _gemini_says(*texts: str, finish: str | None, query: str | None = None) -> Reply:
    parts: list[Data] = [{"text": text} for text in texts]
    if query is not None:
        parts = [{"functionCall": {"name": "search_book", "args": {"query": query}}}]
    chunks: list[Data] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": "gemini-x"}
        for part in parts
    ]
    if finish is not None:
        counted = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish, "index": 0}
        chunks += [{"candidates": [last], "usageMetadata": counted, "modelVersion": "gemini-x"}]
    return Reply(body="".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks), content_type=EVENTS)


def _anthropic_tools(body: Data) -> list[str]:
    return [tool["name"] for tool in body.get("tools", []) if tool["input_schema"]["required"] == ["query"]]


def _ollama_tools(body: Data) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools") or []]


def _gemini_tools(body: Data) -> list[str]:
    groups: list[Any] = body.get("tools") or []
    return [one["name"] for group in groups for one in group["functionDeclarations"]]


PROVIDERS: Final = {
    "ChatAnthropic": Provider(_anthropic, _anthropic_says, "end_turn", "max_tokens", "refusal", _anthropic_tools),
    "ChatOllama": Provider(_ollama, _ollama_says, "stop", "length", None, _ollama_tools),
    "ChatGoogleGenerativeAI": Provider(_gemini, _gemini_says, "STOP", "MAX_TOKENS", "SAFETY", _gemini_tools),
}
