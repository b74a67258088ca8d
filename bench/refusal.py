"""Refusals of the quoting answerer, with fitted weights for `rag.quoting.answerer`.

    python -m bench.refusal ../shared/data/books --cache /tmp/askbook-bench

Each book is asked its own questions, near misses (same field, not in the book), far-off questions, and the other books'
questions. A question counts as answerable when its chapter is among the twelve passages found; otherwise it is left
out, since the answerer can only quote what was found. A hash chooses half of the questions to fit the weights.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.brute_force import BruteForce
from bench.logistic import fit_logistic
from bench.product import BOOKS
from rag.embedding.local import OnnxEmbeddings
from rag.quoting.answerer import THRESHOLD, WITH_TOKENS, WORDS_ONLY, ConfidenceWeights, Features, features
from rag.quoting.blocks import NumberedPassage
from rag.quoting.relevance import read
from rag.services import QUOTED_FROM

KINDS = {"labelled": 3.0, "answerable": 1.0, "near": 2.0, "cross": 0.6, "far": 1.0}  # weights in the fit
RIDGE = 0.002


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the features of its passages."""

    book: str
    kind: str
    question: str
    gate: float  # the best cosine of question and chunk, which a score threshold compares with
    seen: Features
    words: Features  # without an embedding model

    @property
    def tunes(self) -> bool:
        return zlib.crc32(self.question.encode()) % 2 == 0

    @property
    def answerable(self) -> bool:
        return self.kind in ("labelled", "answerable")


def questions(book: str, written: dict[str, Any], books: Path) -> Iterator[tuple[str, str, str]]:
    """Kind, question, and the prefix of the answering page's path ("" for none)."""
    labels = books / book / "labelled_queries.json"
    if labels.is_file():
        for query in json.loads(labels.read_text(encoding="utf-8"))["test_queries"]:
            yield "labelled", query["query"], f"{query['expected_chapter']:02d}-"
    for entry in written[book]["answerable"]:
        yield "answerable", entry["q"], entry["expects"]
    for question in written[book]["near"]:
        yield "near", question, ""
    for question in written["far"]:
        yield "far", question, ""
    for other in BOOKS:
        if other != book:
            for entry in written[other]["answerable"][::2]:
                if entry["q"] not in written["answered_elsewhere"][book]:
                    yield "cross", entry["q"], ""


def cases(books: Path, cache: Path) -> Iterator[Case]:
    written = json.loads((Path(__file__).parent / "data" / "refusal_questions.json").read_text(encoding="utf-8"))
    embedder = OnnxEmbeddings()
    for book, folder in BOOKS.items():
        index = BruteForce(books / folder, embedder, cache)
        for kind, question, expects in questions(book, written, books):
            found, gate = index.search(question, QUOTED_FROM)
            paths = [part for p in found for part in (p.source_file_path, p.source_file_path.rpartition("/")[2])]
            if expects and not any(path.startswith(expects) for path in paths):
                print(f"not found, left out: {book}: {question}")
                continue
            passages = [NumberedPassage.of(passage) for passage in found]
            seen, words = (features(read(question, passages, e), words_only=e is None) for e in (embedder, None))
            yield Case(book, kind, question, gate, seen, words)


def fit(x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The fitted weights; the last one is the bias, which has no penalty to speak of."""
    ridge = np.array([RIDGE] * x.shape[1] + [1e-9])
    return fit_logistic(np.c_[x, np.ones(len(x))], y, weight / weight.sum(), ridge)


def study(name: str, rows: list[Case], x: NDArray[np.float64], used: ConfidenceWeights) -> NDArray[np.float64]:
    """Print the fitted weights and the refusals by the weights in use. Returns the latter's probabilities."""
    tunes = np.array([case.tunes for case in rows])
    y = np.array([float(case.answerable) for case in rows])
    weight = np.array([KINDS[case.kind] for case in rows])
    columns = x.std(axis=0) > 0
    fitted = fit(x[tunes][:, columns], y[tunes], weight[tunes])
    names = np.array(list(Features.__dataclass_fields__))[columns]
    print(f"\n## {name}\nfitted: " + ", ".join(f"{n} {w:.2f}" for n, w in zip([*names, "bias"], fitted, strict=True)))
    p: NDArray[np.float64] = 1 / (1 + np.exp(-(x @ np.array(astuple(used.coefficients)) + used.bias)))
    for tuning, half in ((True, "tuned on"), (False, "held out")):
        for kind in KINDS:
            refused = [p[i] < THRESHOLD for i, c in enumerate(rows) if c.kind == kind and c.tunes is tuning]
            print(f"{half:9} {kind:11} refused {sum(refused):3} of {len(refused):3}  {np.mean(refused):6.1%}")
    return p


def gate_curve(rows: list[Case]) -> None:
    """Print the share of questions of each kind that a score threshold alone would refuse."""
    print("\n## A threshold on the cosine of question and chunk: share turned away\nthreshold  " + "  ".join(KINDS))
    for threshold in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        shares = [np.mean([c.gate < threshold for c in rows if c.kind == kind]) for kind in KINDS]
        print(f"{threshold:9.2f}  " + "  ".join(f"{s:{len(k)}.1%}" for s, k in zip(shares, KINDS, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the vectors of the books")
    parser.add_argument("--show", action="store_true", help="list wrongly decided questions")
    args = parser.parse_args()
    rows = list(cases(args.books, args.cache))
    p = study("With the embedding model", rows, np.array([astuple(c.seen) for c in rows]), WITH_TOKENS)
    study("Words only", rows, np.array([astuple(c.words) for c in rows]), WORDS_ONLY)
    gate_curve(rows)
    if args.show:
        for case, probability in zip(rows, p, strict=True):
            if case.answerable != (probability >= THRESHOLD):
                print(f"{probability:.2f} {case.kind} {case.book}: {case.question}")


if __name__ == "__main__":
    main()
