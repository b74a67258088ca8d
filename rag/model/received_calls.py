"""Tool calls as a model sent them, made fit to be stored: JSON allows values that checkpoints and UTF-8 do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

_LARGEST: Final = 2**63 - 1  # what msgpack, and with it a checkpoint, can hold
_DEEPEST: Final = 20  # levels of nested values; the tools take none
_NOTHING: Final = "{}"  # the arguments of a call whose own cannot be stored


def clean_calls(message: AIMessage) -> None:
    """Move the message's calls with arguments that cannot be stored to its invalid ones, and clean ids and names."""
    good: list[ToolCall] = []
    bad: list[InvalidToolCall] = []
    for call in message.tool_calls:
        name, call_id = _text(call["name"]), _text(call["id"])
        if _storable(call["args"]):
            good.append(ToolCall(name=name or "", args=call["args"], id=call_id, type="tool_call"))
        else:
            bad.append(_invalid(name, _NOTHING, call_id))
    broken = message.invalid_tool_calls
    bad += [_invalid(_text(call["name"]), _text(call["args"]), _text(call["id"])) for call in broken]
    message.tool_calls, message.invalid_tool_calls = good, bad


def _invalid(name: str | None, args: str | None, call_id: str | None) -> InvalidToolCall:
    return InvalidToolCall(name=name, args=args, id=call_id, error=None, type="invalid_tool_call")


def _text(text: str | None) -> str | None:
    """The text without lone surrogates, which are not Unicode."""
    return text.encode("utf-8", "replace").decode("utf-8") if text is not None else None


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
