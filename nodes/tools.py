"""RETRIEVING again: the searches that the model asked for, on the loop from GENERATING and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from nodes.error import guarded
from nodes.retrieve import where_of
from nodes.run import AsyncNode, Update, run_of, tell_phase
from rag.book import Where
from rag.errors import AskbookError
from rag.ports import Parts, PartsOf
from rag.profile_sections import ToolSection
from rag.tool import CALLS_A_ROUND, read_arguments
from rag.tool_result import failed_answer, refused_answer, tool_answer
from rag.types import Passage, Retrieval
from state import AgentState, Context


def make_tools(parts_of: PartsOf) -> AsyncNode:
    """The node `tools`: every call gets an answer, a broken one the reason, so that the model can mend it."""

    async def tools(state: AgentState, runtime: Runtime[Context]) -> Update:
        tell_phase(runtime, "RETRIEVING", "tool_call_needed")
        parts, where = run_of(runtime, parts_of), where_of(runtime)
        exchange = state.get("exchange", [])
        passages = [Passage.model_validate(data) for data in state.get("passages", [])]
        results: list[AnyMessage] = []
        records: list[dict[str, Any]] = []
        for position, call in enumerate(_calls(exchange)):
            problem = call.get("error", "")
            if position >= CALLS_A_ROUND:
                problem = problem or f"At most {CALLS_A_ROUND} searches at once."
            content, record = await _search(parts, call, passages, where, problem)
            if record:
                records.append(record.model_dump(mode="json"))
                runtime.stream_writer({"type": "retrieval", **records[-1]})
            results.append(ToolMessage(content=content, tool_call_id=call["id"] or "", name=call["name"]))
        return {
            "phase": "GENERATING",
            "exchange": [*exchange, *results],
            "passages": [passage.model_dump(mode="json") for passage in passages],
            "retrievals": state.get("retrievals", []) + records,
        }

    return guarded(tools, "tools")


def _calls(exchange: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """The calls of the model's last message; one whose arguments are no JSON carries an `error`."""
    last = exchange[-1] if exchange else None
    if not isinstance(last, AIMessage):
        return []
    broken = [{**call, "error": "The arguments are not valid JSON."} for call in last.invalid_tool_calls]
    return [*(dict(call) for call in last.tool_calls), *broken]


async def _search(
    parts: Parts, call: Mapping[str, Any], passages: list[Passage], where: Where | None, problem: str
) -> tuple[str, Retrieval | None]:
    """One search; what it finds is appended to `passages` under the next numbers, unless it is there already.

    A call with a `problem` gets the profile's error answer. The model may be stricter than the caller, never laxer.
    """
    tool = parts.profile.tool or ToolSection()
    if call["name"] != tool.name:
        problem = problem or f"There is no tool {str(call['name'])[:64]!r}; there is {tool.name}"
    asked = problem or read_arguments(tool, call["args"])
    if isinstance(asked, str):
        return refused_answer(tool, call["args"], asked), None
    retrieval = parts.profile.retrieval
    threshold = max(asked.score_threshold or 0.0, retrieval.score_threshold)
    try:
        found = await parts.retriever.retrieve(
            asked.query, k=asked.top_k or retrieval.top_k, threshold=threshold, where=where
        )
    except AskbookError as failure:
        return failed_answer(tool, asked.query, failure), None
    seen = len(passages)
    numbers = {passage.chunk_id: passage for passage in passages}
    for one in found.passages:
        if one.chunk_id not in numbers:
            numbers[one.chunk_id] = one.model_copy(update={"number": len(passages) + 1})
            passages.append(numbers[one.chunk_id])
    return tool_answer(tool, [numbers[one.chunk_id] for one in found.passages], seen, found.retrieval), found.retrieval
