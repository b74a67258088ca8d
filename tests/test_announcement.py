"""A run of the whole suite begins with what it takes and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import announcement, postgres


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any program that some tests need."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "DEBIAN", str(tmp_path))


@pytest.mark.usefixtures("bare")
def test_what_is_missing_is_named_with_the_way_to_get_it() -> None:
    lines = announcement.announcement().splitlines()
    assert lines[0] == f"The whole suite takes {announcement.DURATION}."
    for package in ("postgresql", "chromium", "npm"):
        assert sum(f"apt-get install {package})" in line for line in lines) == 1


@pytest.mark.usefixtures("bare")
def test_what_is_there_is_not_named(tmp_path: Path) -> None:
    for name in ("chromium", "initdb"):
        (tmp_path / name).touch(mode=0o755)
    named = "\n".join(announcement.missing())
    assert "PostgreSQL" not in named
    assert "Chromium" not in named
    assert "JavaScript" in named
