"""Passages as evidence for a sentence. What they only order the answerer to say, or only ask, is no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final

from rag.answer.citations import clip
from rag.evidence.analyzed_text import read
from rag.text.english.speech_acts import questions
from rag.text.markup import addresses_in, same_address, written_addresses
from rag.text.orders import Order, blanked, dictated_quotations, is_order, orders, reports, without_orders
from rag.text.sentences import code_spans, sentence_spans, units
from rag.types import Passage, Quote

ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # `request.app`, which reads as a host name
_HOST: Final = re.compile(r"([\w-]+(?:\.[\w-]+)+(?::\d+)?)[/?#]")  # of an address without its scheme
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!()\[\]]")


class CitedPassage:
    """One passage as evidence. `known` are its titles and file, `evidence` its text without strong orders."""

    def __init__(self, passage: Passage) -> None:
        self.number = passage.number
        self.text = passage.text
        names = [name for name in (passage.title, passage.heading, passage.breadcrumb, passage.chapter) if name]
        around = [*names, *(name for name in (passage.source_file_path, passage.url) if name)]
        self.known = " \n".join(around)
        self._own = {same_address(passage.url), same_address(passage.link)}
        self._names = " \n".join(names)
        self._titles = {_worded(title) for name in around for title in (name, *name.split(" > "))}

    @cached_property
    def evidence(self) -> str:
        return without_orders(self.text)

    @cached_property
    def statements(self) -> str:
        """The text without orders and questions: what nobody could take up by obeying or answering."""
        return blanked(self.text, [*(order.span for order in orders(self.text)), *questions(self.evidence)])

    @cached_property
    def stated(self) -> frozenset[str]:
        """The keys of its statements and titles."""
        return read(self.statements).keys | read(self.known).keys

    @cached_property
    def orders_answerer(self) -> bool:
        """Whether a strong order is in it."""
        return self.evidence != self.text

    def withdrawn(self, sentence: str) -> list[Order]:
        """The orders whose words are no evidence for the sentence: the weak ones that it reports are evidence."""
        return [order for order in orders(self.text) if order.strong or not reports(sentence, order)]

    def dictated(self, sentence: str) -> list[str]:
        """The words of these orders."""
        return [self.text[order.start : order.end] for order in self.withdrawn(sentence)]

    def has_to_be_written(self, said: AbstractSet[str]) -> bool:
        """Whether all these keys are in one quotation that the text orders to say or to write."""
        return bool(said) and any(said <= read(quoted).keys for quoted in dictated_quotations(self.evidence))

    def unordered(self, sentence: str) -> str:
        """The text without the orders that the sentence does not report."""
        return blanked(self.text, (order.span for order in self.withdrawn(sentence)))

    def stating(self, sentence: str) -> str:
        """The same without questions."""
        return blanked(self.unordered(sentence), questions(self.evidence))

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

        So may the host of each, but no other page of it.
        """
        found = addresses_in(self.text) | self._own
        hosts = (_HOST.match(address) for address in found)
        return found | self.dotted_names | {host[1] for host in hosts if host}

    @cached_property
    def dotted_names(self) -> frozenset[str]:
        """The names in its titles that read as an address, such as "Crates.io"."""
        return frozenset(filter(ATTRIBUTE.fullmatch, addresses_in(self._names)))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The words outside addresses: the "com" of "shop.com" is no word. In code, `request.app` is no address."""
        prose = blanked(self.text, code_spans(self.text))
        foreign = [address for address in written_addresses(self.text) if not ATTRIBUTE.fullmatch(address)]
        shown = self.text.casefold()
        for address in [*written_addresses(prose), *foreign]:
            shown = shown.replace(address.casefold(), " ")
        return frozenset(re.findall(r"\w+", shown))

    @cached_property
    def _verbatim(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """The units and rows of tables by their words, but for what a strong order or one before it dictates."""
        found: dict[tuple[str, ...], tuple[int, int]] = {}
        dictated = (order.span for order in orders(self.text) if order.strong or order.follows)
        for unit in units(blanked(self.text, dictated)):
            found.setdefault(_worded(unit.text), (unit.start, unit.end))
            if unit.kind == "sentence":
                for start, end in sentence_spans(self.text, unit.start, unit.end, small=True):
                    found.setdefault(_worded(self.text[start:end]), (start, end))
            if unit.kind == "table":
                for row in re.finditer(r"[^\n]+", unit.text):
                    found.setdefault(_worded(row[0]), (unit.start + row.start(), unit.start + row.end()))
        return found

    def stretch_of(self, sentence: str) -> Quote | None:
        """The stretch that has the words of the sentence, in order. For a title it is the whole text."""
        words = _worded(sentence)
        if words in self._titles and not is_order(sentence):
            return clip(self.text, 0, len(self.text))
        found = self._verbatim.get(words) if words else None
        return clip(self.text, *found) if found else None


class TurnEvidence:
    """The passages of one turn by number, and the question."""

    def __init__(self, passages: Iterable[Passage], question: str) -> None:
        self.passages = {passage.number: CitedPassage(passage) for passage in passages}
        self.question = question

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """The texts that a sentence may share words with without citing them."""
        around = [text for passage in self.passages.values() for text in (passage.evidence, passage.known)]
        return (*around, self.question)

    def known_words(self, numbers: Iterable[int] = ()) -> frozenset[str]:
        """The keys of what these passages, else all, state, and of the question."""
        stated = (self.passages[number].stated for number in numbers or self.passages)
        return read(self.question).keys.union(*stated)

    def has_written(self, words: str) -> bool:
        """Whether a passage, or its titles, have the words letter by letter, but for case."""
        wanted = " ".join(words.casefold().split())
        held = (read(text).spaced for passage in self.passages.values() for text in (passage.text, passage.known))
        return any(wanted in text.casefold() for text in held)


def _worded(text: str) -> tuple[str, ...]:
    """The words and signs of a text in lower case, without list sign, markup and punctuation but for `?`."""
    flat = re.sub(r"\s*\n[ \t>]*", " ", _LIST_SIGN.sub("", text))
    return tuple(_WORDING.findall(flat.casefold()))
