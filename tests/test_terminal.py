"""The chat on a real pseudo-terminal, as a person uses it. Few processes, many steps in each."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rag.books.stored_books import rename_book
from rag.settings import Settings
from tests.command_line import QUESTION
from tests.openai_server import OPENAI_KEY, Endpoint, answer, refuses
from tests.terminal import CTRL_C, CTRL_D, CTRL_R, ESCAPE, TAB, UP, Terminal, flat

TEETH = "Every widget has exactly four teeth [1]."
SGR = re.compile(rb"\x1b\[[0-9;]*m")
COLOURS = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|38|4[0-7])(?:;[0-9;]*)?m")


@pytest.fixture
def home(tiny_book: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_book, tmp_path / "home"))


def with_model(endpoint: Endpoint) -> dict[str, Any]:
    return {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": endpoint.address}


def test_six_turns_with_a_model(home: Path, endpoint: Endpoint) -> None:
    """Marks, links, a withdrawn answer, another model, another width, and the conversation afterwards."""
    endpoint.script += [
        answer(TEETH, " Every widget sings in the morning [1]."),
        answer("A gadget is a machine made of twelve widgets [1]."),
        answer("Gadgets are painted ", "blue at the factory in Lund [1]."),
        answer("Clean a gadget with warm water once a month [1]."),
        answer("Mount a widget with the steel bracket [1]."),
        answer(TEETH),
    ]
    with Terminal(home=home, **with_model(endpoint), FORCE_HYPERLINK="1") as chat:
        assert "model    gpt-4o-mini" in chat.prompt()
        assert "keys     OPENAI_API_KEY" in chat.text
        doubted = chat.enter(QUESTION)
        assert "Every widget sings in the morning [1]. [?]" in flat(doubted)
        assert "Sentences marked [?] could not be confirmed in the book." in doubted
        assert "1 sentence could not be confirmed." in flat(chat.enter("/why"))
        assert "twelve widgets" in chat.enter("What is a gadget?")
        chat.enter("/model gpt-other")
        assert "blue at the factory" in chat.enter("And what colour does it have?")
        assert endpoint.requests[-1].body["model"] == "gpt-other"
        assert "*gpt-other" in chat.enter("/model")
        chat.resize(44)
        assert "warm water" in chat.enter("How do I clean one?")
        assert "bracket" in chat.enter("And how do I mount a widget?")
        chat.resize(100)
        assert "four teeth" in chat.enter("How many teeth does it have?")
        assert "6 turns · book" in chat.enter("/threads")
        assert chat.enter("/export talk.md") == "Wrote talk.md.\n›"
        chat.type(CTRL_D)
        assert chat.end() == 0
    assert (home.parent / "talk.md").read_text().count("\n## ") == 6
    assert (home / "history").stat().st_mode & 0o777 == 0o600


def test_an_answer_can_be_stopped_while_it_is_written_and_while_a_retry_waits(home: Path, endpoint: Endpoint) -> None:
    endpoint.script += [
        answer(TEETH, "\n\nMore", finish=None, usage=None, hang=True),
        answer(TEETH),
        refuses(429, "slow down", retry_after="20"),
        answer(TEETH),
    ]
    with Terminal(home=home, **with_model(endpoint)) as chat:
        chat.prompt()
        chat.type(f"{QUESTION}\r")
        chat.until("exactly four teeth")
        assert chat.cursor_hidden
        chat.type(CTRL_C)
        chat.until("Stopped. Type /resume to finish the answer")
        stopped = chat.prompt()
        assert "exactly four teeth" in stopped, "what was shown stays"
        assert not chat.cursor_hidden
        assert "[1] Widgets  widgets.md" in chat.enter("/resume")
        chat.type("Are there really four?\r")
        chat.until("The service is busy, trying again in 1")
        chat.type(CTRL_C)
        chat.until(lambda text: text.count("Stopped.") == 2)
        chat.prompt()
        assert "trying again" not in chat.text, "the line of progress is gone"
        assert "exactly four teeth" in chat.enter("/retry")
        chat.type(CTRL_C)
        chat.until("(Ctrl-D leaves)")
        chat.type("/quit\r")
        assert chat.end() == 0
        assert not chat.cursor_hidden


def test_a_signal_that_ends_the_program_gives_the_cursor_back(home: Path, endpoint: Endpoint) -> None:
    endpoint.script += [answer(TEETH, "\n\nMore", finish=None, usage=None, hang=True)]
    with Terminal(home=home, **with_model(endpoint)) as chat:
        chat.prompt()
        chat.type(f"{QUESTION}\r")
        chat.until("exactly four teeth")
        chat.terminate()
        assert chat.end() == 143
        assert not chat.cursor_hidden
        assert "Traceback" not in chat.text


def test_the_prompt_edits_completes_and_remembers(home: Path) -> None:
    (home.parent / "error.log").write_text("How many teeth does a widget have?")
    (home.parent / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    editor = home.parent / "editor.sh"
    editor.write_text('#!/bin/sh\necho "How do I mount a widget?" > "$1"\n')
    editor.chmod(0o700)
    with Terminal(home=home, EDITOR=str(editor)) as chat:
        assert "Alt-Enter: new line" in chat.prompt()
        chat.type(f"What is{ESCAPE}\ra gadget?")
        assert "› What is\n  a gadget?" in chat.settled(), "two lines, the second below the first"
        chat.type("\r")
        assert "twelve widgets" in chat.prompt()
        chat.type("How many \\\rteeth does a widget have?\r")
        chat.until("four teeth")
        chat.prompt()
        assert "error.log: 1 line put into the question." in chat.enter("@error.log")
        assert "picture.png is not a text." in chat.enter("What is @picture.png")
        assert "is asked as it stands" in chat.enter("What is @no/such.txt")
        chat.type("\x18\x05")  # Ctrl-X Ctrl-E
        chat.until("› How do I mount a widget?")
        chat.type("What is a")  # typed ahead
        chat.until("steel bracket")
        chat.until(lambda text: text.endswith("\n› What is a"))
        chat.type("\x15/prof")  # Ctrl-U
        chat.until("[NAME]: list the profiles")
        chat.type(TAB)
        chat.until("› /profile")
        chat.type(" robo")
        chat.until("Robotics Tutor")
        chat.type(TAB)
        chat.until("› /profile robotics-tutor")
        chat.type("\r")
        chat.until("*robotics-tutor")
        chat.prompt()
        chat.type("x" * 2_001)
        chat.until("x" * 78)
        chat.type("\r")
        chat.until("2,000")
        chat.prompt()
        chat.type(CTRL_R)
        chat.type("gadget")
        chat.until("a gadget?")
        before = chat.text.count("twelve widgets")
        chat.type("\r")
        chat.until(lambda text: text.count("twelve widgets") > before)
        chat.prompt()
        chat.type(CTRL_D)
        assert chat.end() == 0
    with Terminal("-c", home=home) as chat:
        assert "Continuing conversation" in chat.prompt()
        assert "keys " not in chat.text, "the second run is not the first"
        chat.type(UP)
        chat.until("a gadget?")
        chat.type(CTRL_C)
        chat.until("(Ctrl-D leaves)")
        chat.prompt()
        chat.type(CTRL_D)
        assert chat.end() == 0


def test_a_profile_that_keeps_nothing_keeps_no_lines(home: Path) -> None:
    with Terminal("--profile", "documentation-agent", home=home) as chat:
        chat.enter("What is a gadget?")
        chat.type("/quit\r")
        assert chat.end() == 0
    assert not (home / "history").exists()


def test_a_dumb_terminal_gets_plain_lines(home: Path) -> None:
    with Terminal(home=home, TERM="dumb") as chat:
        chat.prompt()
        chat.type(f"{QUESTION}\r")
        shown = chat.until("[1] Widgets  widgets.md")
        assert "Searching the book" in shown
        chat.type("/show\r")
        assert "»Every widget has exactly four teeth.«" in flat(chat.until("«"))
        chat.prompt()
        chat.type(CTRL_D)
        assert chat.end() == 0
    assert b"\x1b" not in chat.raw.replace(b"\x1b[?12l\x1b[?25h", b""), "nothing but the cursor being shown"


def test_no_color_is_heeded_and_bold_stays(home: Path) -> None:
    with Terminal("ask", QUESTION, home=home, NO_COLOR="1") as done:
        assert done.end() == 0
    assert SGR.search(done.raw)
    assert not COLOURS.search(done.raw)


@pytest.mark.parametrize(
    ("typed", "arguments"), [(QUESTION, ["ask", "-"]), (f"{QUESTION}\n/quit\n", [])], ids=["ask", "chat"]
)
def test_a_question_comes_from_a_pipe(home: Path, typed: str, arguments: list[str]) -> None:
    read, write = os.pipe()
    with Terminal(*arguments, home=home, stdin=read) as done:
        os.close(read)
        with os.fdopen(write, "w") as pipe:
            pipe.write(typed)
        _ends_well(done)
        assert "exactly four teeth" in flat(done.text)


def test_an_answer_goes_into_a_pipe(home: Path) -> None:
    read, write = os.pipe()
    with Terminal("ask", QUESTION, home=home, stdout=write) as done:
        os.close(write)
        with os.fdopen(read) as pipe:
            assert "**Sources:**" in pipe.read()
        _ends_well(done)


def test_an_answer_is_shown_whole_without_streaming(home: Path) -> None:
    with Terminal("ask", QUESTION, "--no-stream", home=home) as done:
        _ends_well(done)
        assert "[1] Widgets widgets.md" in flat(done.text)


def test_a_pipe_whose_reader_has_gone(home: Path) -> None:
    """In the shell itself, which starts Python."""
    with Terminal(home=home, shell=f"run.py ask '{QUESTION}' | true; run.py books list | head -0; echo done") as done:
        _ends_well(done)
        assert "done" in flat(done.text)


def _ends_well(done: Terminal) -> None:
    assert done.end() == 0
    assert "Traceback" not in done.text
    assert "BrokenPipe" not in done.text


def test_a_chat_whose_answers_go_into_a_file_prompts_on_the_terminal(home: Path) -> None:
    answers = home.parent / "answers.txt"
    with answers.open("wb") as file, Terminal(home=home, stdout=file.fileno()) as chat:
        chat.prompt()
        chat.type(f"{QUESTION}\r")
        chat.until(lambda _: "four teeth" in answers.read_text())
        chat.prompt()
        chat.type(CTRL_D)
        assert chat.end() == 0
    assert "\x1b" not in answers.read_text()


def test_a_long_name_of_a_book_leaves_room_for_its_title_on_a_narrow_screen(home: Path) -> None:
    name = "a-book-whose-name-is-longer-than-the-screen"
    asyncio.run(rename_book(Settings(home=home), "book", name))
    with Terminal("--collection", name, home=home, width=40) as chat:
        listed = chat.enter("/book")
        assert "2 pages, 4\n" in listed
        assert "askbook's own\n" in listed
