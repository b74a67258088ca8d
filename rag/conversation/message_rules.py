"""The rules that a list of messages keeps before it is sent to a model, in OpenAI's form `{role, content, ...}`.

The first is the system's, roles are known, a user says something, a tool call is answered before anything else is
said, and user and assistant take turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages

ROLES: Final = ("system", "user", "assistant", "tool")


def api_messages(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as OpenAI's API takes them, tool calls with broken arguments among them."""
    return [_api_message(message) for message in messages]


def _api_message(message: BaseMessage) -> dict[str, Any]:
    (converted,) = convert_to_openai_messages([message])
    broken = message.invalid_tool_calls if isinstance(message, AIMessage) else []  # LangChain's function drops them
    calls = [
        {"type": "function", "id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}}
        for call in broken
    ]
    return converted | {"tool_calls": [*converted.get("tool_calls", []), *calls]} if calls else converted


def problems(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with the messages, one line each, in order; nothing where they keep the rules."""
    found: list[str] = []
    if messages and messages[0].get("role") != "system":
        found.append("Message 1 is not the system's.")
    open_calls: list[str] = []
    speaker = ""
    for position, message in enumerate(messages, 1):
        found += [f"Message {position} {problem}." for problem in _of_itself(message)]
        role = str(message.get("role"))
        if role == "tool":
            answered = str(message.get("tool_call_id"))
            if answered not in open_calls:
                found.append(f"Message {position} answers a tool call that was not made.")
            open_calls = [one for one in open_calls if one != answered]
            speaker = role
            continue
        if open_calls:
            found.append(f"Message {position} comes before the tool call {open_calls[0]} was answered.")
        if role == speaker and role in ("user", "assistant"):
            found.append(f"Message {position} is the second of the {role} in a row.")
        open_calls = [str(call.get("id")) for call in message.get("tool_calls") or []]
        speaker = role
    if open_calls:
        found.append(f"The tool call {open_calls[0]} was never answered.")
    return found


def _of_itself(message: Mapping[str, Any]) -> list[str]:
    role, calls = message.get("role"), message.get("tool_calls")
    if role not in ROLES:
        return [f"has the role {role!r}, which is none of {', '.join(ROLES)}"]
    found = []
    if role in ("user", "assistant") and not calls and not str(message.get("content") or "").strip():
        found.append("is empty")
    if calls and role != "assistant":
        found.append("has tool calls, which only an assistant makes")
    if message.get("tool_call_id") and role != "tool":
        found.append("answers a tool call, which only a tool does")
    return found
