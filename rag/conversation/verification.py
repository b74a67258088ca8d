"""A stored conversation's citations against the book as it is now: is each passage there, and does it still say so?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from rag.book import Chunk
from rag.types import Citation, Quote, Record

CitationStatus = Literal["valid", "stale", "gone"]
STATUSES: Final[tuple[CitationStatus, ...]] = ("valid", "stale", "gone")


class CheckedCitation(Record):
    """One citation of a stored answer. "valid": the passage is as it was cited; "stale": its text has changed; "gone":
    the book has no passage of this id. `quotes` counts its quotes, `quotes_found` those that the passage still has.
    `collection` is the book that it was checked against.
    """

    turn_number: int
    collection: str
    marker: int
    status: CitationStatus
    quotes: int
    quotes_found: int
    quote: str
    title: str
    url: str
    chunk_id: str


class Book(NamedTuple):
    """A collection, and the profile that says how to read it; None where a turn does not say which it was."""

    collection: str | None
    profile: str | None


class Cited(NamedTuple):
    """A citation of a stored turn, with the book that the turn asked."""

    citation: Citation
    turn_number: int
    book: Book


class Verification(Record):
    """All citations of a conversation, checked. `notices` say where another book than the turn's had to be taken."""

    thread_id: str
    citations: list[CheckedCitation]
    notices: list[str] = Field(default_factory=list)

    @property
    def collections(self) -> list[str]:
        """The books that the citations were checked against, sorted."""
        return sorted({one.collection for one in self.citations})

    @property
    def counts(self) -> dict[CitationStatus, int]:
        return {status: sum(one.status == status for one in self.citations) for status in STATUSES}

    def as_json(self) -> dict[str, Any]:
        """The record with `checked` and the count of each status, as `verify --json` prints it."""
        head = {"thread_id": self.thread_id, "collections": self.collections, "checked": len(self.citations)}
        return head | self.counts | self.model_dump(mode="json", include={"notices", "citations"})


def citations_of(turns: Sequence[Mapping[str, Any]]) -> list[Cited]:
    """The citations of a conversation's turns. Turns of earlier versions do not know their book."""
    return [
        Cited(
            Citation.model_validate(data),
            int(turn["turn_number"] or 0),
            Book(turn.get("collection"), turn.get("profile")),
        )
        for turn in turns
        for data in turn.get("citations") or []
    ]


def verify(cited: Cited, chunk: Chunk | None, collection: str) -> CheckedCitation:
    """Compare a citation with the chunk of its id in a collection; None says that there is none.

    The chunk's hash is computed anew: what an index says of its text is not proof of the text.
    """
    citation = cited.citation
    quotes = [Quote.of(citation), *citation.occurrences]
    found = sum(one.quote in chunk.text for one in quotes) if chunk else 0
    return CheckedCitation(
        turn_number=cited.turn_number,
        collection=collection,
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
