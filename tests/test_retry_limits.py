"""How long a failed step waits: LangGraph's policies do what `RetrySettings` says."""

from __future__ import annotations

from typing import Any

import pytest

from graph.build import retry_policies
from nodes.turn import DEFAULT_RETRIES, RetrySettings
from rag.book import SearchResult
from rag.errors import AskbookError, RetrievalError
from tests.fakes import AT_ONCE, tool_call
from tests.machine import ANSWER, Machine


def busy(seconds: float | None = None) -> AskbookError:
    return AskbookError("rate_limit", "rate_limit", "It answered 429.", retry_after=seconds, retryable=True)


def broken_off() -> AskbookError:
    return AskbookError("api_error", "stream_cut", "The model's answer ended early.", retryable=True)


def wait(failure: Exception, retries: RetrySettings = DEFAULT_RETRIES) -> float | None:
    """The interval of the policy that LangGraph goes by, the first that says yes; None: the step is not retried."""
    for policy in retry_policies(retries):
        assert callable(policy.retry_on)
        if policy.retry_on(failure):
            return policy.initial_interval
    return None


@pytest.mark.parametrize(("named", "seconds"), [(0, 0), (0.2, 1), (1, 1), (6.2, 7), (30, 30)])
def test_a_service_is_left_alone_for_exactly_the_time_it_names(named: float, seconds: int) -> None:
    assert wait(busy(named)) == seconds


def test_a_time_beyond_half_a_minute_is_told_and_not_waited() -> None:
    assert wait(busy(31)) is None
    assert wait(busy(600)) is None
    assert busy(600).info().user_message == "The service is busy. Please wait 600 seconds and try again."


def test_where_no_time_is_named_the_wait_is_short_and_grows() -> None:
    policy = retry_policies(DEFAULT_RETRIES)[-1]
    assert wait(busy()) == policy.initial_interval == 0.5
    assert (policy.backoff_factor, policy.max_interval, policy.jitter) == (2.0, 8.0, True)


def test_nothing_is_tried_more_than_three_times() -> None:
    assert {policy.max_attempts for policy in retry_policies(DEFAULT_RETRIES)} == {3}


@pytest.mark.parametrize("failure", [AskbookError("auth_error", "wrong_key", "No."), ValueError(), TimeoutError()])
def test_what_will_not_pass_is_not_tried_again(failure: Exception) -> None:
    assert wait(failure) is None


def test_tests_do_not_wait() -> None:
    assert wait(busy(7), AT_ONCE) == wait(busy(), AT_ONCE) == 0


async def test_the_stream_shows_each_wait_that_was_asked_for() -> None:
    machine = Machine(busy(7), busy(3), ANSWER)
    assert (await machine.ask("What is a node?")).status == "success"
    assert [event for event in machine.events if event["type"] == "waiting"] == [
        {"type": "waiting", "seconds": 7, "reason": "rate_limit"},
        {"type": "waiting", "seconds": 3, "reason": "rate_limit"},
    ]


@pytest.mark.parametrize(("attempt", "longest"), [(1, 2), (2, 2), (3, None)])
def test_a_wait_that_no_service_named_is_told_as_the_longest_that_it_can_be(attempt: int, longest: int | None) -> None:
    assert DEFAULT_RETRIES.wait_before_retry(busy(), attempt) == longest
    policy = retry_policies(DEFAULT_RETRIES)[-1]
    interval = min(policy.max_interval, policy.initial_interval * policy.backoff_factor ** (attempt - 1))
    assert longest is None or longest - 1 < interval + policy.jitter <= longest


def test_a_wait_that_no_service_named_has_a_limit() -> None:
    assert RetrySettings(max_attempts=20).wait_before_retry(busy(), 10) == 8 + 1


@pytest.fixture
def without_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda least, _most: least)


@pytest.mark.usefixtures("without_chance")
async def test_the_stream_shows_a_wait_that_no_service_named_before_the_step_is_tried_again() -> None:
    machine = Machine(broken_off(), ANSWER, retries=RetrySettings(time_scale=0.01))
    assert (await machine.ask("What is a node?")).status == "success"
    told = [event for event in machine.events if event["type"] in ("waiting", "phase")]
    place = told.index({"type": "waiting", "seconds": 2, "reason": "stream_cut"})
    assert [told[place - 1]["phase"], told[place + 1]["phase"]] == ["GENERATING", "GENERATING"]


@pytest.mark.usefixtures("without_chance")
async def test_a_wait_before_another_search_is_told_when_no_service_named_it() -> None:
    machine = Machine(ANSWER, failures=[embedder_down()], retries=RetrySettings(time_scale=0.01))
    assert (await machine.ask("What is a node?")).status == "success"
    assert {"type": "waiting", "seconds": 2, "reason": "embedding_server_error"} in machine.events


async def test_after_the_last_attempt_no_wait_is_shown() -> None:
    machine = Machine(busy(7), busy(7), busy(7))
    response = await machine.ask("What is a node?")
    assert machine.types == ["retrieval", "waiting", "waiting"]
    assert response.content == "The service is busy. Please wait 7 seconds and try again."


async def test_a_time_too_long_to_wait_is_told_at_once() -> None:
    machine = Machine(busy(600))
    response = await machine.ask("What is a node?")
    assert machine.types == ["retrieval"]
    assert response.error is not None
    assert (response.error.retry_after, len(machine.model.prompts)) == (600, 1)


def embedder_down() -> AskbookError:
    return RetrievalError("embedding_server_error", "Embedding failed: Cohere answered 503.", retryable=True)


async def searched_by_the_model(*failures: Exception) -> Machine:
    """A turn whose model searches once; `failures` are those of this search, attempt by attempt."""
    machine = Machine([tool_call("nodes")], ANSWER)
    searcher = machine.searcher
    first = searcher.retrieve

    async def retrieve(question: str, **options: Any) -> SearchResult:
        searcher.failures = [failures[len(searcher.asked) - 1]] if 0 < len(searcher.asked) <= len(failures) else []
        return await first(question, **options)

    searcher.retrieve = retrieve  # type: ignore[method-assign]  # the opening search succeeds
    assert (await machine.ask("What is a node?")).status == "success"
    return machine


async def test_the_models_own_search_is_tried_as_often_as_the_opening_one() -> None:
    machine = await searched_by_the_model(embedder_down(), embedder_down())
    assert [asked[0] for asked in machine.searcher.asked] == ["What is a node?", "nodes", "nodes", "nodes"]
    assert "Could not search the book content" not in machine.prompt()
    assert machine.types.count("retrieval") == 2


async def test_a_failure_of_the_models_own_search_that_stays_is_told_to_the_model() -> None:
    machine = await searched_by_the_model(*[embedder_down()] * 3)
    assert len(machine.searcher.asked) == 4
    assert "Could not search the book content" in machine.prompt()


async def test_a_failure_of_the_models_own_search_that_will_not_pass_is_told_at_once() -> None:
    machine = await searched_by_the_model(RetrievalError("no_index", "There is no book."))
    assert len(machine.searcher.asked) == 2


async def test_the_models_own_search_waits_as_long_as_a_service_asks() -> None:
    machine = await searched_by_the_model(busy(7))
    assert {"type": "waiting", "seconds": 7, "reason": "rate_limit"} in machine.events
    assert len(machine.searcher.asked) == 3


async def test_the_searches_of_a_round_are_told_once_however_often_it_is_tried() -> None:
    calls = [tool_call("nodes"), tool_call("topics", "call-2", index=1)]
    machine = Machine(calls, ANSWER, failures=[])
    asked = machine.searcher.asked
    first = machine.searcher.retrieve

    async def retrieve(question: str, **options: Any) -> SearchResult:
        machine.searcher.failures = [embedder_down()] if len(asked) == 2 else []
        return await first(question, **options)

    machine.searcher.retrieve = retrieve  # type: ignore[method-assign]  # the second call of the round fails once
    response = await machine.ask("What is a node?")
    assert [question for question, *_ in asked] == ["What is a node?", "nodes", "topics", "nodes", "topics"]
    assert (machine.types.count("retrieval"), len(response.retrievals)) == (3, 3)


async def test_a_search_waits_as_a_model_does() -> None:
    machine = Machine(ANSWER, failures=[busy(2)])
    assert (await machine.ask("What is a node?")).status == "success"
    assert machine.types[:2] == ["waiting", "retrieval"]
