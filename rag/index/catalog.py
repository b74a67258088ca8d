"""Open and list collections, and check that a collection was encoded by the models at hand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.index.edge_files import Generations, collection_name, is_collection_name
from rag.index.index_errors import mismatch, no_collection, wrong_size
from rag.index.server_client import Server
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.profiles.schema import BookSection

_SERVER_NAME: Final = re.compile(r'[^<>:"/\\|?*\x00-\x1f]{1,255}')  # the names that Qdrant allows


def build_index(
    *,
    home: Path,
    collection: str,
    server: Server | None = None,
    layout: BookSection | None = None,
    wait: float | None = None,
) -> ChunkIndex:
    """The index of a collection: on the server if one is given, otherwise in the folder `home / "index"`.

    `layout` says how to read a foreign collection. A change of a folder waits `wait` seconds for another one. Connects
    to nothing and creates nothing. Raises `UsageError` for an invalid name or address.
    """
    if server is None:
        from rag.index.edge import WAIT, EdgeIndex

        return EdgeIndex(home / "index", collection_name(collection), wait=WAIT if wait is None else wait)
    from rag.index.server import ServerIndex

    _check_server_name(collection)
    return ServerIndex(
        server.asynchronous(), collection, address=server.address, sync_client=server.blocking, layout=layout
    )


async def list_collections(*, home: Path, server: Server | None = None) -> list[str]:
    """The names of all collections, sorted. Raises `RetrievalError` if the server cannot be reached."""
    if server is None:
        return await asyncio.to_thread(_local_collections, home / "index")
    from rag.index.server_errors import server_faults
    from rag.index.server_lease import is_lease
    from rag.index.server_versions import book_names

    client = server.asynchronous()
    try:
        with server_faults("", server.address):
            return sorted(name for name in await book_names(client) if not is_lease(name))
    finally:
        await client.close()


async def rename_collection(*, home: Path, collection: str, new: str, server: Server | None = None) -> None:
    """Give a collection of ours another name, in one step. Raises `UsageError` "name_taken".

    Raises `RetrievalError` if there is no such collection or a change of it is under way.
    """
    if server is None:
        from rag.index.edge import rename

        await asyncio.to_thread(rename, home / "index", collection_name(collection), collection_name(new))
        return
    from rag.index.server import ServerIndex

    for name in (collection, new):
        _check_server_name(name)
    async with aclosing(ServerIndex(server.asynchronous(), collection, address=server.address)) as index:
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
        raise await advised(error, stored, index, embedder, sparse, profile) from None


async def advised(
    error: RetrievalError,
    stored: IndexInfo | None,
    index: ChunkIndex,
    embedder: Embedder,
    sparse: SparseEncoder,
    profile: str = "",
) -> RetrievalError:
    """An error of a search, or of `check_models` for the record `stored`, with the command that helps."""
    if error.code == "no_index":
        return no_collection(index.collection, profile)
    if stored is None or stored.foreign or error.code != "embedding_mismatch":
        return error
    sources = {entry.source for entry in await index.entries()} - {""}
    return mismatch(stored, *_ours(stored, embedder, sparse), sources=sources, profile=profile)


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
    if on_server:
        _check_server_name(name)
    else:
        collection_name(name)


def _check_server_name(name: str) -> None:
    from rag.index.server_lease import is_lease
    from rag.index.server_versions import is_version

    if not isinstance(name, str) or not _SERVER_NAME.fullmatch(name) or name in (".", ".."):
        collection_name(name)  # raises
    if is_version(name) or is_lease(name):
        problem = f'"{name}" cannot be the name of a book: askbook uses such names for the states of books.'
        raise UsageError(problem, code="collection_name", hint="Choose another name.")


def _ours(stored: IndexInfo, embedder: Any, sparse: SparseEncoder) -> tuple[str, int, str]:
    """The models at hand. If the embedder does not know its dimension yet, the stored one of the same model counts."""
    same = embedder.model_id == stored.embedding_model
    return embedder.model_id, embedder.dimension or (stored.dimension if same else 0), sparse.model_id


def _local_collections(folder: Path) -> list[str]:
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    except OSError as error:  # for example another user's home
        message = f"The folder {folder} cannot be read: {error.strerror or error}."
        hint = "Make it readable, or set ASKBOOK_HOME to a folder of your own."
        raise RetrievalError("index_files", message, hint=hint) from error
    return [name for name in names if is_collection_name(name) and Generations(folder, name).exists()]
