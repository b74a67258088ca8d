"""The nodes that open, search, close and fail: how the machine works, told in rules.

A node is called directly, with a small state and a runtime that notes what the node writes to the stream. What it
returns is the update of the state. Nothing is compiled, searched or asked: search and model are fakes.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.errors import NodeError
from langgraph.graph import END

from nodes.error import error, error_draft, route_to_error, to_askbook_error
from nodes.idle import idle
from nodes.retrieve import retrieve
from rag.book import SearchFilter
from rag.errors import AskbookError, InvalidQuestionError, RetrievalError, UsageError
from state import EMPTY_TURN, AgentState, Context, Draft
from tests.fakes import FakeSearcher, passage, retrieval
from tests.stage import Stream, as_data, asked, limited, open_turn, parts_of, wanting


@pytest.fixture
def stream() -> Stream:
    return Stream()


# --- idle: a turn opens ---------------------------------------------------------------------------------------------


async def test_idle_opens_a_turn_for_the_last_message(stream: Stream) -> None:
    update = await idle(
        AgentState(messages=[HumanMessage("  What is a node? ", id="h1")]), stream.runtime, parts_of=parts_of()
    )
    assert update["phase"] == "RETRIEVING"
    assert (update["turn"]["question"], update["turn"]["request_id"]) == ("What is a node?", "h1")
    assert update["turn"]["number"] == 1
    assert "turn_number" not in update  # a turn counts when it is answered


async def test_idle_counts_the_turns(stream: Stream) -> None:
    state = AgentState(messages=[HumanMessage("Again?", id="h2")], turn_number=6)
    assert (await idle(state, stream.runtime, parts_of=parts_of()))["turn"]["number"] == 7


async def test_idle_clears_what_an_earlier_turn_left(stream: Stream) -> None:
    state = AgentState(messages=[HumanMessage("Q", id="h1")], passages=as_data(passage()), llm_calls=3)
    update = await idle(state, stream.runtime, parts_of=parts_of())
    assert {name: update[name] for name in EMPTY_TURN} == EMPTY_TURN


async def test_idle_takes_the_metadata_into_the_turn(stream: Stream) -> None:
    state = AgentState(messages=[HumanMessage("Q", id="h1")], metadata={"client": "test"})
    update = await idle(state, stream.runtime, parts_of=parts_of())
    assert update["turn"]["metadata"] == {"client": "test"}
    assert update["metadata"] is None


async def test_idle_refuses_an_empty_question(stream: Stream) -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        await idle(AgentState(messages=[HumanMessage(" \n ")]), stream.runtime, parts_of=parts_of())
    assert caught.value.code == "empty_question"


async def test_idle_refuses_a_question_longer_than_the_profile_allows(stream: Stream) -> None:
    parts = parts_of(profile=limited(max_question_characters=5))
    with pytest.raises(InvalidQuestionError, match="6 characters; at most 5"):
        await idle(AgentState(messages=[HumanMessage("123456")]), stream.runtime, parts_of=parts)


@pytest.mark.parametrize("messages", [[], [HumanMessage("Q"), AIMessage("A")]])
async def test_idle_refuses_to_answer_what_is_no_question(messages: list[AnyMessage], stream: Stream) -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        await idle(AgentState(messages=messages), stream.runtime, parts_of=parts_of())
    assert caught.value.code == "no_question"


async def test_idle_opens_no_turn_beyond_the_limit(stream: Stream) -> None:
    parts = parts_of(profile=limited(max_turns=2))
    with pytest.raises(AskbookError) as caught:
        await idle(AgentState(messages=[HumanMessage("Third?")], turn_number=2), stream.runtime, parts_of=parts)
    assert (caught.value.error_type, caught.value.code) == ("context_overflow", "turn_limit")


async def test_idle_refuses_a_profile_that_does_not_exist() -> None:
    with pytest.raises(UsageError) as caught:
        await idle(
            AgentState(messages=[HumanMessage("Q")]), Stream(Context(profile="nobody")).runtime, parts_of=parts_of()
        )
    assert caught.value.code == "unknown_profile"


# --- idle: a turn closes --------------------------------------------------------------------------------------------

ANSWER = Draft(status="success", content="A node is a process [1].", plain_content="A node is a process [1].")


async def close(stream: Stream, **state: Any) -> dict[str, Any]:
    return await idle(asked(draft=ANSWER, **state), stream.runtime, parts_of=parts_of())


async def test_idle_closes_a_turn_that_has_a_draft(stream: Stream) -> None:
    update = await close(stream)
    assert update["phase"] == "IDLE"
    assert stream.written == [{"type": "phase", "phase": "IDLE", "processing_state": "response_generated"}]
    assert update["response"]["content"] == ANSWER["content"]


async def test_the_answer_joins_the_conversation(stream: Stream) -> None:
    update = await close(stream)
    assert [message.content for message in update["messages"]] == [ANSWER["content"]]
    assert update["messages"][0].id == update["response"]["id"]
    assert update["messages"][0].response_metadata["request_id"] == "question-1"


async def test_the_passages_leave_with_the_turn_and_their_place_in_the_book_stays(stream: Stream) -> None:
    update = await close(stream, passages=as_data(passage(1), passage(2)))
    assert update["passages"] == []
    assert [chunk["rank"] for chunk in update["response"]["retrieved_chunks"]] == [1, 2]
    assert "text" not in update["response"]["retrieved_chunks"][0]
    assert update["response"]["retrieval_count"] == 2


async def test_the_turn_itself_is_gone_when_it_has_closed(stream: Stream) -> None:
    update = await close(stream)
    assert update["turn"] is None
    assert update["draft"] is None


async def test_the_response_adds_up_the_time_of_all_searches(stream: Stream) -> None:
    record = retrieval(retrieval_time_ms=2.5).model_dump(mode="json")
    assert (await close(stream, retrievals=[record, record]))["response"]["timings_ms"]["retrieval"] == 5.0


async def test_the_response_echoes_the_metadata_of_the_request(stream: Stream) -> None:
    state = asked(draft=ANSWER)
    state["turn"] = open_turn(metadata={"client": "test"})
    update = await idle(state, stream.runtime, parts_of=parts_of())
    assert update["response"]["metadata"] == {"client": "test"}


async def test_a_failed_turn_is_said_to_have_failed(stream: Stream) -> None:
    draft = error_draft(AskbookError("api_error", "server_error", "It answered 500.").info())
    update = await idle(asked(draft=draft), stream.runtime, parts_of=parts_of())
    assert update["response"]["processing_state"] == "failed"
    assert update["response"]["status"] == "error"


async def test_a_question_that_was_turned_away_leaves_the_conversation(stream: Stream) -> None:
    draft = error_draft(InvalidQuestionError("Too long.", code="question_too_long").info())
    state = asked(draft=draft)
    state["turn"] = {**open_turn(number=1), "rejected": True}
    update = await idle(state, stream.runtime, parts_of=parts_of())
    assert update["turn_number"] == 0
    assert [type(message) for message in update["messages"]] == [RemoveMessage]
    assert update["messages"][0].id == "question-1"


async def test_a_draft_of_a_broken_run_does_not_answer_a_new_question(stream: Stream) -> None:
    state = asked(draft=ANSWER)
    state["messages"].append(HumanMessage("And a topic?", id="question-2"))
    update = await idle(state, stream.runtime, parts_of=parts_of())
    assert update["phase"] == "RETRIEVING"
    assert update["turn"]["question"] == "And a topic?"


# --- retrieve -------------------------------------------------------------------------------------------------------


async def test_retrieve_searches_with_the_question_as_it_was_asked(stream: Stream) -> None:
    searcher = FakeSearcher([passage()])
    update = await retrieve(asked(), stream.runtime, parts_of=parts_of(searcher=searcher))
    assert searcher.asked == [("What is a node?", 5, 0.2, None, [])]
    assert update["phase"] == "GENERATING"
    assert update["passages"] == as_data(passage())


async def test_retrieve_tells_its_phase_and_then_its_search(stream: Stream) -> None:
    await retrieve(asked(), stream.runtime, parts_of=parts_of(searcher=FakeSearcher([passage()])))
    assert stream.types == ["phase", "retrieval"]
    assert stream.written[0]["phase"] == "RETRIEVING"
    assert stream.written[1]["results_count"] == 1


async def test_retrieve_gives_the_search_the_conversation_before_the_question(stream: Stream) -> None:
    searcher = FakeSearcher()
    state = asked("And on Windows?", HumanMessage("How do I install it?"), AIMessage("With apt."))
    await retrieve(state, stream.runtime, parts_of=parts_of(searcher=searcher))
    assert searcher.asked[0][4] == [("How do I install it?", "With apt.")]


async def test_the_caller_sets_count_threshold_and_filter_of_the_search() -> None:
    searcher = FakeSearcher()
    context = Context(top_k=2, score_threshold=0.5, filter="https://book.example/guide")
    await retrieve(asked(), Stream(context).runtime, parts_of=parts_of(searcher=searcher))
    assert searcher.asked[0][1:4] == (2, 0.5, SearchFilter(url_prefix="https://book.example/guide"))


async def test_a_failing_search_is_raised_and_not_taken_for_an_empty_one(stream: Stream) -> None:
    searcher = FakeSearcher([passage()], failures=[RetrievalError("unreachable", "The index is away.")])
    with pytest.raises(RetrievalError):
        await retrieve(asked(), stream.runtime, parts_of=parts_of(searcher=searcher))


async def test_retrieve_refuses_to_work_without_an_open_turn(stream: Stream) -> None:
    with pytest.raises(AskbookError) as caught:
        await retrieve(AgentState(messages=[HumanMessage("Q")]), stream.runtime, parts_of=parts_of())
    assert caught.value.code == "no_turn"


# --- error ----------------------------------------------------------------------------------------------------------

BROKEN = AskbookError("api_error", "server_error", "The model's endpoint answered 500.")


def test_a_failure_sends_the_machine_to_error_with_a_record() -> None:
    command = route_to_error(asked(), NodeError("GENERATING", BROKEN))
    assert command.goto == "ERROR"
    assert isinstance(command.update, dict)
    assert command.update["phase"] == "ERROR"
    assert command.update["draft"]["error"]["code"] == "server_error"


def test_a_second_failure_while_reporting_ends_the_run() -> None:
    command = route_to_error(asked(draft=error_draft(BROKEN.info())), NodeError("IDLE", BROKEN))
    assert command.goto == END


def test_a_failure_at_the_door_drops_the_turn_that_was_broken_off_before() -> None:
    command = route_to_error(asked(), NodeError("IDLE", InvalidQuestionError("Empty.", code="empty_question")))
    assert isinstance(command.update, dict)
    assert command.update["turn"] is None


def test_a_failure_of_the_error_node_ends_the_run() -> None:
    assert route_to_error(asked(), NodeError("ERROR", RuntimeError())).goto == END


@pytest.mark.parametrize(("node", "error_type"), [("RETRIEVING", "retrieval_error"), ("GENERATING", "api_error")])
def test_a_timeout_is_called_by_what_timed_out(node: str, error_type: str) -> None:
    failure = to_askbook_error(TimeoutError(), node)
    assert (failure.error_type, failure.code) == (error_type, "timeout")


def test_a_bug_is_named_by_its_class_and_not_by_its_text() -> None:
    failure = to_askbook_error(KeyError("secret"), "GENERATING")
    assert (failure.code, failure.message) == ("internal", "GENERATING raised KeyError.")


def test_error_drops_a_tool_call_that_was_never_answered(stream: Stream) -> None:
    update = error(asked(exchange=[wanting({"args": {"query": "q"}, "id": "a"})]), stream.runtime)
    assert update["exchange"] == []
    assert stream.written == [{"type": "phase", "phase": "ERROR", "processing_state": "failed"}]


def test_error_keeps_the_turn_that_failed(stream: Stream) -> None:
    assert "turn" not in error(asked(), stream.runtime)


def test_error_gives_a_question_that_was_turned_away_a_number_beyond_the_turns(stream: Stream) -> None:
    update = error(AgentState(messages=[HumanMessage("", id="h9")], turn_number=4), stream.runtime)
    assert (update["turn"]["request_id"], update["turn"]["number"]) == ("h9", 5)
