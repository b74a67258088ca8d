"""A wait that a service asked for, as the commands show it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from cli.ask import _read_response
from cli.turn_view import TurnView
from graph.agent import Agent
from rag.conversation.turns import failed_response
from rag.errors import AskbookError
from rag.types import Event
from state import Context

WAIT = Event("waiting", {"seconds": 7, "reason": "rate_limit"})
LINE = "The service is busy. Trying again in 7 seconds."


class Waits:
    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        response = failed_response(AskbookError("rate_limit", "rate_limit", "m"), profile="default")
        yield WAIT
        yield Event("response", {}, response)


async def test_ask_tells_the_wait_beside_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    await _read_response(cast("Agent", Waits()), "What is a node?", None, Context())
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{LINE}\n")


def test_the_chat_in_a_pipe_tells_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    TurnView().take(WAIT)
    assert capsys.readouterr().err == f"{LINE}\n"


def test_the_chat_on_a_terminal_tells_the_wait_beside_its_spinner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    view = TurnView()
    view.take(WAIT)
    view.close()
    shown = capsys.readouterr()
    assert "The service is busy, trying again in 7 s" in shown.out
    assert shown.err == ""
