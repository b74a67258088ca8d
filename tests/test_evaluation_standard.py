"""The answers about a real book, measured with `eval`, do not fall below the interval of the figures that they had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.command_line import CommandLine
from tests.conftest import SHARED

# The lower ends of 95% intervals: bootstrap for the mean of many values, Wilson's for a share of 100%, which the
# bootstrap gives no width. They were measured on 18 and 6 questions.
LOWEST: Final = {
    "right": 0.82,
    "exact_refusals": 0.61,
    "right_page_cited": 0.82,
    "citation_precision": 0.86,
    "recall@5": 0.82,
    "ndcg@5": 0.82,
    "mrr": 0.82,
    "supported": 0.82,
}
BESIDE: Final = (
    "Who won the 1998 world cup?",
    "How do I bake sourdough bread?",
    "What does the borrow checker of Rust do?",
    "Who wrote Hamlet?",
    "How does React Native's FlatList work?",
    "When was Python 3.12 released?",
)


@pytest.fixture(scope="module")
def figures(physical_ai: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    labels = SHARED / "books" / "physical-ai" / "labelled_queries.json"
    rows: list[dict[str, object]] = [
        {"question": one["query"], "pages": rf"\b{one['expected_chapter']:02d}-"}
        for one in json.loads(labels.read_text(encoding="utf-8"))["test_queries"]
    ]
    rows += [{"question": question, "answerable": False} for question in BESIDE]
    run = CommandLine(tmp_path_factory.mktemp("standard"), physical_ai)
    file = run.folder / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run("eval", str(file), "--json")
    assert done.code == 0
    return {name: figure["value"] for name, figure in done.data["figures"].items()}


@pytest.mark.parametrize("name", LOWEST)
def test_a_figure_has_not_fallen_below_its_interval(figures: dict[str, float], name: str) -> None:
    assert figures[name] >= LOWEST[name]


def test_an_answerable_question_is_hardly_ever_refused(figures: dict[str, float]) -> None:
    assert figures["false_refusals"] <= 0.18
