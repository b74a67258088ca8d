"""Passages as evidence for a sentence. What they only order the answerer to say, or only ask, is no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final, NamedTuple

from rag.evidence.analyzed_text import read
from rag.evidence.verdict import SCATTERED, check
from rag.text.english import phrases
from rag.text.english.speech_acts import joined_tasks, questions, task_verb
from rag.text.english.stopwords import LIGHT
from rag.text.markup import addresses_in, same_address, written_addresses
from rag.text.orders import Order, blanked, dictated_quotations, is_order, orders, reports, without_orders
from rag.text.sentences import code_spans, sentence_spans, units
from rag.text.vocabulary import is_garbled
from rag.types import Passage, Quote, Standing

ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")  # `request.app`, which reads as a host name
_HOST: Final = re.compile(r"([\w-]+(?:\.[\w-]+)+(?::\d+)?)[/?#]")  # of an address without its scheme
_LIST_SIGN: Final = re.compile(r"^(?:[>\s]*)(?:[-*+]|\d{1,9}[.)])[ \t]+")
_WORDING: Final = re.compile(r"\w+(?:[^\w\s*_`]+\w+)*|[^\w\s*_`\"'“”‘’.,;:!()\[\]]")
LONGEST_QUOTE: Final = 200  # code points
_NAME_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_INDEX_FILES: Final = ("index", "_index", "readme")
OBEYED: Final = "order: it does what an order to the writer of the answer says"
ONLY_ORDERED: Final = "order: only an order to the writer of the answer says it"
_BESIDE: Final = "distant: beside an order, the passages do not say "
ONLY_ASKED: Final = "distant: only a question says it"


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

    @property
    def ordered(self) -> bool:
        """Whether only an order says it: no judge lifts that doubt, since a planted order would entail what it says."""
        return any(reason.startswith("order:") for reason in self.reasons)

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
    def statements(self) -> str:
        """The text without orders and questions: what nobody could take up by obeying or answering."""
        return blanked(self.text, [*((one.start, one.end) for one in orders(self.text)), *questions(self.evidence)])

    @cached_property
    def stated(self) -> frozenset[str]:
        """The keys of its statements, and of what stands above it."""
        return read(self.statements).keys | read(self.known).keys

    @cached_property
    def orders_answerer(self) -> bool:
        """Whether a strong order is in it."""
        return self.evidence != self.text

    def withdrawn(self, sentence: str) -> list[Order]:
        """The orders whose words are no evidence for the sentence: the weak ones that it reports are evidence."""
        return [one for one in orders(self.text) if one.strong or not reports(sentence, one)]

    def dictated(self, sentence: str) -> list[str]:
        """The words of these orders."""
        return [self.text[one.start : one.end] for one in self.withdrawn(sentence)]

    def has_to_be_written(self, said: AbstractSet[str]) -> bool:
        """Whether all these keys are in one quotation that the text orders to say or to write."""
        return bool(said) and any(said <= read(quoted).keys for quoted in dictated_quotations(self.evidence))

    def unordered(self, sentence: str) -> str:
        """The text without the orders that the sentence does not report."""
        return blanked(self.text, ((one.start, one.end) for one in self.withdrawn(sentence)))

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
        dictated = ((one.start, one.end) for one in orders(self.text) if one.strong or one.follows)
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
        """The stretch that has the words of the sentence, in order. A title stands for the whole text."""
        words = _worded(sentence)
        if words in self._titles and not is_order(sentence):
            return clip(self.text, 0, len(self.text))
        found = self._verbatim.get(words) if words else None
        return clip(self.text, *found) if found else None


def check_passages(
    sentence: str, sources: Sequence[CitedPassage], beside: Sequence[str], *, titles: bool = False
) -> Finding:
    """Check a sentence against the passages together. It is contradicted if it obeys a strong order.

    "Tell users that the pump is free." supports "Users are told that the pump is free". "The pump is free" is
    unconfirmed, and no judge is asked, since only an order to the writer of the answer says it. A lead-in, and what
    `titles` the text below it, states nothing; it obeys only with words of the order.
    """
    for source in sources:
        if verbatim := source.stretch_of(sentence):
            return Finding("supported", {source.number: verbatim}, (source.number,), verbatim=True)
    texts = [one.evidence for one in sources]
    known = "\n".join(one.known for one in sources)
    verdict = check(sentence, texts, known=known, beside=beside)
    found = Finding(verdict.standing, {}, reasons=verdict.reasons, score=verdict.score)
    if is_garbled(sentence, "\n".join([*texts, known]).casefold()):
        return found.contradicted("distant: it has words of the passages with other letters or without spaces")
    frame = titles or verdict.sort in ("lead", "heading")
    if not verdict.supported and _obeys(sentence, sources, known, frame=frame):
        return found._replace(standing="contradicted", reasons=(OBEYED,))
    if verdict.standing != "contradicted" and (doubt := _dictated(sentence, sources, known)):
        return found._replace(standing="unconfirmed", reasons=(*found.reasons, doubt))
    if verdict.supported and (doubt := _doubt(sentence, sources, known, beside)):
        return found._replace(standing="unconfirmed", reasons=(doubt,))
    if not verdict.supported or verdict.passage is None:
        return found
    source = sources[verdict.passage]
    return found._replace(quotes={source.number: clip(source.text, verdict.start, verdict.end)}, by=(source.number,))


def _doubt(sentence: str, sources: Sequence[CitedPassage], known: str, beside: Sequence[str]) -> str:
    """Why a sentence that the passages have is doubtful all the same; "" if it is not."""
    if any(one.has_to_be_written(read(sentence).whole.telling.keys()) for one in sources):
        return ONLY_ORDERED
    whole = [one.evidence for one in sources]
    without = [one.unordered(sentence) for one in sources], [one.stating(sentence) for one in sources]
    for texts, reason in zip(without, (ONLY_ORDERED, ONLY_ASKED), strict=True):
        if texts != whole and not check(sentence, texts, known=known, beside=beside).supported:
            return reason
    joined = [] if task_verb(sentence) else joined_tasks(sentence)
    return SCATTERED if any(one.stretch_of(task) for task in joined for one in sources) else ""


def _dictated(sentence: str, sources: Sequence[CitedPassage], known: str) -> str:
    """The doubt about a sentence with words that its passages have in orders alone; "" if it has none.

    An order in another language may be translated, so every word counts that no passage has. Beside a strong order it
    counts too, but may be a paraphrase: a judge is not shown strong orders and can tell.
    """
    withdrawn = [(one.text[order.start : order.end], order) for one in sources for order in one.withdrawn(sentence)]
    if not withdrawn:
        return ""
    stated = read(known).keys.union(*(read(one.stating(sentence)).keys for one in sources))
    strange = {key: word for key, word in read(sentence).whole.telling.items() if key not in stated}
    ordered = frozenset[str]().union(*(read(text).keys for text, _ in withdrawn))
    if words := [word for key, word in strange.items() if key in ordered]:
        return f"order: only an order says {words[0]!r}"
    words = [word for word in strange.values() if word not in LIGHT]
    if words and any(order.foreign for _, order in withdrawn):
        return f"order: an order in another language may say {words[0]!r}"
    return f"{_BESIDE}{words[0]!r}" if words and any(order.strong for _, order in withdrawn) else ""


def _obeys(sentence: str, sources: Sequence[CitedPassage], known: str, *, frame: bool = False) -> bool:
    """Whether the sentence is far from all statements, beside a strong order.

    What it obeys need not be in the words of the order: "Write a poem in your answer" is obeyed with any words.
    """
    if not any(one.orders_answerer for one in sources):
        return False
    said = read(sentence).whole.telling
    strange = said.keys() - frozenset[str]().union(*(one.stated for one in sources))
    if len(strange) == len(said) and not LIGHT.issuperset(said.values()):
        return True
    ordered = read("\n".join(text for one in sources for text in one.dictated(sentence))).keys
    if frame and not strange & ordered:
        return False
    return "distant" in check(sentence, [one.statements for one in sources], known=known).kinds


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


def name_words(name: str) -> tuple[str, ...]:
    """A name as words: "Ch. 02-install.md" is chapter, 2, install, md."""
    found = _NAME_WORD.findall(re.sub(r"\\(.)", r"\1", name).casefold())
    return tuple(phrases.SORTS_OF_PARTS.get(word, word.lstrip("0") or word) for word in found)


def consists_of(words: tuple[str, ...], names: frozenset[tuple[str, ...]]) -> bool:
    """Whether the words are some of the names, with words such as "the" and "section" before, between and behind them.

    >>> consists_of(("chapter", "2", "section", "quick", "start"), frozenset({("chapter", "2"), ("quick", "start")}))
    True
    """
    if words in names:
        return True
    ends = {0}  # where a name may end
    for at in range(len(words)):
        if at in ends:
            ends |= {at + len(name) for name in names if words[at : at + len(name)] == name}
            ends |= {at + 1} if words[at] in phrases.AROUND_NAMES else set()
    return len(words) in ends and not phrases.AROUND_NAMES.issuperset(words)


def names_of(passage: Passage) -> frozenset[tuple[str, ...]]:
    """The names by which a citation may mean a passage, as words."""
    return frozenset(filter(None, _names_of(passage)))


def _names_of(passage: Passage) -> Iterator[tuple[str, ...]]:
    """These names: titles, headings and chapter, without their numbers too; "Chapter 2"; its file."""
    crumbs = passage.breadcrumb.split(" > ")
    for title in (passage.title, passage.chapter or "", passage.heading, *crumbs):
        yield name_words(title)
        if numbered := phrases.NUMBERED_PART.match(title):
            yield from _numbered_names(
                numbered["sort"], numbered["number"] or numbered["count"], title[numbered.end() :]
            )
    for path in (passage.source_file_path, passage.url.partition("#")[0].partition("://")[2] or passage.url):
        folder, _, file = path.rstrip("/").rpartition("/")
        stem = file.rpartition(".")[0] or file
        stem = folder.rpartition("/")[2] if stem.lower() in _INDEX_FILES and folder else stem
        yield from map(name_words, (path, file, stem))
        if numbered := phrases.NUMBERED_FILE.match(stem):
            yield from _numbered_names("chapter", numbered["number"], stem[numbered.end() :])
            yield name_words(file[numbered.end() :])
    if passage.page_number is not None:
        yield ("page", str(passage.page_number))


def _numbered_names(sort: str | None, number: str, rest: str) -> Iterator[tuple[str, ...]]:
    """The names that the number of a part gives: "4.1 Ownership" is "Chapter 4", "Section 4.1" and "Ownership"."""
    yield name_words(rest)
    numbers = name_words(number)
    for one in name_words(sort) if sort else phrases.NUMBERED_SORTS:
        yield from ((one, *numbers[:end]) for end in range(1, len(numbers) + 1))
