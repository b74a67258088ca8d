"""What the tests of the nodes share: a runtime whose stream is a list, and the state of an open turn."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from rag.ports import PartsOf
from rag.profiles.profile import Profile, load_profile
from rag.profiles.schema import ToolSection
from rag.types import Passage
from state import AgentState, Context, Turn
from tests.fakes import FakeSearcher, FakeServices, ScriptedModel


class Stream:
    """A runtime whose stream is a list."""

    def __init__(self, context: Context | None = None) -> None:
        self.written: list[dict[str, Any]] = []
        self.runtime: Runtime[Context] = Runtime(stream_writer=self.written.append)
        if context is not None:
            self.runtime = Runtime(context=context, stream_writer=self.written.append)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.written]

    @property
    def sentences(self) -> str:
        return "".join(event["text"] for event in self.written if event["type"] == "sentence")


def parts_of(
    model: ScriptedModel | None = None,
    searcher: FakeSearcher | None = None,
    profile: Profile | None = None,
    *,
    quotes: bool = False,
) -> PartsOf:
    services = FakeServices(model or ScriptedModel(), searcher or FakeSearcher(), profile, quotes=quotes)
    return services.parts


def limited(**limits: int) -> Profile:
    profile = load_profile("default")
    return profile.model_copy(update={"limits": profile.limits.model_copy(update=limits)})


def tool_of(profile: str) -> ToolSection:
    """The tool of a profile."""
    tool = load_profile(profile).tool
    assert tool is not None
    return tool


def open_turn(question: str = "What is a node?", number: int = 1, metadata: Mapping[str, Any] | None = None) -> Turn:
    return Turn(
        request_id="question-1",
        question=question,
        metadata=metadata or {},
        number=number,
        began=time.time(),
        profile="default",
        model="scripted",
    )


def asked(question: str = "What is a node?", *earlier: AnyMessage, **state: Any) -> AgentState:
    """The state of an open turn whose question is the last message."""
    messages: list[AnyMessage] = [*earlier, HumanMessage(question, id="question-1")]
    opened = AgentState(messages=messages, turn=open_turn(question), turn_number=0)
    return cast("AgentState", opened | state)


def as_data(*passages: Passage) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json") for one in passages]


def wanting(*calls: dict[str, Any], **fields: Any) -> AIMessage:
    """The model's message that asks for searches."""
    return AIMessage("", tool_calls=[{"name": "search_book", "type": "tool_call", **call} for call in calls], **fields)
