"""How a chunk is stored in Qdrant, and how the hits of one leg are ranked.

The layout is langchain-qdrant's default, so that other LangChain code can read the collection: the text is
`page_content`, the other fields of the chunk are in `metadata`, and the id is the point's.
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
ENTRY_FIELDS: Final = ("source", "source_file_path", "document_sha256", "sha256")
ENTRY_KEYS: Final = [f"{METADATA}.{name}" for name in (*ENTRY_FIELDS, "chunk_index")]
TIE_SLACK: Final = 8  # hits requested beyond the limit, to detect a tie at the last place
_FIELDS: Final = tuple(field.name for field in fields(Chunk) if field.name not in ("id", "text"))
_EMPTY: Final[Mapping[str, Any]] = {"chunk_index": 0, "chapter": None, "page_number": None}


def to_payload(chunk: Chunk) -> dict[str, Any]:
    """The payload of the chunk's point."""
    values = asdict(chunk)
    return {CONTENT: values["text"], METADATA: {name: values[name] for name in _FIELDS}}


def from_payload(id: object, payload: Mapping[str, Any] | None) -> Chunk:
    """The chunk of a point. Fields that another writer left out are empty. Raises `ValueError` without a text."""
    text = (payload or {}).get(CONTENT)
    if not isinstance(text, str):
        raise ValueError(f"The point {id} has no text.")
    stored = (payload or {}).get(METADATA) or {}
    values = {name: stored.get(name, _EMPTY.get(name, "")) for name in _FIELDS}
    values["sha256"] = values["sha256"] or hashlib.sha256(text.encode()).hexdigest()
    return Chunk(id=str(id), text=text, **values)


def to_entry(id: object, payload: Mapping[str, Any] | None) -> IndexEntry:
    """The index entry of a point whose payload holds at least `ENTRY_KEYS`."""
    stored = (payload or {}).get(METADATA) or {}
    place = stored.get("chunk_index")
    source, path, document, text = (str(stored.get(name, "")) for name in ENTRY_FIELDS)
    return IndexEntry(str(id), source, path, document, text, place if isinstance(place, int) else 0)


def to_hit(id: object, score: float, payload: Mapping[str, Any] | None, vector: Any) -> Hit:
    """The hit of a scored point that was requested with its payload and its dense vector."""
    return Hit(from_payload(id, payload), float(score), vector[DENSE])


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


def is_empty(leg: object) -> bool:
    """Whether a leg cannot find anything: the sparse vector of a text of stop words only."""
    return isinstance(leg, SparseVector) and not leg.indices


def best(hits: list[Hit], *, limit: int, asked: int) -> list[Hit] | None:
    """The best `limit` of `hits`, ties by id; None if more than the `asked` hits must be requested to decide a tie.

    Engines return equal scores in any order. If the last place is tied with the last hit of a full answer, a hit
    beyond the answer may belong into the ranking. With limit=2 and asked=3, the scores 9, 7, 7 are undecided: a fourth
    hit could score 7 too and have a smaller id. The scores 9, 7, 6 are decided.
    """
    ordered = sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))
    if 0 < limit < len(ordered) and len(ordered) >= asked and ordered[limit - 1].score == ordered[-1].score:
        return None
    return ordered[:limit]


def missing(legs: Sequence[object], found: Sequence[Sequence[Hit]]) -> dict[int, dict[str, Hit]]:
    """For each sparse leg that is not empty, the hits of other legs that its ranking lacks, by id."""
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
    """The hits with another leg's scores, best first. A hit without a score shares no term with it and is left out."""
    found = [replace(hits[id], score=score) for id, score in scores]
    return sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))
