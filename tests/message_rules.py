"""Checks a list of messages in OpenAI's format `{role, content, ...}` before it is sent to a model.

The first message has the role "system", every role is known, no message is empty, each tool call is answered before the
next user or assistant message, and user and assistant alternate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages

ROLES: Final = ("system", "user", "assistant", "tool")


def api_messages(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The messages in OpenAI's format, including tool calls with broken arguments."""
    return [_api_message(message) for message in messages]


def _api_message(message: BaseMessage) -> dict[str, Any]:
    (converted,) = convert_to_openai_messages([message])
    broken = message.invalid_tool_calls if isinstance(message, AIMessage) else []  # dropped by LangChain
    calls = [
        {"type": "function", "id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}}
        for call in broken
    ]
    return converted | {"tool_calls": [*converted.get("tool_calls", []), *calls]} if calls else converted


def problems(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence per broken rule, in the order of the messages; empty if all rules are kept."""
    found: list[str] = []
    if messages and messages[0].get("role") != "system":
        found.append("Message 1 is not a system message.")
    open_calls: list[str] = []
    speaker = ""
    for position, message in enumerate(messages, 1):
        found += [f"Message {position} {problem}." for problem in _own_problems(message)]
        role = str(message.get("role"))
        if role == "tool":
            answered = str(message.get("tool_call_id"))
            if answered not in open_calls:
                found.append(f"Message {position} answers a tool call that was not made.")
            open_calls = [call for call in open_calls if call != answered]
            speaker = role
            continue
        if open_calls:
            found.append(f"Message {position} comes before the tool call {open_calls[0]} was answered.")
        if role == speaker and role in ("user", "assistant"):
            found.append(f"Message {position} is the second {role} message in a row.")
        open_calls = [str(call.get("id")) for call in message.get("tool_calls") or []]
        speaker = role
    if open_calls:
        found.append(f"The tool call {open_calls[0]} was never answered.")
    return found


def _own_problems(message: Mapping[str, Any]) -> list[str]:
    """The broken rules of a message that concern no other message."""
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
