"""What `ingest` does to a book over its life, and what it does with files and sites that mean it no good."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from reportlab.pdfgen.canvas import Canvas

from askbook import Settings, open_agent_sync
from tests import small_book, small_book_pdf
from tests.command_line import Done
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


def test_a_second_run_embeds_nothing_and_an_edit_only_what_changed(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    report = shelf.ingest(source)
    assert report["seconds"] >= 0
    assert (report["collection"], report["embedded"], report["failures"]) == ("book", 4, [])
    assert report["documents"] == {"added": 2, "changed": 0, "unchanged": 0, "deleted": 0, "failed": 0}
    assert report["chunks"] == {"added": 4, "deleted": 0, "unchanged": 0, "total": 4}
    before = {one["chunk_id"]: one["text"] for one in shelf.search("widget gadget")}

    again = shelf.ingest(source)
    assert (again["embedded"], again["documents"]["unchanged"], again["chunks"]["unchanged"]) == (0, 2, 4)

    written(source, {"gadgets.md": PAGES["gadgets.md"].replace("blue", "red")})
    edited = shelf.ingest(source)
    assert (edited["embedded"], edited["documents"]["changed"], edited["documents"]["unchanged"]) == (1, 1, 1)
    assert edited["chunks"] == {"added": 1, "deleted": 1, "unchanged": 3, "total": 4}
    after = {one["chunk_id"]: one["text"] for one in shelf.search("widget gadget")}
    assert sorted(after.items() - before.items())[0][1].endswith("Gadgets are painted red at the factory in Lund.")
    assert len(after.items() & before.items()) == 3

    (source / "widgets.md").unlink()
    deleted = shelf.ingest(source)
    assert (deleted["embedded"], deleted["documents"]["deleted"], deleted["chunks"]["deleted"]) == (0, 1, 2)
    assert shelf.pages("widget gadget") == {"gadgets.md"}

    written(source, PAGES)  # as it was: every vector is still known
    assert shelf.ingest(source)["embedded"] == 0
    assert len([text for kind, text in shelf.embedder.embedded if kind == "search_document"]) == 5


def test_sources_share_a_book_and_delete_only_their_own_pages(shelf: Shelf) -> None:
    one, two = shelf.write({"one.md": "# One\n\nThe first heron."}), shelf.write({"two.md": "# Two\n\nAn egret."})
    shelf.ingest(one, two)
    assert shelf.pages("heron egret") == {"one.md", "two.md"}
    written(one, {"three.md": "# Three\n\nA bittern."})
    (one / "one.md").unlink()
    assert shelf.ingest(one)["documents"] == {"added": 1, "changed": 0, "unchanged": 0, "deleted": 1, "failed": 0}
    assert shelf.pages("heron egret bittern") == {"two.md", "three.md"}
    shown = shelf("books", "show", "book").out
    assert (str(one) in shown, str(two) in shown) == (True, True)


def test_a_dry_run_says_what_would_change_and_changes_nothing(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    assert shelf.ingest(source, "--dry-run")["documents"]["added"] == 2
    assert shelf("search", "widget", "--collection", "book", "--json").code == 1
    assert shelf.embedder.embedded == []
    shelf.ingest(source)
    (source / "widgets.md").unlink()
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


def never_answers(asked: threading.Event) -> Callable[[Request], Reply]:
    """A reply that keeps the client waiting, and that sets the event when it is asked for."""

    def reply(_: Request) -> Reply:
        asked.set()
        return hangs()

    return reply


def test_a_killed_run_leaves_the_book_as_it_was(shelf: Shelf) -> None:
    source = shelf.write({"a.md": "# A\n\nA heron stands."})
    shelf.ingest(source)
    written(source, {"a.md": "# A\n\nAn egret stands.", "b.md": "# B\n\nA bittern stands."})
    asked = threading.Event()
    shelf.embedder.script.append(never_answers(asked))
    with shelf.run.fork("ingest", str(source), **shelf.environment) as process:
        assert asked.wait(60)
        process.kill()
    assert [one["text"] for one in shelf.search("stands")] == ["A heron stands."]
    report = shelf.ingest(source)
    assert (report["embedded"], report["chunks"]["total"], report["documents"]["added"]) == (2, 2, 1)
    assert shelf.pages("stands") == {"a.md", "b.md"}


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
    shelf.environment["ASKBOOK_EMBEDDING_MODEL"] = "cohere:other"
    refused = shelf("ingest", source, "--json")
    assert (refused.code, refused.data["error"]["code"]) == (2, "model_mismatch")
    assert shelf("search", "widget", "--json").code == 1
    assert shelf.ingest(source, "--rebuild")["embedded"] == 4
    assert len(shelf.search("widget gadget")) == 4


WRONG: Final = [
    (["nowhere"], 2, "There is no nowhere."), ([], 2, "SOURCE"), (["pages", "--generator", "gitbook"], 2, "gitbook"),
    (["pages", "--base-url", "ftp://x"], 2, "ftp://x"), (["pages", "--collection", "a/b"], 2, "a/b"),
    (["tool.exe"], 2, "tool.exe"), (["empty"], 2, "empty"), (["pages", "nowhere"], 1, "There is no nowhere."),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG)
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
    shown = shelf("books", "show", "widgets", "--json").data
    assert (shown["name"], shown["pages"], shown["passages"]) == ("widgets", 2, 4)
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


class HangingQdrant(QdrantServer):
    """A server that, while it has `asked`, never answers the step that would make a change visible."""

    asked: threading.Event | None = None

    def answer(self, request: Request) -> Reply:
        if self.asked and request.path == "/collections/aliases":
            return never_answers(self.asked)(request)
        return super().answer(request)


def test_a_book_on_a_qdrant_server_changes_at_once_or_not_at_all(shelf: Shelf) -> None:
    source = shelf.write(PAGES)
    with listening(HangingQdrant()) as server:
        shelf.environment["QDRANT_URL"] = server.address
        assert shelf.ingest(source)["embedded"] == 4
        assert shelf.ingest(source)["embedded"] == 0
        written(source, {"gadgets.md": PAGES["gadgets.md"].replace("blue", "red")})
        (source / "widgets.md").unlink()
        server.asked = threading.Event()
        with shelf.run.fork("ingest", str(source), **shelf.environment) as process:
            assert server.asked.wait(60)
            process.kill()
        server.asked = None
        texts = " ".join(one["text"] for one in shelf.search("widget gadget painted"))
        assert ("four teeth" in texts, "blue" in texts, "red" in texts) == (True, True, False)
        report = shelf.ingest(source)
        assert (report["embedded"], report["chunks"]["total"]) == (0, 2)
        texts = " ".join(one["text"] for one in shelf.search("widget gadget painted"))
        assert ("four teeth" in texts, "blue" in texts, "red" in texts) == (False, False, True)
        assert shelf("books", "delete", "book").code == 0
        assert server.engine.get_collections().collections == []


@pytest.fixture(scope="module")
def hostile(module_shelf: Shelf) -> tuple[Done, set[str]]:
    """What `ingest` said of a folder of hostile files, and the pages that it read."""
    book = (small_book_pdf.FOLDER / "book.pdf").read_bytes()
    outside = module_shelf.write({"secret/secret.md": "# S\n\nA heron is secret."})
    folder = module_shelf.write(HOSTILE)
    written(folder, {"truncated.pdf": book[: len(book) // 2]})
    small_book.epub(folder / "bomb.epub", {"c.xhtml": ""}, {"OEBPS/c.xhtml": b" " * 101_000_000})
    canvas = Canvas(str(folder / "encrypted.pdf"), encrypt="secret")
    canvas.drawString(99, 99, "A heron is encrypted.")
    canvas.save()
    os.mkfifo(folder / "pipe.md")
    for name, target in LINKS.items():
        (folder / name).symlink_to(outside / target if target.startswith("secret") else target)
    done = module_shelf("ingest", folder, "--collection", "hostile", "--json")
    found = module_shelf.search("heron", "--collection", "hostile")
    assert "secret" not in " ".join(one["text"] for one in found)
    return done, {one["source_file_path"] for one in found}


LINKS: Final = {
    "inside.md": "notes.dat", "outside.md": "secret/secret.md", "away": "secret", "loop.md": "loop.md",
    "etc.txt": "/etc/passwd",
}  # fmt: skip
ENTITIES: Final = "".join(f"<!ENTITY {b} '{f'&{a};' * 50}'>" for a, b in itertools.pairwise("abcdef"))
HOSTILE: Final[dict[str, str | bytes]] = {
    "good.md": "# Good\n\nA heron is good.",
    "quotes.md": "# Q\n\n" + "> " * 240 + "A heron is quoted.",
    "lists.md": "# L\n\n" + "".join(f"{'  ' * n}- heron\n" for n in range(240)),
    "line.md": "# L\n\nA heron is long. " + "x" * 10_000,
    "marks.md": "# M\n\nA heron is marked. " + "[" * 20_000 + "*a _b " * 500,
    "attributes.html": f"<main><h1>A</h1><p {' '.join(f'a{n}=1' for n in range(200_000))}>A heron.</p></main>",
    "deep.html": "<main><h1>A</h1>" + "<div>" * 20_000 + "A heron is deep.</main>",
    "tables.html": "<main><h1>A</h1>" + "<table><tr><td>" * 400 + "A heron is in a table.</main>",
    "entities.xhtml": f"<!DOCTYPE h [<!ENTITY a 'ha'>{ENTITIES}]><html><body><p>A heron &f;</p></body></html>",
    "tags.html": "<main><h1>A</h1>" + "<b>x</b>" * 100_001 + "</main>",
    "nested.ipynb": "[" * 100_000,
    "large.txt": "heron " * 2_000_000,
    "latin.txt": "Größe".encode("latin-1"),
    "half.txt": "Größe".encode("utf-16-le"),
    "notes.dat": "# N\n\nA heron is linked.",
    **{f"binary.{ending}": bytes(range(256)) * 9 for ending in ("md", "pdf", "epub", "ipynb", "html")},
}
REFUSED: Final = {
    "encrypted.pdf": "encrypted", "truncated.pdf": "broken", "bomb.epub": "100 megabytes", "large.txt": "10 megabytes",
    "tags.html": "100,000 tags", "nested.ipynb": "", "latin.txt": "UTF-8", "half.txt": "", "pipe.md": "pipe",
    "outside.md": "link", "etc.txt": "link", "loop.md": "link", "binary.md": "", "binary.pdf": "", "binary.epub": "",
    "binary.ipynb": "", "binary.html": "",
}  # fmt: skip
STRANGE: Final = HOSTILE.keys() - REFUSED.keys() - {"good.md", "notes.dat"}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_costs_one_line_with_its_reason(hostile: tuple[Done, set[str]], name: str) -> None:
    done, found = hostile
    (reason,) = [one["reason"] for one in done.data["failures"] if Path(one["source"]).name == name]
    assert REFUSED[name] in reason
    assert "\n" not in reason
    assert name not in found


def test_strange_pages_are_read_or_refused_and_cost_the_others_nothing(hostile: tuple[Done, set[str]]) -> None:
    done, found = hostile
    refused = {Path(one["source"]).name for one in done.data["failures"]}
    assert done.code == 1
    assert {name: (name in found) != (name in refused) for name in STRANGE} == dict.fromkeys(STRANGE, True)
    assert found >= {"good.md", "inside.md"}
    assert "Traceback" not in done.err
    assert done.data["documents"]["failed"] == len(refused) == len(done.data["failures"])


def test_a_site_is_read_by_its_links_and_left_where_it_ends(shelf: Shelf) -> None:
    names = ("one.html", "old.html", "/blog/x.html", "gone.html", "no.html", "bad.html")
    links = "".join(f"<a href='{name}'>x</a>" for name in names)
    answers = {
        "/robots.txt": plain("User-agent: *\nDisallow: /guide/no.html\n"),
        "/guide/": page("Guide", f"<p>The heron.</p><h2 id='deep-water'>Deep</h2><p>Herons wade.</p>{links}"),
        "/guide/one.html": page("One", "<p>An egret.</p>"),
        "/guide/old.html": moved("/guide/two.html"),
        "/guide/two.html": page("Two", "<p>A bittern.</p>"),
        "/guide/bad.html": Reply(status=500),
    }
    with web_site(answers) as site:
        report = shelf.ingest(f"{site.address}/guide/", code=1)
        assert [one["source"] for one in report["failures"]] == [f"{site.address}/guide/bad.html"]
        assert shelf.anchors("heron egret bittern") == [
            f"{site.address}/guide/{path}" for path in ("", "#deep-water", "one.html", "two.html")
        ]
        assert not {"/blog/x.html", "/guide/no.html"} & set(site.asked)
        assert site.sent("user-agent") == {"askbook"}
        del site.answers["/guide/one.html"]
        again = shelf.ingest(f"{site.address}/guide/", code=1)
    assert (again["embedded"], again["documents"]["deleted"], again["documents"]["unchanged"]) == (0, 1, 2)


def test_a_git_repository_is_a_source(shelf: Shelf) -> None:
    folder = shelf.write({"docs/a.md": "# A\n\nThe heron.\n", "b.md": "# B\n\nAn egret.\n"})
    user = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], [*user, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    shelf.ingest(f"file://{folder}", "--include", "docs/", "--base-url", SITE)
    assert shelf.pages("heron egret") == {f"{SITE}/docs/a"}


GUESSED: Final = {
    "a tag of Liquid": ({"a.md": "# A\n\nA heron {% raw %}q{% endraw %}."}, {"a"}),
    "an admonition": ({"a/b.md": "# A\n\n!!! tip\n    A heron."}, {"a/b"}),
    "SUMMARY.md": ({"SUMMARY.md": "- [A](a.md)", "a.md": "# A\n\nA heron.", "b.md": "# B\n\nA heron too."}, {"a", "b"}),
}  # fmt: skip


@pytest.mark.parametrize("sign", GUESSED)
def test_no_generator_is_guessed_and_its_syntax_is_cleaned_all_the_same(shelf: Shelf, sign: str) -> None:
    files, paths = GUESSED[sign]
    shelf.ingest(shelf.write(files), "--base-url", SITE)
    found = shelf.search("heron")
    assert paths <= {one["url"].removeprefix(f"{SITE}/") for one in found}
    assert not [one["text"] for one in found if re.search(r"\{%|!!!", one["text"])]


def test_includes_of_the_repository_and_pdfs_of_a_site_are_read(shelf: Shelf) -> None:
    config = "site_name: B\nmarkdown_extensions: [pymdownx.snippets]\n"
    page = '# A\n\nA heron.\n\n```py\n--8<-- "../x.py"\n```\n'
    files = {".git/HEAD": "ref: x", "x.py": "heron = 1", "docs/mkdocs.yml": config, "docs/docs/a.md": page}
    source = written(shelf.write(files), {"docs/docs/b.pdf": (small_book_pdf.FOLDER / "book.pdf").read_bytes()})
    shelf.ingest(source / "docs")
    texts = " ".join(one["text"] for one in shelf.search("heron actuator"))
    assert ("heron = 1" in texts, "An actuator" in texts) == (True, True)


def test_a_second_source_is_said_to_be_added_and_named_once(shelf: Shelf) -> None:
    shelf.ingest(shelf.write(PAGES))
    done = shelf("ingest", shelf.write({"a.md": "# A\n\nA heron."}), shelf.write({"empty.md": ""}) / "empty.md")
    assert re.search(r"add(s|ed) to", done.out + done.err)
    assert "empty.md/empty.md" not in done.out + done.err
