"""Weights of the score of a block in an answer without a model, fitted on the questions of many books.

    python -m bench.ranking ../shared/data --home /tmp/askbook-bench [--book NAME]

Asks the questions of `bench.quoting` about each book, and fits a softmax over the best blocks of each question. A block
is right if it is on a page that matches `pages`, and its text matches `answer`; if no block has the whole answer, those
of a section that has it are. Prints how often the best block is right by the weights in use and by weights that were
fitted on the other books, and then the weights fitted on all. The weights of `faults`, `defines` and the direction are
those in use: few questions tell them.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.product import open_book
from bench.quoting import PAGES, Case, cases
from rag.embedding.local import OnnxEmbeddings
from rag.quoting.blocks import NumberedPassage, QuoteBlock
from rag.quoting.relevance import COSINE, MATCH, OPENS, PATH, RANK, SHOWS, Reading, read
from rag.services import QUOTED_FROM

NAMES: Final = ("cosine", "path", "match", "rank", "shows", "opens")
IN_USE: Final = np.array([COSINE, PATH, MATCH, -RANK, SHOWS, OPENS])
RIDGE: Final = 0.003
STEPS: Final = 4000
RATE: Final = 0.5
SEARCH_THRESHOLD: Final = 0.2  # of the search, as in the default profile

Floats = NDArray[np.float64]


class Question(NamedTuple):
    """The best blocks of a question: their features, the rest of their scores, and which are right."""

    book: str
    x: Floats
    rest: Floats
    right: Floats


def evidence(block: QuoteBlock, reading: Reading) -> list[float]:
    asked = reading.shape
    shows = asked.steps and not asked.definition and block.form == "code"
    opens = asked.definition and block.place == 0
    return [block.cosine, block.path_cosine, block.match, block.rank, float(shows), float(opens)]


def question_of(case: Case, reading: Reading) -> Question | None:
    """The question as rows of numbers; None if no embedded block is right, or all are."""
    blocks = [block for block in reading.ranked if block.weakest is not None]
    pattern = re.compile(case.answer or "")
    sections = ["\n".join(b.text for b in reading.runs[block.run] if b.section == block.section) for block in blocks]
    right = have(case, pattern, blocks, [block.text for block in blocks]) or have(case, pattern, blocks, sections)
    if all(right) or not any(right):
        return None
    x = np.array([evidence(block, reading) for block in blocks])
    score = np.array([block.score for block in blocks])
    return Question(case.book, x, score - x @ IN_USE, np.array(right, dtype=np.float64))


def have(case: Case, pattern: re.Pattern[str], blocks: list[QuoteBlock], texts: list[str]) -> list[bool]:
    """Whether each block is on the right page and its text has the answer; empty if none has."""
    pages = re.compile(case.pages or "", re.IGNORECASE)
    found = [bool(pages.search(b.passage.page) and pattern.search(text)) for b, text in zip(blocks, texts, strict=True)]
    return found if any(found) else []


async def questions(data: Path, home: Path, book: str) -> list[Question]:
    folder = data / "books" / book
    pages = next((folder / name for name in PAGES if (folder / name).is_dir()), folder)
    retriever, embedder = await open_book(pages, home, book), OnnxEmbeddings()
    result = []
    for case in cases(data / "books"):
        if case.book == book and case.pages is not None and len(case.questions) == 1:
            search = await retriever.retrieve(case.questions[0], k=QUOTED_FROM, threshold=SEARCH_THRESHOLD)
            shown = [NumberedPassage.of(passage) for passage in search.passages]
            result.append(question_of(case, read(case.questions[0], shown, embedder)))
    return [one for one in result if one is not None]


def fit(rows: list[Question]) -> Floats:
    """The weights that make a right block likely, by gradient descent on the log loss with a ridge penalty."""
    weights = np.zeros(len(NAMES))
    for _ in range(STEPS):
        gradient = 2 * RIDGE * weights
        for row in rows:
            p = softmax(row.x @ weights + row.rest)
            gradient -= row.x.T @ (row.right * p / (row.right @ p) - p) / len(rows)
        weights -= RATE * gradient / (1 + np.abs(gradient))
    return weights


def softmax(scores: Floats) -> Floats:
    e = np.exp(scores - scores.max())
    return np.asarray(e / e.sum())


def right_first(rows: list[Question], weights: Floats) -> int:
    return sum(int(row.right[int((row.x @ weights + row.rest).argmax())]) for row in rows)


async def run(data: Path, home: Path, books: list[str]) -> None:
    by_book = {book: await questions(data, home, book) for book in books}
    every = [row for rows in by_book.values() for row in rows]
    for book, rows in by_book.items():
        others = [row for row in every if row.book != book] or every
        print(
            f"{book:14} right first: {right_first(rows, IN_USE)} of {len(rows)} in use, "
            f"{right_first(rows, fit(others))} fitted on the others"
        )
    print("fitted on all: " + ", ".join(f"{n} {w:.2f}" for n, w in zip(NAMES, fit(every), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--book", action="append", help="only this book; may be repeated")
    options = parser.parse_args()
    known = list(dict.fromkeys(case.book for case in cases(options.data / "books")))
    asyncio.run(run(options.data, options.home, options.book or known))


if __name__ == "__main__":
    main()
