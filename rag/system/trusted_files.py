"""Which files that were found in a folder may decide where keys are sent.

Whoever sends a folder can put a `.env` or a profile into it. Such a file is used for keys and addresses only after the
user has trusted it by name. The record is kept outside every book's folder, so that a folder cannot bring its own, and
holds the file's digest, so that a changed file has to be trusted again.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

from rag.errors import UsageError
from rag.system.files import private_folder, write_private
from rag.system.process import program


def is_trusted(path: Path, content: bytes) -> bool:
    """Whether the user has trusted the file at `path` with this very content."""
    try:
        return _record(path).read_text(encoding="utf-8").split("\n")[0] == _digest(content)
    except (OSError, ValueError):
        return False


def trust(path: Path, content: bytes) -> None:
    """Remember that the user trusts the file with this content, and no longer with another."""
    record = _record(path)
    private_folder(record.parent)
    write_private(record, f"{_digest(content)}\n{os.fsencode(path.resolve())!r}\n")


def revoke(path: Path) -> bool:
    """Forget that the file was trusted; False if it was not."""
    try:
        _record(path).unlink()
    except FileNotFoundError:
        return False
    return True


def untrusted(path: Path, does: str) -> UsageError:
    """The error for a file that is not trusted. `does` says what it would decide, such as "sets OPENAI_BASE_URL"."""
    hint = f'Read it, then run "{program()} trust {shlex.quote(str(path))}", or start askbook in another folder.'
    return UsageError(f"{path} {does} and is not trusted.", code="untrusted", hint=hint)


def _record(path: Path) -> Path:
    """The file that says whether `path` is trusted."""
    data = os.environ.get("XDG_DATA_HOME") or ""
    folder = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return folder / "askbook" / "trusted" / hashlib.sha256(os.fsencode(path.resolve())).hexdigest()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
