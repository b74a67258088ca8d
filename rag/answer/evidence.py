"""A passage as evidence: its sentences, tokens and addresses, each computed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from rag.answer.units import units
from rag.text.addresses import addresses_in, same_address, undisguised
from rag.text.sentences import code_spans
from rag.text.visible import normal, visible
from rag.text.words import STOP_WORDS, content_stems, words
from rag.types import Passage, Quote

LONGEST_QUOTE: Final = 200  # code points
_UP_TO_TWELVE: Final = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
NUMBER_WORDS: Final = {word: str(value) for value, word in enumerate(_UP_TO_TWELVE, 2)} | {"one": "1"}
_NUMBER: Final = re.compile(
    r"(?<![^\W_])(?<!\d[.,])(?:v(?=\d))?(?P<number>\d+(?:[,_' ]\d{3})*(?:\.\d+)*)"
    r"(?P<glued>[^\W\d_]*)(?P<symbol> ?(?:%|°|[^\W\d_]+))?"
    rf"|\b(?P<word>{'|'.join(NUMBER_WORDS)})\b"
)
_THOUSANDS: Final = re.compile(r"[,_' ]")
# In running text: options, names with an underscore, full stops inside, or letters before digits, and paths.
_CODE: Final = re.compile(
    r"(?<![\w/.-])(?:--[a-z][\w-]*|-[a-z](?![\w-])|\.{0,2}/[\w./-]{2,}|[\w-]+(?:/[\w.-]+){2,}|\w+(?:\.\w+)*_\w+(?:[._]\w+)*"
    r"|[^\W\d]\w+(?:\.[^\W\d]\w+)+|[^\W\d_]+\d[\w]*(?:[.-]\d\w*)*)",
    re.IGNORECASE,
)
_SQUEEZED: Final = re.compile(r"[\s_\-.]+")
# A sentence of a passage that speaks to the model is no evidence. It catches the plain forms; the judge reads the rest.
_TO_THE_MODEL: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|previous)\b"
    r"|\b(?:system prompt|you are now|as an ai|(?:ai|the) assistant)\b"
    r"|\b(?:the|to|for|as|dear|any|every) (?:an? )?(?:large )?language model\b"
    r"|\b(?:in|to|with|end|begin|start) your (?:answer|reply|response)s?\b"
    r"|\b(?:tell|inform|remind|urge|advise) (?:the |every |all |your )?(?:users?|readers?|person)\b"
    r"|\b(?:when|if|before|after) (?:answering|asked|you answer|you reply|you respond)\b"
    r"|\b(?:answer|reply|respond|say) (?:only |always |instead )*(?:with|that|in)\b.{0,60}\binstead\b",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """Something that has no other wording. `kind` is "number", "unit" or "code"; `text` is in its normal form."""

    kind: str
    text: str


class Sentence(NamedTuple):
    """A sentence, row or heading of a passage: its span, its words in order, and the stems of its content words."""

    start: int
    end: int
    words: tuple[str, ...]
    stems: frozenset[str]


class Source:
    """One passage. What speaks to the model in it counts neither as text nor as a place of addresses."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.number = passage.number
        names = [passage.title, passage.heading, passage.breadcrumb, passage.chapter or "", passage.source_file_path]
        page = f"page {passage.page_number}" if passage.page_number is not None else ""
        self.known = "\n".join(filter(None, [*names, passage.link, page]))

    @cached_property
    def body(self) -> str:
        """The text with blanks in place of hidden signs and of what speaks to the model."""
        text = visible(self.passage.text, " ")
        found = [unit for unit in units(text) if _TO_THE_MODEL.search(text[unit.start : unit.end])]
        for unit in found:
            text = text[: unit.start] + " " * (unit.end - unit.start) + text[unit.end :]
        return text

    @cached_property
    def sentences(self) -> list[Sentence]:
        found = []
        for unit in units(self.body):
            text = self.body[unit.start : unit.end]
            found.append(Sentence(unit.start, unit.end, tuple(words(text)), frozenset(content_stems(text))))
        return [sentence for sentence in found if sentence.words]

    @cached_property
    def known_stems(self) -> frozenset[str]:
        return frozenset(content_stems(self.known))

    @cached_property
    def stems(self) -> frozenset[str]:
        return self.known_stems.union(*(sentence.stems for sentence in self.sentences))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(words(f"{self.body}\n{self.known}"))

    @cached_property
    def _quotations(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """Where each sentence stands, by its words; so do its titles, in the whole text."""
        found = {tuple(words(name)): (0, len(self.body)) for name in self.known.split("\n")}
        return found | {sentence.words: (sentence.start, sentence.end) for sentence in reversed(self.sentences)}

    def quotation(self, text: str) -> Quote | None:
        """The sentence of the passage that has these words and no other; of several sentences the first."""
        spoken = tuple(words(text))
        found = self._quotations.get(spoken) if len(spoken) > 1 else None
        return clip(self.passage.text, *found) if found else None

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines of the text and its inline code, for blocks of code."""
        spans = [self.body[start:end].strip("`") for start, end in code_spans(self.body)]
        return frozenset(" ".join(line.split()).removeprefix("> ") for line in [*self.body.split("\n"), *spans])

    @cached_property
    def _numbers(self) -> dict[str, set[str]]:
        """The numbers with the words that follow each."""
        found: dict[str, set[str]] = {}
        for number, unit, _ in _read_numbers(f"{self.body}\n{self.known}"):
            found.setdefault(number, set()).add(unit)
        for part in re.findall(r"\d+", normal(f"{self.body}\n{self.known}")):
            found.setdefault(plain_number(part), {""})
        return found

    @cached_property
    def _flat(self) -> str:
        return " ".join(normal(f"{self.body}\n{self.known}").split())

    @cached_property
    def _squeezed(self) -> str:
        return _SQUEEZED.sub("", self._flat)

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The addresses that an answer may show which cites it, and their hosts."""
        found = {same_address(self.passage.url), same_address(self.passage.link)}
        for text in {self.body, undisguised(self.body), self.known}:
            found.update(map(same_address, addresses_in(text)))
        for text in re.findall(r"\]\(<?([^()\s<>]{1,2000})", self.body):
            found.add(same_address(text))
        return frozenset(found | {re.split(r"[/?#]", one)[0] for one in found})

    def has(self, token: Token) -> bool:
        """Whether the passage or its titles have the token."""
        if token.kind == "code":
            return token.text in self._flat or _SQUEEZED.sub("", token.text) in self._squeezed
        number, _, unit = token.text.partition(" ")
        following = self._numbers.get(number)
        if following is None:
            return any(found.startswith(f"{number}.") for found in self._numbers) if "." in number else False
        if token.kind == "number" or not all(map(_is_symbol, following)):
            return True
        return any(other.startswith(unit[0]) or {other[0], unit[0]} == {"m", "μ"} for other in following)


def tokens(text: str, *, code: bool = False) -> list[Token]:
    """The numbers, units and code words of a sentence; with `code` all of it is code.

    >>> [token.text for token in tokens("Run `uv sync --frozen` with 1,000 MB or three disks.")]
    ['uv', 'sync', '--frozen', '1000 mb', '3']
    """
    spans = [(0, len(text))] if code else code_spans(text)
    found = [Token("code", part) for start, end in spans for part in _code_words(text[start:end])]
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    prose = " ".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    found += [Token("code", normal(match[0]).rstrip(".-/")) for match in _CODE.finditer(prose)]
    for number, unit, spoken in _read_numbers(_CODE.sub(" ", prose)):
        if not (spoken and number == "1"):  # "one" is mostly no number
            found.append(Token("unit" if unit else "number", f"{number} {unit}".strip()))
    return list(dict.fromkeys(found))


def _code_words(code: str) -> Iterator[str]:
    for part in normal(code).strip("`").split():
        word = part.strip("()[]{},;:'\"`<>|…")
        if re.search(r"\w", word):
            yield word


def _read_numbers(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each number with the word right after it, and whether it is a word itself."""
    for match in _NUMBER.finditer(normal(text)):
        if match["word"]:
            yield NUMBER_WORDS[match["word"]], "", True
            continue
        unit = match["glued"] or (match["symbol"] or "").strip()
        yield plain_number(_THOUSANDS.sub("", match["number"])), "" if unit in STOP_WORDS else unit, False


def plain_number(number: str) -> str:
    """A number without zeros that change nothing: 007 is 7, 2.50 is 2.5; a version such as 3.10.0 stays."""
    whole, point, rest = number.partition(".")
    if point and "." not in rest:
        return f"{whole.lstrip('0') or '0'}.{rest.rstrip('0')}".rstrip(".")
    return whole.lstrip("0") or "0" if not point else number


def _is_symbol(unit: str) -> bool:
    return 0 < len(unit) <= 3 and unit.isalpha() and unit not in STOP_WORDS


def best_quote(sentence: str, source: Source | str) -> Quote:
    """The stretch of a passage that says what a sentence says: the sentence itself, or the one sharing most words.

    Of equals the shorter one wins, then the earlier. An empty text gives an empty quote.
    """
    if isinstance(source, str):
        source = Source(Passage(number=0, score=0, chunk_id="", text=source, title="", url="", link=""))
    if found := source.quotation(sentence):
        return found
    wanted = frozenset(words(sentence))
    best = max(
        source.sentences, key=lambda one: (len(wanted.intersection(one.words)), one.start - one.end), default=None
    )
    return clip(source.passage.text, best.start, best.end) if best else clip(source.passage.text, 0, LONGEST_QUOTE)


def clip(text: str, start: int, end: int) -> Quote:
    """A stretch of a passage as a quote, cut after a word where it is longer than a quote may be."""
    end = min(end, len(text))
    if end - start > LONGEST_QUOTE:
        space = text.rfind(" ", start, start + LONGEST_QUOTE + 1)
        end = space if space > start else start + LONGEST_QUOTE
    end = start + len(text[start:end].rstrip())
    return Quote(quote=text[start:end], start=start, end=end)


def allowed(addresses: Iterable[str], sources: Iterable[Source]) -> list[str]:
    """The addresses among these that none of the passages shows."""
    known = frozenset[str]().union(*(source.addresses for source in sources))
    return [one for one in addresses if same_address(one) not in known]
