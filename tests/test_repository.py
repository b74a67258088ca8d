"""A git repository as a source: its newest commit is read, and git does nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.ingest.loaders import load_source
from rag.ingest.patterns import Selection
from rag.ingest.sources import opened_source

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="the program git is not installed (package git)")
FILES = {
    "mkdocs.yml": "site_name: Widgets\n",
    "docs/index.md": "# Widgets\n\nA widget has 12 teeth.\n",
    "docs/guide/start.md": "# Start\n\nTurn the widget.\n",
    "docs_src/a.py": "print('from the repository')\n",
    "README.md": "# Read me\n\nWidgets turn.\n",
}


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bare repository with two commits; the older one has a page that is gone."""
    work = tmp_path / "work"
    for name, content in FILES.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(content)
    (work / "docs" / "old.md").write_text("# Old\n\nGone.\n")
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message=One")
    git(work, "rm", "--quiet", "docs/old.md")
    git(work, "commit", "--quiet", "--message=Two")
    git(tmp_path, "clone", "--quiet", "--bare", "work", "book.git")
    return tmp_path / "book.git"


def test_the_newest_commit_is_read_by_the_rules_of_its_generator(bare: Path) -> None:
    result = load_source(bare.as_uri(), base_url="https://widgets.example")
    assert (result.source, result.generator) == (bare.as_uri(), "mkdocs")
    assert {document.path: document.url for document in result.documents} == {
        "docs/index.md": "https://widgets.example/",
        "docs/guide/start.md": "https://widgets.example/guide/start/",
    }


def test_what_was_fetched_is_deleted(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert load_source(bare.as_uri()).documents
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), {"a.md", "docs/b.md", "docs/old/c.md"}),
        (Selection(include=("docs",)), {"docs/b.md", "docs/old/c.md"}),
        (Selection(include=("docs/*.md",)), {"docs/b.md"}),
        (Selection(include=("**/*.md",), exclude=("/a.md",)), {"docs/b.md", "docs/old/c.md"}),
        (Selection(exclude=("old/", "a.*")), {"docs/b.md"}),
        (Selection(include=("b.md", "c.md"), exclude=("docs/old/**",)), {"docs/b.md"}),
    ],
)
def test_patterns_select_files_like_those_of_a_gitignore(selection: Selection, taken: set[str]) -> None:
    assert {path for path in ("a.md", "docs/b.md", "docs/old/c.md") if selection.takes(path)} == taken


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c 'touch hacked'",
        "git+ext::sh -c touch% hacked",
        "git+--upload-pack=touch hacked",
        "ssh://-oProxyCommand=touch hacked/book.git",
        "ssh://-oProxyCommand=touch@example.org/book.git",
        "git@-oProxyCommand=touch:book.git",
        "git+ftp://example.org/book.git",
        "fd::7",
        "git+https://exa\nmple.org/book.git",
    ],
)
def test_an_address_that_would_do_more_than_fetch_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *call, **_: started.append(call))
    with pytest.raises(UsageError) as caught:
        load_source(address)
    assert not started
    assert "\n" not in caught.value.message


def test_a_password_in_an_address_is_neither_stored_nor_shown(tmp_path: Path) -> None:
    address = "git+https://me:canary@127.0.0.1:1/book.git"
    with pytest.raises(UsageError) as caught:
        load_source(address)
    assert "canary" not in caught.value.message
    assert "127.0.0.1" in caught.value.message


def test_a_repository_that_does_not_answer_is_given_up(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_source, "SECONDS", 0.0001)
    with pytest.raises(UsageError, match="takes longer"):
        load_source(bare.as_uri())


def test_a_missing_repository_and_a_missing_git_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="git cannot fetch") as caught:
        load_source((tmp_path / "none.git").as_uri())
    assert "\n" not in caught.value.message
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs the program git"):
        load_source((tmp_path / "none.git").as_uri())


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://github.com/team/book", True),
        ("https://github.com/team/book/blob/main/a.md", False),
        ("https://example.org/book.git", True),
        ("https://example.org/docs", False),
        ("git@example.org:team/book.git", True),
        ("ssh://git@example.org/book", True),
        ("file:///srv/book.git", True),
    ],
)
def test_which_addresses_are_repositories(address: str, expected: bool) -> None:
    assert opened_source.is_address(address)
    assert opened_source.is_repository(address) is expected
