"""A router chooses the next node in one go with its node's writes: no cancellation comes between."""

from __future__ import annotations

from typing import Any

import pytest

from graph.build import after_generate, after_idle, build_graph
from tests.machine import ANSWER, Machine


def test_every_router_chooses_without_giving_way_to_another_task() -> None:
    branches = build_graph(Machine(ANSWER).agent.services).branches
    paths: list[Any] = [branch.path for named in branches.values() for branch in named.values()]
    assert len(paths) == 2
    for path in paths:
        with pytest.raises(StopIteration) as ended:  # what a coroutine raises that ends without waiting
            path.ainvoke({"phase": "IDLE"}).send(None)
        assert ended.value.value == path.invoke({"phase": "IDLE"})


@pytest.mark.parametrize(
    ("state", "next_node"),
    [
        ({"phase": "RETRIEVING", "turn": {}}, "RETRIEVING"),
        ({"phase": "RETRIEVING", "turn": {"rewrite": ""}}, "rewrite"),
        ({"phase": "RETRIEVING", "turn": "of a client"}, "RETRIEVING"),
        ({"phase": "GENERATING"}, "GENERATING"),
        ({"phase": "IDLE"}, "__end__"),
        ({}, "__end__"),
    ],
)
def test_idle_leads_to_the_state_of_the_phase(state: Any, next_node: str) -> None:
    assert after_idle(state) == next_node


@pytest.mark.parametrize(("phase", "next_node"), [("RETRIEVING", "tools"), ("IDLE", "IDLE")])
def test_generating_leads_to_the_tools_or_closes_the_turn(phase: Any, next_node: str) -> None:
    assert after_generate({"phase": phase}) == next_node
