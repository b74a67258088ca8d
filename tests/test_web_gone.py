"""A client that closes the connection: its turn ends, whether or not anything was sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.machine import ANSWER, Machine
from tests.web import client

ASKED = [{"role": "user", "content": "What is a node?"}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": ASKED}),
        ("/v1/chat/completions", {"messages": ASKED, "stream": True}),
        ("/v1/chat/completions", {"messages": ASKED, "metadata": {"thread_id": "t"}}),
        ("/api/threads/t/turns", {"question": "What is a node?"}),
    ],
)
async def test_a_turn_whose_client_has_gone_is_cancelled(
    path: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, begun, ended = Machine(ANSWER), asyncio.Event(), asyncio.Event()

    async def endless(*_arguments: Any, **_options: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(machine.searcher, "retrieve", endless)
    async with asyncio.timeout(5):
        await _post(machine, path, body, begun)
    assert ended.is_set()


async def _post(machine: Machine, path: str, body: dict[str, Any], gone: asyncio.Event) -> None:
    """Send a request whose client closes the connection when `gone` is set."""
    messages = iter([{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (message := next(messages, None)) is not None:
            return message
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        """Nobody reads it."""

    async with client(machine) as http:
        app: Any = http._transport
        scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"127.0.0.1:8000")], "scheme": "http", "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        await app.app(scope, receive, send)
