"""One exit code for a name that there is not, whichever command is given it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import QUESTION, CommandLine

UNKNOWN = "00000000-0000-5000-8000-000000000000"
CHOOSE_A_PROFILE = (
    ("ask", "Why?"),
    ("chat",),
    ("ingest", "."),
    ("eval", "questions.jsonl"),
    ("serve", "--port", "0"),
    ("mcp",),
    ("doctor",),
    ("doctor", "--json"),
)
TAKE_THE_USUAL_PROFILE = (("search", "Why?"), ("passages", UNKNOWN))


@pytest.fixture
def run(tmp_path: Path, tiny_book: Path) -> CommandLine:
    made = CommandLine(tmp_path, tiny_book)
    (made.folder / "questions.jsonl").write_text(json.dumps({"question": QUESTION}) + "\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("command", CHOOSE_A_PROFILE, ids=" ".join)
def test_an_unknown_profile_is_wrong_usage(command: tuple[str, ...], run: CommandLine) -> None:
    done = run(*command, "--profile", "nobody")
    assert (done.code, 'There is no profile "nobody".' in (done.err or done.data["error"]["message"])) == (2, True)


@pytest.mark.parametrize("command", CHOOSE_A_PROFILE + TAKE_THE_USUAL_PROFILE, ids=" ".join)
def test_an_unknown_profile_of_the_environment_is_an_invalid_setting(
    command: tuple[str, ...], run: CommandLine
) -> None:
    done = run(*command, ASKBOOK_PROFILE="nobody")
    said = done.err or done.data["error"]["message"]
    assert (done.code, said.startswith('ASKBOOK_PROFILE: There is no profile "nobody".')) == (2, True)


SEARCHING = (("ask", QUESTION), ("search", QUESTION), ("passages", UNKNOWN), ("eval", "questions.jsonl"))


@pytest.mark.parametrize("command", SEARCHING, ids=" ".join)
def test_a_book_that_is_not_there_is_a_failed_search(command: tuple[str, ...], run: CommandLine) -> None:
    done = run(*command, "--json", "--collection", "nothing")
    assert (done.code, done.data["error"]["code"]) == (1, "no_index")
    assert done.data["error"]["hint"] == 'Run "python run.py ingest PATH --collection nothing".'


def test_a_book_that_is_not_there_is_a_finding_of_doctor(run: CommandLine) -> None:
    done = run("doctor", "--json", "--collection", "nothing")
    assert (done.code, [check["code"] for check in done.data["checks"] if not check["ok"]]) == (1, ["no_index"])


def test_a_conversation_is_not_checked_against_a_book_that_is_not_there(run: CommandLine) -> None:
    assert run("ask", QUESTION, "--thread", "t").code == 0
    done = run("verify", "t", "--json", "--collection", "nothing")
    assert (done.code, done.data["error"]["code"]) == (1, "no_index")


NAMING = (*SEARCHING, ("chat",), ("ingest", "."), ("serve", "--port", "0"), ("mcp",), ("doctor",))


@pytest.mark.parametrize("command", NAMING, ids=" ".join)
def test_a_name_that_no_book_can_have_is_wrong_usage(command: tuple[str, ...], run: CommandLine) -> None:
    done = run(*command, "--collection", "../x")
    assert (done.code, '"../x" cannot be the name of a collection.' in done.err) == (2, True)


def test_a_question_to_a_book_that_is_not_there_is_not_stored(run: CommandLine) -> None:
    done = run("ask", QUESTION, "--collection", "nothing", "--thread", "t")
    assert (done.code, done.out, 'There is no book in the collection "nothing".' in done.err) == (1, "", True)
    assert run("threads", "list", "--json").data == []
