"""What a book is about and what it contains is answered from its start page and its titles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.suggestion import remembered, suggested, untried
from graph.agent import open_agent
from rag.book import Point, SparseVector
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.index.catalog import build_index
from rag.quoting.english.speech_acts import about_book
from rag.search.overview import MOST, overview
from rag.settings import Settings
from tests.command_line import CommandLine
from tests.fake_index import FakeIndex
from tests.fakes import FakeVectors
from tests.index_cases import INFO, make_chunk
from tests.ingesting import ingest

PAGES = {
    "index.md": "# The Widget Handbook\n\nThe widget handbook describes how widgets are built and repaired.\n",
    "building.md": "# Building widgets\n\nA widget is built from a wheel and twelve teeth.\n",
    "repair.md": "# Repair\n\n## How many teeth does a widget have?\n\nA widget has twelve teeth.\n",
}


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is this book about?", "about"),
        ("what does this documentation cover", "about"),
        ("table of contents", "contents"),
        ("Which chapters does this book have?", "contents"),
        ("What can you do?", "about"),
        ("Who are you?", "about"),
        ("Overview", "about"),
        ("What is this project about?", "about"),
        ("What's in the book?", "contents"),
        ("Chapters", "contents"),
        ("Worum geht es in diesem Buch?", "about"),
        ("De quoi parle ce livre ?", "about"),
        ("¿De qué trata este libro?", "about"),
        ("Inhaltsverzeichnis", "contents"),
        ("Table des matières", "contents"),
        ("¿Qué es un libro?", ""),
        ("Wo ist das Inhaltsverzeichnis der Karten?", ""),
        ("How do I create a table of contents?", ""),
        ("What is a book?", ""),
        ("What can you do with a widget?", ""),
    ],
)
def test_questions_about_the_book_are_told_from_others(question: str, kind: str) -> None:
    assert about_book(question) == kind


async def test_where_trials_would_be_billed_the_questions_are_headings_that_were_not_tried(tmp_path: Path) -> None:
    headings = ["3.12. How many teeth does a widget have?", "4 How to mount a widget", "Repair work", "Repair work"]
    headings += ["How to for blue widgets", "How to with our widgets"]
    index = FakeIndex(info=INFO)
    for number, heading in enumerate(headings):
        chunk = replace(make_chunk(str(number), "A widget turns. " * 20), heading=heading)
        index.points[chunk.id] = Point(chunk, [1.0], SparseVector([], []))
    offered = await remembered(tmp_path, index, None, Bm25Encoder())
    assert offered == ["How many teeth does a widget have?", "How do I mount a widget?"]
    assert await untried(index, most=9) == [*offered, "What does the book say about Repair work?"]
    assert await remembered(tmp_path, index, None, Bm25Encoder()) == offered


async def test_a_book_says_what_it_is_about_and_suggests_a_question(tmp_path: Path, handbook: Path) -> None:
    index = build_index(home=tmp_path, collection="book")
    await ingest([handbook], index=index, embedder=OnnxEmbeddings(), sparse=Bm25Encoder(), vectors=FakeVectors())
    assert await suggested(index, OnnxEmbeddings(), Bm25Encoder()) == "How many teeth does a widget have?"
    async with open_agent(Settings(home=tmp_path), collection="book") as agent:
        about = await agent.ask("What is this book about?")
        contents = await agent.ask("table of contents")
        refused = await agent.ask("Who is the chief executive of the widget company?")
    assert about.plain_content.startswith("The widget handbook describes how widgets are built and repaired. [1]")
    for title in ("The Widget Handbook", "Building widgets", "Repair"):
        assert f"- {title} [" in about.plain_content
        assert f"- {title} [" in contents.plain_content
    assert "[?]" not in about.plain_content
    assert contents.notices == []
    assert refused.content == "I don't have information about that in the book content"
    assert {url for _, url in refused.closest_pages} <= set(PAGES)
    assert 0 < len(refused.closest_pages) <= 3
    assert about.closest_pages == []


def test_the_terminal_names_the_closest_pages_beside_the_refusal(tmp_path: Path, handbook: Path) -> None:
    run = CommandLine(tmp_path)
    ingested = run("ingest", str(handbook), "--collection", "widgets")
    assert ingested.out.splitlines()[-1] == (
        "To ask it a question, run: python run.py ask 'How many teeth does a widget have?' --collection widgets"
    )
    done = run("ask", "Who is the chief executive of the widget company?", "--collection", "widgets")
    assert done.out == "I don't have information about that in the book content\n"
    assert "Closest pages:\n- " in done.err


async def test_a_large_book_is_shown_by_its_parts() -> None:
    index = FakeIndex()
    for part in ("alpha", "beta"):
        for name in ["index", *(f"page{n}" for n in range(MOST))]:
            for place in (1, 0):
                path = f"{part}/{name}.md"
                chunk = replace(make_chunk(f"{path}-{place}"), source_file_path=path, chunk_index=place)
                index.points[chunk.id] = Point(chunk, [1.0], SparseVector([], []))
    found = [(chunk.source_file_path, chunk.chunk_index) for chunk in await overview(index)]
    assert found[0] == ("alpha/index.md", 0)
    assert found[-1] == ("beta/index.md", 0)
    assert len(found) <= 3


async def test_a_folder_that_holds_nearly_all_pages_is_no_part() -> None:
    index = FakeIndex()
    paths = [
        "README.md",
        "docs/index.md",
        *(f"docs/{part}/p{n}.md" for part in ("guides", "ideas") for n in range(MOST)),
    ]
    for path in paths:
        chunk = replace(make_chunk(path), source_file_path=path, chunk_index=0)
        index.points[chunk.id] = Point(chunk, [1.0], SparseVector([], []))
    found = [chunk.source_file_path for chunk in await overview(index)]
    assert found[0] == "docs/index.md"
    assert {"docs/guides/p0.md", "docs/ideas/p0.md"} < set(found)


def _index_of(pages: dict[str, str]) -> FakeIndex:
    """An index with one chunk of each page, by their paths with their titles."""
    index = FakeIndex()
    for path, title in pages.items():
        chunk = replace(make_chunk(path), source_file_path=path, chunk_index=0, title=title, breadcrumb=title)
        index.points[chunk.id] = Point(chunk, [1.0], SparseVector([], []))
    return index


async def test_a_book_whose_parts_have_pages_with_the_same_title_is_shown_by_its_parts() -> None:
    pages = {f"{part}/{name}.html": name.title() for part in ("faq", "manual") for name in ("arms", "index")}
    found = [chunk.source_file_path for chunk in await overview(_index_of({"index.html": "Pumps"} | pages))]
    assert found == ["index.html", "faq/index.html", "manual/index.html"]


async def test_the_part_of_the_start_page_is_named_once() -> None:
    titles = ("home > Pumps", "Home > Use", "Setup > Build")
    pages = {f"{name}.md": title for name, title in zip(("index", "use", "build"), titles, strict=True)}
    index = _index_of(pages | {f"rules/r{n}.md": f"Rules > r{n}" for n in range(MOST)})
    found = [chunk.source_file_path for chunk in await overview(index)]
    assert found == ["index.md", "build.md", "rules/r0.md"]
