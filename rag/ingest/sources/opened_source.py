"""Open a source, whatever it is: a folder or a file, a repository of git, or a site.

A remote source is fetched into a temporary folder, which is read like any other and then deleted.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rag.errors import UsageError
from rag.ingest.patterns import Selection
from rag.ingest.source_files import KINDS, SourceFiles, source_files
from rag.ingest.sources.repository import clone, repository_name
from rag.ingest.sources.site import crawl

_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")  # `ext::command`, by which git runs a command
_ADDRESS: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_SHORT_SSH: Final = re.compile(r"[\w.-]+@[\w.-]+:(?!//)\S+")  # git@example.org:team/book.git
_FORGES: Final = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
_HINT: Final = f"{KINDS} Or the address of a site or of a git repository (https, ssh or file)."


@contextmanager
def opened_source(
    source: Path | str,
    *,
    skip: Collection[str],
    selection: Selection,
    watch: Callable[[int, int], None] | None = None,
) -> Iterator[SourceFiles]:
    """The files of a source, which may be deleted afterwards. Paths in `skip` and those not selected are left out.

    `watch(done, known)` counts the pages of a site while they are fetched.

    Raises `UsageError` when the source is missing, cannot be fetched or is of a kind that cannot be read.
    """
    address = source if isinstance(source, str) and is_address(source) else None
    if address is None:
        yield source_files(Path(source), skip, selection)
        return
    with tempfile.TemporaryDirectory(prefix="askbook-") as folder:
        if address.lower().startswith(("http://", "https://")) and not is_repository(address):
            yield crawl(address, Path(folder), selection=selection, watch=watch)
            return
        if not is_repository(address):
            raise UsageError(f"{repository_name(address)} is not the address of a source.", code="source", hint=_HINT)
        yield clone(address.removeprefix("git+"), Path(folder) / "repository", skip=skip, selection=selection)


def is_address(source: str) -> bool:
    """Whether a source is an address and no path.

    >>> [is_address(one) for one in ("https://example.org/docs", "git@example.org:team/book.git", "docs", "a:b.md")]
    [True, True, False, False]
    """
    looks = _ADDRESS.match(source) or _HELPER.match(source) or _SHORT_SSH.fullmatch(source)
    return bool(looks) and not Path(source).exists()


def is_repository(address: str) -> bool:
    """Whether an address is that of a repository. A web address is one if it says so or names a project of a forge."""
    if address.startswith("git+") or _SHORT_SSH.fullmatch(address):
        return True
    found = _ADDRESS.match(address)
    if found is None:
        return False
    if found["scheme"].lower() not in ("http", "https"):
        return found["scheme"].lower() in ("ssh", "git", "file")
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    names = [name for name in parts.path.split("/") if name]
    return parts.path.rstrip("/").endswith(".git") or (parts.hostname in _FORGES and len(names) == 2)
