"""The input history of the chat, for the arrow keys: a file, or the memory of the process."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prompt_toolkit.history import History

from rag.errors import UsageError
from rag.system.private_files import private_folder, write_private

FILE: Final = "history"


def input_history(home: Path, *, persistent: bool) -> History:
    """The history in the file; in memory if conversations are not stored either."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    return FileHistory(str(history_file(home))) if persistent else InMemoryHistory()


def history_file(home: Path) -> Path:
    """The file, created if missing, readable only by its owner. Raises `UsageError` if it cannot be used."""
    private_folder(home)
    path = home / FILE
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.touch(mode=0o600)
        path.chmod(0o600)  # also a file that was there before
        path.open("rb").close()
    except OSError as error:
        message = f"{path}, the file with the typed lines, cannot be used: {error.strerror}."
        raise UsageError(message, code="history", hint="Move it away.") from error
    return path


def forget(home: Path, questions: Collection[str]) -> None:
    """Remove the questions of a deleted conversation from the file.

    prompt_toolkit writes an entry as a line with "# " and the time, then each line of the text after a "+".
    """
    path = home / FILE
    forgotten = {question.strip() for question in questions}
    if not forgotten or not path.is_file():
        return
    entries = path.read_text(encoding="utf-8", errors="replace").split("\n# ")
    kept = [entry for entry in entries if _text(entry) not in forgotten]
    if len(kept) == len(entries):
        return
    write_private(path, "\n# ".join(kept))


def _text(entry: str) -> str:
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+")).strip()
