"""The machine's forks: pure functions of the state, since LangGraph catches nothing that a router raises."""

from __future__ import annotations

from typing import Literal

from state import AgentState


def after_idle(state: AgentState) -> Literal["rewrite", "retrieve", "generate", "__end__"]:
    """A turn was opened, with something to search for or with small talk, or the machine rests."""
    match state.get("phase"):
        case "RETRIEVING":
            return "rewrite" if "rewrite" in (state.get("turn") or {}) else "retrieve"
        case "GENERATING":
            return "generate"
        case _:
            return "__end__"


def after_generate(state: AgentState) -> Literal["tools", "idle"]:
    """The model asked for another search, or answered."""
    return "tools" if state.get("phase") == "RETRIEVING" else "idle"
