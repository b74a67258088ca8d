"""Whether the way an answer is written changes what the check says of it.

    python -m bench.forms ../shared/data

Writes each labelled answer of `bench.claims_data` in other forms that claim the same, and proves both. Prints, for each
form, the answers that it changes, those of which another number of sentences is marked or removed, and by how many
sentences more or fewer are marked and removed. A check that reads claims, and not forms, has zeros everywhere. With
--show FORM it prints the sentences that stand otherwise.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from bench.claims_data import LabelledAnswer, answers
from rag.grounding import Proof, prove

WIDTH: Final = 60  # code points of a wrapped line
_FENCED: Final = re.compile(r"(```.*?```)", re.DOTALL)
_NO_PROSE: Final = re.compile(r"\s*(?:\||#|\d+[.)]|[-*•>])|\s*\Z")


def prose(pattern: str, replacement: str) -> Callable[[str], str]:
    """A form in which everything outside blocks of code that fits the pattern is replaced."""
    compiled = re.compile(pattern, re.MULTILINE)

    def written(answer: str) -> str:
        pieces = _FENCED.split(answer)
        return "".join(piece if at % 2 else compiled.sub(replacement, piece) for at, piece in enumerate(pieces))

    return written


def wrapped(answer: str) -> str:
    pieces = _FENCED.split(answer)
    return "".join(piece if at % 2 else "\n".join(map(_fill, piece.split("\n"))) for at, piece in enumerate(pieces))


def _fill(line: str) -> str:
    return line if _NO_PROSE.match(line) else textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)


FORMS: Final[dict[str, Callable[[str], str]]] = {
    "CRLF": lambda answer: answer.replace("\n", "\r\n"),
    "asterisks": prose(r"^(\s*)- ", r"\1* "),
    "parentheses": prose(r"^(\s*)(\d+)\. ", r"\1\2) "),
    "bold steps": prose(r"^(\d+)\. (?=[A-Z`])", r"**Step \1:** "),
    "markers joined": prose(r"\s+\[(\d)", r"[\1"),
    "markers behind": prose(r"\s?((?:\[\d+\])+)\.", r". \1"),
    "【1】": prose(r"\[(\d+)\]", r"【\1】"),
    "escaped": prose(r"\[(\d+)\]", r"\\[\1\\]"),
    "[Source 1]": prose(r"\[(\d+)\]", r"[Source \1]"),
    "set hyphens": prose(r"(?<=[a-z])-(?=[a-z])", "\u2011"),
    "set apostrophes": prose(r"(?<=\w)'(?=\w)", "’"),
    "bold words": prose(r"(?<=[a-z] )(three|four|five|[a-z]{8,})(?= [a-z])", r"**\1**"),
    "line breaks": prose(r"\n(?=- )", "<br>\n"),
    "quotation": lambda answer: "\n".join(f"> {line}" for line in answer.split("\n")),
    "wrapped": wrapped,
    "introduced": lambda answer: f"Sure! Here is what the book says:\n\n{answer}",
    "offered": lambda answer: f"{answer}\n\nLet me know if you need anything else!",
    "labelled": lambda answer: f"**Answer:** {answer}",
    "headed": lambda answer: f"## Answer\n\n{answer}",
}


class Change(NamedTuple):
    """How many answers a form changes, how many stand otherwise, and how many sentences more are marked and removed."""

    changed: int
    otherwise: int
    marked: int
    removed: int


def proved(answer: LabelledAnswer, text: str) -> Proof:
    return prove(text, answer.passages, question=answer.question, known=answer.known)


def counted(proof: Proof) -> Counter[str]:
    return Counter(sentence.standing for sentence in proof.sentences)


def changes(labelled: list[LabelledAnswer]) -> Iterator[tuple[str, Change]]:
    """Each form with what it changes."""
    plain = [counted(proved(answer, answer.answer)) for answer in labelled]
    for form, written in FORMS.items():
        pairs = [
            (before, counted(proved(answer, text)))
            for answer, before in zip(labelled, plain, strict=True)
            if (text := written(answer.answer)) != answer.answer
        ]
        marked = [after["unconfirmed"] - before["unconfirmed"] for before, after in pairs]
        removed = [after["contradicted"] - before["contradicted"] for before, after in pairs]
        otherwise = sum(any(both) for both in zip(marked, removed, strict=True))
        yield form, Change(len(pairs), otherwise, sum(marked), sum(removed))


def show(labelled: list[LabelledAnswer], form: str) -> None:
    """The sentences that are marked or removed in this form alone."""
    for answer in labelled:
        before = {sentence.text for sentence in proved(answer, answer.answer).sentences if sentence.reasons}
        for sentence in proved(answer, FORMS[form](answer.answer)).sentences:
            if sentence.reasons and sentence.text not in before:
                print(f"{sentence.standing}: {sentence.text}\n    {'; '.join(sentence.reasons)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with the books")
    parser.add_argument("--show", choices=FORMS, help="print what stands otherwise in this form")
    options = parser.parse_args()
    for name in ("natural", "falsehoods"):
        labelled = list(answers(f"{name}.jsonl", options.data / "books"))
        if options.show:
            show(labelled, options.show)
            continue
        print(f"{name:18} changed  otherwise  marked  removed")
        for form, change in changes(labelled):
            print(f"  {form:16} {change.changed:7} {change.otherwise:10} {change.marked:+7} {change.removed:+8}")


if __name__ == "__main__":
    main()
