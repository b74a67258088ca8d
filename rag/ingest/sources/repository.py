"""A git repository as a source: its newest commit, fetched by the program git.

The address comes from the user and may have been copied from anywhere. So only transports that fetch are allowed, an
address is never read as an option, and git asks for no password. The files of the repository are hostile text like any
book; none of its hooks and submodules runs.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rag.errors import SourceFailedError, UsageError
from rag.ingest.patterns import Selection
from rag.ingest.source_files import SourceFiles, source_files

SECONDS: Final = 600.0
_TRANSPORTS: Final = ("https", "http", "ssh", "git", "file")
_SETTINGS: Final = ("core.hooksPath=/dev/null", "protocol.ext.allow=never", "submodule.recurse=false")
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]*@")


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
