"""The right to change a collection on a server, which one writer has at a time.

Qdrant has no locks, but creates a collection of a name only once. So a writer creates an empty collection that names
the writer, and deletes it at the end. The next writer removes that of a writer whose process is gone or silent.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rag.errors import RetrievalError
from rag.index.server_errors import is_conflict, is_missing
from rag.types import iso_time, new_id

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

SUFFIX: Final = ".askbook-writer"
LEASE: Final = "askbook_writer"  # the key of the record in the metadata of the lease's collection
BEAT: Final = 10.0  # seconds between two signs of life
_held: Final[set[str]] = set()  # the tokens of this process: its number alone would not tell a lease that was lost
DEAD: Final = 60.0  # seconds without one, after which a writer of another machine counts as dead


def is_lease(collection: str) -> bool:
    """Whether a collection is the lease of a writer and not a book."""
    return collection.endswith(SUFFIX)


class Lease:
    """The lease of this writer. `aclose` gives it back."""

    def __init__(self, client: AsyncQdrantClient, name: str, record: dict[str, Any]) -> None:
        self._client = client
        self._name = name
        self._record = record
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            record = self._record | {"beat": time.time()}
            with suppress(Exception):  # the next one may succeed, and a server that is gone fails the change itself
                await self._client.update_collection(self._name, metadata={LEASE: record})

    async def aclose(self) -> None:
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        _held.discard(self._record["token"])
        with suppress(Exception):  # the change is made or has failed already; the next writer takes the lease away
            await self._client.delete_collection(self._name)


async def take_lease(client: AsyncQdrantClient, collection: str) -> Lease:
    """The lease of a collection. Raises `RetrievalError` "index_locked" while a living writer has it."""
    from qdrant_client import models

    name, token = f"{collection}{SUFFIX}", new_id()
    record = {"token": token, "host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
    vectors = models.VectorParams(size=1, distance=models.Distance.DOT)
    for _ in range(3):
        try:
            made = record | {"beat": time.time()}
            await client.create_collection(name, vectors_config=vectors, metadata={LEASE: made})
        except Exception as error:
            if not (is_conflict(error) or "already exists" in str(error)):
                raise
            holder = await _holder(client, name)
            if holder is not None and _is_alive(holder):
                raise _refusal(collection, holder) from None
            with suppress(Exception):
                await client.delete_collection(name)
            continue
        holder = await _holder(client, name)
        if holder is not None and holder.get("token") == token:  # else another writer took it as abandoned
            _held.add(token)
            return Lease(client, name, record)
    raise _refusal(collection, {})


async def _holder(client: AsyncQdrantClient, name: str) -> dict[str, Any] | None:
    try:
        described = await client.get_collection(name)
    except Exception as error:
        if is_missing(error):
            return None
        raise
    record: Any = (described.config.metadata or {}).get(LEASE)
    return dict(record) if isinstance(record, dict) else {}


def _is_alive(holder: dict[str, Any]) -> bool:
    if holder.get("host") == socket.gethostname() and isinstance(holder.get("pid"), int | float):
        if holder["pid"] == os.getpid():
            return holder.get("token") in _held
        try:
            os.kill(int(holder["pid"]), 0)
        except ProcessLookupError:
            return False
        except OSError:  # it belongs to another user
            pass
    beat = holder.get("beat")
    return isinstance(beat, int | float) and time.time() - beat < DEAD


def _refusal(collection: str, holder: dict[str, Any]) -> RetrievalError:
    who = "another process"
    if holder:
        since = iso_time(float(holder.get("since", 0)))
        who = f"process {int(holder.get('pid', 0))} on {str(holder.get('host', ''))[:100]} (since {since})"
    message = f'The book "{collection}" is being changed by {who}.'
    return RetrievalError("index_locked", message, hint="Try again when it is done.", retryable=True)
