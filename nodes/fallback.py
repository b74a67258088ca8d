"""GENERATING with another model: what follows when the profile's own model has failed and its retries are spent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from langgraph.errors import NodeError
from langgraph.types import Command

from nodes.error import to_error
from nodes.run import noticed
from rag.errors import AskbookError
from rag.ports import PartsOf
from state import AgentState

log: Final = logging.getLogger("askbook")

Handler = Callable[[AgentState, NodeError], Command[str]]

# Failures of the endpoint or the model. Another model would be refused the same key, and reads no longer prompt.
_MAY_HELP: Final = frozenset({"api_error", "rate_limit"})


def make_to_fallback(parts_of: PartsOf) -> Handler:
    """LangGraph's error handler for `generate`: once a turn to the profile's fallback model, otherwise to ERROR.

    Only while nothing of an answer has been shown. The turn's `model` says which one answers from here on; the next
    turn begins with the profile's own again.
    """

    def to_fallback(state: AgentState, error: NodeError) -> Command[str]:
        turn, failure = state.get("turn"), error.error
        if turn is None or not isinstance(failure, AskbookError):
            return to_error(state, error)
        parts = parts_of(turn["profile"])
        name = parts.profile.model.fallback
        helps = failure.error_type in _MAY_HELP and failure.code != "internal" and not failure.shown
        if name is None or parts.quotes or turn["model"] == name or not helps:
            return to_error(state, error)
        notice = f"{turn['model']} failed ({failure.code}), so {name} was asked."
        log.warning("%s", notice)
        return Command(goto="generate", update={"turn": {**noticed(turn, notice), "model": name}})

    return to_fallback
