"""The folders of the user are closed to other users, also those that were there before."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rag.system.files import private_folder, write_private
from tests.command_line import QUESTION, CommandLine


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def opened(path: Path, permissions: int = 0o777) -> Path:
    path.mkdir()
    path.chmod(permissions)
    return path


def test_a_home_that_was_open_to_all_is_closed_by_every_command_that_uses_it(tiny_book: Path, tmp_path: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    for command in (("ask", QUESTION), ("search", QUESTION), ("chat",), ("threads", "list")):
        run.home.chmod(0o777)
        assert run(*command).code == 0
        assert mode(run.home) == 0o700, command


def test_an_existing_folder_is_closed_and_its_parent_is_not(tmp_path: Path) -> None:
    parent = opened(tmp_path / "parent", 0o755)
    private_folder(opened(parent / "home"))
    private_folder(parent / "made" / "deeper")
    assert [mode(path) for path in (parent, parent / "home", parent / "made", parent / "made" / "deeper")] == [
        0o755,
        0o700,
        0o700,
        0o700,
    ]


def test_a_folder_that_is_used_for_more_keeps_its_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sticky, target, above = opened(tmp_path / "tmp", 0o1777), opened(tmp_path / "target"), opened(tmp_path / "above")
    link = tmp_path / "link"
    link.symlink_to(target)
    monkeypatch.chdir(opened(above / "here"))
    for folder in (sticky, link, above, Path()):
        private_folder(folder)
    assert [mode(path) for path in (sticky, target, above, above / "here")] == [0o1777, 0o777, 0o777, 0o777]


def test_a_private_file_is_replaced_whole_and_no_file_beside_it_is_touched(tmp_path: Path) -> None:
    path, beside = tmp_path / "notes.json", tmp_path / "notes.new"
    beside.write_text("of another process, which writes its own notes")
    write_private(path, "old")
    write_private(path, "new")
    assert (path.read_text(), mode(path), beside.read_text()[:10]) == ("new", 0o600, "of another")
    assert sorted(tmp_path.iterdir()) == [path, beside]
