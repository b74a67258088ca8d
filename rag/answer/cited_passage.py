"""One passage as evidence: what it states, what it asks for, and the sentences that it has word for word."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from rag.answer.citations import clip
from rag.evidence.reading import read
from rag.text.english.requests import Demand, asked, blanked, is_order, without_orders
from rag.text.sentences import Unit, code_spans, units
from rag.types import Passage, Quote

_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!?()\[\]]")


class CitedPassage:
    """One passage as evidence: without planted orders."""

    def __init__(self, passage: Passage) -> None:
        self.number = passage.number
        self.text = passage.text
        around = (passage.title, passage.heading, passage.breadcrumb, passage.chapter, passage.source_file_path)
        self.known = " \n".join(one for one in around if one)
        self._titles = {_set(title) for one in around if one for title in (one, *one.split(" > "))}

    @cached_property
    def evidence(self) -> str:
        return without_orders(self.text)

    @cached_property
    def statements(self) -> str:
        """The evidence without what it asks for: tasks and questions, which an obedient model might take up."""
        return blanked(self.evidence, [(one.start, one.end) for one in self._asked])

    @cached_property
    def stated(self) -> frozenset[str]:
        """The keys of its statements, and of what stands above it."""
        return read(self.statements).keys | read(self.known).keys

    @cached_property
    def demanded(self) -> frozenset[str]:
        """The keys of orders to the writer of the answer, of tasks and of questions."""
        return self._keys_without(self.statements)

    @cached_property
    def ordered(self) -> frozenset[str]:
        """The keys of orders to the writer of the answer."""
        return self._keys_without(self.evidence)

    def _keys_without(self, rest: str) -> frozenset[str]:
        """The keys of what is blanked in `rest`."""
        if rest == self.text:
            return frozenset()
        return read("".join(a for a, b in zip(self.text, rest, strict=True) if a.isspace() or a != b)).keys

    @cached_property
    def _asked(self) -> list[Demand]:
        return list(asked(self.evidence))

    def stating(self, sentence: str) -> str:
        """The evidence for a sentence: without questions and tasks ("Write a poem"), but with tasks of its own verb."""
        said = sentence.casefold()
        return blanked(
            self.evidence,
            [(one.start, one.end) for one in self._asked if not one.verb or one.verb.rstrip("e")[:5] not in said],
        )

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines of the text, with and without the sign of a quotation, and its inline code.

        A command may be shown as a block, and a block without the quotation around it.
        """
        spans = [self.text[start:end].strip("`") for start, end in code_spans(self.text)]
        lines = self.text.split("\n")
        inner = [line.lstrip()[2:] for line in lines if line.lstrip().startswith("> ")]
        return frozenset(" ".join(line.split()) for line in [*lines, *inner, *spans])

    @cached_property
    def _verbatim(self) -> dict[str, Unit]:
        found: dict[str, Unit] = {}
        for unit in units(self.text):
            found.setdefault(_set(unit.text), unit)
            if unit.kind == "table":
                start = unit.start
                for line in unit.text.split("\n"):
                    found.setdefault(_set(line), Unit(start, start + len(line), line, "row", unit.block))
                    start += len(line) + 1
        return found

    def stretch_of(self, sentence: str) -> Quote | None:
        """The stretch that has the same words as the sentence. A title stands for the whole text."""
        if _set(sentence) in self._titles and not is_order(sentence):
            return clip(self.text, 0, len(self.text))
        unit = self._verbatim.get(_set(sentence))
        return clip(self.text, unit.start, unit.end) if unit else None

    def has(self, sentence: str) -> bool:
        """Whether the sentence stands in the passage, word for word. Case, markup and punctuation do not count."""
        return _worded(sentence) in self._wordings

    @cached_property
    def _wordings(self) -> frozenset[tuple[str, ...]]:
        return frozenset(map(_worded, self._verbatim))


def _set(text: str) -> str:
    """A text normalised for verbatim comparison: without list sign, line breaks and escapes of brackets."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return " ".join(re.sub(r"\\([\[\]])", r"\1", flat).split())


def _worded(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case, without markup and punctuation."""
    return tuple(_WORDING.findall(_set(text).casefold()))
