"""Checks the citations of a stored conversation against the book as it is now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from rag.book import Chunk
from rag.grounding import prove
from rag.types import UNCONFIRMED_MARK, Citation, Quote, Record, Standing

CitationStatus = Literal["valid", "stale", "gone"]
STATUSES: Final[tuple[CitationStatus, ...]] = ("valid", "stale", "gone")


class NewPlace(Record):
    """Where a passage is now."""

    chunk_id: str
    title: str
    url: str


class CheckedCitation(Record):
    """A citation checked against `collection`: "valid" if the passage is unchanged, "stale" if its text has changed or
    has moved to another page or place, "gone" if the book has neither the passage nor its text. `quotes` counts the
    quotes, `quotes_found` those that are still in the passage. `moved_to` is the new place of a text that has moved.
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
    moved_to: NewPlace | None = None


class LostSentence(Record):
    """A sentence of a stored answer that the passages, as they are now, do not support. `reasons` say why."""

    turn_number: int
    text: str
    standing: Standing
    reasons: list[str]


class Book(NamedTuple):
    """A collection and the profile that says how to read it; None where the turn's record lacks it."""

    collection: str | None
    profile: str | None


class Cited(NamedTuple):
    """A citation of a stored turn, with the book of that turn."""

    citation: Citation
    turn_number: int
    book: Book


class Verification(Record):
    """All citations of a conversation, checked. `notices` tell where a substitute for a turn's book was used.

    `lost` are the sentences that rest on changed passages and that these no longer support.
    """

    thread_id: str
    citations: list[CheckedCitation]
    lost: list[LostSentence] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list)

    @property
    def collections(self) -> list[str]:
        """The books that the citations were checked against, sorted."""
        return sorted({citation.collection for citation in self.citations})

    @property
    def counts(self) -> dict[CitationStatus, int]:
        """The number of citations with each status, zeros included."""
        return {status: sum(citation.status == status for citation in self.citations) for status in STATUSES}

    def as_json(self) -> dict[str, Any]:
        """The record for `verify --json`, with the number of checked citations and of each status."""
        head = {"thread_id": self.thread_id, "collections": self.collections, "checked": len(self.citations)}
        return head | self.counts | self.model_dump(mode="json", include={"notices", "citations", "lost"})


def citations_of(turns: Sequence[Mapping[str, Any]]) -> list[Cited]:
    """The citations of a conversation's turns. Turns stored by earlier versions do not name their book."""
    found = []
    for turn in turns:
        book, number = Book(turn.get("collection"), turn.get("profile")), int(turn["turn_number"] or 0)
        found += [Cited(Citation.model_validate(data), number, book) for data in turn.get("citations") or []]
    return found


def verify(cited: Cited, chunk: Chunk | None, collection: str) -> CheckedCitation:
    """Compare a citation with the chunk of the same id in a collection, or of the same text if that has moved; None if
    there is no such chunk.

    The hash is computed from the chunk's text, because a stored hash may not match it.
    """
    citation = cited.citation
    quotes = [Quote.of(citation), *citation.occurrences]
    found = sum(quote.quote in chunk.text for quote in quotes) if chunk else 0
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
        moved_to=NewPlace(chunk_id=chunk.id, title=chunk.title, url=chunk.url)
        if chunk and chunk.id != citation.chunk_id
        else None,
    )


def has_text(chunk: Chunk | None, citation: Citation) -> bool:
    """Whether the text of the chunk is that of the citation's passage. The hash that the index stores may be wrong."""
    return chunk is not None and citation.chunk_sha256 in ("", hashlib.sha256(chunk.text.encode()).hexdigest())


def lost_sentences(
    turn: Mapping[str, Any], checked: Sequence[CheckedCitation], chunks: Mapping[str, Chunk]
) -> list[LostSentence]:
    """The sentences of a stored turn that cite a changed passage and that the passages no longer support.

    `checked` are the turn's citations, `chunks` the passages of today by id. The answer is proved again, as a whole.
    """
    changed = {citation.marker for citation in checked if citation.status != "valid"}
    answer = str(turn.get("plain_content") or "").replace(f" {UNCONFIRMED_MARK}", "")
    if not changed or not answer:
        return []
    cited = {citation.marker: chunks.get(citation.chunk_id) for citation in checked}
    passages = [cited.get(number) for number in range(1, max(cited) + 1)]
    texts = [chunk.text if chunk else "" for chunk in passages]
    known = [f"{chunk.title}\n{chunk.breadcrumb}\n{chunk.url}" if chunk else "" for chunk in passages]
    return [
        LostSentence(
            turn_number=int(turn.get("turn_number") or 0),
            text=sentence.text,
            standing=sentence.standing,
            reasons=list(sentence.reasons),
        )
        for sentence in prove(answer, texts, question=str(turn.get("question") or ""), known=known).sentences
        if sentence.standing in ("unconfirmed", "contradicted") and not changed.isdisjoint(sentence.passages)
    ]


def _status(citation: Citation, quotes: Sequence[Quote], chunk: Chunk | None) -> CitationStatus:
    if chunk is None:
        return "gone"
    same = chunk.id == citation.chunk_id and has_text(chunk, citation)
    in_place = all(chunk.text[quote.start : quote.end] == quote.quote for quote in quotes)
    return "valid" if same and in_place else "stale"
