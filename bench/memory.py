"""Disk space of a long conversation, its last turn compared with its tenth, and its cold start.

    python -m bench.memory [--turns 1000] [--keep 20] [--postgres | --both]

A turn has 5 passages of 1,500 characters and an answer of about 200 tokens that cites all of them. The model is
scripted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bench.memory_place import temporary_place
from bench.table import Row
from graph.memory import Memory, MemoryOptions, open_memory
from graph.storage import thread_config
from rag.prompt.prompts import estimate_tokens
from rag.types import Passage
from tests.fakes import passage
from tests.machine import Machine

PASSAGES = 5
PASSAGE_CHARACTERS = 1500
SENTENCE_WORDS = 26  # five sentences are about 200 tokens
VOCABULARY = 5000  # different words, as many as a textbook has
STARTS = 9
AROUND = 10  # turns of which a figure is the median
WHAT = {"cpu": "CPU", "wall": "time", "prompt": "prompt", "peak": "peak memory"}


@cache
def vocabulary() -> list[str]:
    source, letters = random.Random(VOCABULARY), "abcdefghijklmnopqrstuvwxyz"
    return ["".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(VOCABULARY)]


def words(number: int, source: random.Random) -> str:
    return " ".join(source.choices(vocabulary(), k=number))


def sentence(source: random.Random) -> str:
    return f"{words(SENTENCE_WORDS, source).capitalize()}."


def passages(source: random.Random) -> list[Passage]:
    texts = [" ".join(sentence(source) for _ in range(12))[:PASSAGE_CHARACTERS] for _ in range(PASSAGES)]
    return [passage(number, text) for number, text in enumerate(texts, 1)]


def answer(found: Sequence[Passage]) -> str:
    """A sentence from each passage, since the grounding check removes others."""
    return " ".join(f"{source.text.partition('.')[0]} [{source.number}]." for source in found)


@dataclass
class Turn:
    """CPU seconds, wall seconds, tokens of the prompt, the process's peak memory so far in megabytes, and the bytes of
    the turn's question, answer and citations as JSON.
    """

    cpu: float
    wall: float
    prompt: int
    peak: float
    records: int


async def converse(memory: Memory, thread: str, turns: int) -> list[Turn]:
    """The cost of each turn."""
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
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        records = [question, response.plain_content, *(one.model_dump(mode="json") for one in response.citations)]
        size = len(json.dumps(records, ensure_ascii=False).encode())
        measured.append(Turn(cpu, wall, tokens(machine), peak(), size))
        machine.searcher.asked.clear()  # the fake's own memory is not measured
    return measured


def tokens(machine: Machine) -> int:
    """The estimated tokens of the last prompt. Raises `RuntimeError` when they exceed the profile's context window."""
    estimate = sum(estimate_tokens(message.text) for message in machine.model.prompts[-1])
    window = machine.services.parts(None).profile.model.context_window
    if estimate > window:
        raise RuntimeError(f"a prompt of {estimate} tokens for a window of {window}")
    return estimate


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def around(measured: Sequence[Turn], number: int, what: str) -> float:
    """The median of the field `what` in the turns around turn `number`."""
    half = AROUND // 2
    costs = [float(getattr(turn, what)) for turn in measured[max(0, number - half) : number + half]]
    return statistics.median(costs)


async def cold_start(home: Path, options: MemoryOptions, thread: str) -> float:
    """The seconds to open the memory and read a conversation's state."""
    began = time.perf_counter()
    async with open_memory(home, options=options) as memory:
        await Machine(memory=memory).graph.aget_state(thread_config(thread))
    return time.perf_counter() - began


def bytes_of(home: Path) -> int:
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


async def database_bytes(url: SecretStr, *, vacuum: bool = False) -> int:
    import psycopg

    query = """select sum(pg_total_relation_size(oid)) from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace"""
    async with await psycopg.AsyncConnection.connect(url.get_secret_value(), autocommit=True) as connection:
        if vacuum:
            await connection.execute("vacuum")
        row: Any = await (await connection.execute(query)).fetchone()
    return int(row[0] or 0)


async def measure(home: Path, options: MemoryOptions, turns: int) -> float:
    """Print the figures of one database. Returns the megabytes of the long conversation."""

    async def stored(*, vacuum: bool = False) -> float:
        url = options.database_url
        return (await database_bytes(url, vacuum=vacuum) if url else bytes_of(home)) / 1e6

    empty = await stored()
    async with open_memory(home, options=options) as memory:
        await converse(memory, "short", 10)
        short = await stored()
        measured = await converse(memory, "long", turns)
        opened = await stored()
    closed = await stored(vacuum=True)
    after = "after a vacuum" if options.database_url else "once closed"
    print(f"{turns} turns: {opened - short:.2f} MB, {closed - short:.2f} MB {after}; 10 turns {short - empty:.2f} MB")
    for number in sorted({10, min(100, turns), turns}):
        cpu, wall, prompt, memory_peak = (around(measured, number, what) for what in WHAT)
        times = f"{cpu * 1000:6.1f} ms CPU {wall * 1000:7.1f} ms"
        print(f"turn {number:>5}: {times}, {prompt:,.0f} tokens, {memory_peak:.1f} MB")
    for what in WHAT:
        ratio = around(measured, turns, what) / around(measured, 10, what)
        print(f"{WHAT[what]} of turn {turns} to turn 10: {ratio:.3f}")
    short_start, long_start = [await cold_starts(home, options, thread) for thread in ("short", "long")]
    print(f"cold start: {long_start * 1000:.1f} ms, {long_start / short_start:.2f} of a conversation of 10 turns")
    return opened - short


async def cold_starts(home: Path, options: MemoryOptions, thread: str) -> float:
    """The median of `STARTS` cold starts, in seconds."""
    return statistics.median([await cold_start(home, options, thread) for _ in range(STARTS)])


async def _rows(turns: int) -> list[Row]:
    with temporary_place(postgres=False) as (home, url):
        async with open_memory(home, options=MemoryOptions(url)) as memory:
            empty = bytes_of(home)
            measured = await converse(memory, "long", turns)
            stored = bytes_of(home) - empty
    records = sum(turn.records for turn in measured)
    name = f"memory after {turns} turns"
    found = [Row(f"{name}, to the bytes of texts and citations", "MB", [stored / 1e6]).against(records / 1e6)]
    first = [turn.cpu * 1000 for turn in measured[5:15]]
    last = [turn.cpu * 1000 for turn in measured[-10:]]
    base = statistics.median(first)
    found.append(Row("processor of a turn without embedding, turns 6-15", "ms", first).against(base))
    found.append(Row(f"processor of a turn without embedding, to turn {turns}", "ms", last).against(base))
    return found


def rows(turns: int) -> list[Row]:
    """The rows of `bench.all`: bytes and time of a long conversation in a SQLite file."""
    return asyncio.run(_rows(turns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--keep", type=int, default=20)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--postgres", action="store_true", help="use a temporary PostgreSQL server")
    which.add_argument("--both", action="store_true", help="use a SQLite file, then PostgreSQL")
    chosen = parser.parse_args()
    sizes = []
    for postgres in [False, True] if chosen.both else [chosen.postgres]:
        print("PostgreSQL" if postgres else "SQLite", flush=True)
        with temporary_place(postgres=postgres) as (folder, url):
            sizes.append(asyncio.run(measure(folder, MemoryOptions(url, keep_turns=chosen.keep), chosen.turns)))
    if chosen.both:
        print(f"bytes in PostgreSQL to bytes in the file: {sizes[1] / sizes[0]:.2f}")


if __name__ == "__main__":
    main()
