"""The sources of one ingestion. A source in which no file has changed is recalled, since reading takes long."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag.book import Document
from rag.errors import SourceFailedError, UsageError
from rag.ingest.loaders import VERSION, LoadResult, load_source
from rag.ingest.patterns import EVERYTHING, Selection
from rag.ingest.report import IngestFailure
from rag.ingest.source_files import Failure, why_unreadable, witness_stamp, witnessed
from rag.ingest.sources.opened_source import is_address
from rag.system.files import Stamp, private_folder, stamp, write_private
from rag.system.stopping import in_thread

_CODE: Final = Path(__file__).parent
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

    @classmethod
    def checked(
        cls,
        *,
        base_url: object = None,
        generator: object = None,
        include: object = (),
        exclude: object = (),
        rebuild: bool = False,
        dry_run: bool = False,
    ) -> IngestOptions:
        """The options that a program asks for. Raises `UsageError` for one of another type."""
        return cls(
            base_url=_text_or_none("base_url", base_url),
            generator=_text_or_none("generator", generator),
            selection=Selection(texts("include", include), texts("exclude", exclude)),
            rebuild=rebuild,
            dry_run=dry_run,
        )


def _text_or_none(name: str, given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise UsageError(f"{name} must be text, unlike {given!r:.40}.", code="given")


def texts(name: str, given: object) -> tuple[str, ...]:
    """One text or path, or several, as texts; none for None. Raises `UsageError`, with the argument's name.

    >>> texts("include", "*.md"), texts("sources", [Path("docs")])
    (('*.md',), ('docs',))
    """
    if given is None:
        return ()
    several = [*given] if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    if not all(isinstance(one, str | Path) for one in several):
        raise UsageError(f"{name} must be a text or a list of texts, unlike {given!r:.40}.", code="given")
    return tuple(map(str, several))


class BookSources:
    """The sources as they were given. After `load`, `loaded` are those that could be read, and `failed` the others.

    The pages of a source that is recalled have no texts. Once `recalls` is false, every source is read.
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
        """Read or recall all sources. `watch` counts them, and `watch_pages` the pages of the site of a number.

        If all fail, raises `SourceFailedError`, or `UsageError` if none of them was right as it was given.
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
                result = await in_thread(self._load, source, number, watch_pages)
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

    def fail(self, document: Document, error: Exception) -> None:
        """Enter a page that could be read and not be cut. Its source is not remembered."""
        failure = Failure(document.source, document.path, why_unreadable(error))
        at = next(n for n, one in enumerate(self.loaded) if one.source == document.source)
        self.loaded[at] = self.loaded[at].model_copy(update={"failures": (*self.loaded[at].failures, failure)})
        self._read = {key: read for key, read in self._read.items() if read.result.source != document.source}

    def keep(self, empty: Collection[tuple[str, str]]) -> None:
        """Remember the sources that were read. `empty` are their pages, by source and path, that have no chunks."""
        for (source, key), read in self._read.items() if self._memory else ():
            self._memory.keep(source, key, read, empty)  # type: ignore[union-attr]

    def forget_texts(self) -> None:
        """Free the texts of the pages, which are in the chunks by now."""
        self._read = {}
        self.loaded = [one.model_copy(update={"documents": ()}) for one in self.loaded]


@dataclass(frozen=True, slots=True)
class RecalledPage(Document):
    """A page whose text was not read. `is_empty`: it has no chunks."""

    is_empty: bool = field(default=False, kw_only=True)


class ReadSource(NamedTuple):
    """A source that was read, and the files and folders that were looked at."""

    result: LoadResult
    seen: Mapping[str, Stamp | None]


class SourceMemory:
    """A folder with a file for each source and way of reading it. A file that cannot be used counts as missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall(self, source: str, options: str) -> LoadResult | None:
        """The source as it was read last, its pages without texts; None if anything has changed since."""
        try:
            kept = json.loads(self._file(source, options).read_text("utf-8"))
            stamps = {Path(path): seen and tuple(seen) for path, seen in kept["seen"].items()}
            if kept["code"] != _code() or any(witness_stamp(path) != seen for path, seen in stamps.items()):
                return None
            summary, pages = kept["summary"], kept["pages"]
            name = summary["source"]
            known = (RecalledPage(name, path, url, "", "", sha, is_empty=bare) for path, url, sha, bare in pages)
            return LoadResult(**summary, documents=tuple(known))
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return None

    def keep(self, source: str, options: str, read: ReadSource, empty: Collection[tuple[str, str]]) -> None:
        """Remember a source without failures, and which of its pages are `empty`. A full disk is no error."""
        result = read.result
        kept: dict[str, Any] = {
            "code": _code(),
            "summary": result.summary().model_dump(),
            "pages": [[one.path, one.url, one.sha256, (one.source, one.path) in empty] for one in result.documents],
            "seen": read.seen,
        }
        with suppress(OSError, ValueError):
            private_folder(self._folder)
            write_private(self._file(source, options), json.dumps(kept))

    def _file(self, source: str, options: str) -> Path:
        key = json.dumps([str(Path(source).expanduser().absolute()), options])
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _code() -> list[Any]:
    """A fingerprint of the code that reads sources."""
    files = sorted(_CODE.rglob("*.py"))
    digest = hashlib.sha256(repr([(str(file), stamp(file)) for file in files]).encode("utf-8", "surrogatepass"))
    return [VERSION, digest.hexdigest()]
