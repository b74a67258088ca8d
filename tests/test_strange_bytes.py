"""Text that is no text: bytes that are not UTF-8, terminal sequences, ids and names that cannot be shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graph.storage import thread_config
from rag.conversation.turns import check_question, check_thread_id
from rag.errors import InvalidQuestionError, UsageError
from rag.ingest.loaders import load_source
from tests.machine import ANSWER, Machine

NO_TEXT = b"What \xff is it?".decode("utf-8", "surrogateescape")


def test_a_question_that_is_not_utf8_is_turned_away() -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        check_question(NO_TEXT, 2000)
    assert caught.value.code == "not_text"


async def test_a_question_that_is_not_utf8_leaves_no_trace() -> None:
    machine = Machine(ANSWER)
    response = await machine.agent.ask(NO_TEXT, thread_id="t")
    assert response.error is not None
    assert response.error.code == "not_text"
    assert not (await machine.graph.aget_state(thread_config("t"))).values


@pytest.mark.parametrize(
    "typed",
    [
        "What is \x1b[31mROS2\x1b[0m?",
        "\x1b]0;title\x07What is ROS2?",
        "What is \x00ROS2?",
        "\x1b[A\x1b[1;5CWhat is ROS2?",
    ],
)
def test_a_question_is_read_without_terminal_sequences(typed: str) -> None:
    assert check_question(typed, 2000) == "What is ROS2?"


def test_a_question_keeps_its_lines_tabs_and_direction_marks() -> None:
    assert check_question("a\n\tb \u202ec\u202c 🤖", 2000) == "a\n\tb \u202ec\u202c 🤖"


def test_a_question_of_nothing_but_terminal_sequences_is_empty() -> None:
    with pytest.raises(InvalidQuestionError) as caught:
        check_question("\x1b[31m \x1b[0m\x00", 2000)
    assert caught.value.code == "empty_question"


@pytest.mark.parametrize("thread", ["", " ", ".", "..", "a\nb", "a\x1b[2J", "x" * 256, NO_TEXT])
async def test_an_id_that_could_not_be_listed_on_a_line_or_put_into_an_address_is_turned_away(thread: str) -> None:
    machine = Machine(ANSWER)
    with pytest.raises(UsageError) as caught:
        await machine.agent.ask("What is a node?", thread_id=thread)
    assert caught.value.code == "thread_id"
    assert await machine.agent.threads() == []


@pytest.mark.parametrize("thread", ["../../etc/passwd", "...", "'; drop table checkpoints; --", "ü ñ 🤖", "x" * 255])
def test_any_printable_id_is_taken_as_given(thread: str) -> None:
    assert check_thread_id(thread) == thread


def test_a_page_whose_name_is_not_utf8_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nText.\n", encoding="utf-8")
    _write_or_skip(os.fsencode(tmp_path) + b"/bad\xff.md")
    loaded = load_source(tmp_path)
    assert [document.path for document in loaded.documents] == ["good.md"]
    assert [(failure.path, failure.reason) for failure in loaded.failures] == [
        ("bad\ufffd.md", "its name is not UTF-8; rename it")
    ]


def test_a_source_whose_name_is_not_utf8_is_one_clear_line(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/bad\xff.md"
    _write_or_skip(file)
    with pytest.raises(UsageError, match="its name is not UTF-8; rename it"):
        load_source(Path(os.fsdecode(file)))


def _write_or_skip(file: bytes) -> None:
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY)
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    os.write(descriptor, b"# Bad\n\nText.\n")
    os.close(descriptor)
