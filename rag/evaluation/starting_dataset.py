"""A starting dataset from a book, to be edited by hand: headings and sentences as questions, with their pages.

The same book gives the same dataset. Candidates are taken page by page in the order of hashes, so that a small dataset
still covers the whole book.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from rag.book import Chunk
from rag.evaluation.question_wording import (
    follow_up_of,
    heading_words,
    misspelt,
    question_of,
    question_of_sentence,
)
from rag.text.sentences import units
from rag.text.terms import keys, terms

Row = dict[str, Any]
# The share of each kind in percent; headings fill up what another kind lacks.
_SHARES: Final = {"sentence": 25, "followup": 15, "misspelt": 10, "unanswerable": 20}
_SHORTEST_TEXT: Final = 120  # characters below a heading that can answer a question
_HEAVY: Final = 0.5  # weight of a term without which a question cannot be answered


def starting_dataset(chunks: Sequence[Chunk], others: Sequence[Chunk], number: int, *, ids: bool) -> list[Row]:
    """About `number` rows of a dataset about the book `chunks`; fewer if the book is too small.

    `others` are chunks of other books, for questions that this book does not answer. With `ids` a row also names the
    passage that answers, if it is a single one; otherwise it names the page only.
    """
    sections = _sections(chunks)
    headings = list(_headings(sections))
    kinds: dict[str, list[Row]] = {
        "heading": _spread(headings),
        "sentence": _spread(_sentences(chunks)),
        "followup": _spread(_follow_ups(sections)),
        "misspelt": _spread(_misspelt(headings)),
        "unanswerable": list(_unanswerable(chunks, others)),
    }
    wanted = {kind: number * share // 100 for kind, share in _SHARES.items()}
    taken = {kind: kinds[kind][:count] for kind, count in wanted.items()}
    taken["heading"] = kinds["heading"][: number - sum(map(len, taken.values()))]
    rows = [row for kind in kinds for row in taken[kind]]
    return [_finished(row, ids=ids) for row in rows]


def _sections(chunks: Iterable[Chunk]) -> dict[tuple[str, str], list[Chunk]]:
    """The chunks of each page by heading, in the order of the book, without headings that occur on several pages."""
    pages: dict[str, set[str]] = defaultdict(set)
    found: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda one: (one.source_file_path, one.url, one.chunk_index)):
        heading = heading_words(chunk.heading or chunk.title)
        if heading:
            pages[heading.lower()].add(chunk.source_file_path or chunk.url)
            found[chunk.source_file_path or chunk.url, heading].append(chunk)
    return {
        (page, heading): below
        for (page, heading), below in found.items()
        if len(pages[heading.lower()]) == 1 and sum(len(one.text) for one in below) >= _SHORTEST_TEXT
    }


def _headings(sections: dict[tuple[str, str], list[Chunk]]) -> Iterator[Row]:
    for (page, heading), below in sections.items():
        yield {"kind": "heading", "questions": [question_of(heading)], "page": page, "chunks": below}


def _sentences(chunks: Sequence[Chunk]) -> Iterator[Row]:
    """Sentences that stand alone, as questions; those that the book has twice are left out."""
    found: list[Row] = []
    for chunk in chunks:
        for unit in units(chunk.text):
            if unit.kind == "sentence" and (question := question_of_sentence(unit.text)):
                page = chunk.source_file_path or chunk.url
                row = {"kind": "sentence", "questions": [question], "page": page, "chunks": [chunk]}
                found.append(row | {"reference": unit.text.strip()})
    often = Counter(row["questions"][0].lower() for row in found)
    return (row for row in found if often[row["questions"][0].lower()] == 1)


def _follow_ups(sections: dict[tuple[str, str], list[Chunk]]) -> Iterator[Row]:
    """A question about one heading of a page, and then about the next one."""
    for ((page, first), _), ((other, second), below) in pairwise(sections.items()):
        if page == other and not second.endswith("?"):
            yield {
                "kind": "followup",
                "questions": [question_of(first), follow_up_of(second)],
                "standalone": question_of(second),
                "page": page,
                "chunks": below,
            }


def _misspelt(headings: Sequence[Row]) -> Iterator[Row]:
    for row in headings:
        if wrong := misspelt(row["questions"][0]):
            yield row | {"kind": "misspelt", "questions": [wrong]}


def _unanswerable(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> Iterator[Row]:
    """Questions of other books that share words with this one but need a word that it does not have, nearest first."""
    if not chunks:
        return
    known = frozenset().union(*(keys(f"{chunk.breadcrumb}\n{chunk.text}") for chunk in chunks))
    near: list[tuple[int, str, str, str]] = []
    for page, heading in _sections(others):
        question = question_of(heading)
        needed = [term for term in terms(question) if term.weight >= _HEAVY]
        shared = sum(term.within(known) for term in needed)
        if shared < len(needed):
            near.append((-shared, _hash(question), question, page))
    asked: set[str] = set()
    for _, _, question, page in sorted(near):
        if page not in asked:  # one a page, since those of a page are alike
            yield {"kind": "unanswerable", "questions": [question]}
        asked.add(page)


def _spread(rows: Iterable[Row]) -> list[Row]:
    """One row of each page, then another of each, and so on; pages and rows in the order of their hashes."""
    pages: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: _hash(one["page"], *one["questions"])):
        pages[row["page"]].append(row)
    ordered = [pages[page] for page in sorted(pages, key=_hash)]
    longest = max(map(len, ordered), default=0)
    return [page[place] for place in range(longest) for page in ordered if place < len(page)]


def _finished(row: Row, *, ids: bool) -> Row:
    """The row as it is printed."""
    questions = row["questions"]
    asked: Row = {"question": questions[0]} if len(questions) == 1 else {"questions": questions}
    if row["kind"] == "unanswerable":
        return {"kind": row["kind"]} | asked | {"answerable": False}
    labels: Row = {"pages": f"^{re.escape(row['page'])}$"}
    if ids and len(row["chunks"]) == 1:
        labels["relevant"] = [row["chunks"][0].id]
    given = {name: row[name] for name in ("standalone", "reference") if name in row}
    return {"kind": row["kind"]} | asked | labels | given


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
