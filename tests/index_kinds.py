"""Every kind of index that there is, opened for a test: the embedded engine on a folder, and Qdrant in four ways.

Qdrant is the client's local mode, the same over HTTP and gRPC behind a stand-in for a server, and a real server where
the variable QDRANT_TEST_URL (with QDRANT_TEST_API_KEY) names one.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from qdrant_client import QdrantClient

from rag.index.catalog import build_index, index_on
from rag.index.server import Server
from rag.ports import ChunkIndex
from tests.qdrant_grpc import listening_grpc
from tests.qdrant_server import QdrantServer
from tests.wire import listening

COLLECTION: Final = "askbook-test"  # on a real server it is dropped
KINDS: Final = ("edge", "local", "http", "grpc", "real")


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[ChunkIndex]:
    """An empty index of that kind. Skips the test where it is "real" and there is no server."""
    if kind == "edge":
        yield build_index(home=folder, collection=COLLECTION)
        return
    if kind == "local":
        made: ChunkIndex = index_on(QdrantClient(location=":memory:"), COLLECTION, "in this process")
        yield made
        await made.aclose()
        return
    if kind == "grpc":
        with listening_grpc() as called:
            server = Server("http://127.0.0.1:1", grpc_port=called.port)  # nothing listens there for REST
            made = build_index(home=folder, collection=COLLECTION, server=server)
            yield made
            await made.aclose()
        return
    if kind == "http":
        with listening(QdrantServer()) as stand_in:
            made = build_index(home=folder, collection=COLLECTION, server=Server(stand_in.address))
            yield made
            await made.aclose()
        return
    if not (address := os.environ.get("QDRANT_TEST_URL")):
        pytest.skip("no Qdrant server: set QDRANT_TEST_URL to run the contract of the index on a real one")
    server = Server(address, os.environ.get("QDRANT_TEST_API_KEY"))
    made = build_index(home=folder, collection=COLLECTION, server=server)
    await made.drop()  # what a run that was killed has left
    yield made
    await made.drop()
    await made.aclose()
