"""What cited passages say of a sentence. What they order, ask or set as a task is no evidence for an obedient model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rag.evidence.analyzed_text import read
from rag.evidence.verdict import check
from rag.text.english.speech_acts import Demand, asked, joined_tasks
from rag.text.english.stopwords import LIGHT
from rag.text.markup import addresses_in, same_address, written_addresses
from rag.text.orders import Order, blanked, is_order, orders, reports, without_orders
from rag.text.sentences import code_spans, sentence_spans, units
from rag.text.vocabulary import is_foreign, is_garbled
from rag.types import Passage, Quote, Standing

ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # `request.app`, which reads as a host name
_HOST: Final = re.compile(r"([\w-]+(?:\.[\w-]+)+(?::\d+)?)[/?#]")  # of an address without its scheme
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!()\[\]]")
LONGEST_QUOTE: Final = 200  # code points
ASKED_FOR: Final = "order: only an order, a task or a question says it"


class Finding(NamedTuple):
    """What the passages say of a statement. `by` holds the numbers of those that support it, alone or together.

    `quotes` holds, by passage number, the stretch that says it or comes nearest. `verbatim`: it is a sentence of a
    passage. `score` is the share of it that the passages hold.
    """

    standing: Standing
    quotes: dict[int, Quote]
    by: tuple[int, ...] = ()
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
    """One passage as evidence. `known` is what stands above it, `evidence` its text without strong orders."""

    def __init__(self, passage: Passage) -> None:
        self.number = passage.number
        self.text = passage.text
        names = [one for one in (passage.title, passage.heading, passage.breadcrumb, passage.chapter) if one]
        around = [*names, *(one for one in (passage.source_file_path, passage.url) if one)]
        self.known = " \n".join(around)
        self._own = {same_address(passage.url), same_address(passage.link)}
        self._names = " \n".join(names)
        self._titles = {_worded(title) for one in around for title in (one, *one.split(" > "))}

    @cached_property
    def evidence(self) -> str:
        return without_orders(self.text)

    @cached_property
    def _asked(self) -> list[Demand]:
        return list(asked(self.evidence))

    @cached_property
    def statements(self) -> str:
        """The evidence without what it asks for: tasks and questions, which an obedient model might take up."""
        return _without(self.evidence, self._asked)

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

    def dictated(self, sentence: str) -> list[str]:
        """The words of these orders."""
        return [self.text[one.start : one.end] for one in self.withdrawn(sentence)]

    def stating(self, sentence: str) -> str:
        """The evidence for a sentence: without questions and tasks ("Write a poem"), but with tasks of its own verb."""
        said = sentence.casefold()
        idle = [one for one in self._asked if not one.verb or one.verb.rstrip("e")[:5] not in said]
        return _without(self.text, [*idle, *self.withdrawn(sentence)])

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines, with and without the sign of a quotation, and its inline code, which may be shown as a block."""
        spans = [self.text[start:end].strip("`") for start, end in code_spans(self.text)]
        lines = self.text.split("\n")
        inner = [line.lstrip()[2:] for line in lines if line.lstrip().startswith("> ")]
        return frozenset(" ".join(line.split()) for line in [*lines, *inner, *spans])

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The addresses that an answer may show which cites it: of its text outside orders, of itself, of titles.

        The host of each stands there as well, but no other page of it.
        """
        found = addresses_in(self.text) | self._own
        hosts = (_HOST.match(one) for one in found)
        return found | self.dotted_names | {host[1] for host in hosts if host}

    @cached_property
    def dotted_names(self) -> frozenset[str]:
        """The names in its titles that read as an address, such as "Crates.io"."""
        return frozenset(filter(ATTRIBUTE.fullmatch, addresses_in(self._names)))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The words outside addresses: the "com" of "shop.com" is no word. In code, `request.app` is no address."""
        prose = blanked(self.text, code_spans(self.text))
        foreign = [one for one in written_addresses(self.text) if not ATTRIBUTE.fullmatch(one)]
        shown = self.text.casefold()
        for address in [*written_addresses(prose), *foreign]:
            shown = shown.replace(address.casefold(), " ")
        return frozenset(re.findall(r"\w+", shown))

    @cached_property
    def _verbatim(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """The units and rows of tables by their words, but for what a strong order or one before it dictates."""
        found: dict[tuple[str, ...], tuple[int, int]] = {}
        for unit in units(_without(self.text, (one for one in orders(self.text) if one.strong or one.follows))):
            found.setdefault(_worded(unit.text), (unit.start, unit.end))
            if unit.kind == "sentence":
                for start, end in sentence_spans(self.text, unit.start, unit.end, small=True):
                    found.setdefault(_worded(self.text[start:end]), (start, end))
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


def check_passages(
    sentence: str, sources: Sequence[CitedPassage], beside: Sequence[str], *, titles: bool = False
) -> Finding:
    """What the passages say together. What only an order, a task or a question says is contradicted.

    A lead-in, and what `titles` the text below it, states nothing and must have words of such a task.
    """
    for source in sources:
        if verbatim := source.stretch_of(sentence):
            return Finding("supported", {source.number: verbatim}, (source.number,), verbatim=True)
    texts = [one.stating(sentence) for one in sources]
    known = "\n".join(one.known for one in sources)
    verdict = check(sentence, texts, known=known, beside=beside)
    found = Finding(verdict.standing, {}, reasons=verdict.reasons, score=verdict.score)
    if is_garbled(sentence, "\n".join([*texts, known]).casefold()):
        return found.contradicted("order: it follows an order to the writer of the answer")
    if any(_is_asked_for(task, sources, known) for task in joined_tasks(sentence)):
        return found.contradicted(ASKED_FOR)
    words = _dictated(sentence, sources, texts, known) if verdict.supported else []
    if verdict.supported and verdict.passage is not None and not words:
        source = sources[verdict.passage]
        stretch = clip(source.text, verdict.start, verdict.end)
        return found._replace(quotes={source.number: stretch}, by=(source.number,))
    if _is_asked_for(sentence, sources, known, frame=titles or verdict.sort in ("lead", "heading")):
        return found.contradicted(ASKED_FOR)
    if words:
        return found._replace(standing="unconfirmed", reasons=(f"order: only an order says {words[0]!r}",))
    return found


def _dictated(sentence: str, sources: Sequence[CitedPassage], texts: Sequence[str], known: str) -> list[str]:
    """The words of a sentence that its passages have in orders alone.

    A strong or foreign order may be followed in other words, so every word counts that no passage has.
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


def _is_asked_for(sentence: str, sources: Sequence[CitedPassage], known: str, *, frame: bool = False) -> bool:
    """Whether the sentence is far from all statements and does what an order, a task or a question asks for.

    Beside an order to the writer of the answer, distance alone tells. Beside a task or a question, which a book may
    well have, the sentence must also have words of it, or no word of any statement.
    """
    asking = [one for one in sources if one.demanded]
    if not asking:
        return False
    said = read(sentence).whole.telling
    strange = said.keys() - frozenset[str]().union(*(one.stated for one in sources))
    ordered = any(one.evidence != one.text or one.demanded & strange for one in asking)
    if frame and not ordered and not is_foreign(sentence, fewest=3):  # a translation has no word of its task
        return False
    foreign = len(strange) == len(said) and not LIGHT.issuperset(said.values())
    if not foreign and "distant" not in check(sentence, [one.statements for one in sources], known=known).kinds:
        return False
    return foreign or ordered


def _without(text: str, found: Iterable[Order | Demand]) -> str:
    return blanked(text, ((one.start, one.end) for one in found))


def _worded(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case, without list sign, markup and punctuation but for `?`."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return tuple(_WORDING.findall(flat.casefold()))


def best_quote(sentence: str, text: str) -> Quote:
    """The stretch of `text` that says what `sentence` says: the sentence itself, or the line sharing most words.

    Of equals the shorter line wins, then the earlier. An empty text gives an empty quote.
    """
    wanted = sentence.strip().removeprefix("- ").strip()
    found = text.find(wanted) if wanted else -1
    if found >= 0:
        return clip(text, found, found + len(wanted))
    words = {token.key for token in read(sentence).whole.tokens if token.word[0].isalnum()}
    best = max(
        read(text).lines,
        key=lambda one: (len(words.intersection(token.key for token in one.tokens)), one.start - one.end, -one.start),
        default=None,
    )
    return clip(text, best.start, best.end) if best else Quote(quote="", start=0, end=0)


def clip(text: str, start: int, end: int) -> Quote:
    """The stretch of a passage as a quote, cut after a word where it is longer than a quote may be."""
    if end - start > LONGEST_QUOTE:
        space = text.rfind(" ", start, start + LONGEST_QUOTE + 1)
        end = space if space > start else start + LONGEST_QUOTE
    end = start + len(text[start:end].rstrip())
    return Quote(quote=text[start:end], start=start, end=end)
