"""Which cited passage says what a sentence of the answer says, and where: the support check, applied to a turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rag.answer.citations import best_quote, clip
from rag.grounding.verdict import Verdict, check
from rag.text.english.orders import Demand, asked, blanked, is_order, without_orders
from rag.text.english.stopwords import IDLE
from rag.text.sentences import Unit, code_spans, units
from rag.text.terms import is_english, keys
from rag.types import Passage, Quote

_SHORTEST: Final = 4  # letters; shorter words are each other's anagrams by chance
_FEWEST_JOINED: Final = 4  # words run together; fewer of them are a compound
_WORD: Final = re.compile(r"[^\W\d_]+")


def is_garbled(sentence: str, text: str) -> bool:
    """Whether a word of the sentence is a shuffled word of the text, or some of its words run together."""
    strange = {
        word
        for word in _WORD.findall(sentence.casefold())
        if len(word) >= _SHORTEST and word not in text and not is_english(word)
    }
    if not strange:
        return False
    words = set(_WORD.findall(text))
    shuffled = {"".join(sorted(word)) for word in words if len(word) >= _SHORTEST}
    return any("".join(sorted(word)) in shuffled or _joined(word, words) >= _FEWEST_JOINED for word in strange)


def _joined(word: str, words: Collection[str]) -> int:
    """How many of the words make up this one, set one after the other; 0 where they do not."""
    fewest: dict[int, int] = {0: 0}
    for end in range(1, min(len(word), 400) + 1):
        counts = [fewest[begin] + 1 for begin in fewest if end - begin <= 40 and word[begin:end] in words]
        if counts:
            fewest[end] = min(counts)
    return fewest.get(len(word), 0)


LONGEST_CLAIM: Final = 4000  # code points; nobody says so much in one sentence
MOST_SOURCES: Final = 8  # of one sentence, those beyond are not looked at
_CLAUSE: Final = 2  # telling words of a part of a sentence that states something by itself
_RELATED: Final = 0.34  # share of a sentence's words that a passage has which is cited beside one that supports it
_BOLD: Final = re.compile(r"(\*{1,3}|_{1,3})(?P<text>[^*_]*[.!?…。！？])\1")  # all of it: a sentence and no heading
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")


class Finding(NamedTuple):
    """Whether a statement is supported: `by` the passages with these numbers, alone or together.

    `quotes` has the stretch of each passage that says it, or comes near to it, by the passage's number. `verbatim`: it
    is a sentence of a passage.
    """

    by: tuple[int, ...]
    quotes: dict[int, Quote]
    verbatim: bool = False

    @property
    def supported(self) -> bool:
        return bool(self.by)


class SupportCheck:
    """Judges statements by the passages of one turn. `question` is the user's: its words may stand in a heading."""

    def __init__(self, passages: Iterable[Passage], question: str = "") -> None:
        self._sources = {passage.number: _Source(passage) for passage in passages}
        self._question = keys(question)

    def claim(self, sentence: str, numbers: Sequence[int]) -> Finding:
        """Is the sentence supported by the passages with these numbers?

        A passage that says nothing of the sentence has no quote when another supports it alone.
        """
        if bold := _BOLD.fullmatch(sentence):
            sentence = bold["text"]
        sources = [self._sources[number] for number in numbers[:MOST_SOURCES]]
        if not sources or len(sentence) > LONGEST_CLAIM:
            return Finding((), {})
        alone = {one.number: quote for one in sources if (quote := one.says(sentence))}
        if alone:
            verbatim = any(one.has(sentence) for one in sources)
            return Finding(tuple(alone), alone | self._beside(sentence, sources, alone), verbatim)
        together = _checked(sentence, sources) if len(sources) > 1 else None
        if together is None:
            return Finding((), {one.number: best_quote(sentence, one.text) for one in sources})
        number, quote = together
        quotes = {one.number: best_quote(sentence, one.text) for one in sources} | {number: quote}
        return Finding(tuple(quotes), quotes)

    def clauses(self, whole: Finding, parts: Sequence[tuple[str, Sequence[int]]]) -> Finding:
        """The finding on a sentence that cites in its middle, from that on the whole and from its parts.

        A part is to be supported by the passages that it cites itself, else by all of the sentence; what says next to
        nothing alone may stand.
        """
        every = list(dict.fromkeys(number for _, numbers in parts for number in numbers))
        quotes = dict(whole.quotes)
        for text, numbers in parts:
            if len(telling_words(text)) >= _CLAUSE:
                found = self.claim(text, numbers)
                found = found if found.supported else self.claim(text, every)
                if not found.supported:
                    return Finding((), whole.quotes)
                quotes |= {number: quote for number, quote in found.quotes.items() if number not in quotes}
        return Finding(tuple(quotes), quotes, whole.verbatim)

    def code(self, block: str, numbers: Sequence[int]) -> Finding:
        """Does a cited passage have every line of the code block? Indentation and fences do not count."""
        wanted = [" ".join(line.split()) for line in block.split("\n")[1:]]
        wanted = [line for line in wanted if line and not re.fullmatch(r"[`~]{3,}", line)]
        for number in numbers:
            source = self._sources[number]
            if wanted and all(line in source.lines for line in wanted):
                return Finding((number,), {number: best_quote(block, source.text)})
        return Finding((), {number: best_quote(block, self._sources[number].text) for number in numbers})

    def stands(self, heading: str, numbers: Sequence[int] = (), more: frozenset[str] = frozenset()) -> bool:
        """May the text stand as a heading? Every word of it is the passages' or the user's, or one of `more`."""
        chosen = numbers or list(self._sources)
        known = self._question.union(*(self._sources[number].stated for number in chosen))
        return all(
            word.casefold() in IDLE or word.casefold() in more or not keys(word).isdisjoint(known)
            for word in re.findall(r"\w+(?:['’-]\w+)*", heading)
        )

    def quote(self, text: str, number: int) -> Quote:
        """The stretch of a passage that comes nearest to a text."""
        return best_quote(text, self._sources[number].text)

    @property
    def text(self) -> str:
        """The passages' texts as one."""
        return "\n".join(source.text for source in self._sources.values())

    @property
    def numbers(self) -> list[int]:
        """The passages of this turn."""
        return list(self._sources)

    def _beside(self, sentence: str, sources: Sequence[_Source], alone: dict[int, Quote]) -> dict[int, Quote]:
        """Quotes of the passages that are cited too and have something of the sentence."""
        wanted = telling_words(sentence)
        found = {}
        for one in (source for source in sources if source.number not in alone):
            share = sum(not keys(word).isdisjoint(one.keys) for word in wanted) / max(1, len(wanted))
            if share >= _RELATED:
                found[one.number] = best_quote(sentence, one.text)
        return found


class _Source:
    """One passage, as far as it is evidence: without the orders in it."""

    def __init__(self, passage: Passage) -> None:
        self.number = passage.number
        self.text = passage.text
        self.known = " \n".join(one for one in (passage.title, passage.heading, passage.breadcrumb) if one)

    @cached_property
    def evidence(self) -> str:
        return without_orders(self.text)

    @cached_property
    def keys(self) -> frozenset[str]:
        return keys(f"{self.evidence}\n{self.known}")

    @cached_property
    def stated(self) -> frozenset[str]:
        """The keys of what is stated, and of nothing asked: a model that obeys would put that above its answer."""
        return keys(f"{blanked(self.evidence, [(one.start, one.end) for one in self._asked])}\n{self.known}")

    @cached_property
    def _asked(self) -> list[Demand]:
        return list(asked(self.evidence))

    def stating(self, sentence: str) -> str:
        """The evidence for a sentence: a task ("Write a poem") is none, but for what tells to do the same."""
        said = sentence.casefold()
        tasks = [(one.start, one.end) for one in self._asked if one.verb and one.verb.rstrip("e")[:5] not in said]
        return blanked(self.evidence, tasks) if tasks else self.evidence

    def questions(self, start: int, end: int) -> list[tuple[int, int]]:
        """The questions within a stretch of the evidence."""
        return [(q.start, q.end) for q in self._asked if not q.verb and start <= q.start and q.end <= end]

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines of the text, and what stands in it as inline code: a command may be shown as a block."""
        spans = [self.text[start:end].strip("`") for start, end in code_spans(self.text)]
        return frozenset(" ".join(line.split()) for line in [*self.text.split("\n"), *spans])

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

    def has(self, sentence: str) -> bool:
        """Whether the sentence stands in the passage, word for word."""
        return _set(sentence) in self._verbatim

    def says(self, sentence: str) -> Quote | None:
        """The stretch that says it: the sentence itself, whole, or one that the check finds."""
        if unit := self._verbatim.get(_set(sentence)):
            return clip(self.text, unit.start, unit.end)
        found = _checked(sentence, [self])
        return found[1] if found else None


def _checked(sentence: str, sources: Sequence[_Source]) -> tuple[int, Quote] | None:
    """The passage and the stretch of it that the support check names; None where the sentence is not supported.

    A question, or a task such as "Write a poem", states nothing: what only it would support is checked without it.
    """
    if is_order(sentence):
        return None
    texts = [one.stating(sentence) for one in sources]
    known = "\n".join(one.known for one in sources)
    if is_garbled(sentence, "\n".join([*texts, known]).casefold()):
        return None
    for _ in range(3):
        verdict = check(sentence, texts, known=known)
        if not _is_support(verdict):
            return None
        place, start, end = verdict.passage or 0, verdict.start, verdict.end
        questions = sources[place].questions(start, end)
        if all(texts[place][a:b].isspace() for a, b in questions):
            return sources[place].number, clip(sources[place].text, start, end)
        texts[place] = blanked(texts[place], questions)
    return None


def telling_words(sentence: str) -> set[str]:
    """The words of a sentence that say what it is about, in small letters."""
    return {word for word in re.findall(r"\w+", sentence.casefold()) if word not in IDLE}


def _is_support(verdict: Verdict) -> bool:
    return verdict.supported and verdict.passage is not None


def _set(text: str) -> str:
    """A text as it is compared word for word: list sign, line breaks and escapes of brackets do not count."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return " ".join(re.sub(r"\\([\[\]])", r"\1", flat).split())
