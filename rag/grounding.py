"""The proof of a finished answer: plain strings in, no model and no network unless a judge is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import REFUSAL, Passage, Standing

__all__ = ["Judging", "Proof", "ProvedSentence", "prove"]

# Gets sentences with the texts of the passages that each cites; returns as many verdicts, None where it cannot tell.
Judging = Callable[[list[tuple[str, list[str]]]], Sequence[bool | None]]

_LOCATION: Final = re.compile(
    r"(?:[a-z]+://\S+|[\w./-]+\.(?:mdx?|markdown|x?html?|rst|txt|ipynb|pdf|epub)(?:#\S*)?)", re.IGNORECASE
)
_CRUMB: Final = re.compile(r"\s+[>›»]\s+")


@dataclass(frozen=True, slots=True)
class ProvedSentence:
    """A sentence, item, row, block of code or heading of an answer, removed ones included.

    `text` has no markers. `standing` is "frame" for what states nothing: a heading, a lead-in, a remark. `passages` are
    the numbers, from 1, of the passages that it cites or that were found to say it.
    """

    text: str
    standing: Standing | Literal["frame"]
    reasons: tuple[str, ...]
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """An answer after the check. `text` is what a reader sees in the mode `strict`, without a list of sources.

    `notices` say, in one sentence each, what was taken out or marked. `answered` is false when no sentence with a
    citation could be shown. `judge_calls` counts the calls of the judge.
    """

    text: str
    sentences: tuple[ProvedSentence, ...]
    notices: tuple[str, ...] = ()
    answered: bool = True
    judge_calls: int = 0


def prove(
    answer: str,
    passages: Sequence[str],
    *,
    question: str = "",
    known: Sequence[str] = (),
    judge: Judging | None = None,
) -> Proof:
    """Check a finished answer with `[n]` markers against its passages, exactly as a turn does.

    `passages` are numbered from 1. `known` holds the titles and headings of each, on lines of their own or joined by
    " > ", and may be shorter; a line that is a path or an address is where the passage stands. What stands in the
    `question` alone is not removed. `judge` is asked once, about what is neither a quotation nor certainly wrong; what
    it raises passes through. Raises `TypeError` if `passages` is one text, and `ValueError` if `known` is longer than
    `passages` or the judge gives another number of verdicts.

    >>> prove("Atlas weighs 89 kg [1]. It flies at 900 km/h [1].", ["Atlas is a robot. It weighs 89 kg."]).text
    'Atlas weighs 89 kg [1].'
    """
    if isinstance(passages, str):
        raise TypeError("passages is one text: give a list of texts.")
    if not isinstance(known, str) and len(known) > len(passages):
        raise ValueError(f"known has {len(known)} texts for {len(passages)} passages: give at most one for each.")
    names = [known] * len(passages) if isinstance(known, str) else [*known, *[""] * len(passages)]
    read = [_passage(number, text, name) for number, (text, name) in enumerate(zip(passages, names, strict=False), 1)]
    options = AnswerOptions(REFUSAL, footer="none", question=question, judged=judge is not None, renumber=False)
    writer = AnswerWriter(read, options)
    writer.feed(answer)
    writer.end_input()
    claims = writer.take_claims()
    if judge and claims:
        verdicts = judge([(one.text, [passages[number - 1] for number in one.numbers]) for one in claims.values()])
        writer.apply_verdicts(dict(zip(claims, verdicts, strict=True)))
    writer.close()
    sentences = tuple(
        ProvedSentence(sentence.text, sentence.standing, tuple(sentence.reasons), tuple(sentence.citations))
        for sentence in writer.grounding.checked
    )
    text, notices = writer.shown.content, tuple(writer.notices)
    return Proof(text, sentences, notices, writer.fallback is None, int(bool(judge and claims)))


def _passage(number: int, text: str, known: str) -> Passage:
    lines = [line.strip() for line in known.split("\n") if line.strip()]
    places = [line for line in lines if _LOCATION.fullmatch(line)]
    names = [name for line in lines if line not in places for name in _CRUMB.split(line)]
    address = next((place for place in places if "://" in place), places[0] if places else "")
    return Passage(
        number=number,
        score=1.0,
        chunk_id=str(number),
        text=text,
        title=names[0] if names else "",
        heading=names[-1] if len(names) > 1 else "",
        breadcrumb=" > ".join(dict.fromkeys(names)),
        url=address.partition("#")[0],
        link=address,
        source_file_path=next((place for place in places if "://" not in place), ""),
    )
