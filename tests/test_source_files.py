"""The files of a source that a stranger made, or that changes while it is read."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from rag.ingest import source_files
from rag.ingest.loaders import LoadResult, load_source
from tests.books_on_disk import close_folders

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


# A file that makes the generator known, a page, and the file that it includes, whose text must not be in the page.
INCLUDING = {
    "mkdocs": ("mkdocs.yml", "docs_dir: .", "a.md", '--8<-- "b.txt"\n\nSome words.'),
    "mkdocs code": ("mkdocs.yml", "docs_dir: .", "a.md", "{* b.txt *}\n\nSome words."),
    "hugo": ("hugo.toml", "contentDir = '.'", "a.md", '{{< include file="b.txt" >}}\n\nSome words.'),
    "docusaurus": (
        "docusaurus.config.js",
        "module.exports = {presets: [['classic', {docs: {path: '.'}}]]}",
        "a.md",
        "import B from './_b.md';\n\n<B/>\n\nSome words.",
    ),
    "plain md": ("c.md", PAGE, "a.md", '{% include "b.txt" %}\n\n{{#include b.txt}}\n\nSome words.'),
}


@pytest.mark.parametrize(("name", "content", "page", "text"), INCLUDING.values(), ids=INCLUDING)
@pytest.mark.parametrize("linked", [False, True])
def test_no_generator_includes_a_hard_link(
    name: str, content: str, page: str, text: str, linked: bool, tmp_path: Path
) -> None:
    source = tmp_path / "book"
    source.mkdir()
    (tmp_path / "secret").write_text("the secret")
    for included in (source / "b.txt", source / "_b.md"):
        if linked:
            included.hardlink_to(tmp_path / "secret")
        else:
            included.write_text("the secret")
    (source / name).write_text(content)
    (source / page).write_text(text)
    (document,) = [one for one in load_source(source).documents if one.path == page]
    assert "Some words." in document.text
    assert ("secret" in document.text) is not linked


@pytest.mark.parametrize(("name", "content", "page", "text"), INCLUDING.values(), ids=INCLUDING)
def test_a_file_from_outside_that_a_page_includes_is_told(
    name: str, content: str, page: str, text: str, tmp_path: Path
) -> None:
    for secret in (tmp_path / "b.txt", tmp_path / "_b.md"):
        secret.write_text("the secret")
    source = tmp_path / "book"
    source.mkdir()
    (source / name).write_text(content)
    (source / page).write_text(text.replace("./_b", "_b").replace("_b.md", "../_b.md").replace("b.txt", "../b.txt"))
    result = load_source(source)
    (document,) = [one for one in result.documents if one.path == page]
    assert "Some words." in document.text
    assert "secret" not in document.text
    assert result.refused == {
        page: {"../_b.md" if "_b" in text else "../b.txt": "outside the source and its repository"}
    }


@pytest.mark.parametrize("directive", ["include", "literalinclude"])
@pytest.mark.parametrize("named", ["b.txt", "../b.txt"])
def test_a_page_of_restructuredtext_includes_no_file(directive: str, named: str, source: Path, tmp_path: Path) -> None:
    """No file is opened for it, so none is refused either, wherever it is."""
    for included in (source / "b.txt", tmp_path / "b.txt"):
        included.write_text("the secret")
    (source / "a.rst").write_text(f".. {directive}:: {named}\n\nSome words.")
    result = load_source(source)
    (document,) = [one for one in result.documents if one.path == "a.rst"]
    assert document.text == "Some words."
    assert result.refused == {}


def test_a_configuration_cannot_name_a_folder_above_the_source_for_includes(source: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    (source / "mkdocs.yml").write_text("docs_dir: ..")
    (source / "a.md").write_text('--8<-- "secret.txt"\n\nSome words.')
    (document,) = load_source(source, generator="mkdocs").documents
    assert "secret" not in document.text


def test_hard_links_of_the_program_itself_are_read(source: Path, tmp_path: Path) -> None:
    (tmp_path / "cache.md").hardlink_to(source / "a.md")
    assert len(load_source(source, own=True).documents) == 1


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
    close_folders(monkeypatch, "closed")
    assert reasons(load_source(source)) == {"closed": "the folder cannot be listed: Permission denied"}


@pytest.mark.parametrize(
    "head",
    [
        '---\ntitle: "a \\0 b"\nx: "\\0000\\0"\n---\n',
        '+++\ntitle = "a \\u0000 b"\nx = "\\u00000\\u0000"\n+++\n',
        '{"title": "a \\ud800 b", "x": ["\\u00000\\u0000"]}\n',
    ],
    ids=["yaml", "toml", "json"],
)
def test_escapes_of_every_kind_of_front_matter_are_replaced(source: Path, head: str) -> None:
    """A NUL character could pretend to be masked code."""
    (source / "a.md").write_text(head + "\nSome `code` and words.")
    (document,) = load_source(source).documents
    assert document.title == "a \ufffd b"
    assert "\0" not in document.text
