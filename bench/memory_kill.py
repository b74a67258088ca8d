"""Turns lost or doubled when processes are killed with SIGKILL in the middle of them.

    python -m bench.memory_kill [--kills 100] [--turns 200] [--postgres]

Each process continues where the last one was killed: it finishes the interrupted turn, then asks more questions. No
finished turn may be lost or doubled, and every process must be able to continue. Processes are forked from one that has
imported everything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from bench.forked import forked
from bench.memory_place import temporary_place
from graph.memory import MemoryOptions, open_memory
from tests.fakes import passage
from tests.machine import ANSWER, Machine

BEGUN, RESUMED = "begun", "resumed"  # the first line of a process: without an interrupted turn, or with one
LONGEST = 0.25  # seconds from a process's first turn until it is killed, enough for some turns


async def converse(home: Path, options: MemoryOptions, turns: int, pipe: int) -> None:
    """Finish an interrupted turn, then ask at least once, until there are enough turns.

    Writes to `pipe` how it began, and a line for each turn.
    """
    async with open_memory(home, options=options) as memory:
        machine = Machine(memory=memory, passages=[passage(text="A node is a process. " * 70)])
        is_left = await machine.agent.unfinished("t") is not None
        found = await memory.conversation("t")
        os.write(pipe, f"{RESUMED if is_left else BEGUN}\n".encode())
        if is_left:
            machine.model.script[:] = [ANSWER]
            events = [event async for event in machine.agent.resume("t")]
            _report(pipe, events[-1].response)
            found = await memory.conversation("t")
        number = found["turn_count"] if found else 0
        turns = max(turns, number + 1)
        while number < turns:
            machine.model.script[:] = [ANSWER]
            response = await machine.agent.ask(f"Question {number + 1}?", thread_id="t")
            _report(pipe, response)
            number += 1


def _report(pipe: int, response: Any) -> None:
    if response.error is not None:
        os.write(pipe, f"failed {response.error.code}\n".encode())
        os._exit(1)
    os.write(pipe, f"{response.id}\n".encode())


def one_process(home: Path, options: MemoryOptions, turns: int, seconds: float | None) -> list[str]:
    """The whole lines of a forked process, of which the first says how it began.

    It is killed `seconds` after its first turn began; None lets it end by itself.
    """
    reading, writing = os.pipe()

    def work() -> int:
        os.close(reading)
        asyncio.run(converse(home, options, turns, writing))
        return 0

    child = forked(work)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.readline()
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    os.waitpid(child, 0)
    return (first + rest).decode().split("\n")[:-1] if first else ["failed to begin"]


async def stored(home: Path, options: MemoryOptions) -> dict[str, Any]:
    async with open_memory(home, options=options) as memory:
        return await memory.conversation("t") or {"turns": []}


def in_a_child(work: Any) -> Any:
    """The result of the coroutine `work`, run in a forked process: this one stays free of threads and can be forked."""
    reading, writing = os.pipe()

    def send() -> int:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(asyncio.run(work)).encode())
        return 0

    child = forked(send)
    work.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data)


def problems(reported: list[str], turns: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of finished turns that are lost or doubled, of wrongly numbered turns, and of processes that failed."""
    ids, numbers = [turn["id"] for turn in turns], [turn["turn_number"] for turn in turns]
    asked = [turn["question"] for turn in turns]
    finished = [line for line in reported if not line.startswith("failed")]
    return {
        "lost": len(set(finished) - set(ids)),
        "doubled": len(ids) - len(set(ids)) + len(asked) - len(set(asked)),
        "out_of_order": int(numbers != sorted(set(numbers))),
        "failed": len(reported) - len(finished),
    }


def kill_test(home: Path, options: MemoryOptions, kills: int, turns: int) -> dict[str, Any]:
    """Kill `kills` processes at random moments, let a last one finish, and count the problems."""
    rng, reported, began = random.Random(kills), list[str](), time.monotonic()
    interrupted = 0
    for seconds in [*(rng.uniform(0, LONGEST) for _ in range(kills)), None]:
        first, *lines = one_process(home, options, turns if seconds is None else 10**9, seconds)
        interrupted += first == RESUMED
        reported += lines if first in (BEGUN, RESUMED) else [first]
    turns_stored = in_a_child(stored(home, options))["turns"]
    counts = {"kills": kills, "turns": len(turns_stored), "in_the_middle_of_a_turn": interrupted}
    return counts | problems(reported, turns_stored) | {"seconds": round(time.monotonic() - began)}


def main() -> int:
    """Print the counts as JSON. Exit code 1 when a turn was lost or doubled, or a process failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--postgres", action="store_true", help="use a temporary PostgreSQL server")
    chosen = parser.parse_args()
    with temporary_place(postgres=chosen.postgres) as (home, url):
        counts = kill_test(home, MemoryOptions(url), chosen.kills, chosen.turns)
    print(json.dumps(counts))
    return int(any(counts[name] for name in ("lost", "doubled", "out_of_order", "failed")))


if __name__ == "__main__":
    sys.exit(main())
