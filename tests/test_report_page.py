from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

from rag.evaluation.evaluation_run import EvaluationRun, Setup
from rag.evaluation.report_page import report_page, worst
from tests.graded import graded, hit

HOSTILE: Final = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\ud800"
VOID: Final = {"meta", "br"}


class _Elements(HTMLParser):
    """The elements and attributes of a page. Raises `AssertionError` if one is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def run_of(*answers: object) -> EvaluationRun:
    setup = Setup(
        dataset=HOSTILE, dataset_sha256="0", conversations=1, collection=HOSTILE, passages=9, profile=HOSTILE,
        model=HOSTILE, searched_with=HOSTILE, top_k=5, threshold=0.2,
    )  # fmt: skip
    return EvaluationRun.of(setup, list(answers))  # type: ignore[arg-type]


def test_hostile_text_stays_text() -> None:
    bad = graded(
        right=False,
        kind=HOSTILE,
        question=HOSTILE,
        answer=HOSTILE,
        citations=[HOSTILE],
        ranking=[hit(page=HOSTILE, title=HOSTILE, heading=HOSTILE, outcome=HOSTILE)],
    )
    run = run_of(bad)
    page = report_page(EvaluationRun.of(run.setup, [graded(answer=HOSTILE)], run))
    page += report_page(run)
    page.encode("utf-8")
    elements = _Elements()
    elements.feed(page)
    assert elements.open == []
    assert not elements.seen & {"script", "img", "link", "iframe", "style "}
    assert not {name for name in elements.attributes if name.startswith("on") or name in ("src", "href")}
    assert "\x1b" not in page


def test_the_page_has_a_plot_for_scores_for_depths_and_for_refusals() -> None:
    answers = [graded("a", ranking=[hit(0)], wanted=1), graded("b", answerable=False, refused=True, best_score=0.1)]
    page = report_page(run_of(*answers))
    for title in ("Best score of each question", "Recall by depth", "Refusals by score"):
        assert title in page
    assert "gate 0.2" in page
    assert "1/1" in page


def test_the_worst_come_first_and_at_most_twenty_are_shown() -> None:
    fine = [graded(f"fine {n}", ranking=[hit(0)], wanted=1) for n in range(5)]
    wrong = [graded(f"wrong {n}", right=False) for n in range(30)]
    late = graded("late", ranking=[hit(), hit(0)], wanted=1)
    failed = graded("failed", right=False, error="api_error/internal", status="error")
    found = worst([*fine, late, *wrong, failed])
    assert [one.conversation for one in found[:2]] == ["failed", "wrong 0"]
    assert len(found) == 20
    assert [one.conversation for one in worst([*fine, late])] == ["late"]


def test_a_run_without_any_search_still_makes_a_page() -> None:
    assert "Figures" in report_page(run_of(graded(best_score=None)))


def test_the_page_begins_with_the_main_figures_and_opens_only_the_wrong_answers() -> None:
    page = report_page(run_of(graded(right=False, question="Wrong?"), graded(right=True, question="Late?")))
    assert page.index("class='main'") < page.index("Figures")
    assert "<details open><summary><b class='bad'>wrong</b> Wrong?" in page
    assert "<details open><summary><b class='good'>" not in page
