"""A stored conversation's citations against the book as it is now: is each passage there, and does it still say so?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from rag.book import Chunk
from rag.types import Citation, Quote, Record

CitationStatus = Literal["valid", "stale", "gone"]
STATUSES: Final[tuple[CitationStatus, ...]] = ("valid", "stale", "gone")


class CheckedCitation(Record):
    """One citation of a stored answer. "valid": the passage is as it was cited; "stale": its text has changed; "gone":
    the book has no passage of this id. `quotes` counts its quotes, `quotes_found` those that the passage still has.
    """

    turn_number: int
    marker: int
    status: CitationStatus
    quotes: int
    quotes_found: int
    quote: str
    title: str
    url: str
    chunk_id: str


class Verification(Record):
    """All citations of a conversation, checked. `collection` is the book that they were checked against."""

    thread_id: str
    collection: str
    citations: list[CheckedCitation]

    @property
    def counts(self) -> dict[CitationStatus, int]:
        return {status: sum(one.status == status for one in self.citations) for status in STATUSES}

    def as_json(self) -> dict[str, Any]:
        """The record with `checked` and the count of each status, as `verify --json` prints it."""
        head = {"thread_id": self.thread_id, "collection": self.collection, "checked": len(self.citations)}
        return head | self.counts | {"citations": [one.model_dump(mode="json") for one in self.citations]}


def citations_of(turns: Sequence[Mapping[str, Any]]) -> list[tuple[int, Citation]]:
    """The citations of a conversation's turns, each with the number of its turn."""
    return [
        (int(turn["turn_number"] or 0), Citation.model_validate(data))
        for turn in turns
        for data in turn.get("citations") or []
    ]


def verify(citation: Citation, turn_number: int, chunk: Chunk | None) -> CheckedCitation:
    """Compare a citation with the chunk of its id; None says that there is none.

    The chunk's hash is computed anew: what an index says of its text is not proof of the text.
    """
    quotes = [Quote.of(citation), *citation.occurrences]
    found = sum(one.quote in chunk.text for one in quotes) if chunk else 0
    return CheckedCitation(
        turn_number=turn_number,
        marker=citation.marker,
        status=_status(citation, quotes, chunk),
        quotes=len(quotes),
        quotes_found=found,
        quote=citation.quote,
        title=citation.title,
        url=citation.url,
        chunk_id=citation.chunk_id,
    )


def _status(citation: Citation, quotes: Sequence[Quote], chunk: Chunk | None) -> CitationStatus:
    if chunk is None:
        return "gone"
    same = citation.chunk_sha256 in ("", hashlib.sha256(chunk.text.encode()).hexdigest())
    in_place = all(chunk.text[one.start : one.end] == one.quote for one in quotes)
    return "valid" if same and in_place else "stale"
