"""langchain-qdrant's vector store on our collections and on foreign ones: how it is opened, filled and read.

It embeds what it is given, and blocks. Here it gets vectors that are computed already, and a client of our loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from rag.book import Chunk, Point
from rag.index.points import CONTENT, METADATA, from_payload, to_payload
from rag.private_apis import store_with_documents

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings
    from qdrant_client import AsyncQdrantClient

    from rag.index.collection_schema import CollectionSchema, FieldMap
    from rag.ports import SparseEncoder

T = TypeVar("T")


def build_store(
    client: Any,
    collection: str,
    schema: CollectionSchema,
    embeddings: Embeddings | None = None,
    sparse: SparseEmbeddings | None = None,
) -> QdrantVectorStore:
    """The collection as a vector store: hybrid if it has sparse vectors and `sparse` encodes them, otherwise dense.

    langchain-qdrant's validation is off, since it embeds a text each time, which a hosted model bills.
    """
    from langchain_qdrant import RetrievalMode

    hybrid = sparse is not None and schema.sparse is not None
    return store_class(schema.fields)(
        client=client,
        collection_name=collection,
        embedding=embeddings,
        sparse_embedding=sparse if hybrid else None,
        retrieval_mode=RetrievalMode.HYBRID if hybrid else RetrievalMode.DENSE,
        vector_name=schema.vector,
        sparse_vector_name=schema.sparse or "",
        content_payload_key=CONTENT,
        metadata_payload_key=METADATA,
        validate_embeddings=False,
        validate_collection_config=False,
    )


def store_class(fields: FieldMap | None) -> type[QdrantVectorStore]:
    """The class of store for points with these fields, or laid out by langchain-qdrant. Documents have our metadata."""
    from langchain_core.documents import Document
    from langchain_qdrant import QdrantVectorStore

    if fields is None:
        return QdrantVectorStore
    mapped = fields

    def document_of(point: Any, collection: str) -> Document:
        origin = {"_id": point.id, "_collection_name": collection}
        if not mapped.text_of(point.payload):
            return Document(page_content="", metadata=origin)
        chunk = mapped.chunk(point.id, point.payload)
        return Document(page_content=chunk.text, metadata=to_payload(chunk)[METADATA] | origin)

    return store_with_documents(document_of)


def sparse_bridge(encoder: SparseEncoder) -> SparseEmbeddings:
    """Our encoder as langchain-qdrant's `SparseEmbeddings`."""
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    def model(vector: Any) -> SparseVector:
        return SparseVector(indices=list(vector.indices), values=list(vector.values))

    class Bridge(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [model(encoder.encode_document(text)) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            return model(encoder.encode_query(text))

    return Bridge()


async def add_points(
    client: AsyncQdrantClient, collection: str, schema: CollectionSchema, points: Sequence[Point]
) -> None:
    """Add a batch of points, with their vectors, through the store. Returns once the server has stored them."""
    payloads = [to_payload(point.chunk) for point in points]
    # What the store takes for embedding models gives it the vectors of these points.
    dense: Any = SimpleNamespace(embed_documents=lambda _texts: [list(point.dense) for point in points])
    sparse: Any = SimpleNamespace(embed_documents=lambda _texts: [point.sparse for point in points])

    def add(blocking: Any) -> None:
        store = build_store(blocking, collection, schema, dense, sparse)
        store.add_texts(
            [payload[CONTENT] for payload in payloads],
            [payload[METADATA] for payload in payloads],
            ids=[point.chunk.id for point in points],
            batch_size=len(points),
            wait=True,
        )

    await _in_thread(client, add)


async def delete_points(
    client: AsyncQdrantClient, collection: str, schema: CollectionSchema, ids: Sequence[int | str]
) -> None:
    """Delete points through the store."""
    await _in_thread(client, lambda blocking: build_store(blocking, collection, schema).delete(list(ids)))


async def chunks_by_id(
    client: AsyncQdrantClient, collection: str, schema: CollectionSchema, ids: Sequence[int | str]
) -> dict[str, Chunk]:
    """The chunks with these ids; foreign points without a text are left out, and ours raise `ValueError`."""
    found = await _in_thread(client, lambda blocking: build_store(blocking, collection, schema).get_by_ids(list(ids)))
    read = [document for document in found if document.page_content or schema.fields is None]
    payloads = {str(d.metadata["_id"]): {CONTENT: d.page_content or None, METADATA: d.metadata} for d in read}
    return {id: from_payload(id, payload) for id, payload in payloads.items()}


async def _in_thread(client: AsyncQdrantClient, work: Callable[[Any], T]) -> T:
    """What `work` returns for a blocking client whose calls are made by the given one, on the loop of this call."""
    blocking = LoopClient(client, asyncio.get_running_loop())
    return await asyncio.to_thread(work, blocking)


class LoopClient:
    """A blocking `QdrantClient` for worker threads: it waits while the one asynchronous client calls on its loop."""

    def __init__(self, client: AsyncQdrantClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **options: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(method(*args, **options), self._loop).result()

        return call
