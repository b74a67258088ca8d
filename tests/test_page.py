"""A page of Markdown is parsed once, and its blocks are those of its text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.ingest.chunking import chunk
from rag.ingest.loaders import load_source
from rag.ingest.page import MarkdownText
from tests.fakes import count_words

BODY = "# Robots\n\nA robot has `arms`.\n\n## Arms\n\n- One:\n\n  ```py\n  x = 1\n  ```\n\nTwo:\n\n    indented\n"


@pytest.fixture
def parsed_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed as a page, in order."""
    texts: list[str] = []
    parse = MarkdownIt.parse

    def counted(self: MarkdownIt, src: str, env: Any = None) -> Sequence[Token]:
        texts.append(src)
        return parse(self, src, env)

    monkeypatch.setattr(MarkdownIt, "parse", counted)
    return texts


@pytest.mark.parametrize(
    ("name", "text", "parses"),
    [
        ("plain.md", BODY, 1),
        ("titled.md", f"---\ntitle: Robots\n---\n\n{BODY}\n", 1),
        ("tagged.md", f"<div>\n\n{BODY}\n\n</div>\n", 1),
        ("code.md", f"<div>\n\n{BODY}\n\n    <p>\n</div>\n", 2),  # once to mask its code, once without the tags
        ("page.mdx", f"import X from 'x'\n\n{BODY}\n\n<X />\n", 1),  # indented lines are no code in MDX
    ],
)
def test_a_page_is_parsed_once_from_the_file_to_the_chunks(
    tmp_path: Path, parsed_texts: list[str], name: str, text: str, parses: int
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = load_source(tmp_path).documents
    chunks = chunk(document, count_tokens=count_words)
    assert [c.heading for c in chunks] == ["", "Arms"]
    assert len(parsed_texts) == len(set(parsed_texts)) == parses
    assert parsed_texts[-1] == document.text


def test_a_heading_has_the_text_that_a_reader_sees_and_the_id_that_it_sets() -> None:
    text = "## The `node` of [ROS][1] *2* {#ros}\n\n[1]: https://ros.org\n\n> # Quoted\n\nTitle\n=====\n"
    heading, quote, title = MarkdownText(text).blocks
    assert (heading.level, heading.text, heading.anchor) == (2, "The node of ROS 2", "ros")
    assert (title.level, title.text, title.anchor) == (1, "Title", "title")
    assert quote.children[0].text == "Quoted"
    assert MarkdownText(text).title == "Title"
