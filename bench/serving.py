"""`run.py serve` under load: how much later the first sentence comes, processor time of a turn, and memory.

    python -m bench.serving [--streams 50] [--each 5] [--bursts 3] [--turns 2000] [--follow-ups]

The book is the manual. The model is a scripted one in a process of its own, which sends about 200 tokens, one every 20
milliseconds: an answer takes four seconds, as a hosted model's does. Two loads are measured:

steady  readers ask again as soon as an answer has ended, so that all streams run all the time. Their first questions
        are spread over the length of an answer, and do not count.
burst   all readers ask at the same instant.

Each question begins a conversation of its own. With `--follow-ups` a reader stays in one under the steady load, where
the search embeds the answer before, too; that takes five times as long as the embedding of a question.

The added latency of a stream is the time to its first sentence less that of the model alone: the median of the same
question's requests, sent to the model in the same way in the same run. First sentences differ in length by 300 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx

from bench.paced_model import TOKEN_SECONDS, TOKENS, PacedModel, paced_model
from bench.questions import QUESTIONS
from bench.table import Row, print_table
from tests.rooms import ROOT

KEY: Final = "key-of-ann-0001"
_SENTENCE_END: Final = re.compile(r"\[\d+\]\.")

Ask = Callable[[int, int], Awaitable[float]]  # a reader's turn by their numbers: seconds to its first sentence


@contextlib.contextmanager
def served(variables: dict[str, str], options: Sequence[str] = ()) -> Iterator[tuple[str, int]]:
    """`run.py serve` with these variables, as (address, process id)."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, str(ROOT / "run.py"), "serve", "--port", "0", *options]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            for line in process.stderr or ():
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0], process.pid
                    return
            raise RuntimeError("the server did not start")
        finally:
            process.terminate()
            process.wait(60)


async def first_sentence(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> float:
    """Seconds until the first sentence of a turn arrives; reads to the end. Raises `RuntimeError` if it fails."""
    began, first, last = time.perf_counter(), 0.0, ""
    async with http.stream("POST", path, json=body) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if not first and line == "event: sentence":
                first = time.perf_counter() - began
            last = line or last
    if not first or json.loads(last.removeprefix("data: "))["status"] != "success":
        raise RuntimeError(f"{path} was not answered: {last[:300]}")
    return first


async def first_of_model(http: httpx.AsyncClient, address: str, request: dict[str, Any]) -> float:
    """Seconds until the model alone has sent its first sentence; reads to the end."""
    began, first, text = time.perf_counter(), 0.0, ""
    async with http.stream("POST", address, json=request) as answer:
        async for line in answer.aiter_lines():
            if first or not line.startswith("data: {"):
                continue
            text += json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content", "")
            if _SENTENCE_END.search(text):
                first = time.perf_counter() - began
    return first


async def _asked_alone(
    http: httpx.AsyncClient, requests: Sequence[dict[str, Any]], times: dict[int, list[float]], reader: int, number: int
) -> float:
    """The seconds of a request to the model, which are also added to the `times` of its question."""
    place = (reader + number) % len(requests)
    seconds = await first_of_model(http, "chat/completions", requests[place])
    times.setdefault(place, []).append(seconds)
    return seconds


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def processes_of(process_id: int) -> list[int]:
    """The process and its descendants."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text(encoding="utf-8").split()
    return [process_id, *(one for child in children for one in processes_of(int(child)))]


def resident_megabytes(process_id: int) -> float:
    """Memory of the process and its descendants; what they share counts once for each."""
    statuses = [Path(f"/proc/{one}/status").read_text(encoding="utf-8") for one in processes_of(process_id)]
    found = [re.search(r"VmRSS:\s+(\d+)", status) for status in statuses]
    return sum(int(one[1]) for one in found if one) / 1024


def processor_seconds(process_id: int) -> float:
    """Processor time so far, of descendants too, which a busy machine hardly changes."""
    seconds = 0.0
    for one in processes_of(process_id):
        fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


async def steady(ask: Ask, readers: int, each: int) -> list[float]:
    """The seconds of all turns but the first of each reader. Readers begin spread over the length of an answer."""

    async def read(reader: int) -> list[float]:
        await asyncio.sleep(TOKENS * TOKEN_SECONDS * reader / readers)
        return [await ask(reader, number) for number in range(each)][1:]

    return [seconds for found in await asyncio.gather(*map(read, range(readers))) for seconds in found]


async def burst(ask: Ask, readers: int, each: int) -> list[float]:
    """The seconds of the turns of readers who ask at the same instant, `each` times."""
    return [s for number in range(each) for s in await asyncio.gather(*(ask(one, number) for one in range(readers)))]


@dataclass(frozen=True, slots=True)
class Load:
    """A server and its model under load from `readers`."""

    server: str
    process_id: int
    model: PacedModel
    readers: int
    follow_ups: bool = False

    def _client(self, base: str) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=self.readers)
        return httpx.AsyncClient(base_url=base, timeout=120, limits=limits, headers={"Authorization": f"Bearer {KEY}"})

    async def requests(self) -> list[dict[str, Any]]:
        """What the model is sent for each question. Asks every question once, so the server is warm afterwards."""
        found = []
        async with self._client(self.server) as http:
            await self._until_idle(http)
            for place, question in enumerate(QUESTIONS):
                await first_sentence(http, f"/api/threads/warm-{place}/turns", {"question": question})
                found.append(await asyncio.to_thread(self.model.last_request))
        return found

    async def rows(self, each: int, bursts: int) -> list[Row]:
        """What is added to the first sentence under both loads, in milliseconds, and the processor time of a turn."""
        requests = await self.requests()
        rows: list[Row] = []
        for name, run, times in (("steady", steady, each), ("burst", burst, bursts)):
            times_alone: dict[int, list[float]] = {}
            async with self._client(self.model.address) as http:
                alone = await run(partial(_asked_alone, http, requests, times_alone), self.readers, times)
            bases = {place: statistics.median(found) for place, found in times_alone.items()}
            before = processor_seconds(self.process_id)
            async with self._client(self.server) as http:
                found = await run(partial(self._added, http, name, bases), self.readers, times)
            work = (processor_seconds(self.process_id) - before) * 1000 / (self.readers * times)
            rows.append(Row(f"{name}: the model alone, first sentence", "ms", [one * 1000 for one in alone]))
            rows.append(Row(f"{name}: added to the first sentence", "ms", [one * 1000 for one in found]))
            rows.append(Row(f"{name}: p95 of what is added", "ms", [percentile(found, 0.95) * 1000]))
            rows.append(Row(f"{name}: processor time of a turn", "ms", [work]))
        return rows

    async def _until_idle(self, http: httpx.AsyncClient) -> None:
        """Wait until the server has found the questions that it suggests, which it looks for when it starts."""
        for _ in range(600):
            if (await http.get("/api/book")).json()["questions"]:
                return
            await asyncio.sleep(0.5)

    async def _added(
        self, http: httpx.AsyncClient, load: str, bases: Mapping[int, float], reader: int, number: int
    ) -> float:
        return await self._turn(http, load, reader, number) - bases[(reader + number) % len(QUESTIONS)]

    async def _turn(self, http: httpx.AsyncClient, load: str, reader: int, number: int) -> float:
        thread = f"{load}-{reader}" if self.follow_ups and load == "steady" else f"{load}-{reader}-{number}"
        question = QUESTIONS[(reader + number) % len(QUESTIONS)]
        return await first_sentence(http, f"/api/threads/{thread}/turns", {"question": question})

    async def memory(self, turns: int) -> list[Row]:
        """The server's memory while it answers `turns` questions, 10 at once, from a model that does not wait."""
        self.model.pace(0)
        rows: list[Row] = []
        before, at_once = processor_seconds(self.process_id), 10
        async with self._client(self.server) as http:
            for done in range(0, turns, at_once):
                await asyncio.gather(*(self._turn(http, "memory", done + place, 0) for place in range(at_once)))
                if done % max(at_once, turns // 5 // at_once * at_once) == 0:
                    rows.append(
                        Row(f"memory after {done + at_once} turns", "MB", [resident_megabytes(self.process_id)])
                    )
        each = (processor_seconds(self.process_id) - before) * 1000 / turns
        return [*rows, Row("processor time of a turn, model without waits", "ms", [each])]


def run(options: argparse.Namespace) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, paced_model() as model:
        variables = {
            "ASKBOOK_HOME": folder,
            "OPENAI_API_KEY": "sk-scripted-0123456789",
            "OPENAI_BASE_URL": model.address,
            "OPENAI_MODEL": "scripted",
            "ASKBOOK_JUDGE": "none",
            "ASKBOOK_API_KEYS": f"ann:{KEY}",
            "ASKBOOK_TURNS_PER_MINUTE": "1000000",
            "ASKBOOK_CONCURRENT_TURNS": str(max(10, options.streams)),
        }
        with served(variables) as (server, process_id):
            load = Load(server, process_id, model, options.streams, options.follow_ups)
            rows = asyncio.run(load.rows(options.each, options.bursts))
            return rows + (asyncio.run(load.memory(options.turns)) if options.turns else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--each", type=int, default=5, help="questions of each reader under the steady load")
    parser.add_argument("--bursts", type=int, default=3)
    parser.add_argument("--follow-ups", action="store_true")
    parser.add_argument("--turns", type=int, default=2000, help="turns while memory is watched; 0 for none")
    print_table(run(parser.parse_args()))


if __name__ == "__main__":
    main()
