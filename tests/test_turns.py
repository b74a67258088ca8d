"""The conversation: what may be asked, what is remembered, what later turns may know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from rag.conversation.turns import (
    check_question,
    failed_response,
    history,
    messages_from_json,
    response_metadata,
    turns,
    unknown_thread,
)
from rag.errors import AskbookError, InvalidQuestionError, UsageError
from rag.types import AnsweredQuestion, Response


def response(**fields: Any) -> Response:
    values: dict[str, Any] = {
        "request_id": "r", "thread_id": "t", "turn_number": 1, "status": "success", "profile": "default", "model": "m",
        "content": "Yes [1].\n\n---\nfooter", "plain_content": "Yes [1].",
    }  # fmt: skip
    return Response(**(values | fields))


def answer(question: str = "Really?", **fields: Any) -> AIMessage:
    made = response(**fields)
    return AIMessage(made.content, id=made.id, response_metadata=response_metadata(made, question, made.created_at))


# --- questions ------------------------------------------------------------------------------------------------------


def test_white_space_around_a_question_does_not_count() -> None:
    assert check_question("  Why?\n", 4) == "Why?"


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_an_empty_question_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        check_question(text, 10)
    assert caught.value.code == "empty_question"


def test_a_question_may_be_as_long_as_the_limit() -> None:
    assert len(check_question("x" * 2000, 2000)) == 2000


def test_a_longer_question_is_refused_with_both_numbers() -> None:
    with pytest.raises(InvalidQuestionError, match="has 2,001 characters; at most 2,000 are allowed"):
        check_question("x" * 2001, 2000)


def test_a_question_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        check_question(b"caf\xe9".decode("utf-8", "surrogateescape"), 100)
    assert caught.value.code == "not_text"


def test_length_is_counted_in_code_points() -> None:
    assert check_question("日" * 10, 10)


# --- what later turns may know --------------------------------------------------------------------------------------


def test_the_history_pairs_questions_with_answers() -> None:
    assert history([HumanMessage("Really?"), answer()]) == [AnsweredQuestion("Really?", "Yes.")]


def test_earlier_answers_go_without_their_markers() -> None:
    said = AIMessage("Yes [1]. `a[2]` no [3, 4].")
    assert history([HumanMessage("First?"), said]) == [AnsweredQuestion("First?", "Yes. `a[2]` no.")]


def test_an_answer_of_markers_alone_says_nothing() -> None:
    assert history([HumanMessage("Q"), AIMessage("[1]")]) == [AnsweredQuestion("Q", "")]


def test_the_history_holds_the_plain_answer_without_its_footer() -> None:
    assert "footer" not in history([HumanMessage("Really?"), answer()])[0].answer


@pytest.mark.parametrize("status", ["fallback", "error"])
def test_refusals_and_errors_stay_out_of_the_history(status: str) -> None:
    assert history([HumanMessage("Really?"), answer(status=status)]) == []


def test_a_question_that_was_never_answered_stays_out_of_the_history() -> None:
    assert history([HumanMessage("Lost?"), HumanMessage("Really?"), answer()]) == [AnsweredQuestion("Really?", "Yes.")]


def test_messages_of_a_caller_are_paired_as_they_stand() -> None:
    messages = [SystemMessage("Be kind."), HumanMessage("Q"), AIMessage("A"), AIMessage("B")]
    assert history(messages) == [AnsweredQuestion("Q", "A")]


def test_an_empty_answer_is_none() -> None:
    assert history([HumanMessage("Q"), AIMessage("")]) == []


# --- what is remembered ---------------------------------------------------------------------------------------------


def test_a_turn_is_read_back_from_the_answer() -> None:
    (turn,) = turns([HumanMessage("Really?"), answer()])
    assert (turn["question"], turn["plain_content"], turn["status"]) == ("Really?", "Yes [1].", "success")
    assert turn["citations"] == []


def test_an_unfinished_turn_is_none() -> None:
    assert turns([HumanMessage("Really?")]) == []


def test_a_message_of_somebody_else_is_no_turn() -> None:
    assert turns([HumanMessage("Q"), AIMessage("A")]) == []


def test_what_is_remembered_is_plain_data() -> None:
    data = answer().response_metadata
    assert json.loads(json.dumps(data)) == data


def test_a_failed_response_says_the_fixed_sentence() -> None:
    failure = AskbookError("rate_limit", "rate_limit", "It answered 429.", retry_after=2.2)
    made = failed_response(failure, profile="default", thread_id="t", turn_number=3, metadata={"a": 1})
    assert made.content == "The service is busy. Please wait 3 seconds and try again."
    assert (made.status, made.processing_state, made.turn_number, made.metadata) == ("error", "failed", 3, {"a": 1})


def test_an_unknown_conversation_is_named() -> None:
    assert '"nope"' in unknown_thread("nope").message
    assert unknown_thread("nope").code == "unknown_thread"


# --- a history from outside -----------------------------------------------------------------------------------------


def test_a_history_in_json_becomes_messages() -> None:
    data = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    assert history(messages_from_json(data)) == [AnsweredQuestion("q", "a")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "not a JSON list"),
        ("text", "not a JSON list"),
        ([1], "Message 1 of the history has no text"),
        ([{"role": "user", "content": "q"}, {"role": "user"}], "Message 2 of the history has no text"),
        ([{"role": "user", "content": ["q"]}], "has no text"),
        ([{"role": "wizard", "content": "q"}], 'has the role "wizard"'),
        ([{"content": "q"}], "has the role"),
    ],
)
def test_a_history_of_another_shape_is_refused(data: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        messages_from_json(data)
