"""`tools`: run the searches that the model asks for, between GENERATING and GENERATING.

A temporary failure is retried as in RETRIEVING; a final one becomes the result of the tool call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, messages_to_dict
from langchain_core.tools import StructuredTool
from langgraph.runtime import Runtime

from nodes.error import translate_errors
from nodes.turn import (
    DEFAULT_RETRIES,
    RetrySettings,
    Update,
    emit_phase,
    exchange_of,
    filter_of_run,
    links_of,
    parts_of_run,
)
from rag.book import SearchFilter
from rag.errors import AskbookError
from rag.ports import Parts, PartsOf
from rag.profiles.schema import ToolSection
from rag.prompt.prompts import (
    estimate_tokens,
    exchange_text,
    fixed_text,
    least_worth,
    passages_cost,
    passages_in_results,
    room_for_result,
)
from rag.prompt.tool import (
    CALLS_A_ROUND,
    SearchArguments,
    failed_answer,
    read_arguments,
    refused_answer,
    tool_answer,
    tool_schema,
)
from rag.search.retriever import search
from rag.types import Passage, Retrieval
from state import AgentState, Context

WillRetry = Callable[[AskbookError], bool]  # whether LangGraph will retry the node after this failure


async def tools(
    state: AgentState, runtime: Runtime[Context], *, parts_of: PartsOf, retries: RetrySettings = DEFAULT_RETRIES
) -> Update:
    """The node `tools`. Every call gets a tool message; for an invalid call it is an error message.

    Raises `AskbookError` if a search fails and LangGraph will retry the node, which repeats all calls of the round.
    """
    with translate_errors("tools", runtime, retries):
        emit_phase(runtime, "RETRIEVING", "tool_call_needed")
        info = runtime.execution_info  # absent when the node is called outside a graph, where nothing retries
        attempt = info.node_attempt if info is not None else retries.max_attempts
        will_retry = partial(retries.tries_again, attempt=attempt)
        update = await _answer_calls(parts_of_run(runtime, parts_of), state, filter_of_run(runtime), will_retry)
        links = links_of(Passage.model_validate(passage) for passage in update["passages"])
        for record in update["retrievals"][len(state.get("retrievals", [])) :]:
            runtime.stream_writer({"type": "retrieval", **record, "links": links})
        return update


async def _answer_calls(parts: Parts, state: AgentState, where: SearchFilter | None, will_retry: WillRetry) -> Update:
    exchange = exchange_of(state)
    passages = [Passage.model_validate(data) for data in state.get("passages", [])]
    turn = state.get("turn")
    question = turn["question"] if turn else ""
    records: list[dict[str, Any]] = []
    for position, call in enumerate(_calls(exchange)):
        problem = call.get("error", "")
        if position >= CALLS_A_ROUND:
            problem = problem or f"At most {CALLS_A_ROUND} searches at once."
        room = room_for_result(
            parts.profile.model.context_window, fixed_text(parts.profile), question, exchange_text(exchange)
        )
        context = _CallContext(passages, passages_in_results(exchange), room, where, will_retry)
        result = await _run_call(parts, call, context, problem)
        passages = result.passages
        if result.record:
            records.append(result.record.model_dump(mode="json"))
        exchange.append(
            ToolMessage(result.content, tool_call_id=call["id"] or "", name=call["name"], artifact=result.numbers)
        )
    return {
        "phase": "GENERATING",
        "exchange": messages_to_dict(exchange),
        "passages": [passage.model_dump(mode="json") for passage in passages],
        "retrievals": state.get("retrievals", []) + records,
    }


def _calls(exchange: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """The calls of the model's last message. A call whose arguments are not JSON has an `error`."""
    last = exchange[-1] if exchange else None
    if not isinstance(last, AIMessage):
        return []
    broken = [{**call, "error": "The arguments are not valid JSON."} for call in last.invalid_tool_calls]
    return [*(dict(call) for call in last.tool_calls), *broken]


class _CallContext(NamedTuple):
    """What a tool call is answered with: the turn's `passages`, the numbers of those in earlier results, and the tokens
    that the result may have (`room`).
    """

    passages: list[Passage]
    in_results: set[int]
    room: int
    where: SearchFilter | None
    will_retry: WillRetry


class _Result(NamedTuple):
    """The tool message of one call, the numbers of the passages whose text is in it, all passages of the turn after it,
    and the retrieval's record.
    """

    content: str
    numbers: list[int]
    passages: list[Passage]
    record: Retrieval | None


async def _run_call(parts: Parts, call: Mapping[str, Any], context: _CallContext, problem: str) -> _Result:
    """Answer one call: with the profile's error answer if it has a `problem`, else by a run of a LangChain tool."""
    tool = parts.profile.tool or ToolSection()
    if call["name"] != tool.name:
        problem = problem or f"There is no tool {str(call['name'])[:64]!r}; there is {tool.name}"
    asked = problem or read_arguments(tool, call["args"])
    if isinstance(asked, str):
        return _Result(refused_answer(tool, call["args"], asked), [], context.passages, None)

    async def run(**_arguments: Any) -> tuple[str, _Result]:
        result = await _search_for_model(parts, tool, asked, context)
        return result.content, result

    named = StructuredTool.from_function(
        coroutine=run,
        name=tool.name,
        description=tool.description,
        args_schema=tool_schema(tool)["function"]["parameters"],
        response_format="content_and_artifact",
    )
    message: ToolMessage = await named.ainvoke({**call, "type": "tool_call"})
    result: _Result = message.artifact
    return result


async def _search_for_model(parts: Parts, tool: ToolSection, asked: SearchArguments, context: _CallContext) -> _Result:
    """Search for the model. New passages are appended to those of the turn and numbered on.

    A passage that was found before keeps its number and the higher score; the result has the score of this search. The
    model may raise the score threshold, not lower it.
    """
    retrieval = parts.profile.retrieval
    threshold = max(asked.score_threshold or 0.0, retrieval.score_threshold)
    try:
        found = await search(
            parts.retriever, asked.query, k=asked.top_k or retrieval.top_k, threshold=threshold, where=context.where
        )
    except AskbookError as failure:
        if context.will_retry(failure):
            raise
        return _Result(failed_answer(tool, asked.query, failure), [], context.passages, None)
    numbered = {passage.chunk_id: passage for passage in context.passages}
    results = []
    for passage in found.passages:
        known = numbered.get(passage.chunk_id) or passage.model_copy(update={"number": len(numbered) + 1})
        numbered[passage.chunk_id] = known.model_copy(update={"score": max(known.score, passage.score)})
        results.append(known.model_copy(update={"score": passage.score}))
    content, numbers = _fitted_content(tool, results, context, found.retrieval)
    return _Result(content, numbers, list(numbered.values()), found.retrieval)


def _fitted_content(
    tool: ToolSection, found: list[Passage], context: _CallContext, record: Retrieval
) -> tuple[str, list[int]]:
    """The tool message, and the numbers of the passages whose text is in it.

    The message has as many passages as fit. A passage of an earlier result is named without its text. Passages
    that do not fit alone are dropped first, then those with the lowest score.
    """
    seen = len(context.passages)
    # A JSON result repeats the text of passages that stand before the question.
    known = context.in_results if tool.result else set(range(seen + 1))
    given = {n: {"text": f"Already given as [{n}]."} for n in known} if tool.result else {}
    sent = {passage.number: passage.model_copy(update=given.get(passage.number)) for passage in found}
    kept = [passage for passage in found if passages_cost([sent[passage.number]]) <= context.room]
    while True:
        texts = [sent[passage.number] for passage in kept]
        content = tool_answer(tool, texts, seen, record)
        if not kept or estimate_tokens(content) <= context.room:
            break
        kept.remove(least_worth(kept))
    if found and not kept:
        problem = "The context window has no room for more passages. Answer from those you have."
        content = refused_answer(tool, {}, problem)
    return content, [passage.number for passage in kept if passage.number not in known]
