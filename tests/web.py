"""The HTTP application over a scripted machine, with a client in the same process."""

from __future__ import annotations

import json
from typing import Any

import httpx2 as httpx  # the version that OpenAI's client takes

from rag.profiles.offered_profiles import Offer
from rag.web.api_keys import People
from rag.web.app import build_app
from rag.web.hosting import Hosting, Limits
from state import Context
from tests.machine import Machine

LOCAL = "http://127.0.0.1:8000"
KEYS = "ann:key-of-ann-1,bob:key-of-bob-2"


def client(machine: Machine, *, keys: str = "", base: str = LOCAL, limits: Limits | None = None) -> httpx.AsyncClient:
    """A client of an application that offers two profiles."""
    offer = Offer(("default", "book-agent"), "default")
    hosting = Hosting(machine.agent, Context, offer, People.parse(keys), limits or Limits())
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
