"""GENERATING: the model answers from the passages, or asks for another search.

What the model writes reaches nobody as it stands: the call is tagged `nostream`, and the pieces go out through the
stream writer when their citations have been resolved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from nodes.error import guarded
from nodes.run import AsyncNode, Update, run_of, tell_phase
from rag.budget import Fitted, estimate_tokens, fit
from rag.citations import AnswerWriter
from rag.conversation import history
from rag.errors import AskbookError
from rag.faults import model_error
from rag.ports import Parts, PartsOf
from rag.prompts import build_prompt, system_prompt
from rag.tool import tool_schema
from rag.types import Passage, Tokens, ToolCall
from state import AgentState, Context, Draft


@dataclass
class _Call:
    """One model call as it goes: what was shown of it, and when the first of it was."""

    writer: AnswerWriter
    emit: Callable[[Any], None]
    began: float = field(default_factory=time.time)
    first_shown: float | None = None

    def show(self, pieces: Sequence[str]) -> None:
        for piece in pieces:
            self.first_shown = self.first_shown or time.time()
            self.emit({"type": "sentence", "text": piece})

    def retract(self) -> None:
        """Withdraw what was shown: the turn takes another way."""
        if self.first_shown is not None:
            self.emit({"type": "retract"})


def make_generate(parts_of: PartsOf) -> AsyncNode:
    """The node `generate`. Raises `AskbookError` when the model fails; after a shown sentence that is final."""

    async def generate(state: AgentState, runtime: Runtime[Context]) -> Update:
        turn = state.get("turn")
        if turn is None:
            raise AskbookError("invalid_input", "no_turn", "There is no open turn to answer.")
        tell_phase(runtime, "GENERATING", "tool_executed" if state.get("exchange") else "processing")
        parts = run_of(runtime, parts_of)
        passages = [Passage.model_validate(data) for data in state.get("passages", [])]
        if not passages:
            runtime.stream_writer({"type": "sentence", "text": parts.profile.answer.refusal})
            return {"phase": "IDLE", "draft": _refusal(parts, "no_passage")}
        fitted = _fit(parts, state, turn["question"], passages)
        exchange, style = state.get("exchange", []), parts.profile.answer
        prompt = build_prompt(parts.profile, turn["question"], fitted.passages, fitted.history, exchange)
        accepts = () if parts.quotes else style.accepts  # what is quoted may hold brackets of its own
        writer = AnswerWriter(
            fitted.passages, style.citation_style, style.refusal, footer=style.footer, accepts=accepts
        )
        call = _Call(writer, runtime.stream_writer)
        may_search = _rounds(state) < (parts.profile.tool.max_rounds if parts.profile.tool else 0)
        message = await _ask(parts, prompt, call, fitted.answer_tokens, may_search=may_search)
        calls = state.get("llm_calls", 0) + (not parts.quotes)
        tokens = _tokens(parts, state, prompt, message)
        if may_search and (message.tool_calls or message.invalid_tool_calls):
            call.retract()
            return _another_search(state, message) | {"llm_calls": calls, "draft": {"tokens_used": tokens}}
        return {
            "phase": "IDLE",
            "llm_calls": calls,
            "passages": [passage.model_dump(mode="json") for passage in fitted.passages],
            "draft": _finish(parts, call, turn["began"]) | {"tokens_used": tokens},
        }

    return guarded(generate, "generate")


def _fit(parts: Parts, state: AgentState, question: str, passages: list[Passage]) -> Fitted:
    """What of passages and history fits into the window beside the rest, the tool results among it."""
    said = "\n".join(str(message.content) for message in state.get("exchange", []))
    return fit(
        window=parts.profile.model.context_window,
        max_tokens=parts.profile.model.max_tokens,
        system=system_prompt(parts.profile) + said,
        question=question,
        history=history(state.get("messages", [])[:-1]),
        passages=passages,
        budget=parts.profile.budget,
    )


async def _ask(parts: Parts, prompt: list[Any], call: _Call, answer_tokens: int, *, may_search: bool) -> AIMessage:
    """One call of the model, its pieces shown as they are finished. Raises `AskbookError`."""
    config = RunnableConfig(tags=["nostream"])
    model = parts.profile.model
    # Room for an answer is kept in any case; a profile without a maximum leaves its length to the model.
    most = answer_tokens if model.max_tokens else None
    options: dict[str, Any] = {"max_tokens": most, "temperature": model.temperature}
    if may_search and parts.profile.tool and not parts.quotes:
        options["tools"] = [tool_schema(parts.profile.tool)]
    whole: AIMessageChunk | None = None
    try:
        async for chunk in parts.model.astream(prompt, config, **_given(options)):
            whole = chunk if whole is None else whole + chunk
            call.show(call.writer.feed(chunk.text))
        if whole is None or not (whole.text.strip() or whole.tool_calls or whole.invalid_tool_calls):
            raise AskbookError("api_error", "empty_answer", "The model sent an empty answer.", retryable=True)
        _check_finished(whole)
    except Exception as failure:
        error = model_error(failure)
        call.retract()
        # Tokens that were shown cannot be shown again as if nothing had been: such a call is not repeated.
        error.retryable = error.retryable and call.first_shown is None
        raise error from failure
    return whole


def _check_finished(message: AIMessage) -> None:
    """A stream that ended without a reason was cut, and what the provider's filter cut is no answer either."""
    reason = message.response_metadata.get("finish_reason")
    if reason is None:
        raise AskbookError("api_error", "stream_cut", "The model's answer broke off.", retryable=True)
    if reason == "content_filter":
        raise AskbookError("invalid_input", "content_filter", "The provider's content filter stopped the answer.")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _rounds(state: AgentState) -> int:
    """How often the model has searched in this turn."""
    return sum(isinstance(message, AIMessage) for message in state.get("exchange", []))


def _another_search(state: AgentState, message: AIMessage) -> Update:
    asked = AIMessage(
        content=message.text, tool_calls=message.tool_calls, invalid_tool_calls=message.invalid_tool_calls
    )
    wanted = [ToolCall(name=call["name"], args=call["args"]).model_dump(mode="json") for call in message.tool_calls]
    return {
        "phase": "RETRIEVING",
        "exchange": [*state.get("exchange", []), asked],
        "tool_calls": [*state.get("tool_calls", []), *wanted],
    }


def _tokens(parts: Parts, state: AgentState, prompt: list[Any], message: AIMessage) -> dict[str, Any]:
    """The turn's tokens so far, with this call's: the provider's count, or an estimate that says so."""
    before = Tokens.model_validate((state.get("draft") or {}).get("tokens_used") or {})
    usage = message.usage_metadata
    if parts.quotes:
        return before.model_dump()
    given = usage["input_tokens"] if usage else sum(estimate_tokens(m.text) for m in prompt)
    written = usage["output_tokens"] if usage else estimate_tokens(message.text)
    return Tokens(
        input=before.input + given,
        output=before.output + written,
        total=before.total + given + written,
        estimated=before.estimated or usage is None,
    ).model_dump()


def _finish(parts: Parts, call: _Call, began: float) -> Draft:
    """The draft of an answer, or of the model's own refusal."""
    call.show(call.writer.close())
    writer = call.writer
    if writer.refused:
        draft = _refusal(parts, "model_refused")
    else:
        citations = [citation.model_dump(mode="json") for citation in writer.citations.values()]
        draft = Draft(status="success", content=writer.content, plain_content=writer.plain, citations=citations)
    first = round((call.first_shown - began) * 1000, 1) if call.first_shown else None
    draft["timings_ms"] = {"first_token": first, "generation": round((time.time() - call.began) * 1000, 1)}
    return draft


def _refusal(parts: Parts, reason: str) -> Draft:
    sentence = parts.profile.answer.refusal
    return Draft(status="fallback", fallback_reason=reason, content=sentence, plain_content=sentence)
