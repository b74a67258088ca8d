"""A finished run, as `eval --json` prints it, and what changed since another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rag.errors import UsageError
from rag.evaluation.figures import Change, Figure, changes, figures, right_by_kind
from rag.evaluation.grading import GradedAnswer
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
