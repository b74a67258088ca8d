"""The passages that a sentence cites, indexed by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rag.evidence.reading import TextLine, read
from rag.text.english.word_lists import PRONOUNS
from rag.text.vocabulary import is_foreign, words_of_text

NUMBER_WEIGHT: Final = 0.8
FOREIGN_WORDS: Final = 12  # different words of passages that tell their language


@dataclass(frozen=True, slots=True)
class Word:
    """A content word or a number of the sentence: the index of its token, and its weight from 0.2 to 1.

    `key` is its key if a line of the passages has it, else "".
    """

    index: int
    key: str
    weight: float


class Sources:
    """The lines of all passages, numbered, with an index of the lines that hold a key.

    `known` are the keys of the text `above` the passages, such as titles. `homes` are the indices of the
    lines' passages, `holders` the numbers of the lines by key, `above` the keys of what introduces each
    line: a heading or lead, and before "It weighs 89 kg" the line that names it.
    """

    def __init__(self, passages: Sequence[str], above: str) -> None:
        texts = [read(passage) for passage in passages]
        self.texts = [read(text) for text in (*passages, above) if text]
        self.known = frozenset(read(above).whole.places)
        self.lines: list[TextLine] = []
        self.homes: list[int] = []
        self.holders: dict[str, list[int]] = {}
        self.above: list[frozenset[str]] = []
        for passage, text in enumerate(texts):
            introduction: Iterable[str] = ()
            subject: Iterable[str] = ()
            for line in text.lines:
                continues = bool(line.tokens) and line.tokens[0].word in PRONOUNS
                self.above.append(frozenset((*introduction, *(subject if continues else ()))))
                introduction = line.places if line.introduces else introduction
                subject = subject if continues else line.places
            for number, line in enumerate(text.lines, len(self.lines)):
                for key in line.places:
                    self.holders.setdefault(key, []).append(number)
            self.lines += text.lines
            self.homes += [passage] * len(text.lines)

    @cached_property
    def _language(self) -> tuple[bool, frozenset[str]]:
        """Whether they are in another language than English, and their words."""
        text = "\n".join(one.text for one in self.texts)
        return is_foreign(text, fewest=FOREIGN_WORDS), words_of_text(text)

    def foreign(self, sentence: str) -> bool:
        """Whether the sentence or the passages are in another language than English."""
        foreign, words = self._language
        return foreign or is_foreign(sentence, words)

    def around(self, number: int) -> Iterator[TextLine]:
        """The lines before and after a line, in the same passage."""
        for other in (number - 1, number + 1):
            if 0 <= other < len(self.lines) and self.homes[other] == self.homes[number]:
                yield self.lines[other]

    def words_of(self, sentence: TextLine) -> list[Word]:
        """The content words and the numbers of a sentence, in order."""
        numbers = {quantity.first: quantity for quantity in sentence.quantities if not quantity.vague}
        inside = {index for quantity in numbers.values() for index in range(quantity.first, quantity.last + 1)}
        found: list[Word] = []
        for index, token in enumerate(sentence.tokens):
            if quantity := numbers.get(index):
                key = next((key for key in quantity.keys if key in self.holders), "")
                found.append(Word(index, key, NUMBER_WEIGHT))
            elif token.content and index not in inside and not token.digits:
                found.append(Word(index, token.key if token.key in self.holders else "", token.weight))
        return found


def share_held(words: Sequence[Word]) -> float:
    """The share of the words, by weight, that the passages hold, 0 to 1; 1 without words."""
    total = sum(word.weight for word in words)
    return sum(word.weight for word in words if word.key) / total if total else 1.0
