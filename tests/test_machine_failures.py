"""The machine when something fails: what is retried, what is told, and that the thread goes on."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph.storage import thread_config
from rag.errors import USER_MESSAGES, RetrievalError
from state import EMPTY_TURN, Context, InputState
from tests.fakes import final, passing, tool_call
from tests.machine import ANSWER, Machine
from tests.stage import limited

# --- retries --------------------------------------------------------------------------------------------------------


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    machine = Machine(passing(), passing(), ANSWER)
    assert (await machine.ask("What is a node?")).status == "success"
    assert len(machine.model.prompts) == 3


async def test_three_failures_in_a_row_are_told() -> None:
    machine = Machine(passing(), passing(), passing())
    response = await machine.ask("What is a node?")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("api_error", "server_error")
    machine.model.assert_complete()


async def test_a_failure_that_will_not_pass_is_told_at_once() -> None:
    machine = Machine(final())
    response = await machine.ask("What is a node?")
    assert response.error is not None
    assert response.error.error_type == "auth_error"
    assert len(machine.model.prompts) == 1


async def test_a_search_that_may_pass_is_tried_again() -> None:
    machine = Machine(ANSWER, failures=[RetrievalError("unreachable", "Away.", retryable=True)])
    assert (await machine.ask("What is a node?")).status == "success"
    assert len(machine.searcher.asked) == 2


async def test_a_search_that_fails_is_an_error_and_not_a_refusal() -> None:
    machine = Machine(failures=[RetrievalError("broken", "The index is broken.")])
    response = await machine.ask("What is a node?")
    assert (response.status, response.fallback_reason) == ("error", None)
    assert response.content == USER_MESSAGES["retrieval_error"]


async def test_a_failure_after_a_shown_sentence_withdraws_it_and_is_not_tried_again() -> None:
    machine = Machine(["A node is a process [1]. And ", passing()])
    response = await machine.ask("What is a node?")
    assert machine.types == ["retrieval", "sentence", "retract"]
    assert (response.status, len(machine.model.prompts)) == ("error", 1)


async def test_a_failure_before_a_sentence_was_shown_withdraws_nothing() -> None:
    machine = Machine(["A node is", passing()], ANSWER)
    response = await machine.ask("What is a node?")
    assert machine.types == ["retrieval", "sentence", "sentence"]
    assert machine.shown == response.content


async def test_a_bug_is_told_as_one_without_its_text() -> None:
    machine = Machine(failures=[KeyError("sk-canary")])
    response = await machine.ask("What is a node?")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("retrieval_error", "internal")
    assert "canary" not in response.model_dump_json()


# --- a failed turn --------------------------------------------------------------------------------------------------


async def test_a_failed_turn_passes_through_error_and_comes_to_rest() -> None:
    machine = Machine(final())
    response = await machine.ask("What is a node?")
    assert machine.phases == ["RETRIEVING", "GENERATING", "ERROR", "IDLE"]
    assert (response.phase, response.processing_state) == ("IDLE", "failed")
    assert await machine.is_at_rest()


async def test_the_question_of_a_failed_turn_is_not_lost() -> None:
    machine = Machine(final())
    await machine.ask("What is a node?")
    assert await machine.contents() == ["What is a node?", USER_MESSAGES["auth_error"]]


async def test_the_next_prompt_does_not_contain_the_failed_turn() -> None:
    machine = Machine(final(), ANSWER)
    await machine.ask("What is a wreck?")
    assert (await machine.ask("What is a node?")).status == "success"
    assert [message.type for message in machine.model.prompts[1]] == ["system", "human"]
    assert "wreck" not in machine.prompt()
    assert machine.searcher.asked[1][4] == []


async def test_a_failed_turn_is_a_turn_and_the_next_is_numbered_on() -> None:
    machine = Machine(final(), ANSWER)
    numbers = [(await machine.ask("What is a node?")).turn_number for _ in range(2)]
    assert numbers == [1, 2]


async def test_a_failed_turn_leaves_nothing_on_the_board() -> None:
    machine = Machine([tool_call()], final())
    await machine.ask("What is a node?")
    state = await machine.state()
    assert {name: state.get(name) for name in EMPTY_TURN if name != "response"} == {
        name: value for name, value in EMPTY_TURN.items() if name != "response"
    }


async def test_a_failure_behind_a_tool_call_leaves_no_call_without_its_answer() -> None:
    machine = Machine([tool_call()], final(), ANSWER)
    await machine.ask("What is a node?")
    assert (await machine.ask("And now?")).status == "success"
    assert [message.type for message in machine.model.prompts[2]] == ["system", "human"]


async def test_a_failed_search_of_the_model_is_no_failed_turn() -> None:
    machine = Machine([tool_call()], ANSWER)
    machine.searcher.failures = []
    first = machine.searcher.retrieve

    async def fails_the_second_time(*args: Any, **kwargs: Any) -> Any:
        if machine.searcher.asked:
            raise RetrievalError("unreachable", "Away.")
        return await first(*args, **kwargs)

    machine.searcher.retrieve = fails_the_second_time  # type: ignore[method-assign]  # one search works, one does not
    assert (await machine.ask("What is a node?")).status == "success"
    assert machine.model.prompts[1][-1].text == USER_MESSAGES["retrieval_error"]


# --- questions that are turned away ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "code"), [("", "empty_question"), (" \n", "empty_question"), ("x" * 2001, "question_too_long")]
)
async def test_an_invalid_question_is_answered_and_leaves_no_trace(question: str, code: str) -> None:
    machine = Machine()
    response = await machine.ask(question)
    assert response.error is not None
    assert (response.error.code, response.turn_number) == (code, 1)
    assert machine.phases == ["ERROR", "IDLE"]
    assert await machine.contents() == []


async def test_an_invalid_question_between_two_others_leaves_no_trace() -> None:
    machine = Machine(ANSWER, ANSWER)
    first = await machine.ask("What is a node?")
    await machine.ask("")
    second = await machine.ask("And then?")
    assert await machine.contents() == ["What is a node?", first.content, "And then?", second.content]
    assert second.turn_number == 2


async def test_a_question_beyond_the_turn_limit_is_told_so_and_joins_nothing() -> None:
    machine = Machine(ANSWER, profile=limited(max_turns=1))
    first = await machine.ask("What is a node?")
    response = await machine.ask("And then?")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("context_overflow", "turn_limit")
    assert response.content == response.error.user_message
    assert await machine.contents() == ["What is a node?", first.content]


async def test_an_unknown_profile_is_an_error_turn() -> None:
    machine = Machine(ANSWER)
    response = await machine.ask("What is a node?", Context(profile="nobody"))
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("invalid_input", "unknown_profile")
    assert (await machine.ask("What is a node?")).turn_number == 1


@pytest.mark.parametrize("context", ["x", 7, ["profile"]])
async def test_a_context_of_another_kind_is_invalid_input_in_one_line(context: Any) -> None:
    machine = Machine()
    values = await machine.graph.ainvoke(
        InputState(messages=[HumanMessage("What is a node?")]), thread_config("t"), context=context
    )
    error = values["response"]["error"]
    assert (error["error_type"], error["code"]) == ("invalid_input", "invalid_option")
    assert error["message"] == f"The context of the run is of the type {type(context).__name__}."
    assert await machine.is_at_rest()


async def test_no_message_at_all_is_an_error_turn() -> None:
    machine = Machine()
    values = await machine.graph.ainvoke(InputState(messages=[]), thread_config("t"))
    assert values["response"]["error"]["code"] == "no_question"
    assert values["messages"] == []


async def test_what_a_foreign_exception_says_is_neither_stored_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(failures=[KeyError("key sk-canary")])
    response = await machine.ask("What is a node?", thread="t")
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("retrieval_error", "internal")
    writes = [str(found.pending_writes) async for found in machine.memory.database.saver.alist(thread_config("t"))]
    assert any("__error__" in one for one in writes)
    assert "canary" not in "".join(writes) + caplog.text
    assert "RETRIEVING raised KeyError" in caplog.text
