"""RETRIEVING: search the book for the question, before a model answers it.

If the question has misspelt words, the corrected question is searched too, and the passages of both searches are
merged.
"""

from __future__ import annotations

from functools import partial
from itertools import zip_longest

from langgraph.runtime import Runtime

from nodes.error import translate_errors
from nodes.turn import (
    DEFAULT_RETRIES,
    RetrySettings,
    Update,
    context_of,
    emit_phase,
    filter_of_run,
    links_of,
    parts_of_run,
    require_turn,
)
from rag.book import SearchResult
from rag.conversation.turns import history
from rag.ports import Parts, PartsOf
from rag.quoting.english.speech_acts import about_book
from rag.quoting.vocabulary import is_foreign
from rag.search.retriever import search
from rag.text.spelling import correct_spelling, has_unknown_words, vocabulary
from state import AgentState, Context, Turn


async def retrieve(
    state: AgentState, runtime: Runtime[Context], *, parts_of: PartsOf, retries: RetrySettings = DEFAULT_RETRIES
) -> Update:
    """The node `RETRIEVING`. Raises `AskbookError` when the search fails; finding nothing is not a failure."""
    with translate_errors("RETRIEVING", runtime, retries):
        turn = require_turn(state, "search for")
        emit_phase(runtime, "RETRIEVING", "processing")
        parts = parts_of_run(runtime, parts_of)
        find = partial(
            search,
            parts.retriever,
            k=parts.profile.retrieval.top_k,
            threshold=parts.profile.retrieval.score_threshold,
            where=filter_of_run(runtime),
            history=history(state.get("messages", [])[:-1]),
            neighbours=parts.profile.retrieval.neighbours,
        )
        found = await find(turn["question"], rewrite=turn.get("rewrite", ""))
        if parts.english_only and context_of(runtime).score_threshold is None and _is_foreign(turn, found):
            # The embedding model knows only English: in another language, the right passages have scores below the
            # threshold.
            without_threshold = await find(turn["question"], threshold=0.0)
            found = without_threshold if _is_foreign(turn, without_threshold) else found
        if written := await _corrected_question(turn, found, parts):
            found = merge_results(await find(written), found)
        record = found.retrieval.model_dump(mode="json")
        told = {"links": links_of(found.passages), "trace": found.trace.as_data()}
        runtime.stream_writer({"type": "retrieval", **record, **told})
        return {
            "phase": "GENERATING",
            "passages": [passage.model_dump(mode="json") for passage in found.passages],
            "retrievals": [record],
        }


def _is_foreign(turn: Turn, found: SearchResult) -> bool:
    """Whether the passages are in another language than English; without passages, whether the question is."""
    text = "\n".join(passage.text for passage in found.passages)
    return is_foreign(text or turn["question"], fewest=1)


async def _corrected_question(turn: Turn, found: SearchResult, parts: Parts) -> str:
    """The question with its misspelt words corrected; empty if there are none, or if the model rewrote it.

    Empty too for a question about the whole book, which is not searched: a search would mix other passages in.
    """
    if about_book(turn["question"]):
        return ""
    words = vocabulary(f"{passage.breadcrumb} {passage.text}" for passage in found.passages)
    if turn.get("rewrite") or not has_unknown_words(turn["question"], words):
        return ""
    return correct_spelling(turn["question"], await parts.retriever.words())


def merge_results(better: SearchResult, found: SearchResult) -> SearchResult:
    """The passages of two searches in turn, as many as the larger has; the record is that of `found`, as typed."""
    pairs = zip_longest(better.passages, found.passages)
    each = {passage.chunk_id: passage for pair in pairs for passage in pair if passage is not None}
    most = max(len(better.passages), len(found.passages))
    passages = [
        passage.model_copy(update={"number": n}) for n, passage in enumerate(list(each.values())[:most], start=1)
    ]
    return SearchResult(passages, found.retrieval.model_copy(update={"results_count": len(passages)}), better.trace)
