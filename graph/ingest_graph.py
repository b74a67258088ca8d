"""The graph that reads books: load → chunk → embed → write → verify, one node for each step of an ingestion."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langgraph.graph import END, START, StateGraph

from nodes.ingest_steps import OpenIngestions, ingest_step
from rag.ingest.book_sources import IngestOptions, texts
from rag.ingest.ingestion import Ingestion, OnStep
from rag.ingest.report import STEPS
from rag.profiles.profile import profile_of
from rag.settings import Settings
from state import IngestInput, IngestState


def build_ingest_graph() -> StateGraph[IngestState, None, IngestInput, IngestState]:
    """A fresh, uncompiled graph, whose ingestions have the settings of the environment.

    Its input is described at `state.IngestInput`. Progress comes in LangGraph's stream mode `custom`. The state has the
    plan, and at the end the report, under `report`.
    """
    open_ingestions = OpenIngestions(begin_from_environment)
    graph: StateGraph[IngestState, None, IngestInput, IngestState] = StateGraph(IngestState, input_schema=IngestInput)
    before = START
    for step in STEPS:
        node: Any = partial(ingest_step, step=step, open_ingestions=open_ingestions)
        graph.add_node(step, node)
        graph.add_edge(before, step)
        before = step
    graph.add_edge(before, END)
    return graph


def begin_from_environment(asked: Mapping[str, Any], watch: OnStep) -> Ingestion:
    """An ingestion with the settings of the environment. Blocks. Raises `UsageError` for an input that is of no use."""
    from rag.books.book_ingestion import begin_ingestion

    settings = Settings.from_env()
    wanted = IngestOptions.checked(
        base_url=asked.get("base_url"),
        generator=asked.get("generator"),
        include=asked.get("include"),
        exclude=asked.get("exclude"),
        rebuild=bool(asked.get("rebuild")),
        dry_run=bool(asked.get("dry_run")),
    )
    profile = profile_of(settings, asked.get("profile"))
    sources = texts("sources", asked.get("sources"))
    return begin_ingestion(settings, profile, sources, wanted, collection=asked.get("collection"), watch=watch)
