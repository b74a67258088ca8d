"""The door to the indexes: which adapter a configuration means, and the way in for other LangChain code."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.retrieval.faults import mismatch, no_collection
from rag.retrieval.generations import Generations, collection_name
from rag.retrieval.payload import CONTENT, DENSE, METADATA, SPARSE, from_payload, to_payload

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings
    from qdrant_client import AsyncQdrantClient

__all__ = ["as_vector_store", "from_payload", "list_collections", "open_index", "to_payload"]

TIMEOUT = 10  # seconds for one answer of a server


def open_index(*, home: Path, collection: str, qdrant_url: str | None, qdrant_api_key: str | None) -> ChunkIndex:
    """The index of a collection: on the server where `qdrant_url` is set, else in the folder `home / "index"`.

    Nothing is connected to or created. Raises `UsageError` for a name that cannot be a collection's or an address that
    cannot be a server's.
    """
    if not qdrant_url:
        from rag.retrieval.edge import EdgeIndex

        return EdgeIndex(home / "index", collection_name(collection))
    from rag.retrieval.server import ServerIndex
    from rag.retrieval.server_faults import host

    def sync_client() -> Any:
        from qdrant_client import QdrantClient

        return QdrantClient(url=qdrant_url, api_key=qdrant_api_key, timeout=TIMEOUT, check_compatibility=False)

    client = _server(qdrant_url, qdrant_api_key)
    return ServerIndex(client, collection_name(collection), address=host(qdrant_url), sync_client=sync_client)


async def list_collections(*, home: Path, qdrant_url: str | None, qdrant_api_key: str | None) -> list[str]:
    """The names of all collections, sorted; raises `RetrievalError` where the server cannot be reached."""
    if not qdrant_url:
        return await asyncio.to_thread(_local_collections, home / "index")
    from rag.retrieval.server_faults import host, server_faults

    client = _server(qdrant_url, qdrant_api_key)
    try:
        with server_faults("", host(qdrant_url)):
            return sorted(found.name for found in (await client.get_collections()).collections)
    finally:
        await client.close()


def as_vector_store(index: ChunkIndex, embeddings: Embeddings, sparse: SparseEncoder) -> QdrantVectorStore:
    """The collection as a LangChain vector store, for reading, in hybrid mode.

    `embeddings` must be an `rag.ports.Embedder` too. langchain-qdrant's own validation embeds a text at every
    construction, which a hosted model bills; the recorded models are compared instead. Raises `RetrievalError`
    "no_index" and "embedding_mismatch".
    """
    from langchain_qdrant import QdrantVectorStore, RetrievalMode

    from rag.retrieval.edge import EdgeIndex
    from rag.retrieval.server import ServerIndex, recorded

    client: Any
    if isinstance(index, EdgeIndex):
        from rag.retrieval.edge_client import EdgeClient

        stored, client = index.read_info(), EdgeClient(index)
    elif isinstance(index, ServerIndex) and index.sync_client is not None:
        client = index.sync_client()
        stored = recorded(client, index)
    else:
        raise UsageError(f"{type(index).__name__} cannot be opened as a LangChain vector store.", code="vector_store")
    check_models(stored, index.collection, embeddings, sparse)
    return QdrantVectorStore(
        client=client,
        collection_name=index.collection,
        embedding=embeddings,
        sparse_embedding=_sparse(sparse),
        retrieval_mode=RetrievalMode.HYBRID,
        vector_name=DENSE,
        sparse_vector_name=SPARSE,
        content_payload_key=CONTENT,
        metadata_payload_key=METADATA,
        validate_embeddings=False,
        validate_collection_config=False,
    )


async def checked(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder) -> IndexInfo:
    """What the collection says of itself, if it exists and was encoded by these models. Nothing is embedded.

    Raises `RetrievalError` "no_index", and "embedding_mismatch" with the command that mends it.
    """
    stored = await index.info()
    try:
        return check_models(stored, index.collection, embedder, sparse)
    except RetrievalError as error:
        if stored is None or error.code != "embedding_mismatch":
            raise
        sources = {entry.source for entry in await index.entries()} - {""}
        raise mismatch(stored, *_ours(stored, embedder, sparse), sources) from error


def check_models(stored: IndexInfo | None, collection: str, embedder: Any, sparse: SparseEncoder) -> IndexInfo:
    """What the collection says of itself, if it exists and was encoded by these models; raises `RetrievalError`."""
    if stored is None:
        raise no_collection(collection)
    ours = _ours(stored, embedder, sparse)
    if (stored.embedding_model, stored.dimension, stored.sparse_model) != ours:
        raise mismatch(stored, *ours)
    return stored


def _ours(stored: IndexInfo, embedder: Any, sparse: SparseEncoder) -> tuple[str, int, str]:
    """What ours would encode. The dimension of a model that is not known yet is the one that it has in its book."""
    same = embedder.model_id == stored.embedding_model
    return embedder.model_id, embedder.dimension or (stored.dimension if same else 0), sparse.model_id


def _server(url: str, key: str | None) -> AsyncQdrantClient:
    from qdrant_client import AsyncQdrantClient

    try:
        return AsyncQdrantClient(url=url, api_key=key, timeout=TIMEOUT, check_compatibility=False)
    except ValueError as error:  # the message may hold the address, and so a password: it is not repeated
        raise UsageError(
            "QDRANT_URL is not an address.", code="qdrant_url", hint="It looks like http://localhost:6333."
        ) from error


def _local_collections(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if (folder / name).is_dir() and _is_collection(folder, name)]


def _is_collection(folder: Path, name: str) -> bool:
    try:
        return Generations(folder, name).exists()
    except (UsageError, RetrievalError):
        return False


def _sparse(encoder: SparseEncoder) -> SparseEmbeddings:
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    class Bridge(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [_model(encoder.encode_document(text)) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            return _model(encoder.encode_query(text))

    def _model(vector: Any) -> SparseVector:
        return SparseVector(indices=list(vector.indices), values=list(vector.values))

    return Bridge()
