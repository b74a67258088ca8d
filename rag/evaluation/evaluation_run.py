"""A run: what `eval --json` prints of a finished one, what changed since another, what an unfinished one has asked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag.errors import UsageError
from rag.evaluation.figures import Change, Figure, changes, figures, right_by_kind
from rag.evaluation.grading import GradedAnswer
from rag.system.files import private_folder
from rag.types import Record, now


class Setup(Record):
    """What was measured: the dataset, the book, and what answered. `top_k` and `threshold` are of the search."""

    dataset: str
    dataset_sha256: str
    conversations: int
    collection: str
    passages: int
    profile: str
    model: str
    searched_with: str
    top_k: int
    threshold: float


class Turned(Record):
    """A question that was right in one of two runs only. `before` and `now` are the answers."""

    conversation: str
    turn: int
    question: str
    right_now: bool
    before: str
    now: str


class RunComparison(Record):
    """Two runs side by side, over the conversations that both have."""

    before: Setup
    common: int
    only_before: int
    only_now: int
    figures: list[Change]
    turned: list[Turned]


class EvaluationRun(Record):
    """A run: its setup, its figures by name, right answers by kind of question, and every answer."""

    setup: Setup
    created_at: str
    figures: dict[str, Figure]
    kinds: dict[str, Any]
    questions: list[GradedAnswer]
    against: RunComparison | None = None

    @classmethod
    def of(cls, setup: Setup, answers: Sequence[GradedAnswer], before: EvaluationRun | None = None) -> EvaluationRun:
        return cls(
            setup=setup,
            created_at=now(),
            figures={figure.name: figure for figure in figures(answers)},
            kinds=right_by_kind(answers),
            questions=list(answers),
            against=compared(before, answers) if before else None,
        )


def read_run(file: Path) -> EvaluationRun:
    """The run in a file that `eval --json` wrote. Raises `UsageError` for any other file."""
    try:
        return EvaluationRun.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read.", code="dataset") from error
    except ValidationError as error:
        hint = "Give a file that this version wrote: eval DATASET --json > FILE."
        raise UsageError(f"{file} is not the result of an evaluation.", code="dataset", hint=hint) from error


def compared(before: EvaluationRun, answers: Sequence[GradedAnswer]) -> RunComparison:
    """What changed from `before` to the answers of now."""
    old = {(one.conversation, one.turn): one for one in before.questions}
    new = {(one.conversation, one.turn): one for one in answers}
    common = [key for key in new if key in old]
    turned = [
        Turned(
            conversation=key[0],
            turn=key[1],
            question=new[key].question,
            right_now=new[key].right,
            before=old[key].answer,
            now=new[key].answer,
        )
        for key in common
        if old[key].right is not new[key].right
    ]
    return RunComparison(
        before=before.setup,
        common=len(common),
        only_before=len(old) - len(common),
        only_now=len(new) - len(common),
        figures=changes([old[key] for key in common], [new[key] for key in common]),
        turned=turned,
    )


_ROWS = TypeAdapter(dict[str, list[GradedAnswer]])


class Journal:
    """The finished conversations of a run, by id, in a file of `folder` that is deleted when the run is complete.

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
