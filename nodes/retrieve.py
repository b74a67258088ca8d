"""RETRIEVING: search the book for the question, before a model answers it.

A question with misspelt words is searched once more as the book spells them, and the passages of both searches count.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import zip_longest
from typing import Final

from langgraph.runtime import Runtime

from nodes.error import named_failures
from nodes.retry_limits import USUAL, Patience
from nodes.turn import AsyncNode, Update, context_of, links_of, opened_turn, parts_of_run, tell_phase
from rag.book import Where
from rag.conversation.turns import history
from rag.ports import Parts, PartsOf
from rag.search.langchain_retriever import search
from rag.search.retriever import parse_filter
from rag.search_records import Found
from rag.text.spelling import is_strange, respelt, vocabulary
from state import AgentState, Context, Turn

log: Final = logging.getLogger("askbook")


def make_retrieve(parts_of: PartsOf, patience: Patience = USUAL) -> AsyncNode:
    """The node `RETRIEVING`. Raises `AskbookError` when the search fails; finding nothing is not a failure."""

    async def retrieve(state: AgentState, runtime: Runtime[Context]) -> Update:
        with named_failures("RETRIEVING", runtime, patience):
            turn = opened_turn(state, "search for")
            tell_phase(runtime, "RETRIEVING", "processing")
            parts = parts_of_run(runtime, parts_of)
            find = partial(
                search,
                parts.retriever,
                k=parts.profile.retrieval.top_k,
                threshold=parts.profile.retrieval.score_threshold,
                where=where_of(runtime),
                history=history(state.get("messages", [])[:-1]),
                neighbours=parts.profile.retrieval.neighbours,
            )
            found = await find(turn["question"], rewrite=turn.get("rewrite", ""))
            if written := await _as_the_book_spells(turn, found, parts):
                found = interleaved(await find(written), found)
            record = found.retrieval.model_dump(mode="json")
            told = {"links": links_of(found.passages), "trace": found.trace.as_data()}
            runtime.stream_writer({"type": "retrieval", **record, **told})
            return {
                "phase": "GENERATING",
                "passages": [passage.model_dump(mode="json") for passage in found.passages],
                "retrievals": [record],
            }

    return retrieve


async def _as_the_book_spells(turn: Turn, found: Found, parts: Parts) -> str:
    """The question with its misspelt words corrected; empty if there are none, or if the model rewrote it."""
    words = vocabulary(f"{passage.breadcrumb} {passage.text}" for passage in found.passages)
    if turn.get("rewrite") or not is_strange(turn["question"], words):
        return ""
    return respelt(turn["question"], await parts.retriever.words())


def interleaved(better: Found, found: Found) -> Found:
    """Two searches as one: passages in turn from the one and the other, each once, as many as the larger search has.

    The record is the second one's, whose question the user typed.
    """
    pairs = zip_longest(better.passages, found.passages)
    each = {passage.chunk_id: passage for pair in pairs for passage in pair if passage is not None}
    most = max(len(better.passages), len(found.passages))
    passages = [
        passage.model_copy(update={"number": n}) for n, passage in enumerate(list(each.values())[:most], start=1)
    ]
    return Found(passages, found.retrieval.model_copy(update={"results_count": len(passages)}), better.trace)


def where_of(runtime: Runtime[Context]) -> Where | None:
    """The filter that the caller set for this run. The model cannot change it."""
    return parse_filter(context_of(runtime).filter)
