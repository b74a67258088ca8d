"""What `QdrantVectorStore` cannot do, with the client that it exposes (`store.client`), which blocks.

A book's name is an alias of a collection `NAME.askbook-HEX`. A change writes a new collection, the old one's points
included, and lets the name stand for it in one request, which Qdrant makes in one step; then the old one is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final
from uuid import uuid4

from rag.book import IndexEntry, IndexInfo
from rag.index.collection_schema import is_ours, record_of
from rag.index.index_errors import no_collection, not_ours
from rag.index.payload import DENSE, ENTRY_KEYS, FILTERS, METADATA, SPARSE, entry_of

_STATE: Final = r"\.askbook-[0-9a-f]{32}"
_VERSION: Final = re.compile(".+" + _STATE)
COPIED: Final = 256  # points of one scroll that brings their vectors, and of the upsert of them
PAGE: Final = 512  # points of one scroll without them
# The fields with a payload index, and whether it is for prefixes.
_INDEXED: Final = {f"{METADATA}.source": False} | {f"{METADATA}.{field}": True for field in FILTERS.values()}


def is_version(collection: str) -> bool:
    """Whether a collection is one state of a book, which has another name."""
    return _VERSION.fullmatch(collection) is not None


def aliases(client: Any) -> dict[str, str]:
    """The collections that aliases stand for. A store knows one collection."""
    return {one.alias_name: one.collection_name for one in client.get_aliases().aliases}


def book_names(client: Any) -> list[str]:
    """The collections by the names that people use, sorted; a state without a name is left out."""
    found = {one.name for one in client.get_collections().collections if not is_version(one.name)}
    return sorted(found | {name for name, collection in aliases(client).items() if is_version(collection)})


def exists(client: Any, book: str) -> bool:
    """Whether there is a book of this name, or something that an interrupted change left."""
    names = [one.name for one in client.get_collections().collections]
    return book in aliases(client) or any(name == book or _is_state(book, name) for name in names)


def _is_state(book: str, collection: str) -> bool:
    return re.fullmatch(re.escape(book) + _STATE, collection) is not None


def create(client: Any, info: IndexInfo, quantization: str) -> str:
    """Make an empty collection for a new state of a book, and return its name.

    The store's own constructor embeds a text for the size, which may be billed, and knows neither metadata nor indexes.
    """
    from qdrant_client import models

    version = f"{info.collection}.askbook-{uuid4().hex}"
    client.create_collection(
        version,
        vectors_config={DENSE: models.VectorParams(size=info.dimension, distance=models.Distance.COSINE)},
        sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        quantization_config=_quantization(quantization),
        metadata=record_of(info, version),
    )
    for field, prefix in _INDEXED.items():
        schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, prefix=prefix)
        client.create_payload_index(version, field, field_schema=schema, wait=True)
    return version


def _quantization(kind: str) -> Any:
    """The quantization of a new collection: small vectors in memory, full ones on the disk. None for "off"."""
    from qdrant_client import models

    if kind == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def copy(client: Any, source: str, target: str, without: Collection[str], check: Callable[[], None]) -> int:
    """Add the points of a collection to another with their vectors, which no document has, but for some ids.

    `check` is called for each batch, and may raise. Returns the number of points added.
    """
    from qdrant_client import models

    copied = 0
    for records in _scrolled(client, source, COPIED, payload=True, vectors=True):
        check()
        points = [
            models.PointStruct(id=one.id, vector=one.vector, payload=one.payload)
            for one in records
            if str(one.id) not in without
        ]
        if points:
            client.upsert(target, points, wait=True)
        copied += len(points)
    return copied


def entries(client: Any, collection: str) -> list[IndexEntry]:
    """An entry for every point. A store finds the nearest points, and cannot list all."""
    pages = _scrolled(client, collection, PAGE, payload=ENTRY_KEYS, vectors=False)
    return [entry_of(one.id, one.payload) for records in pages for one in records]


def _scrolled(client: Any, collection: str, size: int, *, payload: Any, vectors: bool) -> Iterator[list[Any]]:
    offset, more = None, True
    while more:
        records, offset = client.scroll(
            collection, limit=size, offset=offset, with_payload=payload, with_vectors=vectors
        )
        yield records
        more = offset is not None


def show(client: Any, info: IndexInfo, version: str) -> None:
    """Let the book's name stand for this version, whose points are complete, and delete the old one.

    Raises `UsageError` "foreign_collection" if another program has taken the name meanwhile.
    """
    from qdrant_client import models

    book, old = info.collection, aliases(client).get(info.collection)
    if (old is None and book in book_names(client)) or (old is not None and not is_version(old)):
        raise not_ours(book)
    client.update_collection(version, metadata=record_of(info, version))
    made = models.CreateAlias(collection_name=version, alias_name=book)
    operations: list[Any] = [models.CreateAliasOperation(create_alias=made)]
    if old is not None:
        operations.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=book)))
    client.update_collection_aliases(operations)
    if old is not None:
        client.delete_collection(old)


def rename(client: Any, book: str, new: str) -> None:
    """Give a book another name, in one step. Raises `RetrievalError` "no_index" and `UsageError`."""
    from qdrant_client import models

    version = aliases(client).get(book)
    if version is None:
        raise not_ours(book) if book in book_names(client) else no_collection(book)
    renamed = models.RenameAlias(old_alias_name=book, new_alias_name=new)
    client.update_collection_aliases([models.RenameAliasOperation(rename_alias=renamed)])


def sweep(client: Any, book: str) -> None:
    """Delete the states of the book that have no name: those of interrupted changes."""
    shown = set(aliases(client).values())
    for one in client.get_collections().collections:
        if _is_state(book, one.name) and one.name not in shown:
            client.delete_collection(one.name)


def remove(client: Any, book: str) -> None:
    """Delete a book, with its alias and what interrupted changes have left."""
    sweep(client, book)
    version = aliases(client).get(book)
    if version is not None and is_version(version):
        client.delete_collection(version)
    elif version is not None or (book in book_names(client) and not is_ours(client.get_collection(book))):
        raise not_ours(book)
