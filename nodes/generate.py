"""GENERATING: the model, or without one the book itself, answers from the passages; a model may ask for another search.

The model's raw text is never streamed. Each sentence is written to the stream after its citations are resolved and
checked. `nodes.model_call` calls the model; `rag.quoting` quotes the book.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, messages_to_dict
from langgraph.runtime import Runtime

from nodes.archive import older_turns
from nodes.error import translate_errors
from nodes.judge import AnswerJudge
from nodes.model_call import ModelRequest, call_model, empty_answer, tokens_used, was_truncated
from nodes.turn import (
    DEFAULT_RETRIES,
    RetrySettings,
    Update,
    emit_phase,
    emit_sentence,
    exchange_of,
    parts_of_run,
    require_turn,
    with_notice,
)
from rag.answer.judge import GIVEN_UP
from rag.answer.render import WORDS_ONLY, closest_sections
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.conversation.turns import history
from rag.model.received_answer import FIELDS
from rag.ports import Parts, PartsOf, Quoter
from rag.prompt.prompts import Fitted, build_prompt, exchange_text, fit, fixed_text, passages_in_results
from rag.text.talk import is_small_talk
from rag.types import CUT_OFF, Grounding, Passage, Tokens, ToolCall
from state import AgentState, Context, Draft, Turn

# What endpoints want back with a tool call: their own fields, and of Gemini's package the signatures of the calls.
_RETURNED: Final = frozenset({FIELDS, "__gemini_function_call_thought_signatures__"})


@dataclass
class _StreamedAnswer:
    """An answer while it streams: its writer, its judge, and when its first sentence was shown."""

    writer: AnswerWriter
    emit_sentence: Callable[[str, Mapping[str, str]], None]
    emit: Callable[[Any], None]
    judge: AnswerJudge | None
    began: float = field(default_factory=time.time)
    first_shown: float | None = None

    async def feed(self, text: str) -> None:
        self.show(self.writer.feed(text))
        self._ask()

    def _ask(self) -> None:
        """Send the judge the sentences that it is to read now, and write a `checking` event with their number."""
        claims = self.writer.take_claims() if self.judge else {}
        if self.judge and claims:
            self.emit({"type": "checking", "sentences": len(claims)})
            self.judge.ask(claims, self.show_judged)

    async def close(self, *, cut: bool) -> None:
        """Check and show the rest of a finished answer. Raises `AskbookError` when it has no words."""
        self.show(self.writer.end_input(cut=cut))
        if self.writer.wordless:
            raise empty_answer(cut=cut)
        if self.judge:
            self._ask()
            await self.judge.finish()
        self.show(self.writer.close())

    def show_judged(self, verdicts: Mapping[int, bool | None], failed: bool) -> None:
        """Apply the judge's verdicts, while the answer streams, and show the sentences that waited only for them."""
        self.show(self.writer.apply_verdicts(verdicts, failed=failed))

    def show(self, pieces: Sequence[str]) -> None:
        for piece in pieces:
            self.first_shown = self.first_shown or time.time()
            self.emit_sentence(piece, self.writer.shown.links)

    def retract(self) -> None:
        """Withdraw what was shown, since the turn continues with a search or an error."""
        if self.first_shown is not None:
            self.emit({"type": "retract"})


async def generate(
    state: AgentState, runtime: Runtime[Context], *, parts_of: PartsOf, retries: RetrySettings = DEFAULT_RETRIES
) -> Update:
    """The node `GENERATING`. Raises `AskbookError` when the model fails, without a retry once a sentence was shown."""
    with translate_errors("GENERATING", runtime, retries):
        turn = require_turn(state, "answer")
        emit_phase(runtime, "GENERATING", "tool_executed" if state.get("exchange") else "processing")
        parts = parts_of_run(runtime, parts_of)
        if state.get("passages"):
            return await _answer(parts, state, turn, runtime, retries)
        draft = _fixed(parts, "smalltalk" if is_small_talk(turn["question"]) else "no_passage")
        emit_sentence(runtime, turn, draft["content"])
        return {"phase": "IDLE", "draft": draft | {"tokens_used": _tokens_before(state).model_dump()}}


class _Reply(NamedTuple):
    """What came with the text of an answer. `search_request` is the model's message if it asks for searches."""

    tokens: Tokens = Tokens()
    llm_calls: int = 0
    cut: bool = False
    search_request: AIMessage | None = None


async def _answer(
    parts: Parts, state: AgentState, turn: Turn, runtime: Runtime[Context], retries: RetrySettings
) -> Update:
    """Stream the checked sentences of an answer. Returns its draft, or the searches that the model asks for."""
    fitted = await _fit(parts, state, turn["question"], runtime)
    unreadable = state.get("unreadable", 0)
    judged = parts.judged and unreadable < GIVEN_UP
    judge = AnswerJudge(parts, fitted.passages, retries, turn["model"], unreadable) if judged else None
    writer = AnswerWriter(fitted.passages, _answer_options(parts, turn["question"], judged=judged))
    answer = _StreamedAnswer(writer, partial(emit_sentence, runtime, turn), runtime.stream_writer, judge)
    try:
        if parts.quoter is not None:
            reply = await _quote(parts.quoter, turn["question"], fitted, answer)
        else:
            reply = await _ask_model(parts, state, turn, fitted, answer)
        search_request = reply.search_request if _may_search(parts, state) else None
        draft = Draft() if search_request else await _finish(parts, answer, reply, turn)
    finally:
        if judge:  # stop its calls also if the answer failed, was cancelled or is replaced by a search
            judge.cancel()
    tokens = _tokens_before(state) + reply.tokens
    draft["tokens_used"] = (tokens + judge.tokens if judge else tokens).model_dump()
    calls = state.get("llm_calls", 0) + reply.llm_calls + (judge.llm_calls if judge else 0)
    if search_request:
        answer.retract()
        return _another_search(state, search_request) | {"llm_calls": calls, "draft": draft}
    return {
        "phase": "IDLE",
        "turn": with_notice(turn, CUT_OFF) if reply.cut else turn,
        "llm_calls": calls,
        "passages": [passage.model_dump(mode="json") for passage in fitted.passages],
        "draft": draft,
        "unreadable": judge.unreadable if judge else unreadable,
    }


async def _quote(quoter: Quoter, question: str, fitted: Fitted, answer: _StreamedAnswer) -> _Reply:
    """Show what the book itself answers. That is computed in a thread."""
    for piece in await asyncio.to_thread(quoter.quote, question, fitted.passages, fitted.history):
        await answer.feed(piece)
        await asyncio.sleep(0)  # let other conversations go on
    return _Reply()


async def _ask_model(parts: Parts, state: AgentState, turn: Turn, fitted: Fitted, answer: _StreamedAnswer) -> _Reply:
    """Show what the model answers, as it arrives."""
    prompt = build_prompt(parts.profile, turn["question"], fitted.passages, fitted.history, exchange_of(state))
    call = ModelRequest(prompt, fitted.answer_tokens, _may_search(parts, state), turn["model"])
    message = await call_model(parts, call, answer)
    search_request = message if message.tool_calls or message.invalid_tool_calls else None
    return _Reply(tokens_used(prompt, message), 1, was_truncated(message), search_request)


def _may_search(parts: Parts, state: AgentState) -> bool:
    """Whether the model may ask for another search. It has searched once for each of its messages in this turn."""
    rounds = sum(isinstance(message, AIMessage) for message in exchange_of(state))
    return rounds < (parts.profile.tool.max_rounds if parts.profile.tool else 0)


def _tokens_before(state: AgentState) -> Tokens:
    """The tokens that the turn's earlier calls used."""
    return Tokens.model_validate((state.get("draft") or {}).get("tokens_used") or {})


def _answer_options(parts: Parts, question: str, *, judged: bool) -> AnswerOptions:
    answer = parts.profile.answer
    return AnswerOptions(
        refusal=answer.refusal,
        smalltalk=answer.smalltalk,
        style=answer.citation_style,
        footer=answer.footer,
        mode="off" if parts.quotes else answer.grounding,  # what the book itself says needs no check
        question=question,
        judged=judged,
    )


async def _fit(parts: Parts, state: AgentState, question: str, runtime: Runtime[Context]) -> Fitted:
    """The passages and earlier turns that fit into the window with the rest of the prompt.

    Passages in the tool results are in the prompt already, so they stay.
    """
    profile, exchange = parts.profile, exchange_of(state)
    passages = [Passage.model_validate(data) for data in state.get("passages", [])]
    newer = history(state.get("messages", [])[:-1])
    stay = passages_in_results(exchange)
    fitted = fit(
        window=profile.model.context_window,
        max_tokens=profile.model.max_tokens,
        system=fixed_text(profile) + exchange_text(exchange),
        question=question,
        history=[*await older_turns(state, runtime, parts, newer), *newer],
        passages=[passage for passage in passages if passage.number not in stay],
        budget=profile.budget,
        enough=bool(stay),
    )
    kept = stay | {passage.number for passage in fitted.passages}
    return fitted._replace(passages=[passage for passage in passages if passage.number in kept])


def _another_search(state: AgentState, message: AIMessage) -> Update:
    # Small servers send calls without an id, and the answers need one to refer to.
    named: list[Any] = [
        {**call, "id": call["id"] or f"call-{n}"}
        for n, call in enumerate([*message.tool_calls, *message.invalid_tool_calls], start=1)
    ]
    good = len(message.tool_calls)
    # Without the text beside the calls: the state is streamed, and that text is not checked.
    kept = {name: value for name, value in message.additional_kwargs.items() if name in _RETURNED}
    blocks = [block for block in message.content if isinstance(block, dict) and block.get("type") != "text"]
    content: Any = blocks or ""  # thoughts as Anthropic's package has them
    asked = AIMessage(content=content, tool_calls=named[:good], invalid_tool_calls=named[good:], additional_kwargs=kept)
    wanted = [ToolCall(name=call["name"], args=call["args"]).model_dump(mode="json") for call in message.tool_calls]
    return {
        "phase": "RETRIEVING",
        "exchange": [*state.get("exchange", []), *messages_to_dict([asked])],
        "tool_calls": [*state.get("tool_calls", []), *wanted],
    }


async def _finish(parts: Parts, answer: _StreamedAnswer, reply: _Reply, turn: Turn) -> Draft:
    """The draft of the finished answer; a fallback if the model refused, made small talk, or nothing can be shown."""
    writer = answer.writer
    await answer.close(cut=reply.cut)
    shown, reason = writer.shown, writer.fallback
    draft = Draft(
        status="fallback" if reason else "success",
        fallback_reason=reason,
        content=shown.content,
        plain_content=shown.plain,
        citations=[citation.model_dump(mode="json") for citation in shown.citations],
    )
    if reason in ("unconfirmed", "model_refused"):
        closest = closest_sections(writer.passages, turn["question"])
        draft["closest"] = [section.model_dump(mode="json") for section in closest]
    writer.grounding.judge = answer.judge.totals if answer.judge else None
    said = writer.notices  # of the mode that it was written in: a quoted answer has no marks
    writer.grounding.mode = parts.profile.answer.grounding
    draft["grounding"] = writer.grounding.model_dump()
    by_words = not (answer.judge or parts.quotes or reason or writer.grounding.mode == "off")
    draft["notices"] = [
        *said,
        *(answer.judge.notices if answer.judge else []),
        *([WORDS_ONLY] if by_words else []),
    ]
    first = round((answer.first_shown - turn["began"]) * 1000, 1) if answer.first_shown else None
    draft["timings_ms"] = {"first_token": first, "generation": round((time.time() - answer.began) * 1000, 1)}
    return draft


def _fixed(parts: Parts, reason: str, sentence: str = "") -> Draft:
    """A fixed answer: small talk, the refusal, or the given sentence."""
    answer = parts.profile.answer
    content = sentence or (answer.smalltalk if reason == "smalltalk" else answer.refusal)
    grounding = Grounding(mode=answer.grounding).model_dump()
    return Draft(status="fallback", fallback_reason=reason, content=content, plain_content=content, grounding=grounding)
