"""`run.py threads`: the stored conversations."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.history import forget
from cli.terminal import counted, one_line, print_json, printable, say
from rag.errors import MemoryFailureError, UsageError
from rag.settings import Settings

if TYPE_CHECKING:
    from graph.memory import Memory


def threads(options: argparse.Namespace) -> int:
    """Exit code 2 for an unknown id or one that is missing."""
    if options.action in ("show", "export", "delete") and not options.id:
        raise UsageError(f"threads {options.action} needs the id of a conversation.", hint="See threads list.")
    result = asyncio.run(_run(options, Settings.from_env()))
    if options.json:
        print_json(result)
    elif text := _text(options.action, result):
        print(text)
    return 0


async def _run(options: argparse.Namespace, settings: Settings) -> Any:
    from graph.memory import FILE, MemoryOptions, open_memory
    from rag.conversation.turns import unknown_thread

    # Looking for a conversation makes no memory.
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
        return await memory.conversation(options.id)


async def stored(settings: Settings, thread_id: str) -> dict[str, Any]:
    """A stored conversation as `threads show` prints it. Raises `UsageError` for an unknown one; makes no memory."""
    found: dict[str, Any] = await _run(argparse.Namespace(action="show", id=thread_id), settings)
    return found


async def summaries(memory: Memory) -> list[dict[str, Any]]:
    """Every conversation in short, newest first. One that cannot be read is told, and the others are listed."""
    found = []
    for thread in await memory.threads():
        try:
            one = await memory.summary(thread)
        except MemoryFailureError as error:
            if error.code not in ("conversation_broken", "memory_key"):
                raise
            one = {"thread_id": thread, "error": error.code}
            say(f"{thread}: {error.message} {error.hint}")
        if one and ("error" in one or one["first_question"]):
            found.append(one)
    return found


async def delete(memory: Memory, home: Path, thread_id: str) -> None:
    """Forget a conversation, and the lines that were typed in it."""
    try:
        whole = await memory.conversation(thread_id)
    except MemoryFailureError:  # what cannot be read can be deleted all the same
        whole = None
    await memory.delete(thread_id)
    asked = [turn["question"] for turn in whole["turns"]] if whole else []
    forget(home, {*asked, (whole or {}).get("unanswered") or ""} - {""})


def _text(action: str, result: Any) -> str:
    if action == "list":
        if not result:
            say("There are no stored conversations.")
        return "\n".join(row(one) for one in result)
    if action == "delete":
        return f"Deleted {result['deleted']}."
    if action == "prune":
        return f"Deleted {result['checkpoints_deleted']} old checkpoints."
    return as_markdown(result)


def row(one: dict[str, Any]) -> str:
    """A conversation in short, on one line."""
    if "error" in one:
        return f"{printable(one['thread_id'])}  cannot be read ({one['error']})"
    when = one["updated_at"][:16].replace("T", " ")
    size = counted(one["turns"], "turn")
    return f"{printable(one['thread_id'])}  {when}  {size:>9}  {one_line(one['first_question'], 68)}"


def as_markdown(one: dict[str, Any]) -> str:
    """A conversation to read: each question as a heading, the answer with its sources below."""
    lines = [f"# Conversation {printable(one['thread_id'])}", ""]
    if one["missing_turns"]:
        missing = counted(one["missing_turns"], "turn")
        lines += [f"({missing} missing: not in the database any more. A copy of it may have them.)", ""]
    for turn in one["turns"]:
        lines += [f"## {turn['turn_number']}. {printable(turn['question'])}", "", printable(turn["content"]), ""]
    if one["unanswered"]:
        lines += [f"## {printable(one['unanswered'])}", "", "(not answered)", ""]
    return "\n".join(lines)
