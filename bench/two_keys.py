"""Two keys of one server: does any of many random requests see something of the other key's?

    python -m bench.two_keys [--requests 1000]

Each key asks in its own conversations, lists, reads, undoes and deletes, tries the ids of the other, and asks for the
other's book by every address that takes one. `tests/test_serve_many.py` does the same with fewer requests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import httpx

from bench.serving import served
from tests.rooms import ROOT

PAGE: Final = "# Widgets\n\nA widget is a small part that turns a shaft. Every widget has exactly four teeth.\n"
QUESTION: Final = "How many teeth has a widget?"
KEYS: Final = {"ann": "key-of-ann-0001", "bob": "key-of-bob-0002"}


async def apart(server: str, requests: int) -> int:
    """Send random requests with each of two keys; how many showed something of the other's."""
    rng = random.Random(1)
    own: dict[str, set[str]] = {name: set() for name in KEYS}
    seen = 0
    async with httpx.AsyncClient(base_url=server, timeout=120) as http:
        for _ in range(requests):
            for name, key in KEYS.items():
                seen += await _one_request(http, rng, name, {"Authorization": f"Bearer {key}"}, own)
    return seen


async def _one_request(
    http: httpx.AsyncClient, rng: random.Random, name: str, headers: dict[str, str], own: dict[str, set[str]]
) -> int:
    """Send one random request; returns 1 when it showed another's conversation, else 0."""
    (other,) = (one for one in own if one != name)
    thread = f"{name}-{rng.randrange(5)}"
    match rng.randrange(5):
        case 0:
            await _ask(http, thread, headers)
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


async def _ask(http: httpx.AsyncClient, thread: str, headers: dict[str, str]) -> None:
    answer = await http.post(f"/api/threads/{thread}/turns", json={"question": QUESTION}, headers=headers)
    if answer.status_code != 429:
        answer.raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    requests = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as name:
        seen = _measured(Path(name), requests)
    print(f"{requests} random requests with each of two keys: {seen} showed something of the other's")


def _measured(folder: Path, requests: int) -> int:
    (folder / "book").mkdir()
    (folder / "book" / "widgets.md").write_text(PAGE, encoding="utf-8")
    variables = {
        "ASKBOOK_HOME": str(folder / "home"),
        "ASKBOOK_API_KEYS": ",".join(f"{name}:{key}" for name, key in KEYS.items()),
        "ASKBOOK_BOOKS": ",".join(["book", *(f"{name}:of-{name}" for name in KEYS)]),
        "ASKBOOK_TURNS_PER_MINUTE": "1000000",
    }
    for book in ("book", *(f"of-{name}" for name in KEYS)):
        ingest = [sys.executable, str(ROOT / "run.py"), "ingest", str(folder / "book"), "--collection", book]
        subprocess.run(ingest, cwd=ROOT, env=os.environ | variables, check=True, capture_output=True)
    with served(variables) as (server, _):
        return asyncio.run(apart(server, requests))


if __name__ == "__main__":
    main()
