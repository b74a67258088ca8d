"""The command line over PostgreSQL: the same commands, and the password nowhere."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from tests.command_line import QUESTION, CommandLine, Done
from tests.postgres import PASSWORD


@pytest.fixture
def done(run: CommandLine, database_url: SecretStr) -> dict[str, Done]:
    """What each command does over an empty database, one after the other."""
    address = {"ASKBOOK_DATABASE_URL": database_url.get_secret_value()}
    return {
        "ask": run("ask", QUESTION, "--thread", "t", "--json", **address),
        "list": run("threads", "list", "--json", **address),
        "doctor": run("doctor", **address),
        "nowhere": run("threads", "list", ASKBOOK_DATABASE_URL=f"postgresql://askbook:{PASSWORD}@127.0.0.1:1/x"),
    }


def test_conversations_are_in_the_database_and_the_password_is_nowhere(done: dict[str, Done], run: CommandLine) -> None:
    assert done["ask"].data["status"] == "success"
    assert [one["thread_id"] for one in done["list"].data] == ["t"]
    assert 'the PostgreSQL database "t' in done["doctor"].out
    assert done["nowhere"].code == 1
    assert "cannot be reached" in done["nowhere"].err
    assert not [name for name, one in done.items() if PASSWORD in one.out + one.err]
    assert not (run.home / "memory.sqlite").exists()
