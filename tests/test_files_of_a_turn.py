"""How many files of ours one question enters."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.files_of_a_turn import entered, functions_by_file
from rag.settings import variables
from tests.homes import copied

MOST_FILES = 60


def test_one_question_enters_at_most_sixty_files(
    tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caches of earlier tests may lower the number; `python -m bench.files_of_a_turn` starts without any."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(copied(tiny_book, tmp_path / "home")))
    monkeypatch.chdir(tmp_path)
    files = functions_by_file(entered("What is a widget?"))
    assert "rag/quoting/answerer.py" in files
    files.pop("rag/embedding/vector_cache.py", None)  # entered by the tests' embedding model, not by the question
    assert len(files) <= MOST_FILES, "merge what is read together, or skip what this turn does not need"
