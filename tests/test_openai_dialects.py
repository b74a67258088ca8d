"""What endpoints do not have in common, over the wire: options they refuse, what they count, how they end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from rag.answer.render import WORDS_ONLY
from rag.types import CUT_OFF, Response
from tests.openai_server import Endpoint, Reply, answer, refuses
from tests.profile_wire import Wire, calls

GOOD = answer("A node is a process [1].")


@pytest.fixture
def wired(endpoint: Endpoint) -> Wire:
    return Wire("default", endpoint, thread="t")


NO_TOOLS = refuses(400, "registry.ollama.ai/library/gemma:2b does not support tools")


async def test_a_model_without_tools_is_asked_without_them_on_the_same_turn(wired: Wire) -> None:
    assert (await wired.ask(NO_TOOLS, GOOD)).status == "success"
    assert ["tools" in body for body in wired.bodies] == [True, False]


async def test_that_a_model_has_no_tools_is_remembered(wired: Wire) -> None:
    await wired.ask(NO_TOOLS, GOOD)
    response = await wired.ask(GOOD)
    assert (response.status, response.llm_calls, len(wired.bodies)) == ("success", 1, 3)
    assert "tools" not in wired.bodies[-1]


@pytest.mark.parametrize(
    ("refusal", "option", "instead"),
    [
        (refuses(400, "Unsupported value: 'temperature' does not support 0.0 with this model."), "temperature", None),
        (
            refuses(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
            "max_tokens",
            "max_completion_tokens",
        ),
        (refuses(422, "Extra inputs are not permitted: stream_options"), "stream_options", None),
    ],
)
async def test_an_option_that_a_model_refuses_is_left_out(
    refusal: Reply, option: str, instead: str | None, wired: Wire
) -> None:
    assert (await wired.ask(refusal, GOOD)).status == "success"
    assert [option in body for body in wired.bodies] == [True, False]
    assert instead is None or wired.bodies[1][instead] == wired.bodies[0][option]


async def test_an_option_is_refused_once_and_not_for_ever(wired: Wire) -> None:
    response = await wired.ask(NO_TOOLS, NO_TOOLS)
    assert response.error is not None
    assert (response.error.code, len(wired.bodies)) == ("bad_request", 2)


async def test_an_endpoint_other_than_openais_gets_the_older_name_for_the_length(wired: Wire) -> None:
    await wired.ask(GOOD)
    assert wired.bodies[0]["max_tokens"] > 0
    assert "max_completion_tokens" not in wired.bodies[0]


async def test_an_answer_that_reached_its_length_is_kept_with_a_notice(wired: Wire) -> None:
    response = await wired.ask(answer("A node is a process [1].", finish="length"))
    assert (response.status, response.notices) == ("success", [CUT_OFF, WORDS_ONLY])
    assert response.plain_content == "A node is a process [1]."


COUNTED: Final = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
CALL: Final = {"id": "c", "type": "function", "function": {"name": "search_book", "arguments": '{"query": "nodes"}'}}


def whole(finish: str, usage: Any = COUNTED, **message: Any) -> Reply:
    """A completion that was not streamed."""
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish}
    body = {"object": "chat.completion", "choices": [choice], "usage": usage}
    return Reply(raw=json.dumps(body), content_type="application/json")


async def test_an_endpoint_that_does_not_stream_is_read_whole(wired: Wire) -> None:
    asked = whole("tool_calls", content=None, tool_calls=[CALL])
    response = await wired.ask(asked, whole("stop", content="A node is a process [1]."))
    assert (response.status, response.plain_content) == ("success", "A node is a process [1].")
    assert (response.tokens_used.total, [one.args for one in response.tool_calls]) == (36, [{"query": "nodes"}])


async def test_a_length_that_was_spent_before_an_answer_is_a_failure_with_its_reason(wired: Wire) -> None:
    response = await wired.ask(answer("", finish="length"))
    assert response.error is not None
    assert (response.error.code, len(wired.bodies)) == ("empty_answer", 1)
    assert "model.max_tokens" in response.error.hint


async def test_a_count_that_grows_with_every_piece_is_not_added_up(wired: Wire) -> None:
    class Counting(Reply):
        def parts(self) -> Iterator[str]:
            for part in super().parts():
                text = part
                if '"content"' in part:
                    usage = '"usage": {"prompt_tokens": 11, "completion_tokens": 1, "total_tokens": 12}'
                    text = f"{part.rstrip()[:-1]}, {usage}}}\n\n"
                yield text

    response = await wired.ask(Counting(texts=("A node ", "is a process", " [1]."), usage=COUNTED))
    assert response.tokens_used.model_dump() == {"input": 11, "output": 7, "total": 18, "estimated": False}


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        dict.fromkeys(COUNTED),
        COUNTED | {"prompt_tokens": 2**64},
        COUNTED | {"completion_tokens": -7},
    ],
)
async def test_tokens_that_nobody_counted_are_estimated(usage: Any, wired: Wire) -> None:
    used = (await wired.ask(answer("A node is a process [1].", usage=usage))).tokens_used
    assert used.estimated
    assert used.input > 100
    assert used.output > 3


def said_to_the_model(response: Response, wired: Wire) -> str:
    assert response.status == "success"
    return wired.tool_text


async def test_a_call_of_a_tool_that_there_is_not_is_answered_with_that(wired: Wire) -> None:
    response = await wired.ask(calls("launch_rocket", {"query": "x"}), GOOD)
    assert said_to_the_model(response, wired) == "There is no tool 'launch_rocket'; there is search_book"
    assert response.retrievals[1:] == []


async def test_a_call_without_an_id_gets_one(wired: Wire) -> None:
    await wired.ask(calls("search_book", {"query": "x"}, call_id=""), GOOD)
    call, result = wired.bodies[-1]["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] == "call-1"


async def test_calls_without_end_are_ended_by_the_bound(wired: Wire) -> None:
    response = await wired.ask(*[calls("search_book", {"query": "x"})] * 5)
    assert response.error is not None
    assert response.error.code == "empty_answer"
    assert ["tools" in body for body in wired.bodies] == [True, True, False, False, False]


async def test_a_router_that_reports_a_failure_at_the_end_of_its_stream_is_not_believed_to_have_answered(
    wired: Wire,
) -> None:
    response = await wired.ask(answer("A no", finish="error"), GOOD)
    assert (response.status, len(wired.bodies)) == ("success", 2)
