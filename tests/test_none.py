"""None in the place of something that is needed: one clear line, and never an exception of Python's own."""

from __future__ import annotations

from typing import Any

import pytest

from graph.agent import open_agent
from graph.build import build_graph
from rag.errors import UsageError
from rag.index.payload import point_ids
from tests.machine import ANSWER, Machine

NOTHING: Any = None


@pytest.mark.parametrize("method", ["undo", "retry", "clear", "conversation", "last_retrieval"])
async def test_a_conversation_without_an_id_does_not_exist(method: str) -> None:
    with pytest.raises(UsageError) as caught:
        await getattr(Machine(ANSWER).agent, method)(NOTHING)
    assert caught.value.code == "unknown_thread"


async def test_an_agent_needs_settings() -> None:
    with pytest.raises(UsageError, match="settings must be Settings"):
        async with open_agent(NOTHING):
            pass


def test_a_graph_needs_services() -> None:
    with pytest.raises(UsageError, match="services must be those of open_services"):
        build_graph(NOTHING)


def test_an_id_that_is_no_text_is_no_passage() -> None:
    assert point_ids([NOTHING, "x", "00000000-0000-5000-8000-000000000000"]) == ["00000000-0000-5000-8000-000000000000"]
