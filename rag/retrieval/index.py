"""The door to the indexes: which adapter a configuration means, and the way in for other LangChain code."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.retrieval.clients import Server
from rag.retrieval.faults import mismatch, no_collection
from rag.retrieval.generations import Generations, collection_name
from rag.retrieval.layout import Layout
from rag.retrieval.payload import CONTENT, METADATA, SPARSE, from_payload, to_payload

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore

__all__ = ["as_vector_store", "from_payload", "list_collections", "open_index", "to_payload"]

_ON_A_SERVER: Final = re.compile(r'[^<>:"/\\|?*\x00-\x1f]{1,255}')  # what Qdrant allows


def open_index(
    *, home: Path, collection: str, server: Server | None = None, layout: Layout | None = None
) -> ChunkIndex:
    """The index of a collection: on the server where there is one, else in the folder `home / "index"`.

    `layout` says how to read the collection if somebody else made it. Nothing is connected to or created. Raises
    `UsageError` for a name that cannot be a collection's or an address that cannot be a server's.
    """
    if server is None:
        from rag.retrieval.edge import EdgeIndex

        return EdgeIndex(home / "index", collection_name(collection))
    from rag.retrieval.server import ServerIndex

    if not _ON_A_SERVER.fullmatch(collection) or collection in (".", ".."):
        collection_name(collection)
    return ServerIndex(
        server.asynchronous(), collection, address=server.address, sync_client=server.blocking, layout=layout
    )


async def list_collections(*, home: Path, server: Server | None = None) -> list[str]:
    """The names of all collections, sorted; raises `RetrievalError` where the server cannot be reached."""
    if server is None:
        return await asyncio.to_thread(_local_collections, home / "index")
    from rag.retrieval.server_faults import server_faults

    client = server.asynchronous()
    try:
        with server_faults("", server.address):
            return sorted(found.name for found in (await client.get_collections()).collections)
    finally:
        await client.close()


def as_vector_store(index: ChunkIndex, embeddings: Embeddings, sparse: SparseEncoder) -> QdrantVectorStore:
    """The collection as a LangChain vector store, for reading: in hybrid mode where it has sparse vectors, else dense.

    `embeddings` must be an `rag.ports.Embedder` too. langchain-qdrant's own validation embeds a text at every
    construction, which a hosted model bills; the recorded models are compared instead. Documents of somebody else's
    collection have its text and our metadata, as the profile maps them. Raises `RetrievalError` "no_index" and
    "embedding_mismatch".
    """
    from langchain_qdrant import RetrievalMode

    from rag.retrieval.edge import EdgeIndex
    from rag.retrieval.langchain_store import sparse_bridge, store_class
    from rag.retrieval.server import ServerIndex, looked_at
    from rag.retrieval.shape import Shape

    client: Any
    if isinstance(index, EdgeIndex):
        from rag.retrieval.edge_client import EdgeClient

        info, client = index.read_info(), EdgeClient(index)
        shape = Shape(info) if info else None
    elif isinstance(index, ServerIndex) and index.sync_client is not None:
        client = index.sync_client()
        shape = looked_at(client, index)
    else:
        raise UsageError(f"{type(index).__name__} cannot be opened as a LangChain vector store.", code="vector_store")
    if shape is None:
        raise no_collection(index.collection)
    check_models(shape.info, index.collection, embeddings, sparse)
    return store_class(shape.fields)(
        client=client,
        collection_name=index.collection,
        embedding=embeddings,
        sparse_embedding=sparse_bridge(sparse) if shape.sparse else None,
        retrieval_mode=RetrievalMode.HYBRID if shape.sparse else RetrievalMode.DENSE,
        vector_name=shape.vector,
        sparse_vector_name=shape.sparse or SPARSE,
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
        if stored is None or stored.foreign or error.code != "embedding_mismatch":
            raise
        sources = {entry.source for entry in await index.entries()} - {""}
        raise mismatch(stored, *_ours(stored, embedder, sparse), sources=sources) from error


def check_models(stored: IndexInfo | None, collection: str, embedder: Any, sparse: SparseEncoder) -> IndexInfo:
    """What the collection says of itself, if it exists and was encoded by these models; raises `RetrievalError`."""
    if stored is None:
        raise no_collection(collection)
    ours = _ours(stored, embedder, sparse)
    # What made the sparse vectors of somebody else's collection is for the profile to know: it named them, or did not.
    theirs = (stored.embedding_model, stored.dimension, sparse.model_id if stored.foreign else stored.sparse_model)
    if theirs != ours:
        raise mismatch(stored, *ours)
    return stored


def _ours(stored: IndexInfo, embedder: Any, sparse: SparseEncoder) -> tuple[str, int, str]:
    """What ours would encode. The dimension of a model that is not known yet is the one that it has in its book."""
    same = embedder.model_id == stored.embedding_model
    return embedder.model_id, embedder.dimension or (stored.dimension if same else 0), sparse.model_id


def _local_collections(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [name for name in names if (folder / name).is_dir() and _is_collection(folder, name)]


def _is_collection(folder: Path, name: str) -> bool:
    try:
        return Generations(folder, name).exists()
    except (UsageError, RetrievalError):
        return False
