"""Many conversations at once: every answer on its own thread, none lost, through one process or two.

Run: .venv/bin/python -m bench.memory_many [--threads 200] [--turns 10] [--processes 1] [--postgres]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from graph.memory import MemoryOptions, open_memory
from tests.machine import ANSWER, Machine
from tests.postgres import cluster, programs


async def converse(home: Path, options: MemoryOptions, threads: list[str], turns: int, name: str) -> int:
    """Ask `turns` questions on each thread, all threads at once. Returns how many turns failed."""
    async with open_memory(home, options=options) as memory:
        machine = Machine(*[ANSWER] * len(threads) * turns, memory=memory)

        async def one(thread: str) -> int:
            failed = 0
            for number in range(turns):
                response = await machine.agent.ask(f"{name} {thread} {number}?", thread_id=thread)
                failed += response.error is not None or response.thread_id != thread
            return failed

        return sum(await asyncio.gather(*(one(thread) for thread in threads)))


async def wrong(home: Path, options: MemoryOptions, threads: list[str], turns: int, names: list[str]) -> int:
    """How many conversations are not exactly what was asked on them, each process's questions in their order."""
    found = 0
    async with open_memory(home, options=options) as memory:
        for thread in threads:
            whole = await memory.conversation(thread)
            asked = [turn["question"] for turn in whole["turns"]] if whole else []
            numbers = [turn["turn_number"] for turn in whole["turns"]] if whole else []
            expected = {name: [f"{name} {thread} {number}?" for number in range(turns)] for name in names}
            mine = {name: [question for question in asked if question.startswith(f"{name} ")] for name in names}
            found += mine != expected or numbers != list(range(1, turns * len(names) + 1))
    return found


def main() -> int:
    """Print the counts as JSON. Exit code 1 when a turn failed or a conversation is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1, help="each asks on all threads")
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server of its own, not in a file")
    chosen = parser.parse_args()
    threads = [f"thread {number}" for number in range(chosen.threads)]
    names = [f"process{number}" for number in range(chosen.processes)]
    with ExitStack() as opened:
        home = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        url = None
        if chosen.postgres:
            where = programs()
            if where is None:
                sys.exit("PostgreSQL is not on this machine (Debian: apt-get install postgresql).")
            url = opened.enter_context(cluster(where)).url()
        options, began, children = MemoryOptions(url, wait_seconds=600), time.monotonic(), list[int]()
        for name in names:
            if (child := os.fork()) == 0:
                failed = asyncio.run(converse(home, options, threads, chosen.turns, name))
                os._exit(min(failed, 255))
            children.append(child)
        failed = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        seconds = round(time.monotonic() - began)
        bad = asyncio.run(wrong(home, options, threads, chosen.turns, names))
    asked = chosen.threads * chosen.turns * chosen.processes
    print(json.dumps({"turns": asked, "failed": failed, "wrong_conversations": bad, "seconds": seconds}))
    return int(bool(failed or bad))


if __name__ == "__main__":
    sys.exit(main())
