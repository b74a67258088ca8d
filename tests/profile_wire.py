"""A profile as its design is put to the test: its own prompt and tool, the real client of OpenAI's wire format, an
endpoint with a script on this machine. Only the search is a fake, and in `over_book` not even that.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from graph.agent import Agent, open_agent
from graph.memory import open_memory
from rag.book import SearchResult
from rag.model.endpoint import build_model
from rag.ports import ChunkIndex, Parts, Quoter, RejectedOptions
from rag.profiles.profile import Profile, load_profile
from rag.settings import Settings, variables
from rag.types import Event, Passage, Response
from tests.compiled import compiled
from tests.fake_index import FakeIndex
from tests.fakes import FakeEmbedder, FakeSearcher, passage, unjudged
from tests.machine import local_memory
from tests.openai_server import Endpoint, Reply, Request

OWN_KEY: Final = "own-canary-0123456789"
OWN_VARIABLE: Final = "ENDPOINT_OF_THE_TEST_API_KEY"
QUESTION: Final = "What is a node?"
PAGES: Final = (passage(1), passage(2, "A topic is a bus."))


class Searcher(FakeSearcher):
    """`later_failures` are raised by the searches after the first, which is the program's own."""

    later_failures: Sequence[Exception] = ()

    async def retrieve(self, question: str, **options: Any) -> SearchResult:
        if self.asked and self.later_failures:
            self.failures, self.later_failures = [*self.later_failures], ()
        return await super().retrieve(question, **options)


class Wire:
    """A profile with its endpoint. Settings are those of the environment, read again for every question.

    With a `home` every question is asked by an agent of its own over the same memory file, as by a program that was
    started again; without one all of them share a memory. `thread` is the conversation where a question names none.
    `own_endpoint` is reached by the profile's address and key variable instead of OPENAI_BASE_URL.
    """

    def __init__(
        self,
        profile: str,
        endpoint: Endpoint,
        home: Path | None = None,
        *,
        passages: Sequence[Passage] = PAGES,
        later: Sequence[Sequence[Passage]] = (),
        thread: str | None = None,
        own_endpoint: bool = False,
        judged: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.home = home
        self.thread = thread
        self.searcher = Searcher(passages, later=later)
        self.index: ChunkIndex = FakeIndex()
        self.events: list[Event] = []
        self.profile = load_profile(profile) if judged else unjudged(load_profile(profile))
        changes: dict[str, Any] = {"timeout_seconds": 5.0}
        if own_endpoint:
            changes |= {"base_url": endpoint.address, "api_key_env": OWN_VARIABLE}
        self.profile = self.profile.model_copy(update={"model": self.profile.model.model_copy(update=changes)})
        self._memory = local_memory()
        self._rejected = RejectedOptions()
        self._built: dict[tuple[str | None, ...], tuple[Profile, BaseChatModel | None, str, Quoter | None]] = {}

    def parts(self, _profile: str | None) -> Parts:
        environment = tuple(os.environ.get(name) for name in variables())
        if environment not in self._built:
            settings = Settings.from_env(None)
            profile = self.profile.in_environment(settings)
            self._built[environment] = (profile, *build_model(profile, settings, FakeEmbedder()))
        return Parts(*self._built[environment], self.searcher, rejected_options=self._rejected)

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        if self.home is None:
            yield Agent(compiled(self, self._memory), self, self._memory)
            return
        async with open_memory(self.home, persistent=self.profile.memory.persistent) as memory:
            yield Agent(compiled(self, memory), self, memory)

    async def ask(
        self,
        *script: Reply | Callable[[Request], Reply],
        question: str = QUESTION,
        thread: str | None = None,
        **more: Any,
    ) -> Response:
        """The response to a question that the endpoint answers with the script; `events` are those on the way."""
        self.endpoint.script[:] = script
        async with self.agent() as agent:
            stream = agent.stream(question, thread_id=thread or self.thread, **more)
            self.events = [event async for event in stream]
        response = self.events[-1].response
        assert response is not None
        return response

    async def conversation(self, thread: str) -> dict[str, Any]:
        """A conversation, read back from the memory."""
        async with self.agent() as agent:
            return await agent.conversation(thread)

    async def stored(self, thread: str) -> list[dict[str, Any]]:
        """Its turns."""
        turns: list[dict[str, Any]] = (await self.conversation(thread))["turns"]
        return turns

    async def clear(self, thread: str) -> None:
        async with self.agent() as agent:
            await agent.clear(thread)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests, oldest first."""
        return [request.body for request in self.endpoint.requests]

    def sent(self, request: int = -1) -> list[dict[str, Any]]:
        """The messages of a request."""
        messages: list[dict[str, Any]] = self.bodies[request]["messages"]
        return messages

    @property
    def roles(self) -> list[str]:
        """Who speaks in the messages of the last request."""
        return [message["role"] for message in self.sent()]

    @property
    def tool_text(self) -> str:
        """What the model got for its last call of the tool, as it stands."""
        assert self.sent()[-1]["role"] == "tool"
        return str(self.sent()[-1]["content"])

    def tool_said(self) -> Any:
        """The same, as data."""
        return json.loads(self.tool_text)


@asynccontextmanager
async def over_book(home: Path, profile: str) -> AsyncIterator[Agent]:
    """The agent as programs open it, over the book in a home folder."""
    settings = Settings.from_env(None).model_copy(update={"home": home})
    async with open_agent(settings, profile, collection="book") as agent:
        yield agent


def calls(name: str, arguments: Any, call_id: str = "call-1", **fields: Any) -> Reply:
    """A streamed call of a tool; arguments that are a text are sent as they stand."""
    sent = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Reply(tool={"id": call_id, "name": name, "arguments": sent}, finish="tool_calls", **fields)
