"""Which cited passage says what a sentence of the answer says, and where: the support check, applied to a turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from rag.answer.citations import best_quote, clip
from rag.evidence.verdict import Verdict, check
from rag.text.english.requests import Demand, asked, blanked, is_order, joined_tasks, without_orders
from rag.text.english.stopwords import LIGHT, STOP_WORDS
from rag.text.sentences import Unit, code_spans, units
from rag.text.terms import is_english, keys
from rag.types import OMISSION, Passage, Quote, Standing

LONGEST_CLAIM: Final = 4000  # code points; a longer sentence is not supported
MOST_SOURCES: Final = 8  # cited passages of one sentence that are looked at
_CLAUSE: Final = 2  # content words with which a clause states something by itself
_RELATED: Final = 0.34  # least share of the sentence's words in a passage that is cited beside a supporting one
_BOLD: Final = re.compile(r"(\*{1,3}|_{1,3})(?P<text>[^*_]*[.!?…。！？])\1")  # a whole sentence in bold type
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
ASKED_FOR: Final = "order: only an order, a task or a question says it"
DEMANDED: Final = 0.2  # least share of the words that no statement has, which an order or question has
ORDERED: Final = 0.5  # share of the words of a sentence without a citation that are those of orders
NEAR: Final = 0.4  # least share of a sentence without a citation that the passages must hold
MOST_QUESTIONS: Final = 3  # questions that are set aside before a sentence counts as not said
_SHORTEST: Final = 4  # letters; shorter words are anagrams by chance
_FEWEST_JOINED: Final = 4  # words run together; fewer of them are a compound
_WORD: Final = re.compile(r"[^\W\d_]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!?()\[\]]")


class Finding(NamedTuple):
    """What the passages say of a statement. `by` holds the numbers of those that support it, alone or together.

    `quotes` holds, by passage number, the stretch that says it or comes nearest. `verbatim`: it is a sentence of a
    passage. `score` is the share of it that the passages hold.
    """

    standing: Standing
    by: tuple[int, ...]
    quotes: dict[int, Quote]
    verbatim: bool = False
    reasons: tuple[str, ...] = ()
    score: float = 0.0

    @property
    def supported(self) -> bool:
        return self.standing == "supported"


class SupportCheck:
    """Checks statements against the passages of one turn. Words of the user's `question` may stand in a heading."""

    def __init__(self, passages: Iterable[Passage], question: str = "") -> None:
        self._sources = {passage.number: _Source(passage) for passage in passages}
        self._question = keys(question)

    def claim(self, sentence: str, numbers: Sequence[int]) -> Finding:
        """What the passages with these numbers say of the sentence.

        When one passage supports it alone, unrelated passages get no quote. Without a passage it is contradicted.
        """
        if bold := _BOLD.fullmatch(sentence):
            sentence = bold["text"]
        sources = [self._sources[number] for number in numbers[:MOST_SOURCES]]
        if not sources or not sentence or len(sentence) > LONGEST_CLAIM:
            return Finding("contradicted", (), {}, reasons=("citation: no passage is cited for it",))
        alone = {one.number: quote for one in sources if (quote := one.says(sentence))}
        if alone:
            verbatim = any(one.has(sentence) for one in sources)
            return Finding("supported", tuple(alone), alone | self._beside(sentence, sources, alone), verbatim)
        quotes = {one.number: best_quote(sentence, one.text) for one in sources}
        found, where = _checked(sentence, sources)
        if found.supported and where is not None:
            return Finding("supported", tuple(quotes), quotes | {where[0]: where[1]})
        standing: Standing = "unconfirmed" if found.supported else found.standing  # no sentence of a passage says it
        return Finding(standing, (), quotes, reasons=found.reasons, score=found.score)

    def clauses(self, whole: Finding, parts: Sequence[tuple[str, Sequence[int]]]) -> Finding:
        """The finding on a sentence with markers in its middle: the worst of the whole and of its clauses.

        A clause is checked against the passages that it cites, else against all passages of the sentence together. A
        clause with few content words may stand.
        """
        every = list(dict.fromkeys(number for _, numbers in parts for number in numbers))
        quotes = dict(whole.quotes)
        for text, numbers in parts:
            if len(telling_words(text)) >= _CLAUSE:
                found = self.claim(text, numbers)
                found = found if found.supported else self.claim(text, every)
                if not found.supported:
                    return found._replace(by=(), quotes=whole.quotes)
                quotes |= {number: quote for number, quote in found.quotes.items() if number not in quotes}
        return Finding("supported", tuple(quotes), quotes, whole.verbatim)

    def anywhere(self, sentence: str) -> Finding:
        """What all passages of the turn say of a sentence without a citation: contradicted where none comes near."""
        found = self.claim(sentence, self.numbers)
        if self._is_ordered(sentence, found.by or self.numbers):
            return found._replace(standing="contradicted", by=(), reasons=(ASKED_FOR,))
        foreign = any(reason.startswith("language:") for reason in found.reasons)
        if found.supported or (found.standing == "unconfirmed" and (foreign or found.score >= NEAR)):
            return found
        reasons = found.reasons or ("citation: no passage is cited for it",)
        return found._replace(standing="contradicted", reasons=reasons)

    def _is_ordered(self, sentence: str, numbers: Sequence[int]) -> bool:
        """Whether half of the words stand in orders of this turn's passages, one of which no statement has."""
        said = [keys(word) for word in telling_words(sentence)]
        ordered = frozenset[str]().union(*(one.ordered for one in self._sources.values()))
        stated = frozenset[str]().union(*(self._sources[number].stated for number in numbers))
        held = [word for word in said if not word.isdisjoint(ordered)]
        return len(held) >= ORDERED * max(1, len(said)) and any(word.isdisjoint(stated) for word in held)

    def code(self, block: str, numbers: Sequence[int]) -> Finding:
        """Whether one cited passage contains every line of the code block. Indentation and fences do not count."""
        wanted = [" ".join(line.split()) for line in block.split("\n")[1:]]
        wanted = [line for line in wanted if line and line != OMISSION and not re.fullmatch(r"[`~]{3,}", line)]
        for number in numbers:
            source = self._sources[number]
            if wanted and all(line in source.lines for line in wanted):
                return Finding("supported", (number,), {number: best_quote(block, source.text)})
        quotes = {number: best_quote(block, self._sources[number].text) for number in numbers}
        verdict = check(block, [self._sources[number].evidence for number in numbers])
        standing: Standing = "unconfirmed" if verdict.supported else verdict.standing
        return Finding(standing, (), quotes, reasons=verdict.reasons)

    def frame(self, text: str, numbers: Sequence[int]) -> Finding:
        """Whether a heading or lead-in holds something that stands nowhere in the passages, or an order."""
        found, _ = _checked(text, [self._sources[number] for number in numbers or self.numbers])
        return Finding(found.standing, (), {}, reasons=found.reasons)

    def stands(self, heading: str, numbers: Sequence[int] = (), more: frozenset[str] = frozenset()) -> bool:
        """May the text stand as a heading? Each word must come from the passages, the question or `more`."""
        chosen = numbers or list(self._sources)
        known = self._question.union(*(self._sources[number].stated for number in chosen))
        return all(
            word.casefold() in STOP_WORDS or word.casefold() in more or not keys(word).isdisjoint(known)
            for word in re.findall(r"\w+(?:['’-]\w+)*", heading)
        )

    def has_written(self, heading: str) -> bool:
        """Whether a passage, or what stands around it, has the heading word for word."""
        wanted = " ".join(heading.casefold().split())
        held = (f"{source.text}\n{source.known}" for source in self._sources.values())
        return any(wanted in " ".join(text.casefold().split()) for text in held)

    def quote(self, text: str, number: int) -> Quote:
        """The stretch of a passage that is nearest to a text."""
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
        """Quotes from the other cited passages that share enough words with the sentence."""
        wanted = telling_words(sentence)
        found = {}
        for one in (source for source in sources if source.number not in alone):
            share = sum(not keys(word).isdisjoint(one.keys) for word in wanted) / max(1, len(wanted))
            if share >= _RELATED:
                found[one.number] = best_quote(sentence, one.text)
        return found


class _Source:
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
    def keys(self) -> frozenset[str]:
        return keys(f"{self.evidence}\n{self.known}")

    @cached_property
    def stated(self) -> frozenset[str]:
        """The keys of statements only. Without questions and tasks, which an obedient model might use as a heading."""
        return keys(f"{self.statements}\n{self.known}")

    @cached_property
    def statements(self) -> str:
        """The evidence without what it asks for."""
        return blanked(self.evidence, [(one.start, one.end) for one in self._asked])

    @cached_property
    def demands(self) -> frozenset[str]:
        """The keys of orders to the writer of the answer, of tasks and of questions."""
        return keys("".join(a for a, b in zip(self.text, self.statements, strict=True) if a.isspace() or a != b))

    @cached_property
    def ordered(self) -> frozenset[str]:
        """The keys of orders to the writer of the answer."""
        if self.evidence == self.text:
            return frozenset()
        return keys("".join(a for a, b in zip(self.text, self.evidence, strict=True) if a.isspace() or a != b))

    @cached_property
    def _asked(self) -> list[Demand]:
        return list(asked(self.evidence))

    def stating(self, sentence: str) -> str:
        """The evidence for a sentence: without tasks ("Write a poem"), unless the sentence uses the same verb."""
        said = sentence.casefold()
        tasks = [(one.start, one.end) for one in self._asked if one.verb and one.verb.rstrip("e")[:5] not in said]
        return blanked(self.evidence, tasks) if tasks else self.evidence

    def questions(self, start: int, end: int) -> list[tuple[int, int]]:
        """The questions within a stretch of the evidence."""
        return [(q.start, q.end) for q in self._asked if not q.verb and start <= q.start and q.end <= end]

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines of the text and its inline code, since a command may be shown as a block."""
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
        """Whether the sentence stands in the passage, word for word. Case, markup and punctuation do not count."""
        return _worded(sentence) in self._wordings

    @cached_property
    def _wordings(self) -> frozenset[tuple[str, ...]]:
        return frozenset(map(_worded, self._verbatim))

    def says(self, sentence: str) -> Quote | None:
        """The stretch that says it: the same sentence, or one that the check finds. A title stands for its text."""
        if _set(sentence) in self._titles and not is_order(sentence):
            return clip(self.text, 0, len(self.text))
        if unit := self._verbatim.get(_set(sentence)):
            return clip(self.text, unit.start, unit.end)
        _, found = _checked(sentence, [self])
        return found[1] if found else None


def _checked(sentence: str, sources: Sequence[_Source]) -> tuple[Verdict, tuple[int, Quote] | None]:
    """The verdict of the passages together; with the passage and its stretch that support the sentence, if one does.

    Questions and tasks such as "Write a poem" state nothing. When only one of them supports the sentence, the check is
    repeated without it. A sentence far from all statements of passages that ask for something is what they ask for.
    """
    texts = [one.stating(sentence) for one in sources]
    known = "\n".join(one.known for one in sources)
    order = is_order(sentence) or is_garbled(sentence, "\n".join([*texts, known]).casefold())
    verdict = check(sentence, texts, known=known)
    if order:
        return _contradicted(verdict, "order: it follows an order to the writer of the answer"), None
    if any(_is_asked_for(task, sources, known) for task in joined_tasks(sentence)):
        return _contradicted(verdict, ASKED_FOR), None
    for _ in range(MOST_QUESTIONS):
        if not _is_support(verdict):
            return (_contradicted(verdict, ASKED_FOR) if _is_asked_for(sentence, sources, known) else verdict), None
        place, start, end = verdict.passage or 0, verdict.start, verdict.end
        questions = sources[place].questions(start, end)
        if all(texts[place][a:b].isspace() for a, b in questions):
            return verdict, (sources[place].number, clip(sources[place].text, start, end))
        texts[place] = blanked(texts[place], questions)
        verdict = check(sentence, texts, known=known)
    return _contradicted(verdict, ASKED_FOR), None


def _is_asked_for(sentence: str, sources: Sequence[_Source], known: str) -> bool:
    """Whether the sentence is far from all statements and does what an order, a task or a question asks for.

    Beside an order to the writer of the answer, distance alone tells. Beside a task or a question, which a book may
    well have, the sentence must also have words of it, or no word of any statement.
    """
    asking = [one for one in sources if one.demands]
    if not asking:
        return False
    stated = frozenset[str]().union(*(one.stated for one in sources))
    said = telling_words(sentence)
    strange = [word for word in said if keys(word).isdisjoint(stated)]
    foreign = len(strange) == len(said) and not LIGHT.issuperset(strange)
    if not foreign and "distant" not in check(sentence, [one.statements for one in sources], known=known).kinds:
        return False
    if foreign or any(one.evidence != one.text for one in asking):
        return True
    demanded = sum(any(not keys(word).isdisjoint(one.demands) for one in asking) for word in strange)
    return demanded > 0 and demanded >= DEMANDED * len(strange)


def _contradicted(verdict: Verdict, reason: str) -> Verdict:
    return replace(verdict, standing="contradicted", reasons=(*verdict.reasons, reason))


def telling_words(sentence: str) -> set[str]:
    """The content words of a sentence, in lower case."""
    return {word for word in re.findall(r"\w+", sentence.casefold()) if word not in STOP_WORDS}


def _is_support(verdict: Verdict) -> bool:
    return verdict.supported and verdict.passage is not None


def _set(text: str) -> str:
    """A text normalised for verbatim comparison: without list sign, line breaks and escapes of brackets."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return " ".join(re.sub(r"\\([\[\]])", r"\1", flat).split())


def _worded(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case, without markup and punctuation."""
    return tuple(_WORDING.findall(_set(text).casefold()))


def is_garbled(sentence: str, text: str) -> bool:
    """Whether the sentence holds a shuffled word of the text, or words of the text run together.

    A planted order may ask a model for such words. They are no paraphrase: neither the text nor English has them.

    >>> is_garbled("The edon runs.", "the node runs")
    True
    """
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
    """How many of the words make up this one when joined; 0 when they do not."""
    fewest: dict[int, int] = {0: 0}
    for end in range(1, min(len(word), 400) + 1):
        counts = [fewest[begin] + 1 for begin in fewest if end - begin <= 40 and word[begin:end] in words]
        if counts:
            fewest[end] = min(counts)
    return fewest.get(len(word), 0)
