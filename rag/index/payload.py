"""How a chunk is stored in Qdrant.

The layout is langchain-qdrant's default, so that other LangChain code can read the collection: the text is
`page_content`, the other fields of the chunk are in `metadata`, and the id is the point's.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final
from uuid import UUID

from rag.book import Chunk, IndexEntry

DENSE: Final = "dense"
SPARSE: Final = "sparse"
CONTENT: Final = "page_content"
METADATA: Final = "metadata"
CHUNK_ID: Final = "chunk_id"  # beside them in the embedded index, whose points have numbers
ENTRY_FIELDS: Final = ("source", "source_file_path", "document_sha256", "sha256")
ENTRY_KEYS: Final = [f"{METADATA}.{name}" for name in (*ENTRY_FIELDS, "chunk_index", "page_chunks")]
_FIELDS: Final = tuple(field.name for field in fields(Chunk) if field.name not in ("id", "text"))
_NAMES: Final = frozenset(_FIELDS)
_EMPTY: Final[Mapping[str, Any]] = {"chunk_index": 0, "page_chunks": 0, "chapter": None, "page_number": None}


def to_payload(chunk: Chunk) -> dict[str, Any]:
    """The payload of the chunk's point."""
    values = asdict(chunk)
    return {CONTENT: values["text"], METADATA: {name: values[name] for name in _FIELDS}}


def chunk_id(point: object, payload: Mapping[str, Any] | None) -> str:
    """The id of a point's chunk in the embedded index. Raises `ValueError` if it has none."""
    id = (payload or {}).get(CHUNK_ID) if isinstance(point, int) else str(point)
    if not isinstance(id, str):
        raise ValueError(f"The point {point} has no id of a chunk.")
    return id


def from_payload(id: object, payload: Mapping[str, Any] | None) -> Chunk:
    """The chunk of a point. Fields that another writer left out are empty. Raises `ValueError` without a text."""
    text = (payload or {}).get(CONTENT)
    if not isinstance(text, str):
        raise ValueError(f"The point {id} has no text.")
    stored = (payload or {}).get(METADATA) or {}
    values = stored
    if stored.keys() != _NAMES:
        values = {name: stored[name] if name in stored else _EMPTY.get(name, "") for name in _FIELDS}
    if not values["sha256"]:
        values = {**values, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return Chunk(id=str(id), text=text, **values)


def to_entry(id: object, payload: Mapping[str, Any] | None) -> IndexEntry:
    """The index entry of a point whose payload holds at least `ENTRY_KEYS`."""
    stored = (payload or {}).get(METADATA) or {}
    # Kept once in memory for all chunks of a page: a book may have a hundred thousand entries.
    source, path, document = (sys.intern(str(stored.get(name, ""))) for name in ENTRY_FIELDS[:3])
    text = str(stored.get(ENTRY_FIELDS[3], ""))
    numbers = [value if isinstance(value := stored.get(name), int) else 0 for name in ("chunk_index", "page_chunks")]
    return IndexEntry(str(id), source, path, document, text, *numbers)


def point_ids(ids: Iterable[str]) -> list[str]:
    """The valid ids, which are UUIDs, in Qdrant's spelling. Qdrant rejects a whole request for one invalid id."""
    known = []
    for id in ids:
        try:
            known.append(str(UUID(id)))
        except ValueError:
            continue
    return known


def server_ids(ids: Iterable[str]) -> list[int | str]:
    """The valid ids of a server, where others may also have used whole numbers: UUIDs and numbers below 2**64."""
    known: list[int | str] = []
    for id in ids:
        is_number = id.isascii() and id.isdecimal()  # also a UUID of 32 decimal digits, which is too large a number
        known += [int(id)] if is_number and int(id) < 2**64 else point_ids([id])
    return known
