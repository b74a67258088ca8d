"""Real books, cut by the embedded model's own tokenizer, keep the promises of chunking."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer

from rag.book import Chunk, Document
from rag.embedding.local import VOCABULARY, OnnxEmbeddings
from rag.ingest.chunking import MAX_TOKENS, chunk
from rag.ingest.loaders import load_source

BOOKS = Path(__file__).parent.parent.parent / "shared" / "data" / "books"
FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(```+|~~~+)", re.MULTILINE)
CODE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(```+|~~~+).*?^[ \t>]*\1[ \t]*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)",
    re.MULTILINE | re.DOTALL,
)
ROW, RULE = re.compile(r"\s*\|.*\|\s*"), re.compile(r"\s*\|[\s:|-]+\|\s*")


@cache
def _tokenizer() -> BertWordPieceTokenizer:
    return BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)


def pieces(text: str) -> int:
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def book(name: str) -> tuple[tuple[Document, ...], tuple[Chunk, ...]]:
    if not (BOOKS / name).is_dir():
        pytest.skip(f"the book {name} is not beside the repository")
    generator = {"rust": "mdbook"}.get(name.split("/")[0], "docusaurus")  # their configurations are not in the folders
    result = load_source(BOOKS / name, base_url="https://example.org/docs", generator=generator)
    assert result.failures == ()
    count = OnnxEmbeddings().count_tokens  # as an ingestion does
    chunks = (c for document in result.documents for c in chunk(document, count_tokens=count))
    return result.documents, tuple(chunks)


@pytest.fixture(params=["physical-ai/docs", "rust/src", "react-native/docs"])
def chunks(request: pytest.FixtureRequest) -> tuple[Chunk, ...]:
    return book(request.param)[1]


def has_headless_table(text: str) -> bool:
    lines = text.split("\n")
    firsts = [n for n, line in enumerate(lines) if ROW.fullmatch(line) and not (n and ROW.fullmatch(lines[n - 1]))]
    return any(n + 1 == len(lines) or not RULE.fullmatch(lines[n + 1]) for n in firsts)


def test_every_chunk_fits_the_embedding_model(chunks: tuple[Chunk, ...]) -> None:
    assert max(pieces(c.embedded_text) for c in chunks) <= MAX_TOKENS


def test_every_fence_is_closed(chunks: tuple[Chunk, ...]) -> None:
    assert [c.text for c in chunks if len(FENCE.findall(c.text)) % 2] == []


def test_every_table_has_its_head(chunks: tuple[Chunk, ...]) -> None:
    assert [c.text for c in chunks if has_headless_table(CODE.sub("", c.text))] == []


def test_ids_are_unique(chunks: tuple[Chunk, ...]) -> None:
    assert len({c.id for c in chunks}) == len(chunks)


def test_no_markup_of_a_site_generator_is_left(chunks: tuple[Chunk, ...]) -> None:
    residue = re.compile(
        r"from ['\"]@theme|</?(?:[A-Z]\w+|div|span|details|Listing)\b[^>]*>|<!--|\{/\*|\{\{#|^:::", re.M
    )
    assert [c.text for c in chunks if residue.search(CODE.sub("", c.text))] == []


def test_every_page_with_text_has_a_chunk() -> None:
    for name in ("physical-ai/docs", "rust/src", "react-native/docs"):
        documents, chunks = book(name)
        found = {c.source_file_path for c in chunks}
        assert [d.path for d in documents if len(d.text) > 200 and d.path not in found] == []


def test_the_textbooks_chapters_and_addresses_are_the_sites() -> None:
    documents, chunks = book("physical-ai/docs")
    assert len(documents) == 15
    page = next(
        c for c in chunks if c.source_file_path == "03-ros2-fundamentals/index.md" and c.heading == "What is ROS2?"
    )
    assert page.link == "https://example.org/docs/ros2-fundamentals#what-is-ros2"
    assert page.chapter == "Chapter 3: ROS2 Fundamentals"
    assert page.breadcrumb == "Chapter 3: ROS2 Fundamentals > What is ROS2?"
