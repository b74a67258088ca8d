"""What a book's files and titles are called neither runs a script, nor adds a link, nor repaints a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from markdown_it import MarkdownIt

from rag.answer.cited_passage import best_quote
from rag.answer.shown_answer import format_citation, make_citation, scores_footer, sources_footer
from rag.ingest.loaders import load_source
from rag.text.markup import plain_address
from rag.types import CitationStyle
from tests.command_line import CommandLine
from tests.fakes import passage

NAMES = [
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](http:evil.example)",
    "javascript:alert(1)",
    "data:text/html,x",
    "<javascript:alert(1)>",
    "<script>alert(1)</script>",
    "a](javascript:alert(1)) [b",
    "a\\](javascript:alert(1))",
    "`<img src=x>` <b onclick=alert(1)>",
    "a\x1b]8;;http:evil.example\x07b\x1b[31mc\x9b31m\u202ed\u2066e\u200bf",
]
ORDINARY = [
    "a/b.md#c",
    "https://book.example/docs/01-a%20b?x=1#d",
    "http://[::1]:8080/a",
    "wiki/C_(language).md",
    "é.md",
]


def parsed(content: str) -> list[Any]:
    """Every token that a renderer with HTML and links switched on sees."""
    return [one for block in MarkdownIt("commonmark").parse(content) for one in (block, *(block.children or []))]


def is_harmless(content: str) -> bool:
    """Whether the Markdown holds no HTML, no image, and at most one link, to a relative address."""
    found = parsed(content)
    links = {str(one.attrs["href"]) for one in found if one.type == "link_open"}
    strange = [one for one in found if one.type in ("html_inline", "html_block", "image")]
    schemes = [link for link in links if link.lower().startswith(("javascript:", "data:", "http:"))]
    return not strange and not schemes and len(links) <= 1


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("style", get_args(CitationStyle))
def test_a_citation_shows_a_strange_name_as_text(name: str, style: CitationStyle) -> None:
    strange = passage(1).model_copy(update={"title": name, "heading": name, "breadcrumb": name, "link": f"{name}.md"})
    written = format_citation(strange, style)
    assert is_harmless(written), written
    assert written.isprintable()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_footer_shows_a_strange_name_as_text(name: str) -> None:
    strange = passage(1).model_copy(update={"title": name, "breadcrumb": name, "link": f"{name}.md"})
    citation = make_citation(strange, best_quote("A node.", strange.text), "numbered")
    for footer in (sources_footer([citation], "list"), scores_footer([(1, strange.link, 0.5)])):
        links = [one for one in parsed(footer) if one.type == "link_open"]
        assert links == [], footer
        assert is_harmless(footer), footer
        assert all(line.isprintable() for line in footer.split("\n"))


@pytest.mark.parametrize("address", ORDINARY)
def test_an_ordinary_address_stays_as_it_is(address: str) -> None:
    assert plain_address(address) == address


def test_a_file_whose_name_looks_like_a_scheme_has_a_relative_address(tmp_path: Path) -> None:
    (tmp_path / "javascript:alert(1).md").write_text("# Text", encoding="utf-8")
    (document,) = load_source(tmp_path).documents
    assert (document.path, document.url) == ("javascript:alert(1).md", "./javascript:alert(1).md")


def test_json_on_a_terminal_holds_no_raw_control_or_direction_character(tmp_path: Path) -> None:
    run = CommandLine(tmp_path)
    name = NAMES[-1].replace("/", "")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / f"{name}.md").write_text(f"A sprocket has nine teeth{name}.\n", encoding="utf-8")
    (tmp_path / "book" / f"{name}2.md").write_bytes(b"\xff")
    for command in (
        ("ingest", "book", "--json"),
        ("ask", "How many teeth does a sprocket have?", "--thread", "t", "--json"),
        ("search", "sprocket", "--json"),
        ("threads", "export", "t", "--json"),
        ("verify", "t", "--json"),
    ):
        done = run(*command)
        assert done.out.replace("\n", "").isprintable(), command
        assert done.data
    found = run("search", "sprocket", "--json").data["results"][0]
    assert found["url"] == f"./{name}.md"  # the data themselves are the book's
    shown = [run(*command).out for command in (("ask", "How many teeth does a sprocket have?"), ("search", "sprocket"))]
    assert all(text.replace("\n", "").isprintable() for text in shown)
