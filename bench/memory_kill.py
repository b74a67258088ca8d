"""Kills a process with SIGKILL in the middle of its turns, again and again, and counts what the conversation lost.

Each life of the process goes on where the last one was killed: it finishes the turn that was broken off, then asks on.
No finished turn may be lost or doubled, and every life must be able to go on. Processes are forked from one that has
imported everything. Run: .venv/bin/python -m bench.memory_kill [--kills 100] [--turns 200] [--postgres]
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

LONGEST = 0.25  # seconds from the first turn of a life to its end; a life has some turns


async def live(home: Path, options: MemoryOptions, turns: int, told: int) -> None:
    """Finish what was broken off, then ask until there are enough turns; each finished one is told through a pipe."""
    async with open_memory(home, options=options) as memory:
        machine = Machine(memory=memory, passages=[passage(text="A node is a process. " * 70)])
        found = await memory.conversation("t")
        os.write(told, b"begun\n")
        if await machine.agent.unfinished("t") is not None:
            machine.model.script[:] = [ANSWER]
            events = [event async for event in machine.agent.resume("t")]
            _tell(told, events[-1].response)
            found = await memory.conversation("t")
        number = found["turn_count"] if found else 0
        while number < turns:
            machine.model.script[:] = [ANSWER]
            response = await machine.agent.ask(f"Question {number + 1}?", thread_id="t")
            _tell(told, response)
            number += 1


def _tell(told: int, response: Any) -> None:
    if response.error is not None:
        os.write(told, f"failed {response.error.code}\n".encode())
        os._exit(1)
    os.write(told, f"{response.id}\n".encode())


def one_life(home: Path, options: MemoryOptions, turns: int, seconds: float | None) -> list[str]:
    """What a forked process told before it was killed `seconds` after its beginning, or ended by itself."""
    reading, told = os.pipe()

    def work() -> int:
        os.close(reading)
        asyncio.run(live(home, options, turns, told))
        return 0

    child = forked(work)
    os.close(told)
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.readline()
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    os.waitpid(child, 0)
    return (first + rest).decode().split("\n")[1:-1] if first else ["failed to begin"]


async def stored(home: Path, options: MemoryOptions) -> dict[str, Any]:
    async with open_memory(home, options=options) as memory:
        return await memory.conversation("t") or {"turns": [], "unanswered": None}


def in_a_child(work: Any) -> Any:
    """What `work` gives, from a forked process: this one stays without threads, so that it can be forked."""
    reading, writing = os.pipe()

    def tell() -> int:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(asyncio.run(work)).encode())
        return 0

    child = forked(tell)
    work.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data)


def problems(told: list[str], turns: list[dict[str, Any]]) -> dict[str, int]:
    """Finished turns that are lost or doubled, turns whose number is taken, lives that failed."""
    ids, numbers = [turn["id"] for turn in turns], [turn["turn_number"] for turn in turns]
    asked = [turn["question"] for turn in turns]
    finished = [one for one in told if not one.startswith("failed")]
    return {
        "lost": len(set(finished) - set(ids)),
        "doubled": len(ids) - len(set(ids)) + len(asked) - len(set(asked)),
        "out_of_order": int(numbers != sorted(set(numbers))),
        "failed": len(told) - len(finished),
    }


def kill_test(home: Path, options: MemoryOptions, kills: int, turns: int) -> dict[str, Any]:
    """Kill `kills` processes at random moments, let the last one finish, and count."""
    source, told, began = random.Random(kills), list[str](), time.monotonic()
    broken_off = 0
    for _ in range(kills):
        told += one_life(home, options, 10**9, source.uniform(0, LONGEST))
        broken_off += in_a_child(stored(home, options))["unanswered"] is not None
    done = len(in_a_child(stored(home, options))["turns"])
    told += one_life(home, options, max(turns, done + 1), None)
    turns_stored = in_a_child(stored(home, options))["turns"]
    counts = {"kills": kills, "turns": len(turns_stored), "in_the_middle_of_a_turn": broken_off}
    return counts | problems(told, turns_stored) | {"seconds": round(time.monotonic() - began)}


def main() -> int:
    """Print the counts as JSON. Exit code 1 when anything was lost or doubled, or could not go on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server of its own, not in a file")
    chosen = parser.parse_args()
    with temporary_place(postgres=chosen.postgres) as (home, url):
        counts = kill_test(home, MemoryOptions(url), chosen.kills, chosen.turns)
    print(json.dumps(counts))
    return int(any(counts[name] for name in ("lost", "doubled", "out_of_order", "failed")))


if __name__ == "__main__":
    sys.exit(main())
