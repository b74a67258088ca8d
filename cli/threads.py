"""`run.py threads`: the stored conversations."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import clipped, in_line, one_line, print_json, printable, say
from rag.errors import MemoryFailureError
from rag.settings import Settings
from rag.system.files import write_private
from rag.text.counting import counted

if TYPE_CHECKING:
    from graph.memory import Memory


HISTORY: Final = "history"  # the file with the typed lines, in the home folder


def threads(options: argparse.Namespace) -> int:
    """Exit code 0, or 2 for an unknown id."""
    result = asyncio.run(_run(options, Settings.from_env()))
    if options.json:
        print_json(result)
    elif text := _text(options.action, result):
        print(text)
    return 0


async def _run(options: argparse.Namespace, settings: Settings) -> Any:
    from graph.memory import FILE, MemoryOptions, open_memory
    from rag.conversation.turns import unknown_thread

    # Do not create a database only to look for a conversation.
    if settings.database_url is None and not (settings.home / FILE).exists():
        if options.action in ("list", "prune"):
            return [] if options.action == "list" else {"checkpoints_deleted": 0}
        raise unknown_thread(options.id)
    async with open_memory(settings.home, options=MemoryOptions.of(settings)) as memory:
        if options.action == "prune":
            return {"checkpoints_deleted": await memory.prune()}
        if options.action == "list":
            return await summaries(memory)
        if options.id not in await memory.threads():
            raise unknown_thread(options.id)
        if options.action == "delete":
            await delete(memory, settings.home, options.id)
            return {"deleted": options.id}
        found = await memory.conversation(options.id)
        if found is None:  # another process has just deleted it
            raise unknown_thread(options.id)
        return found


async def stored(settings: Settings, thread_id: str) -> dict[str, Any]:
    """A stored conversation as in `threads show --json`. Raises `UsageError` for an unknown id; creates no database."""
    found: dict[str, Any] = await _run(argparse.Namespace(action="show", id=thread_id), settings)
    return found


async def summaries(memory: Memory) -> list[dict[str, Any]]:
    """A summary of every conversation, newest first. For one that cannot be read, it holds only the `error` code."""
    found = []
    for thread in await memory.threads():
        try:
            summary = await memory.summary(thread)
        except MemoryFailureError as error:
            if error.code not in ("conversation_broken", "memory_key"):
                raise
            summary = {"thread_id": thread, "error": error.code}
            say(f"{thread}: {error.message} {error.hint}")
        if summary and ("error" in summary or summary["first_question"]):
            found.append(summary)
    return found


async def delete(memory: Memory, home: Path, thread_id: str) -> None:
    """Delete a conversation, and its questions from the input history."""
    try:
        conversation = await memory.conversation(thread_id)
    except MemoryFailureError:  # a conversation that cannot be read can still be deleted
        conversation = None
    await memory.delete(thread_id)
    asked = [turn["question"] for turn in conversation["turns"]] if conversation else []
    forget(home, {*asked, (conversation or {}).get("unanswered") or ""} - {""})


def forget(home: Path, questions: Collection[str]) -> None:
    """Remove the questions of a deleted conversation from the file.

    prompt_toolkit writes an entry as a line with "# " and the time, then each line of the text after a "+".
    """
    path = home / HISTORY
    forgotten = {question.strip() for question in questions}
    if forgotten and path.is_file():
        entries = path.read_text(encoding="utf-8", errors="replace").split("\n# ")
        kept = [entry for entry in entries if _typed(entry) not in forgotten]
        if len(kept) < len(entries):
            write_private(path, "\n# ".join(kept))


def _typed(entry: str) -> str:
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+")).strip()


def _text(action: str, result: Any) -> str:
    if action == "list":
        if not result:
            say("There are no stored conversations.")
        return "\n".join(row(summary) for summary in result)
    if action == "delete":
        return f"Deleted {result['deleted']}."
    if action == "prune":
        return f"Deleted {counted(result['checkpoints_deleted'], 'old checkpoint')}."
    return as_markdown(result)


def row(summary: dict[str, Any]) -> str:
    """The summary of a conversation on one line."""
    if "error" in summary:
        damaged = "damaged, " if summary["error"] == "conversation_broken" else ""
        return f"{printable(summary['thread_id'])}  {damaged}cannot be read ({summary['error']})"
    when = summary["updated_at"][:16].replace("T", " ")
    size = counted(summary["turns"], "turn")
    book = clipped(in_line(", ".join(summary["collections"]) or "-"), 20)
    return (
        f"{printable(summary['thread_id'])}  {when}  {size:>9}  {book:<10}  {one_line(summary['first_question'], 80)}"
    )


def as_markdown(conversation: dict[str, Any]) -> str:
    """A conversation as Markdown: each question as a heading above its answer with sources."""
    lines = [f"# Conversation {printable(conversation['thread_id'])}", ""]
    if conversation["missing_turns"]:
        missing = counted(conversation["missing_turns"], "turn")
        lines += [f"({missing} missing: no longer in the database. A backup may still have them.)", ""]
    for turn in conversation["turns"]:
        lines += [f"## {turn['turn_number']}. {printable(turn['question'])}", "", printable(turn["content"]), ""]
    if conversation["unanswered"]:
        lines += [f"## {printable(conversation['unanswered'])}", "", "(not answered)", ""]
    return "\n".join(lines)
