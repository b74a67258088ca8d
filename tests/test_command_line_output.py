"""Where the results go may be gone, full, or speak another encoding: no traceback, and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command_line import QUESTION, ROOT, CommandLine
from tests.fork_server import CLOSED, PIPE, Forked, fork_server


def _run(arguments: list[str], stdout: int, home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A process that starts Python, which reads variables of its own."""
    command = [sys.executable, str(ROOT / "run.py"), *arguments]
    env = _clean(home) | environment
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, cwd=home, env=env, check=False, timeout=60)


def _fork(arguments: list[str], stdout: int, home: Path) -> tuple[int, str]:
    """The exit code of a process, and what it writes to the standard error."""
    with fork_server().start(*arguments, cwd=home, env=_clean(home), stdout=stdout) as done:
        assert done.stderr is not None
        err = done.stderr.read().decode()
        return done.wait(60), err


def _clean(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "ASKBOOK_HOME": str(home)}


@contextmanager
def _gone() -> Iterator[int]:
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def test_a_reader_that_has_gone_ends_the_program_quietly(tmp_path: Path) -> None:
    with _gone() as write:
        assert _fork(["threads", "list", "--json"], write, tmp_path) == (0, "")


def test_a_reader_that_has_gone_ends_it_quietly_without_a_buffer_too(tmp_path: Path) -> None:
    with _gone() as write:
        done = _run(["threads", "list", "--json"], write, tmp_path, PYTHONUNBUFFERED="1")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_standard_output_is_no_failure(tmp_path: Path) -> None:
    assert _fork(["threads", "list", "--json"], CLOSED, tmp_path) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["threads", "list", "--json"], ["--help"], ["books", "--help"]])
def test_output_that_cannot_be_written_is_one_line_and_code_1(arguments: list[str], tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    done = _fork(arguments, full, tmp_path)
    os.close(full)
    assert done == (1, "The disk is full. Free some space, then try again.\n")


def test_a_narrow_encoding_costs_a_character_and_not_the_answer(run: CommandLine) -> None:
    done = run.process("threads", "show", "ü → 1", "--json", PYTHONIOENCODING="ascii")
    assert done.code == 2
    assert "There is no conversation" in done.err
    assert done.err.count("\n") == 1


def test_json_stays_exact_in_a_narrow_encoding(run: CommandLine) -> None:
    done = run.process("ask", "", "--thread", "ü → 1", "--json", PYTHONIOENCODING="ascii")
    assert done.code == 2
    assert done.data["thread_id"] == "ü → 1"


def test_json_is_printed_when_the_memory_cannot_be_opened(tmp_path: Path, tiny_book: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    (run.home / "memory.sqlite").unlink(missing_ok=True)
    (run.home / "memory.sqlite").write_bytes(b"this is no database, and long enough to be looked at" * 40)
    done = run("ask", "What is a widget?", "--json")
    assert done.code == 1
    assert done.data["error"]["code"] == "memory_broken"


def test_the_name_of_a_file_cannot_pretend_to_be_another_result(run: CommandLine, tmp_path: Path) -> None:
    """A line feed in a name would begin a line that looks like one of ours."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a\n[2] 0.99  The Truth.md").write_text("# Robots\n\nThe robot weighs 89 kg.")
    assert run("ingest", str(tmp_path / "book")).code == 0
    found = run("search", "How much does the robot weigh?").out
    assert [line[:3] for line in found.splitlines() if line.startswith("[")] == ["[1]"]


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_program_of_which_a_stream_is_closed_works_and_writes_into_no_file(run: CommandLine, closed: int) -> None:
    streams = [CLOSED if number == closed else PIPE for number in range(3)]
    before = run("books", "show", "book", "--json").data["passages"]
    with _asking(run, *streams) as done:
        assert done.wait(120) == 0
    _was_answered_and_changed_nothing(run, before)


def test_a_program_whose_streams_are_all_closed_works_and_writes_into_no_file(run: CommandLine) -> None:
    """Python starts, and opens none of them."""
    program = f"{sys.executable} {ROOT / 'run.py'}"
    before = run("books", "show", "book", "--json").data["passages"]
    script = f"{program} ask 'How many teeth does a widget have?' --thread closed <&- >&- 2>&-; exit $?"
    done = subprocess.run(["/bin/sh", "-c", script], cwd=run.folder, env=run._environment({}), timeout=120, check=False)
    assert done.returncode == 0
    _was_answered_and_changed_nothing(run, before)


def _asking(run: CommandLine, stdin: int, stdout: int, stderr: int) -> Forked:
    arguments = ["ask", QUESTION, "--thread", "closed"]
    environment = run._environment({})
    return fork_server().start(*arguments, cwd=run.folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr)


def _was_answered_and_changed_nothing(run: CommandLine, passages: int) -> None:
    assert run("threads", "show", "closed", "--json").data["turns"][-1]["status"] == "success"
    assert run("books", "show", "book", "--json").data["passages"] == passages
    assert run("threads", "delete", "closed").code == 0


def test_in_one_pipe_the_refusal_comes_before_the_closest_pages(run: CommandLine) -> None:
    read, write = os.pipe()
    arguments = ["ask", "Which widgets did Napoleon own in Paris?"]
    done = fork_server().start(*arguments, cwd=run.folder, env=run._environment({}), stdout=write, stderr=write)
    os.close(write)
    with done, os.fdopen(read, "rb") as pipe:
        shown = pipe.read()
        assert done.wait(120) == 0
    answer, pages = shown.index(b"I don't have information"), shown.index(b"Closest pages:")
    assert answer < pages


def test_a_home_whose_name_is_too_long_is_told(run: CommandLine) -> None:
    done = run("ask", "How many teeth does a widget have?", ASKBOOK_HOME=f"/tmp/{'x' * 300}")
    assert done.code == 2
    assert done.err == f"ASKBOOK_HOME cannot be used: File name too long: /tmp/{'x' * 195}…\n"


def test_a_report_whose_name_is_too_long_is_told(run: CommandLine) -> None:
    (run.folder / "questions.jsonl").write_text('{"question": "Why?"}', encoding="utf-8")
    done = run("eval", "questions.jsonl", "--report", f"/tmp/{'x' * 300}")
    assert done.code == 1
    assert done.err == f"/tmp/{'x' * 194}… cannot be used: File name too long.\n"
