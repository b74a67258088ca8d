"""What a sentence takes over letter by letter: numbers, names, code words and addresses. And where each of them stands.

An author cannot have meant them by other words, so it is known for certain when one comes from nowhere. The same table
holds for every kind:

| it stands | verdict |
|---|---|
| in the cited passages, or in their titles, headings and files | none |
| in another passage of the turn or in the question; or only its parts stand there, as those of a path that is put \
together, of an option with another value, or of an acronym | unconfirmed |
| nowhere | contradicted |
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final

from rag.evidence.code_words import code_words, holds_code
from rag.evidence.passages import SourceLine
from rag.evidence.words import Token
from rag.text.english.word_lists import COMMON_ENDINGS, TITLES
from rag.text.terms import is_english
from rag.types import Standing

MOST_CODE: Final = 20  # code words that are named
SHORTEST_NAME: Final = 3  # letters; shorter ones are initials
SHORTEST_PART: Final = 3  # letters of a part by which a code word is recognised
UNCOMMON: Final = 0.8  # least weight of a name at the beginning of a sentence
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ADDRESS: Final = re.compile(
    r"[a-z]+:/{1,3}\S{2,500}|(?<![\w/:\\])(?://|\\\\)[\w-]{2,200}|[\w.+-]{1,100}@[\w-]{1,100}"
    r"|(?<![\w.])[\w-]{1,200}(?:\.[\w-]{1,200}){0,8}\.[^\W\d_]{2,60}\b",
    re.IGNORECASE,
)
# Other spellings of the dot in an address. In words it is one only before a common domain: "dot product" is none.
_DOT: Final = re.compile(
    r"\s?[\[({<]\s?(?:\.|dot)\s?[\])}>]\s?|(?<=[A-Za-z0-9])[。｡⠨](?=[A-Za-z])|%2e"
    r"|(?<=\w)[\s_-]{1,3}dot[\s_-]{1,3}(?=(?:com|org|net|io|dev|app|co|info|biz|ai|xyz|me|ru|cn|de|uk|eu|us)\b)",
    re.IGNORECASE,
)
_HYPHENS: Final = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_BEGINS: Final = frozenset("|*_:;–—\"'“‘([>")  # a word after one of these may have its capital from there
_CAPITALIZED: Final = re.compile(r"[A-Z]\w*(?:[ \n-]+[A-Z]\w*){2,}")  # Cross-Origin Resource Sharing
_SPAN: Final = re.compile(r"`[^`]*`")


class Held:
    """A text in the forms in which mentions are looked up."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def folded(self) -> str:
        return self._text.translate(_HYPHENS).casefold()

    @cached_property
    def spaced(self) -> str:
        return " ".join(self._text.split())

    @cached_property
    def addresses(self) -> str:
        return unicodedata.normalize("NFKC", self._text).casefold()

    @cached_property
    def parts(self) -> frozenset[str]:
        """Every run of letters."""
        return frozenset(_LETTERS.findall(self.folded))

    @cached_property
    def numbers(self) -> frozenset[str]:
        runs = _DIGITS.findall(self.folded)
        return frozenset(_plain(part) for run in runs for part in (run, *re.split("[.,]", run)))

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """The initials of capitalized words in a row: LSP for a Language Server Protocol."""
        found: set[str] = set()
        for run in _CAPITALIZED.findall(self._text):
            initials = "".join(word[0] for word in re.split(r"[ \n-]+", run))
            found.update(part for at in range(len(initials)) for part in accumulate(initials[at:]))
        return frozenset(found)


@lru_cache(maxsize=256)
def held(text: str) -> Held:
    """A text, read. The result is cached, since the sentences of an answer cite the same few passages."""
    return Held(text)


class Mentions:
    """Looks up what sentences mention: in the `cited` texts, then `beside` them."""

    def __init__(self, cited: Sequence[str], beside: Sequence[str]) -> None:
        self._cited = [held(text) for text in cited if text]
        self._all = [*self._cited, *(held(text) for text in beside if text)]

    def reasons(self, sentence: str, line: SourceLine) -> Iterator[tuple[Standing, str]]:
        """The standing of each name, address and code word that the cited texts lack, with the reason of a `Verdict`.

        >>> from rag.evidence.passages import line as read_line
        >>> text = "In spring a node used Zenoh."
        >>> list(Mentions(["In spring a node used DDS."], []).reasons(text, read_line(text, 0, len(text))))
        [('contradicted', 'name: Zenoh is not in the passages')]
        """
        for name in _names(sentence, line):
            if not _has_name(self._cited, name):
                near = _has_name(self._all, name) or any(name in one.acronyms for one in self._all)
                yield _absent("name", name, near=near)
        yield from self.code(sentence)

    def code(self, sentence: str) -> Iterator[tuple[Standing, str]]:
        """The same of code words and addresses alone."""
        for address in _addresses(sentence):
            wanted = re.compile(rf"(?<!\w)[_*]{{0,3}}{re.escape(address.casefold())}[_*]{{0,3}}(?!\w)")
            if not any(wanted.search(one.addresses) for one in self._cited):
                near = any(wanted.search(one.addresses) for one in self._all)
                yield _absent("address", address, near=near)
        for word in [one for one in code_words(sentence) if any(sign.isalnum() for sign in one)][:MOST_CODE]:
            if not any(holds_code(one.spaced, word) for one in self._cited):
                near = any(holds_code(one.spaced, word) for one in self._all) or self._has_parts(word)
                yield _absent("code", word, near=near)

    def number(self, sentence: str, start: int, text: str) -> tuple[Standing, str]:
        """The standing of a number at `sentence[start:]` that the cited texts do not count. In code it is a value."""
        runs = [_plain(run) for run in _DIGITS.findall(text)]
        missing = [run for run in runs if not any(run in one.numbers for one in self._cited)]
        in_code = any(span.start() <= start < span.end() for span in _SPAN.finditer(sentence))
        near = not runs or len(missing) < len(runs) or in_code
        return _absent(
            "number", text, near=near or all(any(run in one.numbers for one in self._all) for run in missing)
        )

    def strange_words(self, line: str) -> bool:
        """Whether a line of code has a word that stands nowhere."""
        words = re.findall(r"[^\W\d_]\w+", line.casefold())
        return any(not any(word in one.folded for one in self._all) for word in words)

    def _has_parts(self, word: str) -> bool:
        """Whether every word within a code word stands somewhere: it may have been put together from them."""
        parts = _LETTERS.findall(word.casefold())
        known = all(any(part in one.parts for one in self._all) for part in parts)
        return known and any(len(part) >= SHORTEST_PART for part in parts)


def _absent(kind: str, text: str, *, near: bool) -> tuple[Standing, str]:
    return "unconfirmed" if near else "contradicted", f"{kind}: {text} is not in the passages"


def _has_name(texts: Sequence[Held], name: str) -> bool:
    forms = (name.casefold(), name.casefold().removesuffix("s"))
    return any(form in one.folded for one in texts for form in forms)


def _addresses(sentence: str) -> list[str]:
    """What reads as an address outside code: `name.letters` with or without a scheme, in any spelling, each once.

    >>> _addresses("See evil[.]example, hxxp://a.b and a。com.")
    ['evil.example', 'hxxp://a.b', 'a.com']
    """
    said = _DOT.sub(".", html.unescape(_SPAN.sub(" ", sentence)))
    found = [match[0].rstrip(".,;:!?)]}*_'\"") for match in _ADDRESS.finditer(unicodedata.normalize("NFKC", said))]
    return list(dict.fromkeys(found))


def _plain(number: str) -> str:
    """A number for comparing: "1,000" is "1000", "5.0" is "5"."""
    plain = re.sub(r",(?=\d{3}\b)", "", number)
    return re.sub(r"(?:\.0)+$", "", plain).lstrip("0") or "0"


def _names(sentence: str, line: SourceLine) -> list[str]:
    """The words with a capital that no beginning of a sentence, cell or quotation explains, each once."""
    spans = [match.span() for match in _SPAN.finditer(sentence)]
    found: dict[str, None] = {}
    for token in line.tokens:
        word = sentence[token.start : token.end]
        if not token.capital or len(word) < SHORTEST_NAME or not _LETTERS.fullmatch(word):
            continue
        before = sentence[: token.start].rstrip()[-1:]
        begins = token.first or not before or before in _BEGINS or before in ".!?"
        in_code = any(start <= token.start < end for start, end in spans)
        if not in_code and not (begins and (is_english(word.casefold()) or word.istitle())):
            found[word] = None
    return list(found)


def is_name(token: Token) -> bool:
    """Whether a token is taken for a name: a capitalized content word, and uncommon if it begins a sentence."""
    if not token.capital or token.digits or not token.content or len(token.word) < 2 or token.word in TITLES:
        return False
    return not token.first or (token.weight >= UNCOMMON and not _is_common(token.word))


def _is_common(word: str) -> bool:
    """Whether a word merely begins a sentence, by its ending: "Landlords", "Negotiation"."""
    return word.endswith(COMMON_ENDINGS) or (word.endswith("s") and is_english(word[:-1]))
