"""Measures a long conversation: bytes on the disk, CPU of a turn, time of a cold start.

A turn has 5 passages of 1,500 characters and an answer of about 200 tokens that cites all of them; the model is a
script. Run: .venv/bin/python bench/memory.py [--turns 1000] [--postgres]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parent.parent))

from graph.conversations import thread_config
from graph.memory import Memory, MemoryOptions, open_memory
from rag.types import Passage
from tests.fakes import passage
from tests.machine import Machine
from tests.postgres import cluster, programs

PASSAGES = 5
PASSAGE_CHARACTERS = 1500
SENTENCE_WORDS = 26  # five sentences are about 200 tokens
STARTS = 9
AROUND = 10  # turns that a figure is the median of


def words(number: int, source: random.Random) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(number))


def sentence(source: random.Random) -> str:
    return f"{words(SENTENCE_WORDS, source).capitalize()}."


def passages(source: random.Random) -> list[Passage]:
    texts = [" ".join(sentence(source) for _ in range(12))[:PASSAGE_CHARACTERS] for _ in range(PASSAGES)]
    return [passage(number, text) for number, text in enumerate(texts, 1)]


def answer(found: Sequence[Passage]) -> str:
    """A sentence of each passage, since what no passage says would not be kept."""
    return " ".join(f"{one.text.partition('.')[0]} [{one.number}]." for one in found)


@dataclass
class Turn:
    cpu: float
    wall: float
    prompt: int


async def converse(memory: Memory, thread: str, turns: int) -> list[Turn]:
    """The cost of each turn: seconds of CPU and of the clock, and the characters of the prompt."""
    source, measured = random.Random(thread), []
    machine = Machine(memory=memory)
    for number in range(1, turns + 1):
        machine.searcher.passages = passages(source)
        machine.model.script[:] = [answer(machine.searcher.passages)]
        machine.model.prompts.clear()
        question = f"{number}: {words(40, source)}?"
        cpu, wall = time.process_time(), time.perf_counter()
        response = await machine.agent.ask(question, thread_id=thread)
        if (response.status, response.turn_number, len(response.citations)) != ("success", number, PASSAGES):
            raise RuntimeError(f"turn {number} became {response}")
        prompt = sum(len(message.text) for message in machine.model.prompts[-1])
        measured.append(Turn(time.process_time() - cpu, time.perf_counter() - wall, prompt))
    return measured


def around(measured: Sequence[Turn], number: int, what: str) -> float:
    """The median of the turns around turn `number`."""
    half = AROUND // 2
    costs = [float(getattr(turn, what)) for turn in measured[max(0, number - half) : number + half]]
    return statistics.median(costs)


async def cold_start(home: Path, options: MemoryOptions, thread: str) -> float:
    """Seconds to open the memory and read a conversation's state."""
    began = time.perf_counter()
    async with open_memory(home, options=options) as memory:
        await Machine(memory=memory).graph.aget_state(thread_config(thread))
    return time.perf_counter() - began


def bytes_of(home: Path) -> int:
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


async def database_bytes(url: SecretStr) -> int:
    import psycopg

    query = """select sum(pg_total_relation_size(oid)) from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace"""
    async with await psycopg.AsyncConnection.connect(url.get_secret_value(), autocommit=True) as connection:
        row: Any = await (await connection.execute(query)).fetchone()
    return int(row[0] or 0)


async def measure(home: Path, options: MemoryOptions, turns: int) -> None:
    async def stored() -> float:
        size = await database_bytes(options.database_url) if options.database_url else bytes_of(home)
        return size / 1e6

    sizes = [await stored()] if options.database_url else [0.0]
    async with open_memory(home, options=options) as memory:
        await converse(memory, "short", 10)
        sizes.append(await stored())
        measured = await converse(memory, "long", turns)
        sizes.append(await stored())
    sizes.append(await stored())
    empty, short, opened, closed = sizes
    print(
        f"{turns} turns: {opened - short:.2f} MB, {closed - short:.2f} MB once closed; 10 turns {short - empty:.2f} MB"
    )
    for number in (10, 100, turns):
        cpu, wall, prompt = (around(measured, number, what) for what in ("cpu", "wall", "prompt"))
        print(f"turn {number:>5}: {cpu * 1000:6.1f} ms CPU {wall * 1000:7.1f} ms, prompt {prompt:,.0f} characters")
    ratio = around(measured, turns, "cpu") / around(measured, 10, "cpu")
    print(f"CPU of turn {turns} to turn 10: {ratio:.2f}")
    short_start, long_start = [await cold_starts(home, options, thread) for thread in ("short", "long")]
    print(f"cold start: {long_start * 1000:.1f} ms, {long_start / short_start:.2f} of a conversation of 10 turns")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


async def cold_starts(home: Path, options: MemoryOptions, thread: str) -> float:
    """The median of several."""
    return statistics.median([await cold_start(home, options, thread) for _ in range(STARTS)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--keep", type=int, default=20)
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server of its own, not in a file")
    options = parser.parse_args()
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        url = None
        if options.postgres:
            where = programs()
            if where is None:
                sys.exit("PostgreSQL is not on this machine (Debian: apt-get install postgresql).")
            url = opened.enter_context(cluster(where)).url()
        asyncio.run(measure(Path(folder), MemoryOptions(database_url=url, keep_turns=options.keep), options.turns))


if __name__ == "__main__":
    main()
