"""What `rag.private_apis` relies on is there, and does what it is used for: these fail when a library changes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import grpc  # type: ignore[import-untyped]  # it has no types
import httpx
import httpx2
import pytest
from langchain_core.documents import Document
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models
from qdrant_client.async_qdrant_remote import AsyncQdrantRemote

from rag.private_apis import (
    limit_exchanges,
    store_with_documents,
    use_own_channels,
)
from tests.qdrant_grpc import GrpcQdrant, listening_grpc
from tests.toys import LangChainEmbedder
from tests.wire import Reply, WireServer, dripping_headers, listening


@pytest.fixture
def server() -> Iterator[GrpcQdrant]:
    with listening_grpc() as running:
        yield running


def grpc_client(port: int) -> AsyncQdrantRemote:
    return AsyncQdrantRemote(url="http://127.0.0.1:1", grpc_port=port, prefer_grpc=True, check_compatibility=False)


async def test_a_qdrant_client_opens_its_channels_by_the_methods_that_are_replaced(server: GrpcQdrant) -> None:
    remote: Any = grpc_client(server.port)
    assert remote._grpc_channel_pool == []
    assert (remote._host, remote._grpc_port, remote._https) == ("127.0.0.1", server.port, False)
    remote._init_grpc_channel()
    assert len(remote._grpc_channel_pool) == remote._get_grpc_pool_size()
    await remote.close()


async def test_a_busy_qdrant_server_is_an_error_of_grpc_and_nothing_is_printed(
    server: GrpcQdrant, capfd: pytest.CaptureFixture[str]
) -> None:
    server.fault = (grpc.StatusCode.RESOURCE_EXHAUSTED, "slow down", (("retry-after", "7"),))
    client = grpc_client(server.port)
    use_own_channels(client, "key-4711")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.get_collections()
    assert ("retry-after", "7") in tuple(caught.value.trailing_metadata())
    assert server.metadata[0]["api-key"] == "key-4711"
    await client.close()
    del client, caught
    gc.collect()
    assert "slow down" not in capfd.readouterr().err


def test_a_vector_store_of_langchain_makes_its_documents_in_the_method_that_is_overridden() -> None:
    assert "_document_from_point" in vars(QdrantVectorStore)
    client = QdrantClient(":memory:")
    vector = LangChainEmbedder().embed_query("north")
    params = models.VectorParams(size=len(vector), distance=models.Distance.COSINE)
    client.create_collection("book", vectors_config=params)
    client.upsert("book", [models.PointStruct(id=1, vector=vector, payload={"body": "North."})])
    kind = store_with_documents(lambda point, name: Document(page_content=f"{name}: {point.payload['body']}"))
    store = kind(client, "book", LangChainEmbedder(), validate_collection_config=False)
    found = [*store.similarity_search("north"), *store.get_by_ids([1])]
    assert [document.page_content for document in found] == ["book: North."] * 2
    client.close()


def test_the_overridden_method_gets_the_point_and_the_name_of_its_collection() -> None:
    kind: Any = store_with_documents(lambda point, name: Document(page_content=f"{point.id} of {name}"))
    made = kind._document_from_point(SimpleNamespace(id=1, payload={}), "book", "text", "metadata")
    assert made.page_content == "1 of book"


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_headers_that_do_not_end_are_given_up(library: Any) -> None:
    with listening(WireServer(keeps_alive=True)) as server:
        server.script += [Reply(body="ok"), dripping_headers()]
        with limit_exchanges(library.Client(timeout=60, trust_env=False), 0.5) as client:
            assert client.get(server.address).text == "ok"
            with pytest.raises(library.ReadTimeout):
                client.get(server.address)
