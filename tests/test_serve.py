"""`run.py serve` as a process: the page, a question, the OpenAPI description, and its end."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

import run
from cli.serve import book_access, listening_on, say_if_book_is_missing
from graph.agent import open_agent
from rag.errors import UsageError
from rag.settings import Settings
from tests.fake_index import FakeIndex
from tests.homes import copied
from tests.serving import served, serving
from tests.web import events


@pytest.fixture(scope="module")
def address(tiny_book: Path) -> Iterator[str]:
    """The address of a server on the tiny book."""
    with serving(tiny_book, python=True) as found:
        yield found


def test_the_server_answers_from_the_book(address: str) -> None:
    with httpx.Client(base_url=address, timeout=60) as http:
        assert http.get("/healthz").json() == {"status": "ok", "failing": {}}
        book = http.get("/api/book").json()
        books = {one["name"]: one for one in http.get("/api/books").json()["books"]}
        assert books[book["collection"]]["current"] is True
        assert books[book["collection"]]["passages"] == book["passages"]
        assert book["passages"] > 0
        found = events(http.post("/api/threads/t/turns", json={"question": "What is a widget?"}).text)
        response = found[-1][1]
        assert response["status"] == "success"
        cited = response["citations"][0]
        stored = http.get(f"/api/passages/{cited['chunk_id']}").json()
        assert stored["text"][cited["start"] : cited["end"]] == cited["quote"]
        assert http.get("/api/passages/none").status_code == 404


def test_a_server_whose_book_is_gone_is_not_healthy_until_it_is_back(tiny_book: Path, tmp_path: Path) -> None:
    home = copied(tiny_book, tmp_path)
    with served(home) as server, httpx.Client(base_url=server.address, timeout=60) as http:
        assert http.get("/healthz").status_code == 200
        (home / "index").rename(home / "gone")
        gone = http.get("/healthz")
        (home / "gone").rename(home / "index")
        assert (gone.status_code, gone.json()["failing"]) == (503, {"index": "The book is not in the index."})
        assert http.get("/healthz").status_code == 200


def test_a_server_says_at_its_start_that_its_book_is_missing_and_what_to_do(tmp_path: Path) -> None:
    with served(tmp_path, None, "--collection", "mine") as server:
        log = _log_with(server.log, "No question")
    (line,) = [line for line in log.splitlines() if line.startswith("No question")]
    assert line.startswith('No question can be answered yet. There is no book in the collection "mine". Run ')
    assert "ingest PATH --collection mine" in line


async def test_a_book_without_a_passage_is_told_at_the_start_and_by_the_health_check(
    tiny_book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_agent(Settings(home=copied(tiny_book, tmp_path))) as agent:
        full = agent.services.index
        await say_if_book_is_missing(full)
        assert (capsys.readouterr().err, await agent.check_health()) == ("", {})
        info = await full.info()
        assert info is not None
        with monkeypatch.context() as patched:
            empty = FakeIndex("book", replace(info, chunks=0))
            patched.setattr(agent.services, "index", empty)
            await say_if_book_is_missing(empty)
            assert await agent.check_health() == {"index": "The book is not in the index."}
    assert capsys.readouterr().err.startswith(
        'No question can be answered yet. There is no book in the collection "book"'
    )


def _log_with(log: Path, words: str) -> str:
    """What the server has said, as soon as it has said these words; the address is told before them."""
    for _ in range(200):
        if words in (said := log.read_text(encoding="utf-8")):
            return said
        time.sleep(0.05)
    raise AssertionError(said)


def test_the_page_loads_only_what_the_server_has(address: str) -> None:
    with httpx.Client(base_url=address) as http:
        page = http.get("/")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        parts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
        assert len(parts) >= 3
        assert all(http.get(part).status_code == 200 for part in parts)
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text)


async def test_an_assistant_uses_the_book_over_http(address: str) -> None:
    async with Client(f"{address}/mcp") as client:
        result: Any = await client.call_tool("ask_book", {"question": "What is a widget?", "thread_id": "of-mcp"})
    assert result.structured_content["status"] == "success"
    async with httpx.AsyncClient(base_url=address) as http:
        stored = await http.get("/api/threads/of-mcp")
        refused = await http.post("/mcp", json={}, headers={"Host": "evil.example"})
    assert stored.json()["turns"][0]["question"] == "What is a widget?"
    assert refused.status_code == 403


async def test_an_assistant_s_questions_count_for_the_limits_of_its_key(tiny_book: Path) -> None:
    with serving(tiny_book, {"ASKBOOK_TURNS_PER_MINUTE": "1"}) as address:
        async with Client(f"{address}/mcp") as client:
            first: Any = await client.call_tool("ask_book", {"question": "What is a widget?"})
            second: Any = await client.call_tool("ask_book", {"question": "What is a widget?"})
        async with httpx.AsyncClient(base_url=address) as http:
            third = await http.post("/api/threads/t/turns", json={"question": "What is a widget?"})
    assert (first.is_error, second.is_error, third.status_code) == (False, True, 429)
    assert second.structured_content["error"]["code"] == "too_many_requests"


def test_wrong_paths_and_methods_are_errors_of_the_same_form(address: str) -> None:
    with httpx.Client(base_url=address) as http:
        assert http.get("/nothing").json()["error"]["code"] == "not_found"
        wrong = http.put("/api/threads")
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")


def test_the_metrics_name_routes_and_no_ids(address: str) -> None:
    with httpx.Client(base_url=address) as http:
        http.get("/api/threads/secret-thread")
        text = http.get("/metrics").text
    assert 'route="/api/threads/{thread_id}"' in text
    assert "secret-thread" not in text


def test_without_keys_no_other_machine_is_served(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.main(["serve", "--host", "0.0.0.0"]) == 2
    assert "ASKBOOK_API_KEYS" in capsys.readouterr().err


def test_a_port_in_use_is_one_line(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.main(["serve", "--port", address.rpartition(":")[2]]) == 2
    assert "Cannot listen on 127.0.0.1" in capsys.readouterr().err


async def test_no_piece_of_a_response_waits_until_the_one_before_it_has_arrived() -> None:
    found: asyncio.Queue[int] = asyncio.Queue()

    async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        await found.put(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listening = listening_on("127.0.0.1", 0)
    async with await asyncio.start_server(accepted, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await asyncio.wait_for(found.get(), 10) == 1
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_what_cannot_be_a_book_is_refused_before_anything_is_served(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBOOK_BOOKS", "handbook,../x")
    assert run.main([command]) == 2
    assert capsys.readouterr().err.startswith('ASKBOOK_BOOKS: "../x" cannot be the name of a collection.')


def test_a_name_that_a_server_may_have_is_a_book_with_a_server() -> None:
    with pytest.raises(UsageError, match="ASKBOOK_BOOKS"):
        book_access(Settings(books="my book"))
    assert book_access(Settings(books="my book", qdrant_url="http://127.0.0.1:6333")).entries == (("", "my book"),)
