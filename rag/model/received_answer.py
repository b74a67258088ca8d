"""The answer of a model as it arrives: how long it may be, why it ended, and tool calls fit to be stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.tool import tool_call_chunk

from rag.errors import AskbookError

# In `additional_kwargs`: of a chunk a list of one delta, of a message what `whole_fields` makes of all deltas.
FIELDS: Final = "provider_fields"
MOST: Final = 200_000  # characters of an answer, its thoughts included
# Characters of the arguments of all tool calls; a query has up to 2,000. LangChain's parser takes quadratic time for
# arguments that are not JSON, a second for so many.
ARGUMENTS: Final = 12_000


_OF_CHUNK: Final = 4  # characters that each chunk counts at least: LangChain keeps four kilobytes of every one


class AnswerMeter:
    """Measures an answer while it arrives: `max_tokens` is only a request, and a broken server sends for ever."""

    def __init__(self, most: int = MOST) -> None:
        self._most = self._left = most
        self._arguments = ARGUMENTS

    def count(self, chunk: AIMessageChunk) -> None:
        """Count one chunk. Raises `AskbookError` when the answer exceeds the limit; a retry would be as long."""
        content = chunk.content if isinstance(chunk.content, str) else str(chunk.content)
        self._left -= max(_OF_CHUNK, len(content))
        self._left -= len(str(chunk.additional_kwargs)) if chunk.additional_kwargs else 0
        self._arguments -= sum(len(call["args"] or "") + 1 for call in chunk.tool_call_chunks)
        if self._left < 0:
            raise _endless(f"The model's answer was longer than {self._most:,} characters and was stopped.")
        if self._arguments < 0:
            raise _endless(f"The model wrote more than {ARGUMENTS:,} characters for its searches and was stopped.")


def _endless(message: str) -> AskbookError:
    hint = "The model or its server does not stop: choose another model, or set model.max_tokens of the profile."
    return AskbookError("api_error", "endless_answer", message, hint=hint)


Finish = Literal["stop", "length", "tool_calls", "content_filter", "error"]

# Where LangChain's chat models put the reason: OpenAI, Gemini, Mistral, Groq and Cohere; Anthropic; Ollama; Bedrock.
_KEYS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason")
# In lower case. A reason that is not listed is a normal end.
_MEANINGS: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",  # Anthropic, Bedrock, Gemini, Cohere
    "max_output_tokens": "length",  # OpenAI's Responses
    "max_length": "length",
    "model_length": "length",  # Mistral
    "model_context_window_exceeded": "length",  # Anthropic
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",  # Cohere
    "tool_use": "tool_calls",  # Anthropic, Bedrock
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",  # Bedrock
    "guardrail_intervened": "content_filter",  # Bedrock
    "refusal": "content_filter",  # Anthropic
    "safety": "content_filter",  # Gemini, up to the next comment
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "error_toxic": "content_filter",  # Cohere
    "error": "error",  # OpenRouter, when the provider behind it fails; Cohere
    "abort": "error",  # vLLM
    "malformed_function_call": "error",  # Gemini
    "malformed_model_output": "error",  # Bedrock
    "malformed_tool_use": "error",  # Bedrock
    "other": "error",  # Gemini
}
# Values of `model_provider`, which LangChain's chat models set. These providers always name a reason.
_NAME_IT: Final = frozenset({
    "openai", "anthropic", "ollama", "bedrock", "bedrock_converse", "google_genai", "google_vertexai", "groq",
    "mistralai", "deepseek", "xai", "cohere",
})  # fmt: skip


def finish_of(metadata: Mapping[str, Any]) -> Finish | None:
    """Why the answer ended, from the metadata of a message or chunk; None if it names no reason.

    >>> finish_of({"stopReason": "max_tokens"})
    'length'
    """
    for key in _KEYS:
        reason = metadata.get(key)
        if isinstance(reason, str) and reason:
            return _MEANINGS.get(reason.lower(), "stop")
    return None


def refuses(message: BaseMessage) -> bool:
    """Whether a message or chunk has the words of a model that refuses, which OpenAI's send instead of an answer."""
    blocks = message.content if isinstance(message.content, list) else []
    block = any(isinstance(one, dict) and one.get("type") == "refusal" for one in blocks)
    deltas = message.additional_kwargs.get(FIELDS)
    delta = isinstance(deltas, list) and any(one["delta"].get("refusal") for one in deltas)
    return block or delta or bool(message.additional_kwargs.get("refusal"))


def names_its_finish(metadata: Mapping[str, Any], model: object = None) -> bool:
    """Whether the model's provider ends every complete answer with a reason, so that one without it broke off.

    `ChatOllama` names its provider only together with the reason.
    """
    return metadata.get("model_provider") in _NAME_IT or type(model).__name__ == "ChatOllama"


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """A message of a chat model as a chunk of a stream. Models that cannot stream yield one whole message instead."""
    if isinstance(message, AIMessageChunk):
        return message
    calls = [(call["name"], json.dumps(call["args"]), call["id"]) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "", call["id"]) for call in message.invalid_tool_calls]
    pieces = [tool_call_chunk(name=name, args=args, id=id_, index=n) for n, (name, args, id_) in enumerate(calls)]
    whole = message.model_dump(include={"content", "additional_kwargs", "response_metadata", "usage_metadata", "id"})
    return AIMessageChunk(**whole, tool_call_chunks=pieces)


def whole_fields(deltas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of a message from those of its chunks: texts are joined, lists go on, pieces of an index are one."""
    whole: dict[str, Any] = {}
    for delta in (one["delta"] for one in deltas):
        for name, value in delta.items():
            before = whole.get(name)
            if isinstance(value, str) and isinstance(before, str):
                whole[name] = before + value
            elif isinstance(value, list):
                whole[name] = before or []
                for piece in value:
                    _add_piece(whole[name], piece)
            elif isinstance(value, dict) and isinstance(before, dict):
                whole[name] = before | value
            else:
                whole[name] = value
    if calls := whole.get("tool_calls"):
        by_index = {call["index"]: {name: call[name] for name in call if name != "index"} for call in calls}
        whole["tool_calls"] = [by_index.get(index, {}) for index in range(max(by_index) + 1)]
    return whole


_TEXTS: Final = frozenset({"text", "thinking", "summary", "data", "signature", "reasoning"})


def _add_piece(pieces: list[Any], piece: Any) -> None:
    """Add a piece of a list, or what it adds to the last piece of the same index and type."""
    last = pieces[-1] if pieces else None
    if not (isinstance(last, dict) and isinstance(piece, dict)) or _place(last) != _place(piece):
        pieces.append(dict(piece) if isinstance(piece, dict) else piece)
        return
    for name, value in piece.items():
        before = last.get(name)
        if name in _TEXTS and isinstance(value, str) and isinstance(before, str):
            last[name] = before + value
        elif value is not None:
            last[name] = value


def _place(piece: Mapping[str, Any]) -> Any:
    """What pieces of one block have in common; nothing without an index."""
    return (piece["index"], piece.get("type")) if piece.get("index") is not None else id(piece)


_LARGEST: Final = 2**63 - 1  # what msgpack, and with it a checkpoint, can hold
_DEEPEST: Final = 20  # levels of nested values; the tools take none
_CALLS: Final = 20  # of one message that are kept; three are carried out, and each refusal takes room in the prompt
_NAME: Final = 200  # characters of the id and of the name of a call; those of services have up to 64
_NOTHING: Final = "{}"  # the arguments of a call whose own cannot be stored


def clean_calls(message: AIMessage) -> None:
    """Move the message's calls with arguments that cannot be stored to its invalid ones.

    Ids and names are cleaned and cut, and calls beyond the number that a model can mean are dropped.
    """
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for call in message.tool_calls:
        name, call_id = _text(call["name"], _NAME), _text(call["id"], _NAME)
        if _storable(call["args"]):
            good.append(ToolCall(name=name or "", args=call["args"], id=call_id, type="tool_call"))
        else:
            bad.append(_invalid(name, _NOTHING, call_id))
    broken = message.invalid_tool_calls
    bad += [_invalid(_text(call["name"], _NAME), _text(call["args"]), _text(call["id"], _NAME)) for call in broken]
    message.tool_calls, message.invalid_tool_calls = good[:_CALLS], bad[: max(0, _CALLS - len(good))]


def _invalid(name: str | None, args: str | None, call_id: str | None) -> InvalidToolCall:
    return InvalidToolCall(name=name, args=args, id=call_id, error=None, type="invalid_tool_call")


def _text(text: str | None, longest: int | None = None) -> str | None:
    """The text, cut to `longest` characters, without lone surrogates, which are not Unicode."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8") if text is not None else None


def _storable(value: Any, depth: int = 0) -> bool:
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN, which JSON does not have
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(_storable(part, depth + 1) for pair in value.items() for part in pair)
    if isinstance(value, Sequence):
        return all(_storable(part, depth + 1) for part in value)
    return value is None
