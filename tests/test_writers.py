"""Two writers of one book: the second one is refused and told who the first one is; a dead one is in nobody's way."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from qdrant_client import models

from rag.books.book_settings import collection_index
from rag.errors import RetrievalError
from rag.index.locks import DEAD, LEASE, server_lease
from tests.index_cases import INFO, make_point
from tests.test_index_truth import run
from tests.test_stored_books import kinds, shelf

A_DAY = 86_400  # seconds: more than a suite takes on any machine between its collection and its tests


@kinds
async def test_the_second_writer_is_refused_until_the_first_is_done(
    kind: str, tmp_path: Path, tiny_source: Path
) -> None:
    with shelf(kind, tmp_path) as (settings, server):
        first = collection_index(settings, "book", wait=0)
        async with first.writing():
            other = collection_index(settings, "book", wait=0)
            with pytest.raises(RetrievalError, match="process") as caught:
                async with other.writing():
                    pass
            assert caught.value.code == "index_locked"
            await first.replace(INFO, add=[make_point("a")], remove=[])  # the holder may write
            await other.aclose()
        await first.drop()
        await first.aclose()
        assert (await run(settings, tiny_source)).documents.added == 2
        if server is not None:
            (book,) = server.engine.get_aliases().aliases
            assert book.alias_name == "book"
            assert [one.name for one in server.engine.get_collections().collections] == [book.collection_name]


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("holder", "is_alive"),
    [
        ({"host": socket.gethostname(), "pid": dead_process(), "beat": time.time() + A_DAY}, False),
        ({"host": "another", "pid": 1, "since": 0, "beat": time.time() + A_DAY}, True),
        ({"host": "another", "pid": 1, "since": 0, "beat": time.time() - DEAD - 1}, False),
        ({"nonsense": True}, False),
    ],
    ids=["killed here", "alive elsewhere", "silent elsewhere", "nonsense"],
)
async def test_only_a_living_writer_keeps_others_out_of_a_server(
    tmp_path: Path, holder: dict[str, object], is_alive: bool
) -> None:
    with shelf("server", tmp_path) as (settings, server):
        assert server is not None
        vectors = models.VectorParams(size=1, distance=models.Distance.DOT)
        server.engine.create_collection("book.askbook-writer", vectors_config=vectors, metadata={LEASE: holder})
        index = collection_index(settings, "book")
        if is_alive:
            with pytest.raises(RetrievalError, match="process 1 on another"):
                async with index.writing():
                    pass
        else:
            async with index.writing():
                assert server.engine.collection_exists("book.askbook-writer")
            assert not server.engine.collection_exists("book.askbook-writer")
        await index.aclose()


class Overtaken:
    """The client of a server on which another writer takes each lease at once, as one that was abandoned."""

    exists = False

    def create_collection(self, *_: object, **__: object) -> None:
        if self.exists:
            raise ValueError("the collection already exists")
        self.exists = True

    def get_collection(self, _: str) -> Any:
        record = {"token": "of another", "host": "another", "pid": 1, "since": 0, "beat": time.time()}
        return SimpleNamespace(config=SimpleNamespace(metadata={LEASE: record}))


def test_a_writer_whose_lease_was_taken_away_at_once_does_not_write() -> None:
    client: Any = Overtaken()
    with pytest.raises(RetrievalError, match="process 1 on another"), server_lease(client, "book"):
        pass
    assert client.exists
