"""Open a source, whatever it is: a folder or a file, a git repository, or a site.

A remote source is fetched into a temporary folder, which is read like any other and then deleted. Its address may have
been copied from anywhere. So git may use only transports that fetch, never reads an address as an option, and asks for
no password. Hooks and submodules of a repository do not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rag.errors import SourceFailedError, UsageError
from rag.ingest.patterns import Selection
from rag.ingest.source_files import KINDS, SourceFiles, source_files
from rag.ingest.sources.site import crawl

SECONDS: Final = 600.0  # for fetching a repository
_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")  # `ext::command`, by which git runs a command
_ADDRESS: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_SHORT_SSH: Final = re.compile(r"[\w.-]+@[\w.-]+:(?!//)\S+")  # git@example.org:team/book.git
_FORGES: Final = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
_HINT: Final = f"{KINDS} Or the address of a site or of a git repository (https, ssh or file)."
_TRANSPORTS: Final = ("https", "http", "ssh", "git", "file")
_SETTINGS: Final = ("core.hooksPath=/dev/null", "protocol.ext.allow=never", "submodule.recurse=false")
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]*@")


@contextmanager
def opened_source(
    source: Path | str, *, skip: Collection[str], selection: Selection, watch: Callable[[int, int], None] | None = None
) -> Iterator[SourceFiles]:
    """The files of a source, which may be deleted afterwards. `watch(done, known)` counts the pages of a site.

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


def clone(address: str, folder: Path, *, skip: Collection[str], selection: Selection) -> SourceFiles:
    """The files of the newest commit, fetched into `folder`. Raises `UsageError` if it cannot be fetched."""
    name = repository_name(address)
    _check(address, name)
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    command = ["git", *settings, "clone", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--template="]
    try:
        done = subprocess.run(
            [*command, "--", address, str(folder)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        hint = "Install git, or give a folder."
        raise SourceFailedError("Reading a repository needs the program git.", code="source", hint=hint) from None
    except subprocess.TimeoutExpired:
        raise SourceFailedError(f"Fetching {name} takes longer than {SECONDS:.0f} seconds.", code="source") from None
    if done.returncode:
        problem = f"git cannot fetch {name}: {_reason(done.stderr)}."
        raise SourceFailedError(problem, code="source", hint="Check the address.")
    return source_files(folder, skip, selection, name=name)


def repository_name(address: str) -> str:
    """The address as it is shown and stored: without a user name and a password."""
    shown = "".join(sign if sign.isprintable() else "�" for sign in address.removeprefix("git+"))
    return _USER_INFO.sub("", shown).rstrip("/")


def _check(address: str, name: str) -> None:
    """Raise `UsageError` for an address that git would not only fetch from."""
    try:
        parts = urlsplit(address) if "://" in address else None
    except ValueError as error:
        raise UsageError(f"{name} is not the address of a repository.", code="source") from error
    scheme = parts.scheme.lower() if parts is not None else "ssh"
    place = parts.netloc if parts is not None else address
    options = [one for one in (address, *place.split("@")) if one.startswith("-")]  # ssh would read them as options
    helper = re.match(r"[^/]*::", address)  # `ext::command` would run the command
    if options or helper or scheme not in _TRANSPORTS or not address.isprintable():
        problem = f"{name} is not an address that git may fetch from."
        raise UsageError(problem, code="source", hint=f"Give one of {', '.join(_TRANSPORTS)}.")


def _environment() -> dict[str, str]:
    """The environment with the user's ways to log in, and without questions, other transports and pictures of LFS."""
    return {
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        **{key: value for key, value in os.environ.items() if not key.startswith(("ASKBOOK_", "OPENAI_", "COHERE_"))},
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": ":".join(_TRANSPORTS),
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


def _reason(output: bytes) -> str:
    """The line in which git says what is wrong, without credentials."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith("fatal:")), lines[-1] if lines else "it failed")
    return _USER_INFO.sub("", fatal.removeprefix("fatal:").strip().rstrip("."))[:300]
