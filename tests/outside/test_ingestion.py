"""What `ingest` does to a book over its life, and what it does with files and sites that mean it no good."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from reportlab.pdfgen.canvas import Canvas

from graph.agent import open_agent_sync
from rag.settings import Settings
from tests import small_book, small_book_pdf
from tests.outside.conftest import PAGES, VARIABLES
from tests.outside.shelf import SITE, Shelf, opened, written
from tests.qdrant_server import QdrantServer
from tests.web_site import moved, page, plain, web_site
from tests.wire import Reply, Request, hangs, listening


@pytest.fixture(scope="module")
def module_shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with opened(tmp_path_factory.mktemp("ingestion")) as shelf:
        yield shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """An empty home with its own embedder."""
    with opened(tmp_path) as shelf:
        yield shelf


def _sections(count: int) -> str:
    return "# Stones\n" + "".join(f"\n## Stone {n}\n\nStone {n} lies in river {n * 7}.\n" for n in range(count))


# --- A book over its life ---------------------------------------------------------------------------------------------


def test_a_second_run_embeds_nothing_and_an_edit_only_what_changed(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    report = shelf.ingest(source)
    seconds = report.pop("seconds")
    assert seconds >= 0
    assert {name: report[name] for name in ("collection", "embedding_model", "documents", "chunks", "embedded")} == {
        "collection": "book",
        "embedding_model": "tiny",
        "documents": {"added": 2, "changed": 0, "unchanged": 0, "deleted": 0, "failed": 0},
        "chunks": {"added": 4, "deleted": 0, "unchanged": 0, "total": 4},
        "embedded": 4,
    }
    assert report["failures"] == []
    before = {one["chunk_id"]: one["text"] for one in shelf.search("widget gadget")}
    texts = len(shelf.embedder.embedded)

    again = shelf.ingest(source)
    assert (again["embedded"], again["documents"]["unchanged"], again["chunks"]["unchanged"]) == (0, 2, 4)

    written(source, {"gadgets.md": PAGES["gadgets.md"].replace("painted blue", "painted red")})
    edited = shelf.ingest(source)
    assert (edited["embedded"], edited["documents"]["changed"], edited["documents"]["unchanged"]) == (1, 1, 1)
    assert edited["chunks"] == {"added": 1, "deleted": 1, "unchanged": 3, "total": 4}
    after = {one["chunk_id"]: one["text"] for one in shelf.search("widget gadget")}
    assert [text for text in after.values() if "painted" in text] == [
        "A gadget is a machine made of twelve widgets. Gadgets are painted red at the factory in Lund."
    ]
    assert sum(after.get(chunk_id) == text for chunk_id, text in before.items()) == 3

    (source / "widgets.md").unlink()
    deleted = shelf.ingest(source)
    assert (deleted["embedded"], deleted["documents"]["deleted"], deleted["chunks"]["deleted"]) == (0, 1, 2)
    assert shelf.pages("widget gadget") == {"gadgets.md"}

    written(source, PAGES)  # as it was: every vector is still known
    restored = shelf.ingest(source)
    assert (restored["embedded"], restored["documents"]["added"], restored["documents"]["changed"]) == (0, 1, 1)
    documents = [text for kind, text in shelf.embedder.embedded if kind == "search_document"]
    assert len(documents) == 5
    assert len(set(documents)) == 5
    assert texts >= 4


def test_sources_share_a_book_and_delete_only_their_own_pages(shelf: Shelf) -> None:
    one, two = shelf.write({"one.md": "# One\n\nThe first heron."}), shelf.write({"two.md": "# Two\n\nAn egret."})
    shelf.ingest(one)
    shelf.ingest(two)
    assert shelf.pages("heron egret") == {"one.md", "two.md"}
    written(one, {"three.md": "# Three\n\nA bittern."})
    (one / "one.md").unlink()
    assert shelf.ingest(one)["documents"] == {"added": 1, "changed": 0, "unchanged": 0, "deleted": 1, "failed": 0}
    assert shelf.pages("heron egret bittern") == {"two.md", "three.md"}
    (show,) = [book for book in shelf("books", "list", "--json").data if book["name"] == "book"]
    assert {source["source"] for source in show["sources"]} == {str(one), str(two)}


def test_a_dry_run_says_what_would_change_and_changes_nothing(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    assert shelf.ingest(source, "--dry-run")["documents"]["added"] == 2
    assert shelf("search", "widget", "--collection", "book", "--json").code == 1
    assert shelf.embedder.embedded == []
    shelf.ingest(source)
    (source / "widgets.md").unlink()
    done = shelf("ingest", source, "--dry-run")
    assert "Nothing would be embedded." in done.out
    assert shelf.ingest(source, "--dry-run")["documents"]["deleted"] == 1
    assert shelf.pages("widget gadget") == {"widgets.md", "gadgets.md"}


def test_patterns_choose_files_and_what_is_no_longer_chosen_goes(shelf: Shelf) -> None:
    names = ("a.md", "docs/b.md", "docs/old/c.md", "docs/d.txt", "node_modules/e.md", ".hidden/f.md", "g.exe")
    source = shelf.write({name: f"# T\n\nThe heron of {name} stands." for name in names})
    for options, chosen in {
        (): {"a", "docs/b", "docs/old/c", "docs/d.txt"},
        ("--include", "docs/"): {"docs/b", "docs/old/c", "docs/d.txt"},
        ("--include", "docs/", "--exclude", "*.txt", "--exclude", "docs/old/"): {"docs/b"},
        ("--include", "b.md", "--include", "a.md"): {"a", "docs/b"},
        ("--exclude", "docs"): {"a"},
    }.items():
        shelf.ingest(source, "--base-url", SITE, *options)
        assert {url.removeprefix(f"{SITE}/") for url in shelf.pages("heron")} == chosen


def test_a_kill_loses_no_vector_and_leaves_the_book_as_it_was(shelf: Shelf) -> None:
    source = shelf.write({"a.md": _sections(2)})
    shelf.ingest(source)
    written(source, {"b.md": _sections(130).replace("Stone", "Pebble")})
    asked = threading.Event()

    def hang(_: Request) -> Reply:
        asked.set()
        return hangs()

    shelf.embedder.script += [shelf.embedder.answer, hang]
    with shelf.run.fork("ingest", str(source), **shelf.environment) as process:
        assert asked.wait(60)
        process.kill()
    known = len(shelf.embedder.embedded)
    assert shelf.pages("stone pebble") == {"a.md"}
    report = shelf.ingest(source)
    assert report["chunks"] == {"added": 130, "deleted": 0, "unchanged": 2, "total": 132}
    assert report["embedded"] < 130
    assert known + report["embedded"] == 132 + 1  # and the question
    assert shelf.pages("stone pebble") == {"a.md", "b.md"}


def test_a_page_that_breaks_keeps_its_passages_and_costs_one_line(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    shelf.ingest(source)
    written(source, {"widgets.md": b"\x00\x01", "new.md": "# New\n\nA sprocket is new."})
    done = shelf("ingest", source)
    assert done.code == 1
    assert len([line for line in (done.out + done.err).splitlines() if "widgets.md" in line]) == 1
    assert shelf.pages("widget gadget sprocket") == {"widgets.md", "gadgets.md", "new.md"}
    report = shelf.ingest(source, code=1)
    assert [Path(failure["source"]).name for failure in report["failures"]] == ["widgets.md"]
    assert report["documents"]["failed"] == 1


def test_a_book_of_another_embedding_model_needs_a_rebuild(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    shelf.ingest(source)
    other = {"ASKBOOK_EMBEDDING_MODEL": "cohere:other"}
    refused = shelf("ingest", source, "--json", **other)
    assert (refused.code, refused.data["error"]["code"]) == (2, "model_mismatch")
    assert shelf("search", "widget", "--json", **other).code == 1
    rebuilt = shelf.ingest(source, "--rebuild", **other)
    assert (rebuilt["embedding_model"], rebuilt["embedded"], rebuilt["chunks"]["total"]) == ("other", 4, 4)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere"], 2, "There is no nowhere."),
        ([], 2, "source"),
        (["pages", "--generator", "gitbook"], 2, "gitbook"),
        (["pages", "--base-url", "no address"], 2, "no address"),
        (["pages", "--collection", "a/b"], 2, "a/b"),
        (["tool.exe"], 1, "tool.exe"),
        (["empty"], 1, "empty"),
        (["pages", "nowhere"], 1, "There is no nowhere."),
    ],
)
def test_a_source_that_cannot_be_read_is_named(module_shelf: Shelf, arguments: list[str], code: int, said: str) -> None:
    written(module_shelf.folder, {"tool.exe": "MZ", **{f"pages/{name}": text for name, text in PAGES.items()}})
    (module_shelf.folder / "empty").mkdir(exist_ok=True)
    done = module_shelf("ingest", *arguments)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


def test_books_are_listed_shown_renamed_and_deleted(shelf: Shelf) -> None:
    shelf.ingest(shelf.write(PAGES), "--collection", "widgets")
    listed = {book["name"]: book for book in shelf("books", "list", "--json").data}
    assert set(listed) == {"manual", "widgets"}
    assert (listed["widgets"]["pages"], listed["widgets"]["passages"]) == (2, 4)
    assert "4 passages" in shelf("books", "show", "widgets").out
    assert shelf("books", "rename", "widgets", "parts").code == 0
    assert shelf.pages("widget", "--collection", "parts") == {"widgets.md", "gadgets.md"}
    assert shelf("books", "show", "widgets", "--json").data["error"]["code"] == "unknown_book"
    assert shelf("books", "rename", "manual", "mine").code == 2
    assert shelf("books", "delete", "parts").code == 0
    assert [shelf("books", command, "parts").code for command in ("show", "delete")] == [2, 2]


def test_an_agent_reads_a_book_as_the_command_does(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in (shelf.environment | {"ASKBOOK_HOME": str(shelf.run.home)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(shelf.folder)
    source, steps = shelf.write(PAGES), []
    with open_agent_sync(Settings.from_env(), collection="parts") as agent:
        report = agent.ingest([str(source)], base_url=SITE, watch=lambda progress: steps.append(progress.step))
        assert (report.documents.added, report.chunks.total, report.embedded, report.failures) == (2, 4, 4, [])
        assert list(dict.fromkeys(steps)) == ["load", "chunk", "embed", "write", "verify"]
        assert agent.ingest(str(source), base_url=SITE).embedded == 0
        response = agent.ask("How many teeth does a widget have?")
        assert response.retrieved_chunks[0].url == f"{SITE}/widgets"
    assert shelf.ingest(source, "--base-url", SITE, "--collection", "parts")["documents"]["unchanged"] == 2


# --- A Qdrant server --------------------------------------------------------------------------------------------------


def test_a_book_on_a_qdrant_server_changes_at_once_or_not_at_all(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    with listening(QdrantServer()) as server:
        shelf.environment["QDRANT_URL"] = server.address
        assert shelf.ingest(source)["embedded"] == 4
        assert shelf.ingest(source)["embedded"] == 0
        written(source, {"gadgets.md": PAGES["gadgets.md"].replace("blue", "red")})
        (source / "widgets.md").unlink()
        asked = threading.Event()

        def answer(request: Request) -> Reply:
            if request.method != "GET" and server.stopping.is_set() is False and "aliases" in request.path:
                asked.set()
                return hangs()
            return QdrantServer.answer(server, request)

        server.answer = answer  # type: ignore[method-assign]
        with shelf.run.fork("ingest", str(source), **shelf.environment) as process:
            assert asked.wait(60)
            process.kill()
        del server.answer
        texts = " ".join(one["text"] for one in shelf.search("widget gadget painted"))
        assert ("four teeth" in texts, "blue" in texts, "red" in texts) == (True, True, False)
        report = shelf.ingest(source)
        assert (report["embedded"], report["chunks"]["total"]) == (0, 2)
        texts = " ".join(one["text"] for one in shelf.search("widget gadget painted"))
        assert ("four teeth" in texts, "blue" in texts, "red" in texts) == (False, False, True)
        assert shelf("books", "delete", "book").code == 0
        assert server.engine.get_collections().collections == []


# --- Hostile files ----------------------------------------------------------------------------------------------------
