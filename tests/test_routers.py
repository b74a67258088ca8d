"""Routers run in the event loop: LangGraph runs plain functions in a thread, and switches to it and back for each."""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import Any

import pytest

from graph.build import after_generate, after_idle, build_graph
from tests.machine import ANSWER, Machine


def test_every_router_is_asynchronous() -> None:
    branches = build_graph(Machine(ANSWER).agent.services).branches
    paths: list[Any] = [branch.path for named in branches.values() for branch in named.values()]
    assert len(paths) == 2
    assert all(path.func is None and iscoroutinefunction(path.afunc) for path in paths)


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
    assert asyncio.run(after_idle(state)) == next_node


@pytest.mark.parametrize(("phase", "next_node"), [("RETRIEVING", "tools"), ("IDLE", "IDLE")])
def test_generating_leads_to_the_tools_or_closes_the_turn(phase: Any, next_node: str) -> None:
    assert asyncio.run(after_generate({"phase": phase})) == next_node
