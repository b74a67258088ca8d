"""The HTTP application over scripted machines, with a client in the same process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2 as httpx  # the version that OpenAI's client takes

from graph.agent import Agent
from rag.errors import unknown_book
from rag.profiles.offered_profiles import Offer
from rag.web.api_keys import People
from rag.web.app import build_app
from rag.web.hosting import BookAccess, Hosting, Limits
from state import Context
from tests.machine import Machine

LOCAL = "http://127.0.0.1:8000"
KEYS = "ann:key-of-ann-1,bob:key-of-bob-2"


class Books:
    """Books whose agents are scripted machines over one memory. The first is the usual one."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self.machines = dict(machines)
        self.usual = next(iter(machines))
        self.asked: list[str] = []

    @property
    def main(self) -> Agent:
        return self.machines[self.usual].agent

    async def listed(self) -> list[dict[str, Any]]:
        return [{"name": name, "title": name.title()} for name in self.machines]

    @asynccontextmanager
    async def agent(self, book: str) -> AsyncIterator[Agent]:
        self.asked.append(book)
        if book not in self.machines:
            raise unknown_book(book)
        yield self.machines[book].agent

    async def questions(self, book: str) -> list[str]:
        return []


def client(
    machine: Machine | Books,
    *,
    keys: str = "",
    base: str = LOCAL,
    limits: Limits | None = None,
    books: str | None = None,
) -> httpx.AsyncClient:
    """A client of an application that offers two profiles; `books` says which key may see which book."""
    offer, people = Offer(("default", "book-agent"), "default"), People.parse(keys)
    shelf = machine if isinstance(machine, Books) else Books({"book": machine})
    access = BookAccess.parse(books, people.names)
    hosting = Hosting(shelf, Context, offer, people, limits or Limits(), access=access)
    transport = httpx.ASGITransport(build_app(hosting), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=base)


def bearer(name: str) -> dict[str, str]:
    """The header with a person's key."""
    keys = dict(entry.split(":") for entry in KEYS.split(","))
    return {"Authorization": f"Bearer {keys[name]}"}


def events(text: str) -> list[tuple[str, Any]]:
    """The type and the data of each server-sent event."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if "data" in fields:
            data = fields["data"]
            found.append((fields.get("event", "message"), data if data == "[DONE]" else json.loads(data)))
    return found
