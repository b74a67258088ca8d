"""Answers about real books with a label for each claim, and the passages that they cite, cut anew from the books.

`bench/claims/natural.jsonl` holds answers in which every claim is true, `falsehoods.jsonl` answers with one false claim
each. They were written without sight of the check. `blind` is the verdict of a second reader who saw the claim and the
cited passages and nothing else; figures leave out claims on which writer and reader differ. The passages' texts belong
to the books and are not stored here: each is named by book, file, and place, and recognised by its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rag.book import Chunk

FOLDER: Final = Path(__file__).parent / "claims"
BOOKS: Final = {"uv": "uv/docs", "rust": "rust/src", "redux": "redux/docs", "physical-ai": "physical-ai/docs"}


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """`text` is the claim without markers; `cites` are the numbers of the passages that it cites."""

    text: str
    cites: tuple[int, ...]
    true: bool
    agreed: bool


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """`kind` is "natural" or the kind of the one false claim. `known` holds title, breadcrumb and file of passages."""

    id: str
    book: str
    kind: str
    question: str
    answer: str
    passages: tuple[str, ...]
    known: tuple[str, ...]
    claims: tuple[LabelledClaim, ...]
    chunks: tuple[Chunk, ...]


def digest(text: str) -> str:
    """The hash that names a passage's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def chunks_of(folder: Path) -> dict[str, dict[str, Chunk]]:
    """The chunks of a book by file and by hash of their text."""
    from rag.embedding.local import OnnxEmbeddings
    from rag.ingest.chunking import chunk
    from rag.ingest.loaders import load_source

    embedder = OnnxEmbeddings()
    found: dict[str, dict[str, Chunk]] = {}
    for document in load_source(folder).documents:
        for one in chunk(document, count_tokens=embedder.count_tokens):
            found.setdefault(document.path, {})[digest(one.text)] = one
    return found


def answers(name: str, books: Path) -> Iterator[LabelledAnswer]:
    """The answers of a file whose passages are all found in the books below `books`."""
    for line in (FOLDER / name).read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            found = [_passage(books / BOOKS[row["book"]], one) for one in row["passages"]]
            if all(found):
                yield _answer(row, [one for one in found if one is not None])


def _passage(folder: Path, row: dict[str, Any]) -> Chunk | None:
    return chunks_of(folder).get(row["file"], {}).get(row["sha256"])


def _answer(row: dict[str, Any], passages: list[Chunk]) -> LabelledAnswer:
    claims = [
        LabelledClaim(
            one["text"], tuple(one["cites"]), one["label"] == "true", one.get("blind", one["label"]) == one["label"]
        )
        for one in row["claims"]
    ]
    return LabelledAnswer(
        id=row["id"],
        book=row["book"],
        kind=row["kind"],
        question=row["question"],
        answer=row["answer"],
        passages=tuple(one.text for one in passages),
        known=tuple("\n".join([one.title, one.breadcrumb, one.source_file_path]) for one in passages),
        claims=tuple(claims),
        chunks=tuple(passages),
    )
