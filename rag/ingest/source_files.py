"""The files of a source and their bytes. A folder may come from a stranger and change while it is read.

So checks are made on the opened file, not on its name before.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rag.errors import SourceFailedError, UsageError
from rag.ingest.formats.file_format import LARGEST, decoded
from rag.ingest.formats.known_formats import BY_SUFFIX
from rag.ingest.formats.reader_process import BUG
from rag.ingest.patterns import EVERYTHING, Selection
from rag.system.files import Stamp, stamp

KINDS: Final = f"Give a folder with files that end in {', '.join(sorted(BY_SUFFIX))}, or one such file."
CONVERT: Final = "Convert other kinds first: pandoc makes Markdown of .org and .tex files, asciidoctor HTML of .adoc."
_LINK: Final = "it is a link to a file outside the folder or to a hidden one; copy the file instead"
_HARD_LINK: Final = "it is a hard link, so it may be a file of another folder; copy the file instead"


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read, or a folder that could not be listed, and why. `path` is relative to `source`."""

    source: str
    path: str
    reason: str

    @property
    def file(self) -> str:
        """The whole path of the file. A source can be the file itself."""
        whole = self.path == "." or Path(self.source).name == self.path
        return self.source if whole else f"{self.source}/{self.path}"


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """A source with its paths resolved. `root` is the folder that paths are relative to.

    `files` could be pages, in the order of their paths, also links, pipes and devices that are named like pages, so
    that they are reported. `unlisted` are the folders that could not be listed. `others` counts the files that cannot
    be pages, by their endings. `name` is the source's path, or the address that it was fetched from. `addresses` holds
    the address of each page of a site.
    """

    source: Path
    root: Path
    files: tuple[Path, ...]
    unlisted: tuple[Failure, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict)
    fetched_from: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.fetched_from or self.source.as_posix()

    def failure(self, file: Path, error: Exception) -> Failure:
        """The failure of a file."""
        return Failure(self.name, _shown(file, self.root), why_unreadable(error))


_VOLUME: Final = re.compile(r"\.\.(?:\d|data\Z)")
_KIND: Final = "?"  # in place of a name: whether the path is a folder; what is in it does not count
_witness: Final[ContextVar[dict[str, Stamp | None] | None]] = ContextVar("witness", default=None)


@contextmanager
def witnessed() -> Iterator[dict[str, Stamp | None]]:
    """Note the stamp of every file and folder that is read or looked for. If none changes, the book is the same."""
    seen: dict[str, Stamp | None] = {}
    token = _witness.set(seen)
    try:
        yield seen
    finally:
        _witness.reset(token)


def witness_stamp(path: Path) -> Stamp | None:
    """The stamp of a path that `witnessed` noted."""
    if path.name != _KIND:
        return stamp(path)
    try:
        return stat.S_IFMT(path.parent.stat().st_mode), 0, 0, 0
    except (OSError, ValueError):
        return None


def _note(path: Path) -> None:
    seen = _witness.get()
    if seen is not None and (name := str(path)) not in seen:
        seen[name] = witness_stamp(path)


def source_files(
    source: Path, skip: Collection[str] = (), selection: Selection = EVERYTHING, *, name: str = ""
) -> SourceFiles:
    """The files of a folder (recursively), or one file; `name` is the address that it was fetched from.

    Left out are paths in `skip`, files not selected, hidden folders, `node_modules` and links to folders. Raises
    `UsageError` when the source is missing or has an unsupported suffix.
    """
    try:
        resolved = source.expanduser().resolve()
        resolved.as_posix().encode()
        is_folder = resolved.is_dir()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        why = why_unreadable(error) if isinstance(error, OSError | UnicodeEncodeError) else error
        raise SourceFailedError(f"The source {source} cannot be opened: {why}.", code="source") from error
    if is_folder:
        unlisted: list[Failure] = []
        others: Counter[str] = Counter()
        found = _walk(resolved, skip, unlisted, others, selection)
        files = tuple(sorted(found, key=lambda file: file.relative_to(resolved).parts))
        failed = tuple(replace(one, source=name or one.source) for one in unlisted)
        return SourceFiles(resolved, resolved, files, failed, others, name)
    if not resolved.exists():
        raise UsageError(f"There is no {source}.", code="source", hint=KINDS)
    if resolved.suffix.lower() not in BY_SUFFIX or not resolved.is_file():
        raise UsageError(f"{source} is of a kind that askbook does not read.", code="source", hint=f"{KINDS} {CONVERT}")
    return SourceFiles(resolved, resolved.parent, (resolved,))


def _walk(
    root: Path, skip: Collection[str], unlisted: list[Failure], others: Counter[str], selection: Selection
) -> Iterator[Path]:
    """The selected files that could be pages. The others of them are counted."""
    left_out = {root / path for path in skip}
    folders = [root]
    while folders:  # not recursive: a folder may be a thousand levels deep
        folder = folders.pop()
        _note(folder)
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError as error:
            reason = f"the folder cannot be listed: {why_unreadable(error)}"
            unlisted.append(Failure(root.as_posix(), _shown(folder, root), reason))
            continue
        for entry in entries:
            path = folder / entry.name
            if path in left_out or entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "node_modules":
                    folders.append(path)
            elif not _is_folder(entry) and selection.takes(path.relative_to(root).as_posix()):
                if path.suffix.lower() in BY_SUFFIX:
                    yield path
                else:
                    others[path.suffix.lower()] += 1


def _shown(path: Path, root: Path) -> str:
    """The path below `root` as it can be printed: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def read_file(path: Path, root: Path, *, hard_links: bool = False, largest: int = LARGEST) -> bytes:
    """The bytes of a file of the source `root`.

    Raises OSError if it cannot be opened, and ValueError if it must not be read: a link out of `root` or to a hidden
    file, a pipe, a device, a file of more than `largest` bytes, and a hard link unless `hard_links`.
    """
    if path.is_symlink() and not _may_follow(path, root):
        raise ValueError(_LINK)
    _note(path)
    # Without O_NONBLOCK a pipe would be waited for until somebody writes into it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is a pipe, a socket or a device, not a file")
        if status.st_nlink > 1 and not hard_links:
            raise ValueError(_HARD_LINK)
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest // 10**6} megabytes; split it into several files")
    return content


def read_inside(root: Path, path: Path) -> str | None:
    """The text of a file, with plain newlines; None if it may not be read, is missing, or is not UTF-8 text."""
    _note(path)
    try:
        real = path.resolve()
        if not is_inside(root, real):
            return None
        return decoded(read_file(real, root))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of symbolic links
        return None


def is_inside(root: Path, path: Path) -> bool:
    """Whether the path, with its links followed, is in `root` and in no hidden folder or file of it."""
    real, root = path.resolve(), root.resolve()
    return real.is_relative_to(root) and not any(map(_is_hidden, real.relative_to(root).parts))


def _is_hidden(name: str) -> bool:
    """Whether a name is hidden. A volume of Kubernetes holds its files in folders such as `..2025_01_31`."""
    return name.startswith(".") and not _VOLUME.match(name)


def is_file(path: Path) -> bool:
    """Whether there is such a file; a folder that may not be searched has none."""
    _note(path)
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; one that may not be searched has none."""
    _note(path / _KIND)
    try:
        return path.is_dir()
    except OSError:
        return False


def resolved(path: Path) -> Path:
    """The path with its links followed; the path as it is for a loop of links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _may_follow(link: Path, root: Path) -> bool:
    """Whether a link leads to a file of the same folder. Opening a broken one says what is wrong."""
    try:
        return is_inside(root, link) or not link.exists()
    except RuntimeError:  # a loop of links
        return True


def why_unreadable(error: Exception) -> str:
    """The reason of an error in reading a file, in words. All but OSError and ValueError are bugs of askbook."""
    if isinstance(error, UnicodeEncodeError):
        return "its name is not UTF-8; rename it"
    if isinstance(error, UnicodeDecodeError):
        return (
            f"it is not UTF-8 text: byte 0x{error.object[error.start]:02x} at position {error.start}; save it as UTF-8"
        )
    if isinstance(error, RecursionError):
        return "it is nested too deeply; take some of its levels apart"
    if not isinstance(error, OSError | ValueError):
        return BUG.format(type(error).__name__)
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
