"""Several `serve` processes on one PostgreSQL database and one index, and a server that is killed."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from pydantic import SecretStr

from rag.settings import Settings
from tests.conftest import index_book
from tests.homes import copied
from tests.openai_server import OPENAI_KEY, Endpoint, Reply, answer, openai_server
from tests.postgres import Cluster
from tests.qdrant_server import QdrantServer
from tests.serving import served
from tests.web import KEYS, bearer, events
from tests.wire import listening

TEETH = "Every widget has exactly four teeth [1]."
QUESTION = {"question": "How many teeth does a widget have?"}
STREAMS = 20
REQUESTS = 100  # of each key; bench/two_keys.py sends a thousand


@pytest.fixture
def model() -> Iterator[Endpoint]:
    """An endpoint that gives the same answer to every request."""
    with openai_server() as opened:
        opened.faults["/chat"] = answer(TEETH)
        yield opened


@pytest.fixture
def variables(model: Endpoint) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": model.address,
        "ASKBOOK_JUDGE": "none",
        "ASKBOOK_TURNS_PER_MINUTE": "1000000",
        "ASKBOOK_CONCURRENT_TURNS": "1000",
    }


@pytest.fixture
def home(tiny_book: Path, tmp_path: Path) -> Path:
    return copied(tiny_book, tmp_path / "home")


def ask(http: httpx.Client, thread: str, **more: Any) -> Any:
    """The response of one turn."""
    return events(http.post(f"/api/threads/{thread}/turns", json=QUESTION | more).text)[-1][1]


def test_a_conversation_goes_on_on_another_server(
    home: Path, variables: dict[str, str], model: Endpoint, database_url: SecretStr
) -> None:
    variables["ASKBOOK_DATABASE_URL"] = database_url.get_secret_value()
    with served(home, variables) as one, served(home, variables) as other:
        with httpx.Client(base_url=one.address, timeout=60) as first:
            assert ask(first, "t")["turn_number"] == 1
        with httpx.Client(base_url=other.address, timeout=60) as second:
            assert second.get("/api/threads/t").json()["turns"][0]["question"] == QUESTION["question"]
            assert ask(second, "t", question="And a gadget?")["turn_number"] == 2
            assert QUESTION["question"] in str(model.requests[-1].body), "the other server knows the first turn"
        with httpx.Client(base_url=one.address, timeout=60) as first:
            assert len(first.get("/api/threads/t").json()["turns"]) == 2


def test_a_conversation_that_another_server_answers_is_busy(
    home: Path, variables: dict[str, str], model: Endpoint, database_url: SecretStr
) -> None:
    variables["ASKBOOK_DATABASE_URL"] = database_url.get_secret_value()
    model.faults["/chat"] = Reply(texts=(f"{TEETH}\n\n", "A widget"), finish=None, hang=True)
    with served(home, variables) as one, served(home, variables) as other:
        stuck = httpx.stream("POST", f"{one.address}/api/threads/t/turns", json=QUESTION, timeout=60)
        with stuck as running:
            lines = running.iter_lines()  # kept: the connection closes with it
            _until(lines, "event: sentence")
            refused = httpx.post(f"{other.address}/api/threads/t/turns", json=QUESTION, timeout=60)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "thread_busy")
            model.faults["/chat"] = answer(TEETH)
            free = httpx.post(f"{other.address}/api/threads/u/turns", json=QUESTION, timeout=60)
            assert events(free.text)[-1][1]["status"] == "success"


def test_two_replicas_share_a_database_and_a_qdrant_server_and_one_may_be_killed(
    tmp_path: Path, tiny_source: Path, variables: dict[str, str], model: Endpoint, database_url: SecretStr
) -> None:
    """Each has a home of its own, as on two machines. One is killed in the middle of a turn, whose thread goes on."""
    homes = [tmp_path / "one", tmp_path / "other"]
    for folder in homes:
        folder.mkdir()
    with listening(QdrantServer()) as qdrant:
        variables |= {"ASKBOOK_DATABASE_URL": database_url.get_secret_value(), "QDRANT_URL": qdrant.address}
        settings = Settings(ASKBOOK_HOME=homes[0], QDRANT_URL=qdrant.address)  # type: ignore[call-arg]  # by variable
        asyncio.run(index_book(tiny_source, homes[0], settings=settings))
        with served(homes[0], variables) as one, served(homes[1], variables) as other:
            with httpx.Client(base_url=one.address, timeout=60) as http:
                assert ask(http, "t")["status"] == "success"
            model.faults["/chat"] = Reply(texts=(f"{TEETH}\n\n", "A widget"), finish=None, hang=True)
            with httpx.stream("POST", f"{one.address}/api/threads/t/turns", json=QUESTION, timeout=60) as running:
                lines = running.iter_lines()  # kept: the connection closes with it
                _until(lines, "event: sentence")
                refused = httpx.post(f"{other.address}/api/threads/t/turns", json=QUESTION, timeout=60)
                assert (refused.status_code, refused.json()["error"]["code"]) == (409, "thread_busy")
                one.process.kill()
                one.process.wait(60)
            model.faults["/chat"] = answer(TEETH)
            with httpx.Client(base_url=other.address, timeout=60) as http:
                response = ask(http, "t")
            assert (response["status"], response["turn_number"]) == ("success", 2)
            assert response["citations"][0]["title"] == "Widgets"


@dataclass(frozen=True)
class Paused(Reply):
    """An answer whose second half is sent when `goes_on` is set."""

    goes_on: threading.Event = field(default_factory=threading.Event)

    def parts(self) -> Iterator[str]:
        events = list(super().parts())
        yield from events[:2]
        self.goes_on.wait(30)
        yield from events[2:]


def test_a_streamed_answer_is_finished_when_the_server_is_stopped(
    home: Path, variables: dict[str, str], model: Endpoint
) -> None:
    model.faults["/chat"] = paused = Paused(texts=("Every widget has ", "exactly ", "four teeth [1]."))
    with (
        served(home, variables) as server,
        httpx.stream("POST", f"{server.address}/api/threads/t/turns", json=QUESTION, timeout=60) as running,
    ):
        lines = running.iter_lines()
        _until(lines, "event: retrieval")
        server.process.send_signal(signal.SIGTERM)
        time.sleep(1)  # in which it would have cut the stream
        paused.goes_on.set()
        assert events("\n".join(lines))[-1][1]["status"] == "success"


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_after_a_kill_every_conversation_answers(
    home: Path, variables: dict[str, str], model: Endpoint, database: str, request: pytest.FixtureRequest
) -> None:
    if database == "postgres":
        cluster: Cluster = request.getfixturevalue("postgres")
        variables["ASKBOOK_DATABASE_URL"] = cluster.new_database(f"killed{time.monotonic_ns()}").get_secret_value()
    model.faults["/chat"] = Reply(texts=(f"{TEETH}\n\n", "A widget"), finish=None, hang=True)
    with served(home, variables) as server:
        async with _streaming(server.address) as shown:
            await asyncio.gather(*(one.wait() for one in shown))
            server.process.send_signal(signal.SIGKILL)
    model.faults["/chat"] = answer(TEETH)
    with served(home, variables) as server:
        _all_answer(server.address)


def _all_answer(address: str) -> None:
    """Half of the interrupted questions are asked again, and every conversation answers another one."""
    with httpx.Client(base_url=address, timeout=60) as http:
        for number in range(STREAMS):
            if number % 2:
                retried = events(http.post(f"/api/threads/t{number}/retry").text)[-1][1]
                assert (retried["status"], retried["turn_number"]) == ("success", 1)
            response = ask(http, f"t{number}")
            assert response["status"] == "success"
            assert response["citations"]
            assert http.get(f"/api/threads/t{number}").json()["turns"][-1]["plain_content"]


@asynccontextmanager
async def _streaming(address: str) -> AsyncIterator[list[asyncio.Event]]:
    """As many turns at once, each on its own conversation; an event is set when a turn has shown a sentence."""
    shown = [asyncio.Event() for _ in range(STREAMS)]

    async def stream(http: httpx.AsyncClient, number: int) -> None:
        with suppress(httpx.HTTPError):  # the server is killed
            async with http.stream("POST", f"/api/threads/t{number}/turns", json=QUESTION) as answered:
                async for line in answered.aiter_lines():
                    if line == "event: sentence":
                        shown[number].set()

    limits = httpx.Limits(max_connections=STREAMS)
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as http:
        tasks = [asyncio.create_task(stream(http, number)) for number in range(STREAMS)]
        yield shown
        await asyncio.gather(*tasks)


def test_no_key_ever_sees_anything_of_the_others(home: Path, variables: dict[str, str], model: Endpoint) -> None:
    """Random requests with two keys, each about conversations of both; what is asked for is seen only by its owner."""
    rng, variables["ASKBOOK_API_KEYS"] = random.Random(5), KEYS
    own: dict[str, set[str]] = {"ann": set(), "bob": set()}
    with served(home, variables) as server, httpx.Client(base_url=server.address, timeout=60) as http:
        for _ in range(REQUESTS):
            for name, others in (("ann", "bob"), ("bob", "ann")):
                _one(http, rng, name, own)
                seen = http.get("/api/threads", headers=bearer(name)).json()["threads"] if rng.random() < 0.1 else []
                assert {row["thread_id"] for row in seen} <= own[name], others


def _one(http: httpx.Client, rng: random.Random, name: str, own: dict[str, set[str]]) -> None:
    """One request about a conversation, under names that both have and under those of the other's store."""
    (other,) = own.keys() - {name}
    place = rng.randrange(6)
    thread = rng.choice([f"t{place}", f"{other}%2Ft{place}", f"..%2F{other}%2Ft1", f"{name}%2Ft1"])
    action = rng.choice(["turns", "turns", "retry", "undo", "clear", "", "", "DELETE"] if rng.random() < 0.3 else [""])
    head = bearer(name)
    if action == "turns":
        question = {"question": f"I am {name}. What is it?"}
        answered = http.post(f"/api/threads/{thread}/turns", json=question, headers=head)
        if answered.status_code == 200:
            own[name].add(unquote(thread))
    elif action == "DELETE":
        answered = http.delete(f"/api/threads/{thread}", headers=head)
    elif action:
        answered = http.post(f"/api/threads/{thread}/{action}", headers=head)
    else:
        answered = http.get(f"/api/threads/{thread}", headers=head)
    if unquote(thread) not in own[name]:
        assert answered.status_code == 404
    assert f"I am {other}" not in answered.text
    if action in ("clear", "DELETE") and answered.is_success:
        own[name].discard(unquote(thread))


def _until(lines: Iterator[str], mark: str) -> None:
    assert any(line == mark for line in lines)
