"""Which cited passage says what a sentence of the answer says, and where: the support check, applied to a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rag.answer.citations import best_quote, clip
from rag.evidence.reading import read
from rag.evidence.verdict import check
from rag.text.english.speech_acts import Demand, asked, joined_tasks
from rag.text.english.stopwords import LIGHT
from rag.text.orders import Order, blanked, is_order, orders, reports, without_orders
from rag.text.sentences import code_spans, units
from rag.text.vocabulary import is_garbled
from rag.types import OMISSION, Passage, Quote, Standing

MOST_SOURCES: Final = 8  # cited passages of one sentence that are looked at
_CLAUSE: Final = 2  # content words with which a clause states something by itself
_RELATED: Final = 0.34  # least share of the sentence's words in a passage that is cited beside a supporting one
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!()\[\]]")
ASKED_FOR: Final = "order: only an order, a task or a question says it"
NEAR: Final = 0.4  # least share of a sentence without a citation that the passages must hold


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

    def contradicted(self, reason: str) -> Finding:
        """The finding with a reason that is certain."""
        return self._replace(standing="contradicted", reasons=(*self.reasons, reason))


class CitedPassage:
    """One passage as evidence: without planted orders."""

    def __init__(self, passage: Passage) -> None:
        self.number = passage.number
        self.text = passage.text
        around = (
            passage.title,
            passage.heading,
            passage.breadcrumb,
            passage.chapter,
            passage.source_file_path,
            passage.url,
        )
        self.known = " \n".join(one for one in around if one)
        self._titles = {_worded(title) for one in around if one for title in (one, *one.split(" > "))}

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
        found: list[Order | Demand] = [*(one for one in orders(self.text) if one.strong), *self._asked]
        return read("\n".join(self.text[one.start : one.end] for one in found)).keys

    def withdrawn(self, sentence: str) -> list[Order]:
        """The orders whose words are no evidence for the sentence: the weak ones that it reports are evidence."""
        return [one for one in orders(self.text) if one.strong or not reports(sentence, one)]

    @cached_property
    def _asked(self) -> list[Demand]:
        return list(asked(self.evidence))

    def stating(self, sentence: str) -> str:
        """The evidence for a sentence: without questions and tasks ("Write a poem"), but with tasks of its own verb."""
        said = sentence.casefold()
        found: list[Order | Demand] = [
            one for one in self._asked if not one.verb or one.verb.rstrip("e")[:5] not in said
        ]
        return blanked(self.text, [(one.start, one.end) for one in [*found, *self.withdrawn(sentence)]])

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
    def _verbatim(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """The units and rows of tables by their words, but for what a strong order or one before it dictates."""
        dictated = [(one.start, one.end) for one in orders(self.text) if one.strong or one.follows]
        found: dict[tuple[str, ...], tuple[int, int]] = {}
        for unit in units(blanked(self.text, dictated)):
            found.setdefault(_worded(unit.text), (unit.start, unit.end))
            if unit.kind == "table":
                for row in re.finditer(r"[^\n]+", unit.text):
                    found.setdefault(_worded(row[0]), (unit.start + row.start(), unit.start + row.end()))
        return found

    def stretch_of(self, sentence: str) -> Quote | None:
        """The stretch that has the words of the sentence, in order. A title stands for the whole text."""
        words = _worded(sentence)
        if words in self._titles and not is_order(sentence):
            return clip(self.text, 0, len(self.text))
        found = self._verbatim.get(words) if words else None
        return clip(self.text, *found) if found else None


class SupportCheck:
    """Checks statements against the passages of one turn. Words of the user's `question` may stand in a heading."""

    def __init__(self, passages: Iterable[Passage], question: str = "") -> None:
        self._sources = {passage.number: CitedPassage(passage) for passage in passages}
        self._question = question

    def claim(self, sentence: str, numbers: Sequence[int]) -> Finding:
        """What the passages with these numbers say of the sentence.

        When one passage supports it alone, unrelated passages get no quote. Without a passage it is contradicted.
        """
        sentence = sentence.strip("*_")
        sources = [self._sources[number] for number in numbers[:MOST_SOURCES]]
        if not sources or not sentence:
            return Finding("contradicted", (), {}, reasons=("citation: no passage is cited for it",))
        checked = [self._says(one, sentence) for one in sources]
        alone = {number: quote for one in checked for number, quote in one.quotes.items()}
        if alone:
            verbatim = any(one.verbatim for one in checked)
            beside = {
                one.number: best_quote(sentence, one.text)
                for one in sources
                if one.number not in alone and _is_related(sentence, one)
            }
            return Finding("supported", tuple(alone), alone | beside, verbatim)
        found = _checked(sentence, sources, self._turn) if len(sources) > 1 else checked[0]
        quotes = {one.number: best_quote(sentence, one.text) for one in sources} | found.quotes
        if found.by:
            return Finding("supported", tuple(quotes), quotes)
        standing: Standing = "unconfirmed" if found.supported else found.standing  # no sentence of a passage says it
        return found._replace(standing=standing, quotes=quotes)

    def clauses(self, whole: Finding, parts: Sequence[tuple[str, Sequence[int]]]) -> Finding:
        """The finding on a sentence with markers in its middle: the worst of the whole and of its clauses.

        A clause is checked against the passages that it cites, else against all passages of the sentence together. A
        clause with few content words may stand.
        """
        every = list(dict.fromkeys(number for _, numbers in parts for number in numbers))
        quotes = dict(whole.quotes)
        for text, numbers in parts:
            if len(read(text).whole.telling) >= _CLAUSE:
                found = self.claim(text, numbers)
                found = found if found.supported else self.claim(text, every)
                if not found.supported:
                    return found._replace(by=(), quotes=whole.quotes)
                quotes |= {number: quote for number, quote in found.quotes.items() if number not in quotes}
        return Finding("supported", tuple(quotes), quotes, whole.verbatim)

    def anywhere(self, sentence: str) -> Finding:
        """What all passages of the turn say of a sentence without a citation: contradicted where none comes near."""
        found = self.claim(sentence, self.numbers)
        foreign = any(reason.startswith("language:") for reason in found.reasons)
        if found.supported or (found.standing == "unconfirmed" and (foreign or found.score >= NEAR)):
            return found
        reasons = found.reasons or ("citation: no passage is cited for it",)
        return found._replace(standing="contradicted", reasons=reasons)

    def code(self, block: str, numbers: Sequence[int]) -> Finding:
        """Whether one cited passage contains every line of the code block. Indentation and fences do not count."""
        wanted = [" ".join(line.split()) for line in block.split("\n")[1:]]
        wanted = [line for line in wanted if line and line != OMISSION and not re.fullmatch(r"[`~]{3,}", line)]
        for number in numbers:
            source = self._sources[number]
            if wanted and all(line in source.lines for line in wanted):
                return Finding("supported", (number,), {number: best_quote(block, source.text)})
        quotes = {number: best_quote(block, self._sources[number].text) for number in numbers}
        verdict = check(block, [self._sources[number].evidence for number in numbers], beside=self._turn)
        standing: Standing = "unconfirmed" if verdict.supported else verdict.standing
        return Finding(standing, (), quotes, reasons=verdict.reasons)

    def frame(self, text: str, numbers: Sequence[int]) -> Finding:
        """Whether a heading or lead-in holds something that stands nowhere in the passages, or an order."""
        return _checked(text, [self._sources[number] for number in numbers or self.numbers], self._turn)

    def stands(self, heading: str, numbers: Sequence[int] = (), more: frozenset[str] = frozenset()) -> bool:
        """May the text stand as a heading? Each word must come from the passages, the question or `more`."""
        chosen = numbers or list(self._sources)
        known = read(self._question).keys.union(*(self._sources[number].stated for number in chosen))
        return all(word in more or key in known for key, word in read(heading).whole.telling.items())

    def has_written(self, words: str) -> bool:
        """Whether a passage, or what stands around it, has the words letter by letter, but for case."""
        wanted = " ".join(words.casefold().split())
        held = (read(text).spaced for source in self._sources.values() for text in (source.text, source.known))
        return any(wanted in text.casefold() for text in held)

    def quote(self, text: str, number: int) -> Quote:
        """The stretch of a passage that is nearest to a text."""
        return best_quote(text, self._sources[number].text)

    @cached_property
    def _turn(self) -> tuple[str, ...]:
        """What a sentence may have a word from without citing it: every passage of the turn, and the question."""
        around = [text for one in self._sources.values() for text in (one.evidence, one.known)]
        return (*around, self._question)

    @property
    def numbers(self) -> list[int]:
        """The passages of this turn."""
        return list(self._sources)

    def _says(self, source: CitedPassage, sentence: str) -> Finding:
        """What one passage says of it: the same sentence, or one that the check finds."""
        if verbatim := source.stretch_of(sentence):
            return Finding("supported", (source.number,), {source.number: verbatim}, verbatim=True)
        return _checked(sentence, [source], self._turn)


def _is_related(sentence: str, source: CitedPassage) -> bool:
    """Whether a passage that does not say the sentence has enough of its words to be quoted beside one that does."""
    wanted = read(sentence).whole.telling.keys()
    return len(wanted & source.stated) >= _RELATED * max(1, len(wanted))


def _checked(sentence: str, sources: Sequence[CitedPassage], beside: Sequence[str]) -> Finding:
    """What the passages say together; with the passage and its stretch that support the sentence, if one does.

    An order is contradicted, and so is a sentence that only an order, a task or a question of the passages says.
    """
    texts = [one.stating(sentence) for one in sources]
    known = "\n".join(one.known for one in sources)
    verdict = check(sentence, texts, known=known, beside=beside)
    found = Finding(verdict.standing, (), {}, reasons=verdict.reasons, score=verdict.score)
    if is_garbled(sentence, "\n".join([*texts, known]).casefold()):
        return found.contradicted("order: it follows an order to the writer of the answer")
    if any(_is_asked_for(task, sources, known) for task in joined_tasks(sentence)):
        return found.contradicted(ASKED_FOR)
    words = _dictated(sentence, sources, texts, known) if verdict.supported else []
    if verdict.supported and verdict.passage is not None and not words:
        source = sources[verdict.passage]
        return found._replace(
            by=(source.number,), quotes={source.number: clip(source.text, verdict.start, verdict.end)}
        )
    if _is_asked_for(sentence, sources, known):
        return found.contradicted(ASKED_FOR)
    if words:
        return found._replace(standing="unconfirmed", reasons=(f"order: only an order says {words[0]!r}",))
    return found


def _dictated(sentence: str, sources: Sequence[CitedPassage], texts: Sequence[str], known: str) -> list[str]:
    """The words of a sentence that its passages have in orders alone.

    Beside an order that is strong or in another language, what it dictates may come in other words, so every word
    counts that no passage has.
    """
    withdrawn = [(one.text[order.start : order.end], order) for one in sources for order in one.withdrawn(sentence)]
    if not withdrawn:
        return []
    stated = read(known).keys.union(*(read(text).keys for text in texts))
    strange = {key: word for key, word in read(sentence).whole.telling.items() if key not in stated}
    if any(order.strong or order.foreign for _, order in withdrawn):
        return [word for word in strange.values() if word not in LIGHT]
    ordered = frozenset[str]().union(*(read(text).keys for text, _ in withdrawn))
    return [word for key, word in strange.items() if key in ordered]


def _is_asked_for(sentence: str, sources: Sequence[CitedPassage], known: str) -> bool:
    """Whether the sentence is far from all statements and does what an order, a task or a question asks for.

    Beside an order to the writer of the answer, distance alone tells. Beside a task or a question, which a book may
    well have, the sentence must also have words of it, or no word of any statement.
    """
    asking = [one for one in sources if one.demanded]
    if not asking:
        return False
    stated = frozenset[str]().union(*(one.stated for one in sources))
    said = read(sentence).whole.telling
    strange = said.keys() - stated
    foreign = len(strange) == len(said) and not LIGHT.issuperset(said.values())
    if not foreign and "distant" not in check(sentence, [one.statements for one in sources], known=known).kinds:
        return False
    if foreign or any(one.evidence != one.text for one in asking):
        return True
    return any(one.demanded & strange for one in asking)


def _worded(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case, without list sign, markup and punctuation but for `?`."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return tuple(_WORDING.findall(flat.casefold()))
