"""The fault matrix: what can fail, how a test makes it fail, and what the user must be told.

A row is a `Fault`. `check` runs it over a `Stage`, an agent with its real clients whose services are scripted servers
of `tests.wire`: the fault is there for one turn, the first of its conversation and once more a later one, and then it
is gone. Whatever the row, it holds when each time

- the response is an error of the row's type and code, with the exact sentence, and the command line would exit with 1,
- the service was asked as often as the row says,
- no event, response, state, checkpoint or record of the log holds a key, and none a traceback,
- the next turn on the same thread is a normal one whose prompt knows nothing of the failed turn.

Rows of a service stand beside its tests: `MODEL_FAULTS` in test_fault_matrix_model.py is an example.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from cli.ask import exit_code
from graph.agent import Agent
from graph.memory import FILE
from graph.storage import thread_config
from rag.errors import RATE_LIMIT_SECONDS, USER_MESSAGES
from rag.types import ErrorType, Event, Response
from state import Context
from tests.wire import Reply, WireServer, away

QUESTION: Final = "What is a widget?"


@dataclass
class Stage:
    """An agent with its services. `servers` are the stand-ins by name, `secrets` what must appear nowhere.

    `normal` says that a response is what the question gets when nothing fails.
    """

    agent: Agent
    home: Path
    servers: Mapping[str, WireServer]
    secrets: tuple[str, ...]
    normal: Callable[[Response], bool] = lambda response: response.status == "success"
    events: list[Event] = field(default_factory=list)

    async def ask(self, thread: str, question: str = QUESTION, profile: str | None = None) -> Response:
        """One turn. Its events are added to `events`."""
        context = Context(profile=profile) if profile else None
        found = [event async for event in self.agent.stream(question, thread_id=thread, context=context)]
        self.events += found
        assert found[-1].response is not None
        return found[-1].response

    async def stored(self, thread: str) -> str:
        """All that is kept of the thread, in the state and on disk."""
        snapshot = await self.agent.graph.aget_state(thread_config(thread))
        writes = [
            str(one.pending_writes) async for one in self.agent.memory.database.saver.alist(thread_config(thread))
        ]
        return str(snapshot) + "".join(writes) + await asyncio.to_thread(_on_disk, self.home)


Provoke = Callable[[Stage], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """A row. `asked` is how often the service gets the request before the turn has failed; None: it is not counted.

    `profile` is the one that the turn has, where that is not the agent's own.
    """

    name: str
    provoke: Provoke
    error_type: ErrorType
    code: str
    retry_after: int | None = None
    asked: int | None = None
    server: str = "model"
    profile: str | None = None

    @property
    def sentence(self) -> str:
        seconds = self.retry_after if self.retry_after is not None else RATE_LIMIT_SECONDS
        return USER_MESSAGES[self.error_type].format(retry_after=seconds)


def replies(reply: Reply, *, server: str = "model", path: str = "/") -> Provoke:
    """Every request to that server whose path contains `path` gets this."""

    @contextmanager
    def provoke(stage: Stage) -> Iterator[None]:
        stage.servers[server].faults[path] = reply
        try:
            yield
        finally:
            del stage.servers[server].faults[path]

    return provoke


def refuses_connections(server: str = "model") -> Provoke:
    """Nobody listens at the server's address."""
    return lambda stage: away(stage.servers[server])


async def check(stage: Stage, fault: Fault, thread: str, log: pytest.LogCaptureFixture) -> None:
    """One row of the matrix."""
    for earlier in (0, 2):
        before = len(stage.servers[fault.server].requests)
        with fault.provoke(stage):
            response = await stage.ask(thread, "What is a wrecked widget?", fault.profile)
        asked = len(stage.servers[fault.server].requests) - before
        _is_told(response, fault)
        assert fault.asked is None or asked == fault.asked
        assert response.turn_number == 1 + earlier
        await _is_clean(stage, thread, log)
        after = await stage.ask(thread)
        assert stage.normal(after), after.error
        assert after.turn_number == 2 + earlier
        assert "wrecked" not in str(stage.servers["model"].requests[-1].body)
        _tells_no_secret(stage, str(stage.events))
        stage.events.clear()


def _is_told(response: Response, fault: Fault) -> None:
    error = response.error
    assert error is not None, response.content
    assert (error.error_type, error.code) == (fault.error_type, fault.code), error
    assert error.user_message == fault.sentence
    assert response.content == error.user_message
    assert error.retry_after == fault.retry_after
    assert (response.status, response.phase, response.processing_state) == ("error", "IDLE", "failed")
    assert exit_code(response) == 1


async def _is_clean(stage: Stage, thread: str, log: pytest.LogCaptureFixture) -> None:
    _tells_no_secret(stage, str(stage.events) + await stage.stored(thread) + log.text)
    ours = "".join(record.getMessage() for record in log.records if record.name == "askbook")
    assert "Traceback" not in str(stage.events) + ours


def _tells_no_secret(stage: Stage, said: str) -> None:
    assert said
    for secret in stage.secrets:
        assert secret not in said


def _on_disk(home: Path) -> str:
    files = list(home.glob(f"{FILE}*"))
    assert files, f"no memory in {home}"
    return "".join(file.read_bytes().decode("latin-1") for file in files)
