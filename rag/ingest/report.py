"""What an ingestion reports: its progress while it runs, and at the end what it did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import Field

from rag.types import Record

Step = Literal["load", "chunk", "embed", "write", "verify"]
STEPS: Final[tuple[Step, ...]] = ("load", "chunk", "embed", "write", "verify")  # as they are told of


class IngestProgress(Record):
    """How far a step of an ingestion is: `done` of `total` sources, pages, texts, passages or checks.

    `waiting` is how many seconds a service has asked to wait, None while the step goes on. While a site is fetched,
    `pages` is how many of its pages were asked for, and `known` how many are known so far.
    """

    step: Step
    done: int
    total: int
    waiting: int | None = None
    pages: int | None = None
    known: int | None = None


class DocumentCounts(Record):
    """Pages by what becomes of them. A `failed` page keeps its chunks; an `empty` one is unchanged and has no text."""

    added: int
    changed: int
    unchanged: int
    deleted: int
    failed: int
    empty: int = Field(default=0, exclude=True)


class ChunkCounts(Record):
    """Chunks by what happens to their text. `total` is the size of the collection afterwards."""

    added: int
    deleted: int
    unchanged: int
    total: int


class IngestFailure(Record):
    """A file or a source that could not be read, and why."""

    source: str
    reason: str


class SourceSummary(Record):
    """Whose rules a source was read by, and why. `passed_over` counts files that are no pages, by their endings.

    `refused` says by page and by name why files that it includes are not read; `advice` what would be better to read
    than this source.
    """

    source: str
    generator: str
    reason: str
    passed_over: dict[str, int] = Field(default_factory=dict)
    refused: dict[str, dict[str, str]] = Field(default_factory=dict)
    advice: str = ""


class IngestReport(Record):
    """The object that `ingest --json` prints: what an ingestion did, or would do.

    `embedded` counts the texts that the model embeds because no vector is cached, and `tokens` are theirs, at most.
    `without_text` names the pages that have no text, and `beside` the other sources that the book already holds.
    """

    collection: str
    embedding_model: str
    documents: DocumentCounts
    chunks: ChunkCounts
    embedded: int
    tokens: int = 0
    seconds: float
    failures: list[IngestFailure]
    sources: list[SourceSummary]
    without_text: list[str] = Field(default_factory=list)
    beside: list[str] = Field(default_factory=list)


def nothing_read(collection: str, model: str, total: int, failures: Iterable[tuple[str, str]]) -> IngestReport:
    """The report where every source failed, each with its reason: the collection stays as it is."""
    return IngestReport(
        collection=collection,
        embedding_model=model,
        documents=DocumentCounts(added=0, changed=0, unchanged=0, deleted=0, failed=0),
        chunks=ChunkCounts(added=0, deleted=0, unchanged=total, total=total),
        embedded=0,
        seconds=0.0,
        failures=[IngestFailure(source=source, reason=reason) for source, reason in failures],
        sources=[],
    )
