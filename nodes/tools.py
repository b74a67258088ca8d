"""RETRIEVING again: the searches that the model asked for, on the loop from GENERATING and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from nodes.error import guarded
from nodes.retrieve import where_of
from nodes.run import AsyncNode, Update, run_of
from rag.book import Where
from rag.errors import AskbookError
from rag.ports import Parts, PartsOf
from rag.tool import CALLS_A_ROUND, read_arguments, tool_result
from rag.types import Passage, Retrieval
from state import AgentState, Context


def make_tools(parts_of: PartsOf) -> AsyncNode:
    """The node `tools`: every call gets an answer, a broken one the reason, so that the model can mend it."""

    async def tools(state: AgentState, runtime: Runtime[Context]) -> Update:
        runtime.stream_writer({"type": "phase", "phase": "RETRIEVING"})
        parts, where = run_of(runtime, parts_of), where_of(runtime)
        exchange = state.get("exchange", [])
        passages = [Passage.model_validate(data) for data in state.get("passages", [])]
        results: list[AnyMessage] = []
        records: list[dict[str, Any]] = []
        for position, call in enumerate(_calls(exchange)):
            if position >= CALLS_A_ROUND or "error" in call:
                content = call.get("error") or f"At most {CALLS_A_ROUND} searches at once."
            else:
                content, record = await _search(parts, call["args"], passages, where)
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
    parts: Parts, args: Any, passages: list[Passage], where: Where | None
) -> tuple[str, Retrieval | None]:
    """One search; what it finds is appended to `passages` under the next numbers, unless it is there already."""
    asked = read_arguments(args)
    if isinstance(asked, str):
        return asked, None
    retrieval = parts.profile.retrieval
    try:
        found = await parts.retriever.retrieve(
            asked.query, k=asked.top_k or retrieval.top_k, threshold=retrieval.score_threshold, where=where
        )
    except AskbookError as failure:
        return failure.info().user_message, None
    numbers = {passage.chunk_id: passage for passage in passages}
    known = [numbers[passage.chunk_id] for passage in found.passages if passage.chunk_id in numbers]
    fresh = [passage for passage in found.passages if passage.chunk_id not in numbers]
    new = [passage.model_copy(update={"number": len(passages) + i}) for i, passage in enumerate(fresh, 1)]
    passages += new
    return tool_result(new, known), found.retrieval
