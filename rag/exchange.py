"""What this turn's tool calls and their results take of a prompt, and which passages stand in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage


def given(exchange: Sequence[AnyMessage]) -> set[int]:
    """The numbers of the passages whose text stands in a result; no other place of the prompt repeats them."""
    results = [message for message in exchange if isinstance(message, ToolMessage)]
    return {number for result in results for number in result.artifact or []}


def said(exchange: Sequence[AnyMessage]) -> str:
    """All text of the exchange, calls with their arguments among it, for counting."""
    texts = [message.text for message in exchange]
    calls = [call for message in exchange if isinstance(message, AIMessage) for call in message.tool_calls]
    broken = [call for message in exchange if isinstance(message, AIMessage) for call in message.invalid_tool_calls]
    return "\n".join([*texts, *(json.dumps(call) for call in [*calls, *broken])])
