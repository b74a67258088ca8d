"""Turns lost or mixed up when many conversations run at once, in one process or several.

    python -m bench.memory_many [--threads 200] [--turns 10] [--processes 1] [--postgres] [--graph]

With --graph the turns run through the compiled graph instead of the agent's methods.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from langchain_core.messages import HumanMessage

from bench.forked import forked
from bench.memory_place import temporary_place
from graph.agent import Agent
from graph.memory import MemoryOptions, open_memory
from graph.storage import thread_config
from rag.types import Response
from state import InputState
from tests.machine import ANSWER, Machine


async def through_agent(agent: Agent, question: str, thread: str) -> Response:
    return await agent.ask(question, thread_id=thread)


async def through_graph(agent: Agent, question: str, thread: str) -> Response:
    given = InputState(messages=[HumanMessage(question)])
    return Response.model_validate((await agent.graph.ainvoke(given, thread_config(thread)))["response"])


class Load(NamedTuple):
    """What a process asks on each thread, and how."""

    name: str
    turns: int
    ask: Callable[[Agent, str, str], Awaitable[Response]]


async def converse(home: Path, options: MemoryOptions, threads: list[str], load: Load) -> int:
    """Ask the questions on all threads concurrently. Returns how many turns failed."""
    async with open_memory(home, options=options) as memory:
        machine = Machine(*[ANSWER] * len(threads) * load.turns, memory=memory)

        async def on(thread: str) -> int:
            failed = 0
            for number in range(load.turns):
                response = await load.ask(machine.agent, f"{load.name} {thread} {number}?", thread)
                failed += response.error is not None or response.thread_id != thread
            return failed

        return sum(await asyncio.gather(*(on(thread) for thread in threads)))


def in_a_process(home: Path, options: MemoryOptions, threads: list[str], load: Load) -> int:
    return asyncio.run(converse(home, options, threads, load))


async def wrong(home: Path, options: MemoryOptions, threads: list[str], turns: int, names: list[str]) -> int:
    """How many conversations do not hold exactly the questions asked, those of each process in their order."""
    count = 0
    async with open_memory(home, options=options) as memory:
        for thread in threads:
            whole = await memory.conversation(thread)
            asked = [turn["question"] for turn in whole["turns"]] if whole else []
            numbers = [turn["turn_number"] for turn in whole["turns"]] if whole else []
            expected = {name: [f"{name} {thread} {number}?" for number in range(turns)] for name in names}
            by_name = {name: [question for question in asked if question.startswith(f"{name} ")] for name in names}
            count += by_name != expected or numbers != list(range(1, turns * len(names) + 1))
    return count


def main() -> int:
    """Print the counts as JSON. Exit code 1 when a turn failed or a conversation is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1, help="each asks on all threads")
    parser.add_argument("--postgres", action="store_true", help="use a temporary PostgreSQL server")
    parser.add_argument("--graph", action="store_true", help="through the compiled graph")
    chosen = parser.parse_args()
    threads = [f"thread {number}" for number in range(chosen.threads)]
    names = [f"process{number}" for number in range(chosen.processes)]
    with temporary_place(postgres=chosen.postgres) as (home, url):
        options, began, children = MemoryOptions(url, wait_seconds=600), time.monotonic(), list[int]()
        for name in names:
            load = Load(name, chosen.turns, through_graph if chosen.graph else through_agent)
            children.append(forked(partial(in_a_process, home, options, threads, load)))
        failed = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        seconds = round(time.monotonic() - began)
        bad = asyncio.run(wrong(home, options, threads, chosen.turns, names))
    total = chosen.threads * chosen.turns * chosen.processes
    print(json.dumps({"turns": total, "failed": failed, "wrong_conversations": bad, "seconds": seconds}))
    return int(bool(failed or bad))


if __name__ == "__main__":
    sys.exit(main())
