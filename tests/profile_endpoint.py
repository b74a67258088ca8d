"""A profile as its design is put to the test: its own prompt and tool, the real client, an endpoint that has a script.

Only the search is a fake, and in `over_book` not even that.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graph.agent import Agent, open_agent
from graph.build import build_graph
from graph.memory import local_memory
from rag.models import build_model
from rag.ports import ChunkIndex, Parts
from rag.profile_loader import FOLDER
from rag.profiles import load_profile
from rag.settings import Settings, variables
from rag.types import Passage, Response
from tests.fakes import FakeSearcher, passage
from tests.fakes_ingest import FakeEmbedder
from tests.openai_server import Endpoint, Reply

KEY = "sk-" + "canary7890" * 4
QUESTION = "What is a node?"


def clean_environment(patch: pytest.MonkeyPatch, address: str) -> None:
    """An environment that names the endpoint and its key, and nothing else of ours."""
    for name in (*variables(), "OPENAI_ORG_ID", "OPENAI_PROXY"):
        patch.delenv(name, raising=False)
    patch.setenv("OPENAI_API_KEY", KEY)
    patch.setenv("OPENAI_BASE_URL", address)


def calls(name: str, arguments: Any, call_id: str = "call-1", **fields: Any) -> Reply:
    """The model's call of a tool; arguments that are a text are sent as they stand."""
    sent = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Reply(tool={"id": call_id, "name": name, "arguments": sent}, finish="tool_calls", **fields)


class Searcher(FakeSearcher):
    """A search whose later runs, those that the model asks for, may fail."""

    failure: Exception | None = None

    async def retrieve(self, question: str, **options: Any) -> Any:
        found = await super().retrieve(question, **options)
        if self.failure and len(self.asked) > 1:
            raise self.failure
        return found


class Wired:
    """An agent of one profile over a search that finds `passages`, and what the endpoint was sent.

    Settings come from the environment as it is, so that a test may set its variables before.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        profile: str,
        *,
        passages: Sequence[Passage] = (passage(),),
        later: Sequence[Sequence[Passage]] = (),
        folder: Path | None = None,
    ) -> None:
        settings = Settings.from_env(None)
        chosen = load_profile(profile, [folder, FOLDER] if folder else [FOLDER]).in_environment(settings)
        model, name, quotes = build_model(chosen, settings, FakeEmbedder())
        self.endpoint = endpoint
        self.searcher = Searcher(passages, later=later)
        self._parts = Parts(chosen, model, name, quotes, self.searcher)
        memory = local_memory()
        self.agent = Agent(memory.compile(build_graph(self)), self, memory)

    @property
    def index(self) -> ChunkIndex:
        raise AssertionError("the machine searches through its searcher only")

    def parts(self, profile: str | None) -> Parts:
        return self._parts

    async def ask(self, *script: Reply, question: str = QUESTION, **options: Any) -> Response:
        """One turn of the conversation `t`, to which the endpoint answers with the script."""
        self.endpoint.script += script
        return await self.agent.ask(question, **({"thread_id": "t"} | options))

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The bodies of all requests, oldest first."""
        return [request.body for request in self.endpoint.requests]

    @property
    def roles(self) -> list[str]:
        """Who speaks in the messages of the last request."""
        return [message["role"] for message in self.sent[-1]["messages"]]

    @property
    def tool_said(self) -> str:
        """What the model read last: the answer of its tool."""
        message = self.sent[-1]["messages"][-1]
        assert message["role"] == "tool"
        return str(message["content"])


@asynccontextmanager
async def over_book(home: Path, profile: str) -> AsyncIterator[Agent]:
    """The agent as programs open it, over the book in a home folder."""
    settings = Settings.from_env(None).model_copy(update={"home": home})
    async with open_agent(settings, profile, collection="book") as agent:
        yield agent
