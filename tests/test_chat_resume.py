"""The chat and what was broken off or cannot be read: offered, finished, listed, forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from cli.chat import _do, _offer
from cli.prompt import history_file
from cli.session import ChatSession
from cli.threads import as_markdown, delete, forget, row, summaries
from graph.memory import Memory, open_memory
from graph.storage import thread_config
from rag.errors import UsageError
from rag.settings import Settings
from state import InputState
from tests.machine import ANSWER, Machine
from tests.mending import damage

OFFER = 'The answer to "What is a node?" was interrupted. Finish it? [Y/n]'


async def broken_off(memory: Memory, home: Path, *script: str) -> ChatSession:
    """A chat in a conversation whose last turn was killed before its answer."""
    start = InputState(messages=[HumanMessage("What is a node?")])
    graph: Any = Machine(memory=memory).graph
    assert [one async for one in graph.astream(start, thread_config("t"), interrupt_before=["GENERATING"])]
    settings = Settings(ASKBOOK_HOME=home)  # type: ignore[call-arg]  # fields go by their variables
    session = ChatSession(Machine(*script, memory=memory).agent, settings, "default")
    await session.resume(None)
    await _offer(session)
    return session


@pytest.mark.parametrize("said", ["", "y", "Yes", "/resume"])
async def test_a_turn_that_was_broken_off_is_offered_and_finished(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    session = await broken_off(memory, tmp_path, ANSWER)
    await _do(session, said)
    shown = capsys.readouterr()
    assert OFFER in shown.err
    assert "A node is a process" in shown.out
    assert await session.agent.unfinished("t") is None


@pytest.mark.parametrize("said", ["n", "No"])
async def test_who_declines_is_asked_once_and_nothing_is_lost(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    session = await broken_off(memory, tmp_path)
    for line in (said, ""):
        await _do(session, line)
    assert capsys.readouterr().err.count("Finish it?") == 1
    assert await session.agent.unfinished("t") == "What is a node?"


async def test_another_question_is_answered_instead(memory: Memory, tmp_path: Path) -> None:
    session = await broken_off(memory, tmp_path, ANSWER)
    await _do(session, "And what is a topic?")
    turns = (await session.agent.conversation("t"))["turns"]
    assert [turn["question"] for turn in turns] == ["And what is a topic?"]


async def test_a_conversation_that_cannot_be_read_is_listed_and_can_be_deleted(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(ANSWER, ANSWER, memory=memory)
    for thread in ("t", "u"):
        await machine.agent.ask("What is a node?", thread_id=thread)
    await damage(memory)
    listed = {one["thread_id"]: row(one) for one in await summaries(memory)}
    assert "cannot be read (conversation_broken)" in listed["t"]
    assert "1 turn" in listed["u"]
    assert "Restore a backup" in capsys.readouterr().err
    await delete(memory, tmp_path, "t")
    assert await memory.threads() == ["u"]


async def test_what_was_not_answered_is_shown(memory: Memory, tmp_path: Path) -> None:
    session = await broken_off(memory, tmp_path)
    text = as_markdown(await session.agent.conversation("t"))
    assert "## What is a node?\n\n(not answered)" in text


async def test_what_was_typed_in_a_deleted_conversation_is_forgotten(tmp_path: Path) -> None:
    from prompt_toolkit.history import FileHistory

    history = FileHistory(str(history_file(tmp_path)))
    for line in ("What is a node?", "What is a topic?", "two\nlines", "/quit"):
        history.store_string(line)
    async with open_memory(tmp_path) as memory:
        machine = Machine(ANSWER, ANSWER, memory=memory)
        for question in ("What is a node?", "two\nlines"):
            await machine.agent.ask(question, thread_id="t")
        await delete(memory, tmp_path, "t")
    assert list(FileHistory(str(tmp_path / "history")).load_history_strings()) == ["/quit", "What is a topic?"]
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("how", ["-c", "--thread", "/threads"])
async def test_the_last_answer_of_a_continued_conversation_has_its_sources(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    given = await Machine(ANSWER, memory=memory).agent.ask("What is a node?", thread_id="t")
    settings = Settings(ASKBOOK_HOME=tmp_path)  # type: ignore[call-arg]  # fields go by their variables
    session = ChatSession(Machine(memory=memory).agent, settings, "default")
    if how == "/threads":
        await _do(session, "/threads t")
    else:
        await session.resume("t" if how == "--thread" else None)
    for line in ("/sources", "/why"):
        await _do(session, line)
    shown = capsys.readouterr().out
    assert f"“{given.citations[0].quote}”" in shown
    assert "searched  What is a node?" in shown
    assert "confirmed" not in shown, "the check is not stored"
    assert "budget" not in shown
    assert (await session.answer()).citations == given.citations


async def test_after_an_undo_the_answer_before_it_is_the_last_one(memory: Memory, tmp_path: Path) -> None:
    machine = Machine(ANSWER, ANSWER, memory=memory)
    settings = Settings(ASKBOOK_HOME=tmp_path)  # type: ignore[call-arg]  # fields go by their variables
    session = ChatSession(machine.agent, settings, "default")
    for line in ("What is a node?", "What is a topic?", "/undo"):
        await _do(session, line)
    assert (await session.answer()).turn_number == 1
    await _do(session, "/undo")
    with pytest.raises(UsageError, match="no answer yet"):
        await session.answer()


def test_a_history_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    with pytest.raises(UsageError, match=r"/history, the file with the typed lines, cannot be used: Is a directory\."):
        history_file(tmp_path)


def test_without_a_file_there_is_nothing_to_forget(tmp_path: Path) -> None:
    forget(tmp_path, {"What is a node?"})
    assert not list(tmp_path.iterdir())
