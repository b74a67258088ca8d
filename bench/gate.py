"""Weights of the gate of the quoting answerer, fitted on questions about 24 books.

    python -m bench.gate
    python -m bench.gate --collect ../shared/data --home /tmp/askbook-bench

`bench/data/gate_questions.jsonl` has the questions with the evidence of `rag.quoting.answerer.Features`. The first
command fits the weights of `WITH_TOKENS` on it, and prints how many questions would be answered when each book is left
out in turn. The second one asks the questions about the books below DATA/books again, and writes their evidence anew.

A row is `right` if the quoted blocks are, by the patterns `pages` and `answer`; a question without `pages` has no
answer in the book. A question whose answer was not quoted fits nothing: neither an answer nor a refusal would be right.
`same` says that a heading asks the same, which passes the gate without its weights. Questions of kind "cross" are about
other books, "far" about something else, "near" about something that the book could have answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.logistic import Floats, fit_logistic
from bench.product import open_book
from bench.quoting import PAGES
from rag.embedding.local import OnnxEmbeddings
from rag.evaluation.dataset import json_lines
from rag.quoting.answerer import SAME, THRESHOLD, WITH_TOKENS, Features, excerpt, features
from rag.quoting.blocks import NumberedPassage
from rag.quoting.relevance import asks_same, read
from rag.services import QUOTED_FROM
from rag.types import Passage

QUESTIONS: Final = Path(__file__).parent / "data" / "gate_questions.jsonl"
FAR: Final = ("cross", "far")
RIDGE: Final = 0.002
NEAR_WEIGHT: Final = 2.0  # in the fit, of a question that the book does not answer; an answerable one has 1
FAR_WEIGHT: Final = 0.6
SEARCH_THRESHOLD: Final = 0.2  # of the search, as in the default profile

Row = dict[str, Any]
Flags = NDArray[np.bool_]


class Rows:
    """The questions as columns: `evidence` has a row for each question, and 1 in its last column."""

    def __init__(self, rows: list[Row]) -> None:
        self.book = np.array([row["book"] for row in rows])
        self.answerable: Flags = np.array([row["pages"] is not None for row in rows])
        self.right: Flags = np.array([bool(row["right"]) for row in rows])
        self.far: Flags = np.array([row["kind"] in FAR for row in rows])
        self.same: Flags = np.array([bool(row["same"]) for row in rows])
        self.evidence: Floats = np.array([[*row["features"], 1.0] for row in rows])

    @property
    def fitted(self) -> Flags:
        return self.right | ~self.answerable


def fit(rows: Rows, chosen: Flags, columns: Flags) -> Floats:
    """The weights of the chosen evidence and the bias; 0 for a column that is left out."""
    weight = np.where(rows.answerable, 1.0, np.where(rows.far, FAR_WEIGHT, NEAR_WEIGHT))[chosen]
    ridge = np.array([RIDGE] * (int(columns.sum()) - 1) + [1e-9])
    found = np.zeros(len(columns))
    x, y = rows.evidence[chosen][:, columns], rows.answerable[chosen].astype(float)
    found[columns] = fit_logistic(x, y, weight / weight.sum(), ridge)
    return found


def left_out(rows: Rows, columns: Flags) -> Floats:
    """The score of each question by weights that were fitted on the other books."""
    scores = np.zeros(len(rows.book))
    for book in np.unique(rows.book):
        own = rows.book == book
        scores[own] = rows.evidence[own] @ fit(rows, rows.fitted & ~own, columns)
    return scores


def report(name: str, rows: Rows, scores: Floats, least: float) -> None:
    """Print how many questions of each kind would be answered with the least score `least`."""
    passed = (scores >= least) | rows.same
    near = ~rows.answerable & ~rows.far
    far, wrong = rows.far, rows.answerable & ~rows.right
    print(
        f"{name:44} right: {(passed & rows.right).sum():3} of {rows.right.sum()}   "
        f"not right: {(passed & wrong).sum():2} of {wrong.sum()}   "
        f"refused: {(~passed & near).sum():3} of {near.sum()} near, {(~passed & far).sum():2} of {far.sum()} far"
    )


def study(rows: Rows) -> None:
    """Print the fitted weights, and what they and fewer kinds of evidence pass at the refusals of those in use."""
    names = [field.name for field in fields(Features)]
    every = np.ones(len(names) + 1, dtype=bool)
    found = fit(rows, rows.fitted, every)
    print("fitted: " + ", ".join(f"{n} {w:.2f}" for n, w in zip([*names, "bias"], found, strict=True)))
    used = rows.evidence @ np.array([*astuple(WITH_TOKENS.coefficients), WITH_TOKENS.bias])
    logit = float(np.log(THRESHOLD / (1 - THRESHOLD)))
    report("in use", rows, used, logit)
    near = ~rows.answerable & ~rows.far & ~rows.same
    refused = int(((used < logit) & near).sum())
    for gone in ((), ("there",), ("together",), ("missing_there",), ("there", "together", "missing_there")):
        columns = np.array([*(name not in gone for name in names), True])
        scores = left_out(rows, columns)
        least = float(np.sort(scores[near])[refused - 1]) + 1e-9
        report(f"other books, without {', '.join(gone) or 'nothing'}", rows, scores, least)


async def collect(rows: Iterable[Row], data: Path, home: Path) -> list[Row]:
    """The rows with their evidence computed anew; those of books that DATA lacks stay as they are."""
    embedder = OnnxEmbeddings()
    found: list[Row] = []
    retrievers: dict[str, Any] = {}
    for row in rows:
        folder = data / "books" / row["book"]
        if not folder.is_dir():
            found.append(row)
            continue
        if row["book"] not in retrievers:
            pages = next((folder / name for name in PAGES if (folder / name).is_dir()), folder)
            retrievers[row["book"]] = await open_book(pages, home, row["book"])
        search = retrievers[row["book"]].retrieve(row["question"], k=QUOTED_FROM, threshold=SEARCH_THRESHOLD)
        found.append({**row, **evidence(row, (await search).passages, embedder)})
    return found


def evidence(row: Row, passages: list[Passage], embedder: OnnxEmbeddings) -> Row:
    reading = read(row["question"], [NumberedPassage.of(passage) for passage in passages], embedder)
    text = "".join(excerpt(reading))
    cited = [p for p in passages if f"[{p.number}]" in text]
    places = [place for p in cited for place in (p.source_file_path, p.url)]
    on_page = row["pages"] is not None and any(re.search(row["pages"], place, re.IGNORECASE) for place in places)
    return {
        "right": on_page and bool(re.search(row["answer"] or "", re.sub(r" ?\[\d+\]", "", text))),
        "same": any(asks_same(reading.terms, block.heading) > SAME for block in reading.ranked),
        "features": [round(float(value), 4) for value in astuple(features(reading))],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collect", type=Path, help="the folder DATA")
    parser.add_argument("--home", type=Path, help="folder for the index, with --collect")
    options = parser.parse_args()
    if options.collect and not options.home:
        parser.error("--collect needs --home.")
    rows = [row for _, row in json_lines(QUESTIONS.read_text(encoding="utf-8"))]
    if options.collect:
        rows = asyncio.run(collect(rows, options.collect, options.home))
        QUESTIONS.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    study(Rows(rows))


if __name__ == "__main__":
    main()
