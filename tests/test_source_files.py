"""The files of a source that a stranger made, or that changes while it is read."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.ingest import source_files
from rag.ingest.loaders import LoadResult, load_source

PAGE = "# Page\n\nSome words."


def reasons(result: LoadResult) -> dict[str, str]:
    return {failure.path: failure.reason for failure in result.failures}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(PAGE)
    return folder


def test_pipes_sockets_and_devices_are_reported_and_not_waited_for(source: Path) -> None:
    os.mkfifo(source / "pipe.md")
    (source / "zero.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(source / "socket.md"))
        result = load_source(source)
    assert [document.path for document in result.documents] == ["a.md"]
    assert set(reasons(result)) == {"pipe.md", "socket.md", "zero.md"}
    assert reasons(result)["pipe.md"] == "it is a pipe, a socket or a device, not a file"


def test_a_file_that_became_a_pipe_is_not_waited_for(source: Path, tmp_path: Path) -> None:
    """Whoever writes into the folder can change a file after the listing and before it is opened."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe"):
        source_files.read_file(tmp_path / "pipe", tmp_path)


def test_a_hard_link_is_reported(source: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    (source / "b.md").hardlink_to(tmp_path / "secret")
    result = load_source(source)
    assert [document.path for document in result.documents] == ["a.md"]
    assert reasons(result) == {"b.md": source_files._HARD_LINK}


def test_a_hard_link_is_not_included(source: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    (source / "b.txt").hardlink_to(tmp_path / "secret")
    (source / "SUMMARY.md").write_text("# Summary")
    (source / "a.md").write_text("# Page\n\n{{#include b.txt}}\n\nSome words.")
    (document,) = load_source(source).documents
    assert "secret" not in document.text


def test_hard_links_of_the_program_itself_are_read(source: Path, tmp_path: Path) -> None:
    (tmp_path / "cache.md").hardlink_to(source / "a.md")
    assert len(load_source(source, own=True).documents) == 1


def test_a_file_that_is_too_large_is_reported_without_being_read_whole(source: Path) -> None:
    with (source / "sparse.md").open("wb") as file:
        file.truncate(50 * 2**30)
    result = load_source(source)
    assert reasons(result) == {"sparse.md": "it is larger than 10 megabytes; split it into several files"}


def test_folders_within_folders_by_the_thousand_are_read_as_far_as_the_system_goes(source: Path) -> None:
    below = os.open(source, os.O_RDONLY)
    for _ in range(1_400):
        os.mkdir("deep", dir_fd=below)
        above, below = below, os.open("deep", os.O_RDONLY, dir_fd=below)
        os.close(above)
    os.close(os.open("b.md", os.O_CREAT | os.O_WRONLY, dir_fd=below))
    os.close(below)
    result = load_source(source)
    subprocess.run(["rm", "-r", source / "deep"], check=True)  # pytest's own way to remove it would run out of stack
    assert [document.path for document in result.documents] == ["a.md"]
    (failure,) = result.failures
    assert failure.path.startswith("deep/deep/")
    assert failure.reason == "the folder cannot be listed: File name too long"


def test_a_folder_that_cannot_be_listed_is_reported(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "closed").mkdir()
    listed = os.scandir

    def refuse(folder: Path) -> object:
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr("rag.ingest.source_files.os.scandir", refuse)
    assert reasons(load_source(source)) == {"closed": "the folder cannot be listed: Permission denied"}


@pytest.mark.parametrize("field", ["title", "slug", "id"])
def test_an_escape_that_is_no_character_is_replaced(source: Path, field: str) -> None:
    (source / "sidebars.js").write_text("")
    (source / "a.md").write_text(f'---\n{field}: "a \\ud800 b"\n---\n\nSome words.')
    (document,) = load_source(source, base_url="https://example.org").documents
    f"{document.title} {document.url}".encode()
    assert field != "title" or document.title == "a \ufffd b"


def test_two_escapes_that_are_one_character_are_joined(source: Path) -> None:
    (source / "a.md").write_text('---\ntitle: "\\ud83d\\ude00"\n---\n\nSome words.')
    assert load_source(source).documents[0].title == "\U0001f600"


def test_an_escape_in_the_label_of_a_folder_is_replaced(source: Path) -> None:
    (source / "part").mkdir()
    (source / "part" / "_category_.json").write_text('{"label": "a\\ud800"}')
    (source / "part" / "b.md").write_text(PAGE)
    result = load_source(source)
    assert [document.breadcrumb for document in result.documents] == [(), ("a\ufffd",)]


def test_a_source_whose_name_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        load_source(tmp_path / ("a" * 300))
