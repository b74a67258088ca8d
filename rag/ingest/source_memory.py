"""What a source held at its last reading, so that an unchanged source is not read again.

Reading a page takes a few milliseconds: its file is parsed, and its links are resolved against all other pages. For a
source in which no file has changed, the hashes of the pages are known; only a page that has to be cut is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag.book import Document
from rag.ingest.loaders import VERSION, LoadResult
from rag.ingest.source_files import Stamp, stamp
from rag.system.private_files import private_folder

_CODE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class RecalledPage(Document):
    """A page whose text was not read. `is_empty`: it has no chunks."""

    is_empty: bool = field(default=False, kw_only=True)


class ReadSource(NamedTuple):
    """A source that was read, and the files and folders that were looked at."""

    result: LoadResult
    seen: Mapping[str, Stamp]


class SourceMemory:
    """A folder with a file for each source and way of reading it. A file that cannot be used counts as missing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recall(self, source: str, options: str) -> LoadResult | None:
        """The source as it was read last, its pages without texts; None if anything has changed since."""
        try:
            kept = json.loads(self._file(source, options).read_text("utf-8"))
            if kept["code"] != _code() or any(stamp(Path(path)) != _stamp(seen) for path, seen in kept["seen"].items()):
                return None
            name = kept["source"]
            pages = tuple(
                RecalledPage(name, path, url, "", "", sha, is_empty=bare) for path, url, sha, bare in kept["pages"]
            )
            known = (kept["generator"], kept["reason"], kept["passed_over"])
            return LoadResult(name, pages, (), *known, refused=kept["refused"])
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return None

    def keep(self, source: str, options: str, read: ReadSource, empty: Collection[tuple[str, str]]) -> None:
        """Remember a source that was read without failures. It only saves time, so a full disk is no error.

        `empty` are the pages, by source and path, that have no chunks.
        """
        result = read.result
        kept: dict[str, Any] = {
            "code": _code(),
            "source": result.source,
            "generator": result.generator,
            "reason": result.reason,
            "passed_over": dict(result.passed_over),
            "refused": dict(result.refused),
            "pages": [[one.path, one.url, one.sha256, (one.source, one.path) in empty] for one in result.documents],
            "seen": read.seen,
        }
        file = self._file(source, options)
        with suppress(OSError, ValueError):
            private_folder(self._folder)
            fresh = file.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps(kept), "utf-8")
            fresh.replace(file)

    def _file(self, source: str, options: str) -> Path:
        key = json.dumps([str(Path(source).expanduser().absolute()), options])
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _stamp(seen: list[int] | None) -> Stamp:
    return None if seen is None else (seen[0], seen[1], seen[2], seen[3])


def _code() -> list[Any]:
    """A fingerprint of the code that reads sources."""
    files = sorted(_CODE.rglob("*.py"))
    digest = hashlib.sha256(repr([(str(file), stamp(file)) for file in files]).encode("utf-8", "surrogatepass"))
    return [VERSION, digest.hexdigest()]
