"""The conversations that an unfinished run has asked already, so that the next run goes on after them.

One file for each combination of dataset, book and configuration. It is deleted when the run is complete, so that a
repeated run measures anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag.errors import UsageError
from rag.evaluation.grading import GradedAnswer
from rag.system.private_files import private_folder

_ROWS = TypeAdapter(dict[str, list[GradedAnswer]])


class Journal:
    """The finished conversations of a run, by id, in a file of JSON Lines in `folder`.

    `key` is everything that decides the answers. Raises `UsageError` if the folder cannot be made or read.
    """

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        name = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]
        self.file = folder / f"{name}.jsonl"
        self.done: dict[str, list[GradedAnswer]] = {}
        try:
            private_folder(folder)
            self._read()
        except OSError as error:
            raise UsageError(f"{folder} cannot be used for the finished questions.", code="dataset") from error

    def add(self, conversation: str, answers: Sequence[GradedAnswer]) -> None:
        """Record a finished conversation; it is on the disk when this returns."""
        self.done[conversation] = list(answers)
        row = {conversation: [one.model_dump(mode="json") for one in answers]}
        private = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(private, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self) -> None:
        """Delete the record."""
        self.done = {}
        self.file.unlink(missing_ok=True)

    def _read(self) -> None:
        """Read what was recorded. A line that is not complete was being written when the run was killed."""
        if not self.file.exists():
            return
        whole, _, broken = self.file.read_bytes().rpartition(b"\n")
        for line in whole.split(b"\n"):
            try:
                self.done |= _ROWS.validate_json(line)
            except ValidationError:  # damaged, or written by another version: its questions are asked again
                continue
        if broken:
            self.file.write_bytes(whole + b"\n" if whole else b"")
