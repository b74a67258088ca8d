"""How a chunk is laid out in Qdrant: langchain-qdrant's default, so that other LangChain code can read the collection.

The text is `page_content`, every other field of the chunk is in `metadata`; the id is the point's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final
from uuid import UUID

from rag.book import Chunk, Hit, IndexEntry, SparseVector

DENSE: Final = "dense"
SPARSE: Final = "sparse"
CONTENT: Final = "page_content"
METADATA: Final = "metadata"
URL: Final = "metadata.url"
SOURCE: Final = "metadata.source"
ENTRY_FIELDS: Final = ("source", "source_file_path", "document_sha256", "sha256")
ENTRY_KEYS: Final = [f"{METADATA}.{name}" for name in ENTRY_FIELDS]
TIE_SLACK: Final = 8  # hits asked for beyond the limit, to see whether the last place is shared
_FIELDS: Final = tuple(field.name for field in fields(Chunk) if field.name not in ("id", "text"))
_EMPTY: Final[Mapping[str, Any]] = {"chunk_index": 0, "chapter": None, "page_number": None}


def to_payload(chunk: Chunk) -> dict[str, Any]:
    """The payload of the chunk's point."""
    values = asdict(chunk)
    return {CONTENT: values["text"], METADATA: {name: values[name] for name in _FIELDS}}


def from_payload(id: object, payload: Mapping[str, Any] | None) -> Chunk:
    """The chunk of a point. Fields that another writer left out are empty; raises `ValueError` without a text."""
    text = (payload or {}).get(CONTENT)
    if not isinstance(text, str):
        raise ValueError(f"The point {id} has no text.")
    stored = (payload or {}).get(METADATA) or {}
    values = {name: stored.get(name, _EMPTY.get(name, "")) for name in _FIELDS}
    values["sha256"] = values["sha256"] or hashlib.sha256(text.encode()).hexdigest()
    return Chunk(id=str(id), text=text, **values)


def to_entry(id: object, payload: Mapping[str, Any] | None) -> IndexEntry:
    stored = (payload or {}).get(METADATA) or {}
    return IndexEntry(str(id), *(str(stored.get(name, "")) for name in ENTRY_FIELDS))


def to_hit(id: object, score: float, payload: Mapping[str, Any] | None, vector: Any) -> Hit:
    """The hit of a scored point that was asked for with its payload and its dense vector."""
    return Hit(from_payload(id, payload), float(score), vector[DENSE])


def point_ids(ids: Iterable[str]) -> list[str]:
    """The ids that can be a point's: UUIDs, in Qdrant's spelling. Qdrant fails a whole request over one that cannot."""
    known = []
    for id in ids:
        try:
            known.append(str(UUID(id)))
        except ValueError:
            continue
    return known


def server_ids(ids: Iterable[str]) -> list[int | str]:
    """The ids that can be a point's on a server, where somebody else may have counted: UUIDs and whole numbers."""
    known: list[int | str] = []
    for id in ids:
        is_number = id.isascii() and id.isdecimal()  # 32 hexadecimal digits may be decimal, but too large
        known += [int(id)] if is_number and int(id) < 2**64 else point_ids([id])
    return known


def is_empty(leg: object) -> bool:
    """Whether a leg can find nothing: the sparse vector of a text of stop words."""
    return isinstance(leg, SparseVector) and not leg.indices


def best(hits: list[Hit], *, limit: int, asked: int) -> list[Hit] | None:
    """The best `limit` of `hits`, ties in the order of their ids; None where `asked` hits cannot decide the last place.

    Engines order equal scores as they come upon them. If the tie at the cut runs past what was asked for, somebody
    outside may belong inside, and more hits must be asked for.
    """
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))
    if 0 < limit < len(ordered) and len(ordered) >= asked and ordered[limit - 1].score == ordered[-1].score:
        return None
    return ordered[:limit]


def missing(legs: Sequence[object], found: Sequence[Sequence[Hit]]) -> dict[int, dict[str, Hit]]:
    """For each sparse leg that can find something, the hits of the other legs that its ranking lacks, by id."""
    every = {hit.chunk.id: hit for ranking in found for hit in ranking}
    lacking: dict[int, dict[str, Hit]] = {}
    for i, leg in enumerate(legs):
        if isinstance(leg, SparseVector) and not is_empty(leg):
            own = {hit.chunk.id for hit in found[i]}
            rest = {id: hit for id, hit in every.items() if id not in own}
            if rest:
                lacking[i] = rest
    return lacking


def rescored(hits: Mapping[str, Hit], scores: Iterable[tuple[str, float]]) -> list[Hit]:
    """The hits with another leg's scores, best first; what has none shares no term with it and is left out."""
    found = [replace(hits[id], score=score) for id, score in scores]
    return sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))
