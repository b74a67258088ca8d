"""The compiled machine over fakes, with a memory, as the tests of the machine and of the agent drive it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage

from graph.agent import Agent
from graph.database import LocalDatabase
from graph.memory import Memory
from graph.storage import KEEP_TURNS, serializers, thread_config
from nodes.turn import RetrySettings
from rag.ports import Judge
from rag.profiles.profile import Profile
from rag.types import Passage, Response
from state import AgentState, Context, InputState
from tests.compiled import compiled
from tests.fakes import AT_ONCE, FakeSearcher, FakeServices, ScriptedModel, passage

ANSWER = "A node is a process [1]."


def local_memory() -> Memory:
    """A memory that ends with the process, without an event loop."""
    return Memory(LocalDatabase(serializers(None).steps, KEEP_TURNS))


class Machine:
    """One machine with what it is made of, and all that its runs have streamed.

    `script` is what the model says, call by call; `passages` what every search finds. A judge is asked
    if `judged` is set, and `judge` is one at the port. `collection` is the book's name.
    """

    def __init__(
        self,
        *script: Any,
        passages: Sequence[Passage] = (passage(),),
        failures: Sequence[Exception] = (),
        later: Sequence[Sequence[Passage]] = (),
        profile: Profile | None = None,
        memory: Memory | None = None,
        quotes: bool = False,
        judged: bool = False,
        judge: Judge | None = None,
        retries: RetrySettings = AT_ONCE,
        collection: str = "",
    ) -> None:
        self.model = ScriptedModel(script=list(script))
        self.searcher = FakeSearcher(passages, failures, later)
        self.services = FakeServices(self.model, self.searcher, profile, quotes=quotes, judged=judged, judge=judge)
        self.services.collection = collection
        self.memory = memory or local_memory()
        self.graph = compiled(self.services, self.memory, retries)
        self.agent = Agent(self.graph, self.services, self.memory)
        self.events: list[dict[str, Any]] = []

    async def ask(self, question: str, context: Context | None = None, thread: str = "t") -> Response:
        """One turn through the graph itself. `events` then holds what it streamed."""
        values: dict[str, Any] = {}
        self.events = []
        async for mode, data in self.graph.astream(
            InputState(messages=[HumanMessage(question)]),
            thread_config(thread),
            context=context or Context(),
            stream_mode=["custom", "values"],
        ):
            assert isinstance(data, dict)
            if mode == "custom":
                self.events.append(data)
            else:
                values = data
        return Response.model_validate(values["response"])

    @property
    def phases(self) -> list[str]:
        """The phases that the last run went through, as it told them."""
        return [event["phase"] for event in self.events if event["type"] == "phase"]

    @property
    def types(self) -> list[str]:
        """The kinds of events of the last run, without what it is just doing."""
        return [event["type"] for event in self.events if event["type"] not in ("phase", "checking")]

    @property
    def shown(self) -> str:
        """What a reader of the stream had before them at the end of the last run."""
        text = ""
        for event in self.events:
            text = "" if event["type"] == "retract" else text + event.get("text", "")
        return text

    async def state(self, thread: str = "t") -> AgentState:
        return cast("AgentState", (await self.graph.aget_state(thread_config(thread))).values)

    async def contents(self, thread: str = "t") -> list[str]:
        """The texts of the conversation."""
        return [message.text for message in (await self.state(thread)).get("messages", [])]

    async def is_at_rest(self, thread: str = "t") -> bool:
        snapshot = await self.graph.aget_state(thread_config(thread))
        return snapshot.next == () and snapshot.values["phase"] == "IDLE"

    def prompt(self, call: int = -1) -> str:
        """A prompt that the model was given, as one text."""
        return as_text(self.model.prompts[call])


def as_text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)
