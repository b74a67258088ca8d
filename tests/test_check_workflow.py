"""The checklist over the whole way of a question, over the tiny book."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.check_workflow import main
from tests.command_line import CommandLine, Done
from tests.openai_server import answer, openai_server, refuses

CHECKS = [
    "settings", "profile", "embedding", "book", "answer", "citations", "tool", "refusal", "follow-up", "conversation",
    "undo", "clear",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, tiny_book: Path) -> CommandLine:
    return CommandLine(tmp_path, tiny_book)


def check(folder: CommandLine, *arguments: str, **environment: str) -> Done:
    return folder.call(main, arguments, **environment)


def marks(done: Done) -> dict[str, str]:
    """What was found of each check: ok, FAIL or -."""
    lines = [line.split() for line in done.out.splitlines() if not line.startswith(" ")]
    return {words[1]: words[0] for words in lines}


@pytest.mark.parametrize("profile", ["default", "robotics-tutor"])
def test_every_check_passes_over_a_book_and_without_a_key(folder: CommandLine, profile: str) -> None:
    done = check(folder, "--profile", profile)
    assert (done.code, done.err) == (0, "")
    assert marks(done) == dict.fromkeys(CHECKS, "ok")


def test_the_tool_of_the_profile_is_carried_out(folder: CommandLine) -> None:
    said = {name: check(folder, "--profile", name).out for name in ("textbook-assistant", "isaac-sim")}
    assert "search_knowledge_base(query=...) answered with " in said["textbook-assistant"]
    assert "the profile offers none" in said["isaac-sim"]


def test_it_is_a_script_that_runs_from_any_folder(folder: CommandLine) -> None:
    done = folder.python("--profile", "nobody", script="examples/check_workflow.py")
    assert (done.code, done.err) == (1, "")
    assert list(marks(done)) == CHECKS


def test_it_leaves_no_conversation_behind(folder: CommandLine) -> None:
    check(folder)
    with openai_server() as endpoint:
        endpoint.script += [answer("A widget [1]."), refuses(401)]
        check(folder, OPENAI_API_KEY="key", OPENAI_BASE_URL=endpoint.address)
    listed = folder("threads", "list", "--json")
    assert listed.data == []


def test_a_profile_that_is_not_there_fails_with_the_names_that_are(folder: CommandLine) -> None:
    done = check(folder, "--profile", "nobody")
    assert done.code == 1
    assert marks(done) == {"settings": "ok", "profile": "FAIL"} | dict.fromkeys(CHECKS[2:], "-")
    assert "textbook-assistant" in done.out
    assert "Traceback" not in done.out + done.err


def test_a_key_that_the_endpoint_refuses_is_told_with_what_to_do(folder: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script.append(refuses(401))
        done = check(folder, OPENAI_API_KEY="not-the-key", OPENAI_BASE_URL=endpoint.address)
    assert done.code == 1
    assert marks(done)["answer"] == "FAIL"
    assert "not-the-key" not in done.out + done.err
    assert "Traceback" not in done.out + done.err


def test_a_model_that_answers_what_the_book_does_not_say_fails_the_check(folder: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script += [answer("A widget turns a shaft [1]."), answer("A gadget, of course [1].")]
        ungated = {"AGENT_SCORE_THRESHOLD": "0", "ASKBOOK_GROUNDING": "off"}
        done = check(folder, OPENAI_API_KEY="key", OPENAI_BASE_URL=endpoint.address, **ungated)
    assert done.code == 1
    assert (marks(done)["citations"], marks(done)["refusal"], marks(done)["follow-up"]) == ("ok", "FAIL", "-")


def test_a_book_that_is_not_there_fails_with_the_command_that_reads_it(folder: CommandLine) -> None:
    done = check(folder, QDRANT_COLLECTION_NAME="other")
    assert done.code == 1
    assert marks(done)["book"] == "FAIL"
    assert "run.py ingest PATH --collection other" in done.out
