"""Answers about real books with a label for each claim, and the passages that they cite, cut anew from the books.

`bench/claims/natural.jsonl` holds answers in which every claim is true, `falsehoods.jsonl` answers with one false claim
each. They were written without sight of the check. `blind` is the verdict of a second reader who saw the claim and the
cited passages and nothing else; figures leave out claims on which writer and reader differ. The passages' texts belong
to the books and are not stored here: each is named by book and file, by hashes of its first and last words, and by its
length in words. So it is found again when the books are cut in another way.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from rag.book import Chunk, Document

FOLDER: Final = Path(__file__).parent / "claims"
BOOKS: Final = {"rust": "rust/src"}  # where a book's pages are, unless in its folder `docs`
EDGE: Final = 5  # words at the beginning and at the end of a passage that name it
MOST_CHANGED: Final = 0.1  # share by which its length may differ, where the reading of a page has changed
_WORD: Final = re.compile(r"\w+")
_SIGNS: Final = re.compile(r"[^\w\n]*")
_SIGNS_BEFORE: Final = re.compile(r"[^\w\n]*\Z")
_NO_WORDS: Final = re.compile(r"\]\([^)\n]*\)|^[ \t>]*(?:`{3,}|~{3,}).*$", re.M)


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


@cache
def pages_of(folder: Path) -> dict[str, _Page]:
    """The pages of a book, by file."""
    from rag.ingest.loaders import load_source

    return {document.path: _Page(document) for document in load_source(folder).documents}


class _Page:
    """A page's document and its words with their places. Addresses of links and the lines of fences have no words."""

    def __init__(self, document: Document) -> None:
        self.document = document
        plain = _NO_WORDS.sub(lambda found: " " * len(found[0]), document.text)
        self.words = [(found[0].casefold(), found.start(), found.end()) for found in _WORD.finditer(plain)]

    def passage(self, begins: str, ends: str, words: int) -> Chunk | None:
        """The passage whose first and last `EDGE` words have these hashes, nearest to a length in words."""
        edge = min(EDGE, words)
        hashes = self._hashes(edge)
        found = [
            (abs(last + edge - first - words), first, last + edge)
            for first in (at for at, one in enumerate(hashes) if one == begins)
            for last in (at for at, one in enumerate(hashes) if one == ends and at >= first)
        ]
        if not found or min(found)[0] > MOST_CHANGED * words + 2:
            return None
        _, first, last = min(found)
        return self._chunk(self._around(self.words[first][1], self.words[last - 1][2]), first)

    def _around(self, start: int, end: int) -> str:
        """A stretch of the page with the signs before its first word and behind its last, on the same lines."""
        text = self.document.text
        before, behind = _SIGNS_BEFORE.search(text[:start]), _SIGNS.match(text, end)
        return text[before.start() if before else start : behind.end() if behind else end]

    def _hashes(self, edge: int) -> list[str]:
        """The hash of the words from each word on, `edge` of them."""
        texts = [word for word, _, _ in self.words]
        return [digest(texts[at : at + edge]) for at in range(len(texts) - edge + 1)]

    def _chunk(self, text: str, first: int) -> Chunk:
        """The text with the headings of the chunk that its first word stands in."""
        from rag.ingest.chunking import chunk

        starts = self.words[first][1]
        chunks = chunk(self.document, count_tokens=lambda one: len(one.split()))
        home = [one for one in chunks if 0 <= self.document.text.find(one.text) <= starts] or chunks[:1]
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return replace(home[-1], id=str(UUID(sha256[:32])), text=text, sha256=sha256)


def digest(words: Sequence[str]) -> str:
    """The hash that names a run of words."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


def answers(name: str, books: Path) -> Iterator[LabelledAnswer]:
    """The answers of a file whose passages are all found in the books below `books`; a book may be absent."""
    for line in (FOLDER / name).read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            folder = books / BOOKS.get(row["book"], f"{row['book']}/docs")
            found = [_passage(folder, one) for one in row["passages"]] if folder.is_dir() else []
            if found and all(found):
                yield _answer(row, [one for one in found if one is not None])


def _passage(folder: Path, row: dict[str, Any]) -> Chunk | None:
    page = pages_of(folder).get(row["file"])
    return page.passage(row["begins"], row["ends"], row["words"]) if page else None


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
