"""Overhead of a turn beside the model and the search, and the time to the first sentence, along a conversation.

    python -m bench.turns [--turns 100]

The agent is the real one, with SQLite, over the manual; the model is scripted and runs in a process of its own. The
overhead is the time of a turn less that of the model, which is the time of the same request sent once more by OpenAI's
client alone. Every search is made once and then remembered, and is measured apart. Two conversations go on in turn, one
with the check and one without. The processor's time is less disturbed by other programs than the wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openai import AsyncOpenAI
from pydantic import SecretStr

from bench.model_server import KEY, ModelServerClient, model_server
from bench.questions import QUESTIONS
from bench.table import Row, print_table
from graph.agent import Agent, open_agent
from rag.book import SearchResult
from rag.ports import Retriever
from rag.settings import Settings

AROUND: Final = 5  # turns on each side of a turn that a figure is about


class RememberedSearch:
    """The searches of a retriever, made once for each question; `seconds` of those that were made."""

    def __init__(self, inner: Retriever) -> None:
        self.inner = inner
        self.seconds: list[float] = []
        self._found: dict[str, SearchResult] = {}

    async def retrieve(self, question: str, **options: Any) -> SearchResult:
        if question not in self._found:
            began = time.perf_counter()
            self._found[question] = await self.inner.retrieve(question, **options)
            self.seconds.append(time.perf_counter() - began)
        return self._found[question]

    async def words(self) -> Collection[str]:
        return await self.inner.words()


@dataclass(frozen=True, slots=True)
class TurnTime:
    """Milliseconds of one turn: in all, of the processor, and to the first sentence.

    `model` and `model_processor` are those of OpenAI's client alone for the same request.
    """

    wall: float
    processor: float
    first: float
    model: float
    model_processor: float

    @property
    def overhead(self) -> float:
        return self.wall - self.model

    @property
    def work(self) -> float:
        """Of the processor, without the model's client."""
        return self.processor - self.model_processor


def settings(home: Path, model: ModelServerClient, **more: Any) -> Settings:
    given: dict[str, Any] = {"openai_base_url": model.address, "openai_model": "answers", "judge": "none"}
    return Settings(home=home, openai_api_key=SecretStr(KEY), **given, **more)


async def bare(client: AsyncOpenAI, request: dict[str, Any]) -> tuple[float, float]:
    """The seconds of a streamed request by the client alone: elapsed, and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    async for _ in await client.chat.completions.create(**request):
        pass
    return time.perf_counter() - wall, time.process_time() - processor


async def turn(agent: Agent, client: AsyncOpenAI, model: ModelServerClient, number: int, thread: str) -> TurnTime:
    """One turn. Raises `RuntimeError` if it is not answered with one call."""
    question = QUESTIONS[number % len(QUESTIONS)]
    wall, processor = time.perf_counter(), time.process_time()
    response = await agent.ask(question, thread_id=thread)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if (response.status, response.llm_calls, response.turn_number) != ("success", 1, number):
        raise RuntimeError(f"turn {number}: {response.status}, {response.llm_calls} calls, {response.error}")
    alone = await bare(client, await asyncio.to_thread(model.last_request))
    first = response.timings_ms.first_token or 0.0
    return TurnTime(wall * 1000, processor * 1000, first, alone[0] * 1000, alone[1] * 1000)


@asynccontextmanager
async def prepared(home: Path, model: ModelServerClient, **more: Any) -> AsyncIterator[tuple[Agent, RememberedSearch]]:
    """An agent that has answered every question once, and its searches."""
    async with open_agent(settings(home, model, **more)) as agent:
        parts = agent.services.parts(None)
        search = RememberedSearch(parts.retriever)
        object.__setattr__(parts, "retriever", search)  # parts are frozen, and are built by nothing that takes a search
        for question in QUESTIONS:
            await agent.ask(question)
        yield agent, search


@dataclass(frozen=True, slots=True)
class Measured:
    """The times of each turn with the check, and without it, and the milliseconds of the searches."""

    checked: list[TurnTime]
    unchecked: list[TurnTime]
    searches: list[float]


async def measured(home: Path, model: ModelServerClient, turns: int) -> Measured:
    checked, unchecked = [], []
    client = AsyncOpenAI(base_url=model.address, api_key=KEY)
    async with (
        prepared(home, model) as (with_check, search),
        prepared(home, model, grounding="off") as (without, _),
    ):
        for number in range(1, turns + 1):
            checked.append(await turn(with_check, client, model, number, "checked"))
            unchecked.append(await turn(without, client, model, number, "unchecked"))
    await client.close()
    return Measured(checked, unchecked, [seconds * 1000 for seconds in search.seconds])


def around(times: Sequence[TurnTime], number: int) -> Sequence[TurnTime]:
    return times[max(0, number - AROUND - 1) : number + AROUND]


def rows(found: Measured, marks: Sequence[int]) -> Iterator[Row]:
    """Rows of the table; ratios are to turns 2 to 6."""
    spans: dict[str, tuple[Sequence[TurnTime], Sequence[TurnTime]]]
    spans = {"turns 2-6": (found.checked[1:6], found.unchecked[1:6])}
    last = len(found.checked)
    spans |= {f"turn {n}": (around(found.checked, n), around(found.unchecked, n)) for n in marks if n <= last}
    wall = Row("", "", [one.overhead for one in found.unchecked[1:6]]).median
    work = Row("", "", [one.work for one in found.unchecked[1:6]]).median
    for name, (checked, unchecked) in spans.items():
        yield Row(f"overhead without search and check, {name}", "ms", [o.overhead for o in unchecked]).against(wall)
        yield Row(f"  of the processor, {name}", "ms", [one.work for one in unchecked]).against(work)
        yield Row(f"overhead with the check, {name}", "ms", [one.overhead for one in checked]).against(wall)
        yield Row(f"  of the processor, {name}", "ms", [one.work for one in checked]).against(work)
        yield Row(f"the model's client alone, {name}", "ms", [one.model for one in unchecked]).against(wall)
        yield Row(f"first sentence, {name}", "ms", [one.first for one in checked]).against(wall)
    yield Row("a search", "ms", found.searches).against(wall)


def run(turns: int, marks: Sequence[int]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, model_server() as model:
        return list(rows(asyncio.run(measured(Path(folder), model, turns)), marks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=106)
    options = parser.parse_args()
    print_table(run(options.turns, (100, 500, 1000)))


if __name__ == "__main__":
    main()
