"""The profile option `followup = "rewrite"`: one more query from the model, and a turn that never depends on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.types import TimeoutPolicy

from graph import build
from rag.answer.render import WORDS_ONLY
from rag.errors import AskbookError
from rag.profiles.profile import Profile, load_profile
from tests.fakes import ScriptedModel
from tests.machine import ANSWER, Machine

REWRITE = "How do I start a node?"
ASKED = "How do I start one?"


def rewriting() -> Profile:
    profile = load_profile("default")
    return profile.model_copy(update={"retrieval": profile.retrieval.model_copy(update={"followup": "rewrite"})})


async def after_a_first_turn(*script: Any, **more: Any) -> Machine:
    machine = Machine(ANSWER, *script, profile=rewriting(), **more)
    await machine.ask("What is a node?")
    return machine


async def test_the_rewrite_is_searched_beside_the_question() -> None:
    machine = await after_a_first_turn(REWRITE, ANSWER)
    response = await machine.ask(ASKED)
    assert ([asked[0] for asked in machine.searcher.asked], machine.searcher.rewrites) == (
        ["What is a node?", ASKED],
        ["", REWRITE],
    )
    assert (response.status, response.llm_calls, response.notices) == ("success", 2, [WORDS_ONLY])
    assert response.retrievals[0].query == ASKED


async def test_nothing_of_the_rewrite_is_shown_or_kept_as_an_answer() -> None:
    machine = await after_a_first_turn(REWRITE, ANSWER)
    response = await machine.ask(ASKED)
    assert machine.shown == response.content
    assert REWRITE not in " ".join(await machine.contents())
    assert REWRITE not in machine.prompt()


async def test_its_tokens_are_the_turns() -> None:
    counted = AIMessageChunk(
        content=REWRITE, usage_metadata={"input_tokens": 100, "output_tokens": 9, "total_tokens": 109}
    )
    answered = AIMessageChunk(
        content=ANSWER, usage_metadata={"input_tokens": 200, "output_tokens": 5, "total_tokens": 205}
    )
    machine = await after_a_first_turn([counted], [answered])
    used = (await machine.ask(ASKED)).tokens_used
    assert (used.input, used.output, used.total, used.estimated) == (300, 14, 314, False)


async def test_a_turn_that_then_finds_nothing_still_counts_it() -> None:
    machine = await after_a_first_turn(REWRITE)
    machine.searcher.passages = []
    response = await machine.ask(ASKED)
    assert (response.fallback_reason, response.llm_calls) == ("no_passage", 1)
    assert response.tokens_used.total > 0


@pytest.mark.parametrize("question", ["What is a node?", "Hello!"])
async def test_a_first_question_and_a_greeting_are_not_rewritten(question: str) -> None:
    machine = Machine(*([ANSWER] if question != "Hello!" else []), profile=rewriting())
    await machine.ask(question)
    machine.model.assert_complete()
    assert "rewrite" not in machine.searcher.rewrites


async def test_a_greeting_later_on_is_not_rewritten_either() -> None:
    machine = await after_a_first_turn()
    assert (await machine.ask("Thanks!")).fallback_reason == "smalltalk"


async def test_after_refusals_alone_there_is_nothing_to_rewrite_with() -> None:
    machine = Machine(ANSWER, profile=rewriting(), passages=[])
    await machine.ask("Who won the cup?")
    await machine.ask("And before that?")
    assert machine.model.prompts == []


async def test_without_a_model_there_is_no_rewrite() -> None:
    machine = Machine(profile=rewriting(), quotes=True)
    await machine.ask("What is a node?")
    await machine.ask(ASKED)
    assert machine.searcher.rewrites == ["", ""]


async def test_the_default_profile_fuses_without_a_model_call() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.ask("What is a node?")
    assert (await machine.ask(ASKED)).llm_calls == 1


@pytest.mark.parametrize("written", ["A node is started with ros2 run.", "One?\nTwo?", "x" * 500 + "?"])
async def test_what_is_no_single_question_is_not_searched_and_the_turn_says_so(written: str) -> None:
    machine = await after_a_first_turn(written, ANSWER)
    response = await machine.ask(ASKED)
    assert (response.status, machine.searcher.rewrites[-1]) == ("success", "")
    said = "The model did not rewrite the question (no_question), so it was searched as typed."
    assert response.notices == [said, WORDS_ONLY]


FAILURES = [
    AskbookError("api_error", "server_error", "It answered 500.", retryable=True),
    AskbookError("rate_limit", "rate_limit", "It answered 429.", retryable=True, retry_after=20),
    AskbookError("api_error", "internal", "rewrite raised KeyError."),
    KeyError("a bug"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
async def test_a_call_that_fails_is_made_once_and_the_search_goes_on_without(failure: Exception) -> None:
    machine = await after_a_first_turn(failure, ANSWER)
    response = await machine.ask(ASKED)
    assert (response.status, machine.searcher.rewrites[-1], response.llm_calls) == ("success", "", 1)
    said, *others = response.notices
    assert said.startswith("The model did not rewrite the question (")
    assert others == [WORDS_ONLY]
    assert "waiting" not in machine.types
    machine.model.assert_complete()


async def test_a_wrong_key_is_told_by_the_call_that_answers() -> None:
    refused = AskbookError("auth_error", "wrong_key", "It answered 401.")
    machine = await after_a_first_turn(refused, refused)
    response = await machine.ask(ASKED)
    assert response.error is not None
    assert (response.error.code, response.status) == ("wrong_key", "error")
    assert await machine.is_at_rest()


class Slow(ScriptedModel):
    """Says nothing for a minute where its script holds None."""

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        if self.script[0] is None:
            self.script.pop(0)
            await asyncio.sleep(60)
        async for chunk in super()._astream(messages, *args, **kwargs):
            yield chunk


async def test_a_slow_model_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "REWRITE_TIMEOUT", TimeoutPolicy(run_timeout=timedelta(milliseconds=30)))
    machine = Machine(profile=rewriting())
    machine.services.model = Slow(script=[ANSWER, None, ANSWER])
    await machine.ask("What is a node?")
    response = await machine.ask(ASKED)
    assert response.status == "success"
    said = "The model did not rewrite the question (timeout), so it was searched as typed."
    assert response.notices == [said, WORDS_ONLY]
