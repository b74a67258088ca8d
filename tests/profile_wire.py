"""A profile as it runs: the real client of OpenAI's wire format, a scripted endpoint on this machine, a fake search.

Every question is asked by an agent of its own over the same memory file, as by a program that was started again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from graph import build
from graph.agent import Agent
from graph.build import build_graph
from graph.memory import open_memory
from rag.models import build_model
from rag.ports import ChunkIndex, Parts
from rag.profiles import Profile, load_profile
from rag.retrieval.retriever import Found
from rag.settings import Settings
from rag.types import Event, Response
from tests.fakes import FakeSearcher, passage
from tests.fakes_ingest import FakeEmbedder
from tests.openai_server import Endpoint, Reply, openai_server

OPENAI_KEY: Final = "sk-canary-0123456789-0123456789-0123456789"
OWN_KEY: Final = "own-canary-0123456789"
OWN_VARIABLE: Final = "ENDPOINT_OF_THE_TEST_API_KEY"
QUESTION: Final = "What is a node?"


class Searcher(FakeSearcher):
    """`later_failures` are raised by the searches after the first, which is the program's own."""

    later_failures: Sequence[Exception] = ()

    async def retrieve(self, question: str, **options: Any) -> Found:
        if self.asked and self.later_failures:
            self.failures, self.later_failures = [*self.later_failures], ()
        return await super().retrieve(question, **options)


class Wire:
    """A profile with its endpoint. `own_endpoint` reaches it by the profile's address instead of OPENAI_BASE_URL."""

    def __init__(self, profile: Profile, endpoint: Endpoint, home: Path, *, own_endpoint: bool = False) -> None:
        self.endpoint = endpoint
        self.home = home
        self.searcher = Searcher([passage(1), passage(2, "A topic is a bus.")])
        self.model: str | None = None
        self.events: list[Event] = []
        own = {"base_url": endpoint.address, "api_key_env": OWN_VARIABLE} if own_endpoint else {}
        changed = profile.model.model_copy(update={"timeout_seconds": 5.0} | own)
        self.profile = profile.model_copy(update={"model": changed})
        self._address = None if own_endpoint else endpoint.address

    @property
    def index(self) -> ChunkIndex:
        raise AssertionError("the machine searches through its searcher only")

    def parts(self, _profile: str | None) -> Parts:
        settings = Settings(
            _env_file=None,  # type: ignore[call-arg]  # pydantic-settings' own init argument
            openai_api_key=SecretStr(OPENAI_KEY),
            openai_base_url=self._address,
            openai_model=self.model,
        )
        profile = self.profile.in_environment(settings)
        model, name, quotes = build_model(profile, settings, FakeEmbedder())
        return Parts(profile, model, name, quotes, self.searcher)

    async def ask(self, *script: Reply, question: str = QUESTION, thread: str | None = None, **more: Any) -> Response:
        """The response to a question that the endpoint answers with the script; `events` are those on the way."""
        self.endpoint.script[:] = script
        async with open_memory(self.home, persistent=self.profile.memory.persistent) as memory:
            agent = Agent(memory.compile(build_graph(self)), self, memory)
            self.events = [event async for event in agent.stream(question, thread_id=thread, **more)]
        response = self.events[-1].response
        assert response is not None
        return response

    async def conversation(self, thread: str) -> dict[str, Any]:
        """A conversation, read back from the file."""
        async with open_memory(self.home, persistent=True) as memory:
            return await Agent(memory.compile(build_graph(self)), self, memory).conversation(thread)

    async def stored(self, thread: str) -> list[dict[str, Any]]:
        """Its turns."""
        turns: list[dict[str, Any]] = (await self.conversation(thread))["turns"]
        return turns

    async def clear(self, thread: str) -> None:
        async with open_memory(self.home, persistent=True) as memory:
            await Agent(memory.compile(build_graph(self)), self, memory).clear(thread)

    def sent(self, request: int = -1) -> list[dict[str, Any]]:
        """The messages of a request."""
        messages: list[dict[str, Any]] = self.endpoint.requests[request].body["messages"]
        return messages

    def tool_said(self) -> Any:
        """What the model got for its last call of the tool."""
        assert self.sent()[-1]["role"] == "tool"
        return json.loads(self.sent()[-1]["content"])


@contextmanager
def open_wire(
    profile: str, home: Path, monkeypatch: pytest.MonkeyPatch, *, own_endpoint: bool = False
) -> Iterator[Wire]:
    """The profile with an endpoint that listens until the block ends, in an environment without any other."""
    monkeypatch.setattr(build, "RETRY", build.RETRY._replace(initial_interval=0.0, max_interval=0.0, jitter=False))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_ORG_ID", "OPENAI_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(OWN_VARIABLE, OWN_KEY)
    with openai_server() as endpoint:
        yield Wire(load_profile(profile), endpoint, home, own_endpoint=own_endpoint)


def calls(name: str, **arguments: Any) -> Reply:
    """A streamed call of that tool."""
    call = {"id": "call-1", "name": name, "arguments": json.dumps(arguments)}
    return Reply(tool=call, finish="tool_calls")
