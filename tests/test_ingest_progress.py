"""What `ingest` prints while it works where there is no terminal."""

from __future__ import annotations

from functools import partial

import pytest

from cli.ingest import show_progress
from cli.terminal import ProgressLines, duration, progress_bar
from rag.ingest.report import IngestProgress


def test_a_line_is_printed_every_so_often_with_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("cli.terminal.time.monotonic", lambda: clock[0])
    lines = partial(show_progress, ProgressLines(every=10))
    for second in range(31):
        clock[0] = float(second)
        lines(IngestProgress(step="embed", done=second * 10, total=1000))
    lines(IngestProgress(step="embed", done=300, total=1000, waiting=7))
    assert capsys.readouterr().err.splitlines() == [
        "Indexing: 1,000 new texts.",
        "Indexing: 100 of 1,000 new texts, about 2 minutes left.",
        "Indexing: 200 of 1,000 new texts, about 80 seconds left.",
        "Indexing: 300 of 1,000 new texts, about 70 seconds left.",
        "The embedding service cannot answer now. Going on in 7 seconds.",
    ]


def test_a_line_that_says_nothing_new_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("cli.terminal.time.monotonic", lambda: clock[0])
    lines = partial(show_progress, ProgressLines(every=10))
    for second in range(100):
        clock[0] = float(second)
        lines(IngestProgress(step="embed", done=second * 10 or 1, total=100_000))
    said = capsys.readouterr().err.splitlines()
    assert said == ["Indexing: 100,000 new texts.", "Indexing: 100 of 100,000 new texts, about 2.8 hours left."]


def test_the_pages_of_a_site_are_counted_while_they_are_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("cli.terminal.time.monotonic", lambda: clock[0])
    lines = partial(show_progress, ProgressLines(every=10))
    for second in range(21):
        clock[0] = float(second)
        lines(IngestProgress(step="load", done=0, total=1, pages=second * 5, known=1_500 + second))
    assert capsys.readouterr().err.splitlines() == [
        "Fetching: 50 pages, 1,460 more known so far.",
        "Fetching: 100 pages, 1,420 more known so far.",
    ]


def test_the_manual_is_indexed_with_the_time_that_is_left_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("cli.terminal.time.monotonic", lambda: clock[0])
    with progress_bar("Indexing the manual") as tell:
        tell(0, 0)
        for second in range(1, 23):
            clock[0] = float(second)
            tell((second - 1) * 10, 500)
    assert capsys.readouterr().err.splitlines() == [
        "Indexing the manual: 500 passages.",
        "Indexing the manual: 100 of 500 passages, about 40 seconds left.",
        "Indexing the manual: 200 of 500 passages, about 30 seconds left.",
    ]


def test_a_short_ingestion_prints_nothing_but_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    lines = partial(show_progress, ProgressLines())
    for step in ("load", "chunk", "write", "verify"):
        lines(IngestProgress(step=step, done=1, total=2))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "about 1 second"), (40, "about 40 seconds"), (179, "about 3 minutes"), (9000, "about 2.5 hours")],
)
def test_a_time_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said
