"""`run.py serve` under load: added latency of concurrent streams, memory over many turns, and two keys kept apart.

    python -m bench.serving [--streams 50] [--turns 2000] [--requests 1000]

The model is a scripted endpoint in a process of its own that sends a token every 20 ms for four seconds. Streams begin
one after the other within that time, so that all run at once. The added latency of a stream is the time to its first
sentence less that of the endpoint alone, which is asked in the same way in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from tests.rooms import ROOT

PAGE: Final = "# Widgets\n\nA widget is a small part that turns a shaft. Every widget has exactly four teeth.\n"
ANSWER: Final = (
    "Every ",
    "widget ",
    "has ",
    "exactly ",
    "four ",
    "teeth ",
    "[1]. ",
    "A widget ",
    "is a small part [1].",
)
TOKEN_SECONDS: Final = 0.02
QUESTION: Final = "How many teeth has a widget?"
KEYS: Final = {"ann": "key-of-ann-0001", "bob": "key-of-bob-0002"}


async def scripted_endpoint(port: int) -> None:
    """A chat-completions endpoint that streams `ANSWER` slowly."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    async def complete(_request: Request) -> Response:
        async def chunks() -> Any:
            base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
            for token in ANSWER:
                await asyncio.sleep(TOKEN_SECONDS)
                choice = {"index": 0, "delta": {"role": "assistant", "content": token}, "finish_reason": None}
                yield f"data: {json.dumps(base | {'choices': [choice]})}\n\n"
            yield f"data: {json.dumps(base | {'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(chunks(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    await uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning")).serve()


@contextlib.contextmanager
def started(command: Sequence[str], variables: dict[str, str], ready: str, folder: Path) -> Iterator[tuple[str, int]]:
    """A process that prints its address, as (address, process id)."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **variables}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            for line in process.stderr or ():
                if found := re.search(ready, line):
                    yield found[0], process.pid
                    return
            raise RuntimeError(f"{command} did not start")
        finally:
            process.terminate()
            process.wait(60)


async def first_sentence(http: httpx.AsyncClient, path: str, body: dict[str, Any], mark: str) -> float:
    """Seconds until the line with `mark` arrives. Reads to the end. Raises `RuntimeError` when it never comes."""
    began, first = time.perf_counter(), 0.0
    async with http.stream("POST", path, json=body) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if not first and mark in line:
                first = time.perf_counter() - began
    if not first:
        raise RuntimeError(f"{path} never sent {mark!r}")
    return first


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def resident_megabytes(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]  # Linux writes the line


def processor_seconds(process_id: int) -> float:
    """Processor time of the process so far, which a busy machine hardly changes."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def streams(server: str, endpoint: str, count: int) -> None:
    """Print the added latency of `count` streams at once, each on its own conversation."""
    limits = httpx.Limits(max_connections=count)
    headers = {"Authorization": f"Bearer {KEYS['ann']}"}
    async with httpx.AsyncClient(timeout=120, limits=limits) as bare:
        asked = {"messages": [{"role": "user", "content": QUESTION}], "stream": True}
        path = f"{endpoint}/chat/completions"
        floor = await _spread(first_sentence(bare, path, asked, "[1]. ") for _ in range(count))
    async with httpx.AsyncClient(base_url=server, timeout=120, limits=limits, headers=headers) as http:
        await first_sentence(http, "/api/threads/warm/turns", {"question": QUESTION}, "event: sentence")
        found = await _spread(
            first_sentence(http, f"/api/threads/s{number}/turns", {"question": QUESTION}, "event: sentence")
            for number in range(count)
        )
    base = statistics.median(floor)
    print(f"{count} streams at once: all complete; endpoint alone {base * 1000:.0f} ms to the first sentence")
    added = [(value - base) * 1000 for value in found]
    print(f"  added: median {statistics.median(added):.0f} ms, p95 {percentile(added, 0.95):.0f} ms")


async def _spread(each: Iterable[Coroutine[Any, Any, float]]) -> list[float]:
    """The results of coroutines that begin one after the other, evenly over the length of an answer."""
    tasks = []
    waiting = list(each)
    for one in waiting:
        tasks.append(asyncio.create_task(one))
        await asyncio.sleep(len(ANSWER) * TOKEN_SECONDS / len(waiting))
    return await asyncio.gather(*tasks)


async def memory(server: str, process_id: int, turns: int) -> None:
    """Print the server's memory while it answers `turns` questions, 10 at once, and its processor time for each."""
    before = processor_seconds(process_id)
    headers = {"Authorization": f"Bearer {KEYS['bob']}"}
    async with httpx.AsyncClient(base_url=server, timeout=120, headers=headers) as http:
        for done in range(0, turns, 10):
            paths = (f"/api/threads/m{done + place}/turns" for place in range(10))
            await asyncio.gather(
                *(first_sentence(http, path, {"question": QUESTION}, "event: sentence") for path in paths)
            )
            if done % max(10, turns // 5 // 10 * 10) == 0:
                print(f"  after {done + 10} turns: {resident_megabytes(process_id):.0f} MB")
    each = (processor_seconds(process_id) - before) * 1000 / turns
    print(f"  {each:.0f} ms of one processor for each turn")


async def apart(server: str, requests: int) -> None:
    """Send random requests with two keys, and check that neither sees anything of the other's."""
    rng = random.Random(1)
    own: dict[str, set[str]] = {name: set() for name in KEYS}
    seen = 0
    async with httpx.AsyncClient(base_url=server, timeout=120) as http:
        for _ in range(requests):
            for name, key in KEYS.items():
                seen += await _one_request(http, rng, name, {"Authorization": f"Bearer {key}"}, own)
    print(f"{requests} random requests with each of two keys: {seen} showed something of the other's")


async def _one_request(
    http: httpx.AsyncClient, rng: random.Random, name: str, headers: dict[str, str], own: dict[str, set[str]]
) -> int:
    """Send one random request; returns 1 when it showed another's conversation, else 0."""
    (other,) = (one for one in own if one != name)
    thread = f"{name}-{rng.randrange(5)}"
    match rng.randrange(5):
        case 0:
            await first_sentence_of(http, thread, headers)
            own[name].add(thread)
            return 0
        case 1:
            listed = (await http.get("/api/threads", headers=headers)).json()["threads"]
            return int(any(row["thread_id"].startswith(other) for row in listed))
        case 2:
            theirs = f"{other}-{rng.randrange(5)}"
            return int((await http.get(f"/api/threads/{theirs}", headers=headers)).status_code != 404)
        case 3:
            return await _hidden_book(http, rng, f"of-{other}", headers)
        case _:
            action = rng.choice(["undo", "clear", "retry"])
            theirs = rng.choice([f"{other}-{rng.randrange(5)}", f"{other}%2F{other}-1"])
            return int((await http.post(f"/api/threads/{theirs}/{action}", headers=headers)).status_code != 404)


async def _hidden_book(http: httpx.AsyncClient, rng: random.Random, book: str, headers: dict[str, str]) -> int:
    """Ask for a book of the other key's in one of many ways; 1 unless it is as if there were none."""
    match rng.randrange(4):
        case 0:
            return int(book in (await http.get("/api/books", headers=headers)).text)
        case 1:
            return int(book in (await http.get("/v1/models", headers=headers)).text)
        case 2:
            address = rng.choice(["/api/book", "/api/passages/x"])
            answers = [await http.get(f"{address}?book={name}", headers=headers) for name in (book, "of-xyz")]
        case _:
            answers = [
                await http.post("/api/threads/x/turns", json={"question": QUESTION, "book": name}, headers=headers)
                for name in (book, "of-xyz")
            ]
    same = answers[0].text.replace(book, "of-xyz") == answers[1].text
    return int(not same or answers[0].status_code != 404)


async def first_sentence_of(http: httpx.AsyncClient, thread: str, headers: dict[str, str]) -> None:
    answer = await http.post(f"/api/threads/{thread}/turns", json={"question": QUESTION}, headers=headers)
    if answer.status_code != 429:
        answer.raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--endpoint", type=int, help="run only the scripted endpoint, on this port")
    options = parser.parse_args()
    if options.endpoint:
        asyncio.run(scripted_endpoint(options.endpoint))
        return
    with tempfile.TemporaryDirectory() as name:
        _measure(Path(name), options)


def _measure(folder: Path, options: argparse.Namespace) -> None:
    (folder / "book").mkdir()
    (folder / "book" / "widgets.md").write_text(PAGE, encoding="utf-8")
    port = 18_000 + os.getpid() % 1000
    endpoint = f"http://127.0.0.1:{port}/v1"
    variables = {
        "ASKBOOK_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "sk-scripted-0123456789",
        "OPENAI_BASE_URL": endpoint,
        "OPENAI_MODEL": "scripted",
        "ASKBOOK_API_KEYS": ",".join(f"{name}:{key}" for name, key in KEYS.items()),
        "ASKBOOK_BOOKS": ",".join(["book", *(f"{name}:of-{name}" for name in KEYS)]),
        "ASKBOOK_TURNS_PER_MINUTE": "1000000",
        "ASKBOOK_CONCURRENT_TURNS": str(options.streams),
    }
    command = [sys.executable, str(ROOT / "run.py")]
    for book in ("book", *(f"of-{name}" for name in KEYS)):
        ingest = [*command, "ingest", "book", "--collection", book]
        subprocess.run(ingest, cwd=folder, env=os.environ | variables, check=True, capture_output=True)
    scripted = [sys.executable, "-m", "bench.serving", "--endpoint", str(port)]
    with subprocess.Popen(scripted, cwd=ROOT) as model:
        try:
            with started([*command, "serve", "--port", "0"], variables, r"http://127\.0\.0\.1:\d+", folder) as running:
                server, process_id = running
                asyncio.run(streams(server, endpoint, options.streams))
                asyncio.run(apart(server, options.requests))
                asyncio.run(memory(server, process_id, options.turns))
        finally:
            model.terminate()


if __name__ == "__main__":
    main()
