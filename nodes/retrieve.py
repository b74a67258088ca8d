"""RETRIEVING: search the book for the question, before any model is called."""

from __future__ import annotations

from langgraph.runtime import Runtime

from nodes.error import named_failures
from nodes.turn import AsyncNode, Update, opened_turn, run_of, tell_phase
from rag.book import Where
from rag.conversation.turns import history
from rag.ports import PartsOf
from rag.retry import USUAL, Patience
from rag.search.retriever import parse_filter
from state import AgentState, Context


def make_retrieve(parts_of: PartsOf, patience: Patience = USUAL) -> AsyncNode:
    """The node `RETRIEVING`. Raises `AskbookError` when the search fails; finding nothing is no failure."""

    async def retrieve(state: AgentState, runtime: Runtime[Context]) -> Update:
        with named_failures("RETRIEVING", runtime, patience):
            turn = opened_turn(state, "search for")
            tell_phase(runtime, "RETRIEVING", "processing")
            parts = run_of(runtime, parts_of)
            found = await parts.retriever.retrieve(
                turn["question"],
                k=parts.profile.retrieval.top_k,
                threshold=parts.profile.retrieval.score_threshold,
                where=where_of(runtime),
                history=history(state.get("messages", [])[:-1]),
                rewrite=turn.get("rewrite", ""),
                neighbours=parts.profile.retrieval.neighbours,
            )
            record = found.retrieval.model_dump(mode="json")
            runtime.stream_writer({"type": "retrieval", **record, "trace": found.trace.as_data()})
            return {
                "phase": "GENERATING",
                "passages": [passage.model_dump(mode="json") for passage in found.passages],
                "retrievals": [record],
            }

    return retrieve


def where_of(runtime: Runtime[Context]) -> Where | None:
    """The filter that the caller set for this run. The model cannot change it."""
    return parse_filter(runtime.context.filter if runtime.context else None)
