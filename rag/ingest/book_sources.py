"""The sources of one ingestion: each is read, or recalled if none of its files has changed since."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rag.book import Document
from rag.errors import SourceFailedError, UsageError
from rag.ingest.loaders import LoadResult, load_source
from rag.ingest.patterns import EVERYTHING, Selection
from rag.ingest.report import IngestFailure
from rag.ingest.source_files import witnessed
from rag.ingest.source_memory import ReadSource, SourceMemory
from rag.ingest.sources.opened_source import is_address

_LOGIN: Final = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How sources are read, and what becomes of the collection.

    `skip` names folders or files by their path in the source. `generator` names the site generator whose rules are
    followed; without it, it is found. `selection` says which files are read. `alone` removes the chunks of all other
    sources. `own` says that the sources are part of askbook, see `load_source`. `rebuild` makes the collection again,
    whatever models encoded it; it must have no other sources. `profile` is the one that the collection belongs to, for
    the hints of errors. A dry run reports what would happen.
    """

    base_url: str | None = None
    skip: Collection[str] = ()
    generator: str | None = None
    selection: Selection = EVERYTHING
    alone: bool = False
    own: bool = False
    rebuild: bool = False
    profile: str = ""
    dry_run: bool = False

    def of_profile(self, name: str) -> IngestOptions:
        """The options for the collection of a profile."""
        return replace(self, profile=name)


class BookSources:
    """The sources as they were given. After `load`, `loaded` are those that could be read, and `failed` the others.

    With a memory, a source in which no file has changed is recalled: its pages have no texts. Once `recalls` is false,
    every source is read.
    """

    def __init__(self, given: Sequence[Path | str], options: IngestOptions, memory: SourceMemory | None) -> None:
        self.given = given
        self.loaded: list[LoadResult] = []
        self.failed: list[IngestFailure] = []
        self.recalls = True
        self._options = options
        self._memory = memory
        self._read: dict[tuple[str, str], ReadSource] = {}

    @property
    def documents(self) -> list[Document]:
        """The pages of all sources."""
        return [document for one in self.loaded for document in one.documents]

    async def load(self, watch: Callable[[int], None], watch_pages: Callable[[int, int, int], None]) -> None:
        """Read or recall all sources.

        `watch` is told how many are done, and `watch_pages` the number of a site, how many of its pages were fetched,
        and how many are known. If all sources fail, raises `SourceFailedError`, or `UsageError` if none of them was
        right as it was given.
        """
        if not self.given:
            hint = "Give a folder, a file or an address: ingest SOURCE."
            raise UsageError("No source was given.", code="source", hint=hint)
        self.failed = []
        found: dict[str, LoadResult] = {}
        errors: list[UsageError] = []
        for number, source in enumerate(self.given):
            watch(number)
            try:
                result = await asyncio.to_thread(self._load, source, number, watch_pages)
            except UsageError as error:
                errors.append(error)
                reason = f"{error.message} {error.hint}".strip()
                self.failed.append(IngestFailure(source=_LOGIN.sub("//", str(source)), reason=reason))
            else:
                found[result.source] = result  # one that is given twice counts once
        if not found:
            worst = next((one for one in errors if isinstance(one, SourceFailedError)), errors[0])
            if isinstance(worst, SourceFailedError):
                worst.failures = tuple((one.source, one.reason) for one in self.failed)
            raise worst
        self.loaded = list(found.values())
        watch(len(self.given))

    def _load(self, source: Path | str, number: int, watch_pages: Callable[[int, int, int], None]) -> LoadResult:
        options = self._options
        key = repr((options.base_url, sorted(options.skip), options.generator, options.own, options.selection))
        memory = None if is_address(str(source)) else self._memory
        known = memory.recall(str(source), key) if memory and self.recalls else None
        if known is not None:
            return known
        with witnessed() as seen:
            result = load_source(
                source,
                base_url=options.base_url,
                skip=options.skip,
                generator=options.generator,
                own=options.own,
                selection=options.selection,
                watch=lambda pages, known: watch_pages(number, pages, known),
            )
        if memory and not result.failures:
            self._read[str(source), key] = ReadSource(result, seen)
        return result

    def keep(self, empty: Collection[tuple[str, str]]) -> None:
        """Remember the sources that were read. `empty` are their pages, by source and path, that have no chunks."""
        for (source, key), read in self._read.items() if self._memory else ():
            self._memory.keep(source, key, read, empty)  # type: ignore[union-attr]

    def forget_texts(self) -> None:
        """Free the texts of the pages, which are in the chunks by now."""
        self._read = {}
        self.loaded = [replace(one, documents=()) for one in self.loaded]
