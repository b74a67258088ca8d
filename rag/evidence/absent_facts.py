"""What can be known for certain: a number, a name or a code word that stands nowhere in the cited passages.

A check that compares words also doubts what a passage says in another way. Only an absence is certain, and only of what
an author cannot have meant by other words: digits, names in the middle of a sentence, code.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from rag.evidence.code_words import unstated_code
from rag.evidence.passages import SourceLine
from rag.text.terms import is_english

MOST_CODE: Final = 20  # code words that are named
SHORTEST_NAME: Final = 3  # letters; shorter ones are initials
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


def absent(
    sentence: str, line: SourceLine, passages: Sequence[str], known: str, doubts: Sequence[str], *, names: bool = True
) -> Iterator[str]:
    """Reasons of a `Verdict` for the facts of the sentence that neither the passages nor `known` hold.

    `line` is the sentence as read. `known` is text around the passages: titles, headings, chapters, files. `doubts` are
    the reasons of the other rules; a number in doubt is absent when its digits stand nowhere. Without `names` only
    numbers, code and addresses are looked up, since other languages write more than names with a capital.

    >>> from rag.evidence.passages import line as read_line
    >>> text = "In spring a node used Zenoh."
    >>> list(absent(text, read_line(text, 0, len(text)), ["In spring a node used DDS."], "", []))
    ['name: Zenoh is not in the passages']
    """
    held = "\n".join([*passages, known]).translate(_HYPHENS).casefold()
    runs = _DIGITS.findall(held)
    numbers = {_plain(part) for run in runs for part in (run, *re.split("[.,]", run))}
    for reason in doubts:
        digits = _DIGITS.findall(reason)
        if reason.startswith("number:") and digits and all(_plain(run) not in numbers for run in digits):
            yield reason
    for name in _names(sentence, line) if names else ():
        if not any(form in held for form in (name.casefold(), name.casefold().removesuffix("s"))):
            yield f"name: {name} is not in the passages"
    for address in _addresses(sentence, [*passages, known]):
        yield f"address: {address} is not in the passages"
    for count, word in enumerate(unstated_code(sentence, [*passages, known])):
        if count < MOST_CODE:
            yield f"code: {word} is not in the passages"


def _addresses(sentence: str, passages: Sequence[str]) -> Iterator[str]:
    """What reads as an address and stands in no passage: `name.letters` with or without a scheme, in any spelling.

    >>> list(_addresses("See evil[.]example, hxxp://a.b and a。com.", ["More at evil.example."]))
    ['hxxp://a.b', 'a.com']
    """
    said = _DOT.sub(".", html.unescape(re.sub(r"`[^`]*`", " ", sentence)))
    found = [match[0].rstrip(".,;:!?)]}*_'\"") for match in _ADDRESS.finditer(unicodedata.normalize("NFKC", said))]
    if found:
        held = unicodedata.normalize("NFKC", "\n".join(passages)).casefold()
        for address in dict.fromkeys(found):
            if not re.search(rf"(?<!\w)[_*]{{0,3}}{re.escape(address.casefold())}[_*]{{0,3}}(?!\w)", held):
                yield address


def _plain(number: str) -> str:
    """A number for comparing: "1,000" is "1000", "5.0" is "5"."""
    plain = re.sub(r",(?=\d{3}\b)", "", number)
    return re.sub(r"(?:\.0)+$", "", plain).lstrip("0") or "0"


def _names(sentence: str, line: SourceLine) -> Iterator[str]:
    """The words with a capital that no beginning of a sentence, cell or quotation explains."""
    spans = [match.span() for match in re.finditer(r"`[^`]*`", sentence)]
    seen: set[str] = set()
    for token in line.tokens:
        word = sentence[token.start : token.end]
        if not token.capital or len(word) < SHORTEST_NAME or not _LETTERS.fullmatch(word) or word in seen:
            continue
        before = sentence[: token.start].rstrip()[-1:]
        begins = token.first or not before or before in _BEGINS or before in ".!?"
        in_code = any(start <= token.start < end for start, end in spans)
        if not in_code and not (begins and (is_english(word.casefold()) or not _has_inner_capital(word))):
            seen.add(word)
            yield word


def _has_inner_capital(word: str) -> bool:
    return not word.istitle()
