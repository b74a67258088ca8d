"""How a follow-up ("and on Windows?", "tell me more") is read: joined with the questions before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rag.quoting.english.directions import UNDO, undone
from rag.quoting.english.phrases import PLATFORMS
from rag.quoting.english.speech_acts import ORDINAL, PLACES, shape
from rag.quoting.relevance import sides
from rag.quoting.terms import refers_back, terms
from rag.types import AnsweredQuestion

# An item of a list or a row of a table, as far as it names something: its label, or its first words.
_ENTRIES: Final = re.compile(
    r"^(?:[-*]|\d+[.)]) +(\*\*[^*\n]+\*\*|[^\s:.|]+(?: [^\s:.|]+){0,7})|"
    r"^\| *([^|\n]*\w) *\|(?!.*\n\|[ :-]+\|)",
    re.MULTILINE,
)


def follow_up_readings(question: str, history: Sequence[AnsweredQuestion]) -> Iterator[tuple[str, str]]:
    """The ways to read a follow-up, each with the text of the earlier answers that is not to be quoted again.

    It is joined with the questions before it, back to one that stands by itself. One with terms of its own ("And its
    battery?") is read at last with the names alone of the questions before it: its answer may have no other word of
    theirs, or may have been quoted with theirs.
    """
    if UNDO.search(question) and (whole := undone(history[-1].question)):
        yield whole, ""
    platforms = [names for names in PLATFORMS if names.search(question)]
    asked = [question]
    for past in reversed(history):
        asked.insert(0, _without_platforms(past.question.strip()) if platforms else past.question.strip())
        if not refers_back(asked[0]):
            break
    if (ordinal := ORDINAL.search(question)) is not None:
        if not (entry := _entry(ordinal[0].lower(), history[-1])):
            return
        asked[-1] = question = f"{question[: ordinal.start()]}{entry}{question[ordinal.end() :]}"
    yield " ".join(asked), "\n".join(past.answer for past in history)
    if own := terms(question):
        instead = shape(asked[-2]).definition and any(term.named for term in own)  # "What is Gazebo? And Isaac Sim?"
        names = [] if instead else [term.word for term in terms(" ".join(asked[:-1])) if term.named]
        yield " ".join([*names, question]), ""


def _without_platforms(question: str) -> str:
    """An earlier question without its platforms: a follow-up such as "and on Windows?" names another one instead."""
    for names in PLATFORMS:
        question = names.sub("", question)
    return question


def _entry(ordinal: str, past: AnsweredQuestion) -> str:
    """What "the second one" means: a side of the comparison that was asked for, else an entry of the last answer.

    Empty if neither has that many.
    """
    entries = [match[1] or match[2] for match in _ENTRIES.finditer(past.answer)]
    if shape(past.question).comparison:
        compared = sides(past.question, terms(past.question))
        entries = [" ".join(term.word for term in side) for side in compared]
    word = ordinal.split()[1]
    place = {"former": 0, "latter": 1, "last": len(entries) - 1}.get(word)
    place = PLACES.index(word) if place is None else place
    return entries[place].strip(" *_`") if 0 <= place < len(entries) else ""
