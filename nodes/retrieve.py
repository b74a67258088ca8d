"""RETRIEVING: search the book for the question, before a model answers it.

Where the profile asks for it, the node `rewrite` comes first: the model rewrites a follow-up as a question that stands
alone. The search works without a rewrite, so no failure of `rewrite` ends a turn.

A question with misspelt words is searched once more as the book spells them, and the passages of both searches count.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command

from nodes.error import as_failure, named_failures
from nodes.model_call import ModelRequest, Unseen, call_model, tokens_used, was_cut
from nodes.retry_limits import USUAL, Patience
from nodes.turn import AsyncNode, Update, context_of, links_of, opened_turn, parts_of_run, tell_phase, with_notice
from rag.book import Where
from rag.conversation.turns import history
from rag.ports import Parts, PartsOf
from rag.search.followups import REWRITE_TOKENS, read_rewrite, rewrite_prompt
from rag.search.langchain_retriever import search
from rag.search.retriever import parse_filter
from rag.search_records import Found
from rag.text.spelling import is_strange, respelt, vocabulary
from state import AgentState, Context, Turn

log: Final = logging.getLogger("askbook")


def make_rewrite(parts_of: PartsOf) -> AsyncNode:
    """The node `rewrite`. Raises `AskbookError` when the model fails; `without_rewrite` then goes on."""

    async def rewrite(state: AgentState, runtime: Runtime[Context]) -> Update:
        with named_failures("rewrite", runtime):
            turn = opened_turn(state, "search for")
            tell_phase(runtime, "RETRIEVING", "processing")
            parts = parts_of_run(runtime, parts_of)
            prompt = rewrite_prompt(parts.profile, turn["question"], history(state.get("messages", [])[:-1]))
            if not prompt:
                return {"turn": with_notice(turn, no_rewrite("no_room"))}
            message = await ask_rewrite(parts, prompt, turn["model"])
            written = written_in(message)
            return {
                "turn": {**turn, "rewrite": written} if written else with_notice(turn, no_rewrite("no_question")),
                "llm_calls": state.get("llm_calls", 0) + 1,
                "draft": {"tokens_used": tokens_used(parts, {}, prompt, message)},
            }

    return rewrite


async def ask_rewrite(parts: Parts, prompt: Sequence[BaseMessage], model: str) -> AIMessage:
    """The model's answer to a prompt of `rewrite_prompt`. Raises `AskbookError`."""
    max_tokens = min(REWRITE_TOKENS, parts.profile.model.max_tokens or REWRITE_TOKENS)
    return await call_model(parts, ModelRequest(prompt, max_tokens, may_search=False, model=model), Unseen())


def written_in(message: AIMessage) -> str:
    """The rewrite in the model's message; empty when there is none or the message was cut."""
    return "" if was_cut(message) else read_rewrite(message.text)


def no_rewrite(code: str) -> str:
    """The notice about a missing rewrite."""
    return f"The model did not rewrite the question ({code}), so it was searched as typed."


def without_rewrite(state: AgentState, error: NodeError) -> Command[str]:
    """LangGraph's error handler for `rewrite`: search without a rewrite, and add a notice.

    A wrong key is not reported here: the call that writes the answer fails with it too and ends the turn.
    """
    failure = as_failure(error.error, error.node)
    log.warning("%s failed: %s", error.node, failure.code)
    turn = state.get("turn")
    return Command(goto="RETRIEVING", update={"turn": with_notice(turn, no_rewrite(failure.code))} if turn else {})


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
