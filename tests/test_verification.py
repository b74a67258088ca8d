"""`verify`: a stored conversation's citations against the book as it is now."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from cli.verify import _show, _verified
from graph.agent import open_agent
from rag.answer.evidence import best_quote
from rag.answer.render import make_citation
from rag.book import Chunk
from rag.books.book_settings import build_embedder, collection_index, vector_cache
from rag.conversation.verification import Book, Cited, citations_of, verify
from rag.embedding.local import Bm25Encoder
from rag.settings import Settings, variables
from rag.types import Citation, Quote
from tests.command_line import CommandLine
from tests.conftest import PAGES, index_book
from tests.fakes import passage
from tests.ingesting import ingest

TEXT = "A node is a process. Nodes talk over topics."


def chunk(text: str) -> Chunk:
    return Chunk(
        id=passage(1).chunk_id, text=text, title="Page 1", heading="", breadcrumb="", url="u", anchor="", source="s",
        source_file_path="p.md", chunk_index=0, sha256=hashlib.sha256(text.encode()).hexdigest(),
    )  # fmt: skip


def citation() -> Citation:
    made = make_citation(passage(1, TEXT), best_quote("A node is a process.", TEXT), "numbered")
    made.occurrences.append(best_quote("Nodes talk over topics.", TEXT))
    return made


def cited(made: Citation, turn_number: int = 1) -> Cited:
    return Cited(made, turn_number, Book("b", None))


@pytest.mark.parametrize(
    ("now", "status", "found"),
    [
        (TEXT, "valid", 2),
        (f"New. {TEXT}", "stale", 2),
        ("A node is a process. Nodes are quiet.", "stale", 1),
        ("Something else.", "stale", 0),
        (None, "gone", 0),
    ],
)
def test_a_citation_is_valid_stale_or_gone(now: str | None, status: str, found: int) -> None:
    checked = verify(cited(citation(), 3), chunk(now) if now else None, "b")
    assert (checked.status, checked.quotes, checked.quotes_found) == (status, 2, found)
    assert (checked.turn_number, checked.collection) == (3, "b")


def test_the_hash_that_the_index_tells_is_not_taken_for_the_texts() -> None:
    assert verify(cited(citation()), replace(chunk(f"{TEXT} More."), sha256=chunk(TEXT).sha256), "b").status == "stale"


def test_a_quote_that_is_not_in_its_place_is_stale_though_the_text_is_the_same() -> None:
    moved = citation()
    moved.occurrences = [Quote(quote="Nodes talk", start=0, end=10)]
    assert verify(cited(moved), chunk(TEXT), "b").status == "stale"


def test_citations_come_with_the_number_and_the_book_of_their_turn() -> None:
    dumped = [citation().model_dump()]
    turns = [
        {"turn_number": 1, "citations": []},
        {"turn_number": 2, "citations": dumped, "collection": "b", "profile": "p"},
        {"turn_number": 3, "citations": dumped},
    ]
    found = [(one.turn_number, one.citation.marker, one.book) for one in citations_of(turns)]
    assert found == [(2, 1, Book("b", "p")), (3, 1, Book(None, None))]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of two pages that may be changed."""
    folder = tmp_path_factory.mktemp("changing")
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, source: Path) -> CommandLine:
    opened = CommandLine(tmp_path_factory.mktemp("verify"))
    asyncio.run(index_book(source, opened.home))
    return opened


def test_the_command_tells_what_has_changed(run: CommandLine, source: Path) -> None:
    asked = run("ask", "How many teeth does a widget have?", "--thread", "v", "--json").data
    before = run("verify", "v", "--json")
    assert (before.code, before.data["valid"]) == (0, len(asked["citations"]))
    assert [one["chunk_id"] for one in before.data["citations"]] == [one["chunk_id"] for one in asked["citations"]]
    (source / "widgets.md").write_text(PAGES["widgets.md"].replace("exactly four", "about forty"))
    asyncio.run(index_book(source, run.home))
    after = run("verify", "v")
    assert after.code == 1
    assert "stale  turn 1 [1]  Widgets" in after.out
    assert "The passage has changed; 1 of 2 quotes are still in it." in after.out
    (lost,) = [line for line in after.out.splitlines() if line.startswith("lost ")]
    assert "lost   turn 1  The book no longer supports “Every widget has exactly four teeth." in lost
    assert run("verify", "v", "--json").data["lost"][0]["standing"] != "supported"


def test_the_passage_of_a_renamed_page_is_found_at_its_new_place(tmp_path: Path) -> None:
    source, moved = tmp_path / "source", CommandLine(tmp_path)
    source.mkdir()
    (source / "widgets.md").write_text(PAGES["widgets.md"])
    asyncio.run(index_book(source, moved.home))
    assert moved("ask", "How many teeth does a widget have?", "--thread", "v").code == 0
    (source / "widgets.md").rename(source / "parts.md")
    asyncio.run(index_book(source, moved.home))
    done = moved("verify", "v")
    assert done.code == 1
    assert "stale  turn 1 [1]  Widgets" in done.out
    assert "The passage has moved to Widgets (parts.md" in done.out
    assert "lost" not in done.out
    (first, *_) = moved("verify", "v", "--json").data["citations"]
    assert first["quotes_found"] == first["quotes"]
    assert first["moved_to"]["chunk_id"] != first["chunk_id"]


def test_a_renamed_book_is_told_and_can_be_named(tmp_path: Path, tiny_book: Path) -> None:
    run = CommandLine(tmp_path, tiny_book)
    assert run("ask", "How many teeth does a widget have?", "--thread", "v").code == 0
    assert run("books", "rename", "book", "other").code == 0
    done = run("verify", "v")
    assert (done.code, 'There is no book "book" now.' in done.out) == (1, True)
    assert run("verify", "v", "--collection", "other").code == 0


async def test_each_turn_is_checked_against_the_book_that_it_asked(
    run: CommandLine, tiny_source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One conversation over two books; the citations of each are found, whichever is the usual one."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(run.home))
    settings = Settings.from_env(None)
    index = collection_index(settings, "other")
    embedder, vectors = build_embedder(settings), vector_cache(settings)
    await ingest([tiny_source], index=index, embedder=embedder, sparse=Bm25Encoder(), vectors=vectors)
    await index.aclose()
    for book, question in (("book", "How is a gadget cleaned?"), ("other", "How many teeth does a widget have?")):
        async with open_agent(settings, collection=book) as agent:
            assert (await agent.ask(question, thread_id="two")).citations
    options = argparse.Namespace(id="two", collection=None, json=False)
    result = await _verified(options, settings)
    assert (result.collections, set(result.counts.items())) == (
        ["book", "other"],
        {("valid", len(result.citations)), ("stale", 0), ("gone", 0)},
    )
    elsewhere = await _verified(argparse.Namespace(id="two", collection="book", json=False), settings)
    assert elsewhere.collections == ["book"]
    assert elsewhere.counts["gone"] > 0
    _show(elsewhere)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(elsewhere.citations) + len(elsewhere.lost) + 1
    assert {sentence.turn_number for sentence in elsewhere.lost} == {2}
    assert any(
        line.startswith("gone   turn 2 [") and "The book no longer has this passage. “" in line for line in lines
    )


def test_an_unknown_conversation_is_wrong_usage(run: CommandLine) -> None:
    done = run("verify", "nobody")
    assert (done.code, done.err.count("\n")) == (2, 1)
