"""`run.py threads`: the stored conversations."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from cli.terminal import counted, one_line, print_json, printable, say
from rag.errors import UsageError
from rag.settings import Settings


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
    from rag.conversation import unknown_thread

    if not (settings.home / FILE).exists():  # looking for a conversation makes no memory
        if options.action in ("list", "prune"):
            return [] if options.action == "list" else {"checkpoints_deleted": 0}
        raise unknown_thread(options.id)
    async with open_memory(settings.home, options=MemoryOptions.of(settings)) as memory:
        if options.action == "prune":
            return {"checkpoints_deleted": await memory.prune()}
        if options.action == "list":
            found = [await memory.summary(one) for one in await memory.threads()]
            return [one for one in found if one and one["first_question"]]
        if options.id not in await memory.threads():
            raise unknown_thread(options.id)
        if options.action == "delete":
            await memory.delete(options.id)
            return {"deleted": options.id}
        return await memory.conversation(options.id)


def _text(action: str, result: Any) -> str:
    if action == "list":
        if not result:
            say("There are no stored conversations.")
        return "\n".join(_row(one) for one in result)
    if action == "delete":
        return f"Deleted {result['deleted']}."
    if action == "prune":
        return f"Deleted {result['checkpoints_deleted']} old checkpoints."
    return as_markdown(result)


def _row(one: dict[str, Any]) -> str:
    when = one["updated_at"][:16].replace("T", " ")
    size = counted(one["turns"], "turn")
    return f"{printable(one['thread_id'])}  {when}  {size:>9}  {one_line(one['first_question'], 68)}"


def as_markdown(one: dict[str, Any]) -> str:
    """A conversation to read: each question as a heading, the answer with its sources below."""
    lines = [f"# Conversation {printable(one['thread_id'])}", ""]
    for turn in one["turns"]:
        lines += [f"## {turn['turn_number']}. {printable(turn['question'])}", "", printable(turn["content"]), ""]
    return "\n".join(lines)
