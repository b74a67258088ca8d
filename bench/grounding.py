"""False and true sentences that the grounding check removes, by mutation, and its time.

    python -m bench.grounding ../shared/data

Checks sentences of MTRAG's reference answers and of their relevant passages unchanged, and with one change at a time. A
hash splits the conversations: two thirds were used while the check was written ("tuned"), one third was not ("kept").
Sentences of three technical books are checked against their pages, and so are paraphrases of those pages that were
written for this test ("paraphrases"; used while the check was written as well).
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.grounding_mutations import mutants, names
from bench.product import BOOKS
from bench.table import Row
from rag.answer.check import Finding, check
from rag.answer.evidence import Source
from rag.answer.units import units
from rag.evaluation.dataset import json_lines
from rag.text.sentences import sentence_spans
from rag.types import Passage

PARAPHRASES = Path(__file__).parent / "paraphrases.txt"
AS_IS = "as it is"
SEPARATE = ("of another answer", "names exchanged")  # kinds that the total leaves out
_NEXT_ITEM = re.compile(r" \d{1,2}\.$")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence to check against passages. `part` is "tuned", "kept", "paraphrases" or a book's name."""

    part: str
    source: str
    kind: str
    sentence: str
    passages: tuple[str, ...]


def conversations(folder: Path) -> list[tuple[str, str, list[str]]]:
    """Part, reference answer and relevant passages of each turn that has relevant passages."""
    texts = {row["_id"]: row["text"] for _, row in json_lines((folder / "passages.jsonl").read_text(encoding="utf-8"))}
    turns = [turn for _, turn in json_lines((folder / "turns.jsonl").read_text(encoding="utf-8"))]
    return [
        (part_of(turn["id"]), turn["reference_answer"], [texts[i] for i in turn["relevant_passages"]])
        for turn in turns
        if turn["relevant_passages"]
    ]


def part_of(turn: str) -> str:
    return "kept" if zlib.crc32(turn.partition("<")[0].encode()) % 6 in (2, 4) else "tuned"


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the number of the next item where a list runs on ("1. Drugs 2. Infection")."""
    found = [text[start:end] for start, end in sentence_spans(text)]
    return [_NEXT_ITEM.sub("", sentence) for sentence in found] if " 1. " in text and " 2. " in text else found


def whole_sentences(text: str) -> list[str]:
    """The sentences of running text with at least six words and a full stop, each on one line."""
    title = text.partition("\n")[0]
    found = [text[u.start : u.end].removeprefix(f"{title}\n") for u in units(text) if u.kind == "sentence"]
    return [" ".join(one.split()) for one in found if one.endswith(".") and len(one.split()) >= 6]


def checked_alone(sentence: str, passages: Sequence[str]) -> Finding:
    """The check of a sentence against passages without titles."""
    sources = [
        Source(Passage(number=number, score=1.0, chunk_id=str(number), text=text, title="", url="", link=""))
        for number, text in enumerate(passages, 1)
    ]
    return check(sentence, sources, sources)


def cases(data: Path) -> Iterator[Case]:
    turns = conversations(data / "mtrag" / "clapnq")
    stock = [name for _, _, passages in turns[::7] for name in names(passages[0])]
    for index, (part, answer, passages) in enumerate(turns):
        rng = random.Random(index)
        stranger = turns[(index * 7 + 40) % len(turns)]
        for sentence in sentences(answer):
            yield from _with_mutants(part, "reference", sentence, passages, stock, rng)
        for sentence in sentences(stranger[1])[:2]:
            if not set(stranger[2]) & set(passages):
                yield Case(part, "reference", "of another answer", sentence, tuple(passages))
        stated = [s for p in passages for s in whole_sentences(p)]
        for sentence in rng.sample(stated, min(3, len(stated))):
            yield from _with_mutants(part, "passage", sentence, passages, stock, rng)
    books = {book: chunks_of(data / "books" / folder) for book, folder in BOOKS.items()}
    for book, chunks in books.items():
        yield from book_cases(book, chunks)
    yield from paraphrases(books)


def chunks_of(folder: Path) -> list[str]:
    pages = [p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*.md*"))]
    return [chunk for page in pages for chunk in _chunks(page)]


def paraphrases(books: Mapping[str, Sequence[str]]) -> Iterator[Case]:
    """The cases of the file: a block names a book and words of one of its passages, then has sentences based on it."""
    for block in PARAPHRASES.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *paraphrased = block.split("\n")
        book, _, words = head.partition(": ")
        rng = random.Random(head)
        passages = [next(c for c in books[book] if words in c), *rng.sample(list(books[book]), 2)]
        stock = [name for chunk in books[book][::15] for name in names(chunk)]
        for sentence in paraphrased:
            yield from _with_mutants("paraphrases", "reference", sentence, passages, stock, rng)


def book_cases(book: str, chunks: Sequence[str]) -> Iterator[Case]:
    rng = random.Random(book)
    stock = [name for chunk in chunks[::15] for name in names(chunk)]
    for chunk in rng.sample(list(chunks), min(120, len(chunks))):
        passages = [chunk, *rng.sample(chunks, 2)]
        stated = whole_sentences(chunk)
        for sentence in rng.sample(stated, min(2, len(stated))):
            yield from _with_mutants(book, "passage", sentence, passages, stock, rng)


def _chunks(page: str, size: int = 1200) -> list[str]:
    found = [""]
    for block in page.split("\n\n"):
        if len(found[-1]) > size:
            found.append("")
        found[-1] += block + "\n\n"
    return [chunk for chunk in found if len(chunk) > 300]


def _with_mutants(
    part: str, source: str, sentence: str, passages: Sequence[str], stock: Sequence[str], rng: random.Random
) -> Iterator[Case]:
    yield Case(part, source, AS_IS, sentence, tuple(passages))
    for mutant in mutants(sentence, passages, stock, rng):
        yield Case(part, source, mutant.kind, mutant.text, tuple(passages))


def table(checked: Sequence[Case], supported: Sequence[bool], part: str) -> None:
    for source in ("reference", "passage"):
        rows: dict[str, list[bool]] = defaultdict(list)
        for case, kept in zip(checked, supported, strict=True):
            if case.part == part and case.source == source:
                rows[case.kind].append(not kept)
        if not rows:
            continue
        print(f"\n{part}: sentences of the {source}{'s' if source == 'passage' else ' answers'}")
        for kind, removed in rows.items():
            print(f"  {kind:24} {len(removed):5}  removed {100 * sum(removed) / len(removed):5.1f}%")
        false = [r for kind, removed in rows.items() if kind not in (AS_IS, *SEPARATE) for r in removed]
        if false:
            print(f"  {'all made false':24} {len(false):5}  removed {100 * sum(false) / len(false):5.1f}%")


def timed(checked: Sequence[Case]) -> tuple[list[bool], list[float]]:
    """Whether each sentence is supported, and the seconds of its check."""
    supported, seconds = [], []
    for case in checked:
        begin = time.perf_counter()
        supported.append(checked_alone(case.sentence, case.passages).standing == "supported")
        seconds.append(time.perf_counter() - begin)
    return supported, seconds


def rows(data: Path) -> Iterator[Row]:
    """The share of changed sentences of passages that are found, of unchanged ones that are doubted, and the time."""
    checked = list(cases(data))
    supported, seconds = timed(checked)
    found: dict[bool, list[bool]] = {True: [], False: []}
    for case, kept in zip(checked, supported, strict=True):
        if case.source == "passage" and case.kind not in SEPARATE:
            found[case.kind == AS_IS].append(not kept)
    yield Row("sentences of passages with one change, removed or marked", "%", [100 * statistics.mean(found[False])])
    yield Row("sentences of passages as they are, removed or marked", "%", [100 * statistics.mean(found[True])])
    yield Row("check of a sentence", "ms", [1000 * one for one in seconds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", help="print sentences that went wrong: PART/SOURCE/KIND")
    parser.add_argument("--limit", type=int, default=30)
    arguments = parser.parse_args()
    checked = list(cases(arguments.data))
    supported, seconds = timed(checked)
    if arguments.show:
        show(checked, supported, arguments.show.split("/"), arguments.limit)
        return
    for part in dict.fromkeys(case.part for case in checked):
        table(checked, supported, part)
    size = statistics.median(sum(map(len, case.passages)) for case in checked)
    quick = sorted(seconds)
    print(
        f"\n{len(checked)} checks: median {1000 * statistics.median(quick):.2f} ms, "
        f"95th percentile {1000 * quick[int(0.95 * len(quick))]:.2f} ms, slowest {1000 * quick[-1]:.1f} ms; "
        f"passages of {size:.0f} characters at the median"
    )


def show(checked: Sequence[Case], supported: Sequence[bool], which: Sequence[str], limit: int) -> None:
    """Print true sentences that were removed or false ones that were kept, drawn by a fixed seed."""
    wrong = [
        case
        for case, kept in zip(checked, supported, strict=True)
        if [case.part, case.source, case.kind] == list(which) and kept == (case.kind != AS_IS)
    ]
    for case in random.Random(1).sample(wrong, min(limit, len(wrong))):
        print(f"- {case.sentence}\n    {'; '.join(checked_alone(case.sentence, case.passages).reasons)}")


if __name__ == "__main__":
    main()
