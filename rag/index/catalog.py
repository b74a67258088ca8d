"""Open and list collections, and check that a collection was encoded by the models at hand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.index.collections import book_names, is_version
from rag.index.edge_client import EdgeClient, edge_faults, is_collection_name
from rag.index.index_errors import mismatch, no_collection, wrong_size
from rag.index.locks import WAIT, folder_lock, is_lease, server_lease
from rag.index.qdrant_index import QdrantIndex
from rag.index.server import Server, server_faults
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.profiles.schema import BookSection

if TYPE_CHECKING:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

_SERVER_NAME: Final = re.compile(r'[^<>:"/\\|?*\x00-\x1f]{1,255}')  # the names that Qdrant allows


def build_index(
    *,
    home: Path,
    collection: str,
    server: Server | None = None,
    layout: BookSection | None = None,
    wait: float | None = None,
) -> QdrantIndex:
    """The index of a collection: on the server if one is given, otherwise in the folder `home / "index"`.

    `layout` says how to read a foreign collection. A change of a folder waits `wait` seconds for another one. Connects
    to nothing and creates nothing. Raises `UsageError` for an invalid name or address.
    """
    check_name(collection, on_server=server is not None)
    if server is not None:
        return index_on(server.client(), collection, server.address, layout)
    folder, seconds = home / "index", WAIT if wait is None else wait
    return QdrantIndex(EdgeClient(folder), collection, lock=partial(folder_lock, folder, seconds=seconds))


def index_on(
    client: QdrantClient, collection: str, address: str, layout: BookSection | None = None, *, owned: bool = True
) -> QdrantIndex:
    """The index of a collection on a client, which `aclose` closes if it is `owned`."""
    lock = partial(server_lease, client)
    return QdrantIndex(client, collection, lock=lock, address=address, layout=layout, owned=owned)


async def list_collections(*, home: Path, server: Server | None = None) -> list[str]:
    """The names of all collections, sorted. Raises `RetrievalError` if the index cannot be read."""
    client: Any = EdgeClient(home / "index") if server is None else server.client()

    def listed() -> list[str]:
        try:
            with server_faults("", server.address) if server else edge_faults("index"):
                return [name for name in book_names(client) if not is_lease(name)]
        finally:
            client.close()

    return await asyncio.to_thread(listed)


async def rename_collection(*, home: Path, collection: str, new: str, server: Server | None = None) -> None:
    """Give a collection of ours another name, in one step. Raises as `QdrantIndex.rename`."""
    check_name(new, on_server=server is not None)
    async with aclosing(build_index(home=home, collection=collection, server=server)) as index:
        await index.rename(new)


async def require_book(index: ChunkIndex, profile: str = "") -> IndexInfo:
    """The record of the collection. Raises `RetrievalError` "no_index", as a search does, if there is none."""
    stored = await index.info()
    if stored is None:
        raise no_collection(index.collection, profile)
    return stored


async def require_matching_models(
    index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder, profile: str = ""
) -> IndexInfo:
    """The record of the collection, if it exists and was encoded by these models. Nothing is embedded.

    Raises `RetrievalError` "no_index" and "embedding_mismatch", with the command that encodes the book of the
    `profile`.
    """
    stored = await index.info()
    try:
        return check_models(stored, index.collection, embedder, sparse, profile)
    except RetrievalError as error:
        if stored is None or stored.foreign or error.code != "embedding_mismatch":
            raise
        sources = {entry.source for entry in await index.entries()} - {""}
        raise mismatch(stored, *_ours(stored, embedder, sparse), sources=sources, profile=profile) from None


def check_models(
    stored: IndexInfo | None,
    collection: str,
    embedder: Any,
    sparse: SparseEncoder,
    profile: str = "",
    sources: Collection[str] = (),
) -> IndexInfo:
    """`stored`, if it names these models. Raises as `require_matching_models`; `sources` are for the command."""
    if stored is None:
        raise no_collection(collection, profile)
    if stored.foreign and getattr(embedder, "vouched", False):  # neither record nor profile knows better
        if embedder.dimension not in (0, stored.dimension):
            raise wrong_size(stored, embedder.model_id, embedder.dimension)
        return stored
    ours = _ours(stored, embedder, sparse)
    # A foreign collection does not record its sparse model: the profile vouches for it by naming the sparse vector.
    theirs = (stored.embedding_model, stored.dimension, sparse.model_id if stored.foreign else stored.sparse_model)
    if theirs != ours:
        raise mismatch(stored, *ours, sources=sources, profile=profile)
    return stored


def check_name(name: str, *, on_server: bool) -> None:
    """Raise `UsageError` for what cannot be the name of a book, on a server or in a folder."""
    allowed = on_server and isinstance(name, str) and _SERVER_NAME.fullmatch(name) and name not in (".", "..")
    if not allowed and not is_collection_name(name):
        hint = 'Use up to 100 letters, digits, "-", "_" and ".", beginning with a letter or a digit.'
        raise UsageError(f'"{name!s:.100}" cannot be the name of a collection.', code="collection_name", hint=hint)
    if is_version(name) or is_lease(name):
        problem = f'"{name}" cannot be the name of a book: askbook uses such names for the states of books.'
        raise UsageError(problem, code="collection_name", hint="Choose another name.")


def _ours(stored: IndexInfo, embedder: Any, sparse: SparseEncoder) -> tuple[str, int, str]:
    """The models at hand. If the embedder does not know its dimension yet, the stored one of the same model counts."""
    same = embedder.model_id == stored.embedding_model
    return embedder.model_id, embedder.dimension or (stored.dimension if same else 0), sparse.model_id


def as_vector_store(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder) -> QdrantVectorStore:
    """The collection as a LangChain vector store, for reading: hybrid if it has sparse vectors, otherwise dense.

    `embedder` must be a LangChain `Embeddings` too, as askbook's are. Raises `RetrievalError` "no_index" and
    "embedding_mismatch", and `UsageError` for another kind of index.
    """
    from rag.index.store import EncoderEmbeddings, build_store

    if not isinstance(index, QdrantIndex):
        raise UsageError(f"{type(index).__name__} cannot be opened as a LangChain vector store.", code="vector_store")
    schema = index.look()
    if schema is None:
        raise no_collection(index.collection)
    check_models(schema.info, index.collection, embedder, sparse)
    as_embeddings: Any = embedder
    return build_store(index.client, schema, as_embeddings, EncoderEmbeddings(sparse))
