"""What a list of messages must be before a model gets it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from rag.profiles.profile import load_profile, profile_names
from rag.prompt.prompts import build_prompt
from rag.types import AnsweredQuestion
from tests.fakes import passage
from tests.message_rules import api_messages, problems

SYSTEM = {"role": "system", "content": "s"}
USER = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}
CALL: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]}
RESULT = {"role": "tool", "content": "r", "tool_call_id": "c1"}


@pytest.mark.parametrize(
    "messages", [[], [SYSTEM], [SYSTEM, USER, ANSWER, USER], [SYSTEM, USER, CALL, RESULT, ANSWER, USER]]
)
def test_a_conversation_in_order_has_no_problem(messages: list[dict[str, Any]]) -> None:
    assert problems(messages) == []


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([USER], "Message 1 is not a system message."),
        ([SYSTEM, {"role": "human", "content": "q"}], "Message 2 has the role 'human'"),
        ([SYSTEM, {"role": "user", "content": " "}], "Message 2 is empty."),
        ([SYSTEM, USER, {"role": "assistant", "content": ""}], "Message 3 is empty."),
        ([SYSTEM, USER, USER], "Message 3 is the second user message in a row."),
        ([SYSTEM, USER, ANSWER, ANSWER], "Message 4 is the second assistant message in a row."),
        ([SYSTEM, USER | {"tool_calls": [{"id": "c1"}]}, RESULT], "Message 2 has tool calls"),
        ([SYSTEM, USER | {"tool_call_id": "c1"}], "Message 2 answers a tool call, which only a tool does."),
        ([SYSTEM, USER, RESULT], "Message 3 answers a tool call that was not made."),
        ([SYSTEM, USER, CALL], "The tool call c1 was never answered."),
        ([SYSTEM, USER, CALL, USER], "Message 4 comes before the tool call c1 was answered."),
    ],
)
def test_a_broken_rule_is_named_with_its_message(messages: list[dict[str, Any]], said: str) -> None:
    assert problems(messages)[0].startswith(said)


def test_a_call_whose_arguments_are_no_json_is_a_call_all_the_same() -> None:
    broken = AIMessage("", invalid_tool_calls=[{"name": "t", "args": "no json", "id": "c1", "error": None}])
    exchange = [SystemMessage("s"), HumanMessage("q"), broken, ToolMessage("r", tool_call_id="c1")]
    assert problems(api_messages(exchange)) == []
    assert api_messages([broken])[0]["tool_calls"][0]["function"] == {"name": "t", "arguments": "no json"}


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20))), st.text(min_size=1))
def test_whatever_was_said_before_the_prompt_keeps_the_rules(past: list[tuple[str, str]], question: str) -> None:
    prompt = build_prompt(load_profile("default"), question, [passage(1)], [AnsweredQuestion(*one) for one in past])
    assert problems(api_messages(prompt)) == []


@pytest.mark.parametrize("past", [("", "That."), ("What?", ""), (" ", " ")])
def test_a_past_turn_without_a_word_is_not_sent(past: tuple[str, str]) -> None:
    prompt = build_prompt(load_profile("default"), "And?", [passage(1)], [AnsweredQuestion(*past)])
    assert [message.type for message in prompt] == ["system", "human"]


@pytest.mark.parametrize("name", profile_names())
def test_every_prompt_that_is_built_keeps_the_rules(name: str) -> None:
    exchange: list[AnyMessage] = [
        AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "c1", "type": "tool_call"}]),
        ToolMessage("r", tool_call_id="c1"),
    ]
    prompt = build_prompt(load_profile(name), "And?", [passage(1)], [AnsweredQuestion("What?", "That.")], exchange)
    assert problems(api_messages(prompt)) == []
