"""Terms of a question and keys of a text, which are compared: stems, compounds, code words, rarity, other spellings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Final

from rag.quoting.english.speech_acts import ASKS, CONJUNCTION, FOLLOW_UP, ORDINAL, REFERS_BACK, SPOKEN_CODE, UNNAMED
from rag.quoting.english.stopwords import ASKED_WITH, FACTS, LIGHT, SAYS_ALSO, SOFT, STOP_WORDS, TELLS_VERSIONS, VAGUE
from rag.quoting.vocabulary import (
    MIN_WEIGHT,
    SHORTEST,
    asks_in,
    common_words,
    correct_spelling,
    is_common,
    rarity,
    stem,
    stem_in,
    vocabulary,
)

LIGHT_WEIGHT: Final = 0.35
NAME_WEIGHT: Final = 0.8  # at least, of a name or a code word: it says what the question is about

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?(?:(?:[-_./#]|::)[^\W_]+)*")
_PIECE: Final = re.compile(r"[^\W_]+")
_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)+)")
_CAMEL: Final = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_NUMBERED: Final = re.compile(r"\b([A-Za-z]{2,10})[ \-](\d{1,2})(?![\w.]*\d)\b")  # "ROS 2", "RT-2", "phase 1"
_CODE: Final = re.compile(r"`([^`]+)`")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
MOST_ASKING: Final = 3  # characters at one end of a question without spaces that may only ask
_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CONTROL_KEY: Final = re.compile(r"^control(?=-[a-z]$)")  # Control-C is Ctrl-C
_LATIN: Final = re.compile(r"[a-z][a-z0-9]+")
_INTRODUCED: Final = re.compile(r"((?:[^\W_][\w-]*[ -]){1,7})\(\**([A-Z][A-Za-z]{0,6}[A-Z]s?)\**\)")
# Common in questions about any book; as words of a vocabulary, they are not counted.
_GENERAL: Final = dict.fromkeys(STOP_WORDS | LIGHT | VAGUE | SAYS_ALSO.keys(), 0)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a question asks about.

    A text holds the term if its keys include any one of `forms`, or all of `parts` unless there are none. `weight` runs
    from 0.2 (as common as "world") to 1. `named`: a proper name, a code word or a word with a digit; `soft`: so general
    that finding it proves little.
    """

    word: str
    forms: frozenset[str]
    parts: frozenset[str]
    weight: float
    named: bool
    soft: bool = False

    def within(self, keys: frozenset[str] | set[str]) -> bool:
        """Whether a text with these keys holds the term."""
        return not self.forms.isdisjoint(keys) or bool(self.parts and self.parts <= keys)


def keys(text: str) -> frozenset[str]:
    """The keys of a text: stems of its words, of the parts of its compounds, and of its compounds joined.

    A key that begins with "=" is a word as written, by which names are found. 2.10.1 is also found as 2.10.

    >>> sorted(keys("the FlatList of ROS 2"))
    ['2', '=2', '=flatlist', '=of', '=ros', '=ros2', '=the', 'flat', 'flatlist', 'list', 'of', 'ros', 'ros2', 'the']
    """
    found: set[str] = set()
    for match in _WORD.finditer(text):
        found.update(_keys_of(match[0]))
    for word, number in _NUMBERED.findall(text):
        found.update(_keys_of(word + number))
    return frozenset(found)


def terms(question: str) -> list[Term]:
    """The terms of a question, each once, in order, without stop words.

    If there are no others, they are the words that questions are asked with ("What is never?"), or the soft terms.

    >>> [(term.word, round(term.weight, 2), term.named) for term in terms("What does `base_link` mean in ROS 2?")]
    [('base_link', 0.8, True), ('ROS2', 1.0, True)]
    """
    code = {word for span in _CODE.findall(question) for word in _WORD.findall(span)}
    code.update(SPOKEN_CODE.findall(question))
    text = _NUMBERED.sub(_join_numbered, question)
    words = list(_WORD.finditer(text))
    content = [m[0] for m in words if m[0].lower() not in STOP_WORDS]
    title_case = len(content) > 3 and all(word[0].isupper() for word in content)
    asked = ASKED_WITH | TELLS_VERSIONS if any(map(_VERSION.fullmatch, content)) else ASKED_WITH
    found: dict[frozenset[str], Term] = {}
    soft: list[Term] = []
    asking: list[Term] = []
    for index, match in enumerate(words):
        word = re.sub(r"['’]s$", "", match[0])
        plain = word.lower().replace("’", "'")
        if plain in STOP_WORDS and word not in code:
            soft += [replace(_term(plain, named=False), soft=True)] if plain in SOFT else []
            continue
        if plain in asked and word not in code:
            asking.append(_term(plain, named=False))
            continue
        capital = index > 0 and word[0].isupper() and not title_case
        named = capital or word in code or _looks_like_code(word)
        for part in _parts_without_spaces(word) if _CJK.search(word) else [word]:
            term = _term(part, named if part == word else _is_name(part))
            found.setdefault(term.forms, term)
    return list(found.values()) or list({term.forms: term for term in asking or soft}.values())


def is_version(term: Term) -> bool:
    """Whether a term is the number of a version, such as 2.10 or v0.3.1, to which no other number is close."""
    return _VERSION.fullmatch(term.word) is not None


def weigh(wanted: Sequence[Term]) -> float:
    """The sum of the terms' weights; soft terms alone weigh as if one more were never found."""
    doubt = LIGHT_WEIGHT if wanted and all(term.soft for term in wanted) else 0.0
    return sum(term.weight for term in wanted) + doubt


def with_abbreviations(wanted: list[Term], texts: Iterable[str]) -> list[Term]:
    """The terms, extended by the abbreviations that the texts introduce.

    "Quality of Service (QoS)" makes "qos" a form of "quality" and of "service" if the question has both, and the two
    together a form of "QoS".
    """
    by_term = list(wanted)
    for text in texts:
        for match in _INTRODUCED.finditer(text):
            short = match[2].removesuffix("s").lower()
            words = _spelt_out(match[1], short)
            if not words:
                continue
            stems = frozenset(stem(word) for word in words if len(word) > 2)
            spoken = [i for i, term in enumerate(by_term) if stem(term.word.lower()) in stems]
            if stems == {stem(by_term[i].word.lower()) for i in spoken}:
                for i in spoken:
                    by_term[i] = replace(by_term[i], forms=by_term[i].forms | {short})
            for i, term in enumerate(by_term):
                if term.word.lower() == short and not term.parts:
                    by_term[i] = replace(term, parts=stems)
    return by_term


def _spelt_out(before: str, short: str) -> list[str]:
    """The last words of `before` if their initials are the abbreviation: "quality of service" for "qos"; else none."""
    words = re.findall(r"[^\W_]+", before.lower())
    tail = words[-len(short) :]
    return tail if "".join(word[0] for word in tail) == short else []


def in_language(language: str, wanted: list[Term], question: str, written: str) -> list[Term]:
    """The terms of a question in another language: without its stop words, and with what is written as a form.

    A term also stands for the `written` words that have its stem. The first word of a question asks ("¿Quién", "Darf")
    if the text lacks it.
    """
    if not language:
        return wanted
    stems: dict[str, set[str]] = {}
    for word in vocabulary([written]):
        stems.setdefault(stem_in(language, word), set()).add(stem(word))
    first = re.search(r"\w+", question)
    found = []
    for term in wanted:
        forms = term.forms | stems.get(stem_in(language, term.word.lower()), set())
        asks = question.rstrip().endswith("?") and first is not None and first[0] == term.word and forms == term.forms
        if not asks and not asks_in(language, term.word.lower()):
            found.append(replace(term, forms=frozenset(forms)))
    return found or wanted


def respelt_terms(
    wanted: list[Term], question: str, texts: Sequence[str], known: frozenset[str]
) -> tuple[list[Term], str]:
    """The terms and the question with misspelt words corrected, which the cosines need.

    A term that no text has also stands for a word that is spelt almost so, of the texts or of questions. The texts have
    the keys in `known`.
    """
    missing = {term.word for term in wanted if not term.within(known)}
    words = vocabulary(texts) if missing else {}
    spelt = {word: right.lower() for word in missing if (right := _respelt_word(word, words))}
    for word, right in spelt.items():
        question = re.sub(rf"\b{re.escape(word)}\b", right, question)
    found = [_corrected(term, spelt[term.word]) if term.word in spelt else term for term in wanted]
    return [term for term in found if spelt.get(term.word) not in STOP_WORDS] or wanted, question


def _respelt_word(word: str, words: Mapping[str, int]) -> str:
    """The right spelling of a word by the words of the texts and of questions, or by common words; "" if there is none.

    A word with a capital, or with a hyphen, may be a name that the texts do not have, so no common word stands for it.
    """
    common = common_words() if word.islower() and word.isalpha() and len(word) > SHORTEST else frozenset[str]()
    return correct_spelling(word, {**_GENERAL, **words}) or correct_spelling(word, common)


def _corrected(term: Term, right: str) -> Term:
    """The term with the forms and the weight of the right spelling of its word."""
    meant = terms(right)[0] if terms(right) else term
    return replace(term, forms=term.forms | meant.forms, weight=meant.weight)


def refers_back(question: str) -> bool:
    """Whether the question needs the one before it: "tell me more", "and on Windows?", "why is that?"."""
    if FOLLOW_UP.match(question) or REFERS_BACK.search(question) or ORDINAL.search(question):
        return True
    wanted = terms(question)
    if any(term.word in ("book", "chapter") for term in wanted):  # "my own book" is a subject by itself
        return False
    return all(term.soft or (term.word.lower() in LIGHT and UNNAMED.match(question)) for term in wanted)


def whole_question(question: str) -> str:
    """The question without its opening conjunction, if the rest stands by itself; "" if it does not or has none.

    >>> whole_question("And what is a node?"), whole_question("And on Windows?"), whole_question("And what is it?")
    ('what is a node?', '', '')
    """
    opening = CONJUNCTION.match(question)
    rest = question[opening.end() :] if opening else ""
    return rest if ASKS.match(rest) and not refers_back(rest) else ""


@lru_cache(maxsize=50_000)
def _keys_of(word: str) -> frozenset[str]:
    """The keys of one word or compound."""
    small = _CONTROL_KEY.sub("ctrl", word.lower().replace("’", "'").removesuffix("'s"))
    pieces = _pieces(word)
    joined = "".join(_PIECE.findall(small))
    found = {stem(small), stem(joined), joined, f"={joined}", *pieces}
    if version := _VERSION.fullmatch(small):
        found.update(f"={one}" for one in accumulate(version[1].split("."), "{}.{}".format))
    for piece in _PIECE.findall(small):
        found.update((stem(piece), f"={piece}"))
    if _CJK.search(word):
        found.update(_bigrams(joined))
        found.update(key for other in _LATIN.findall(small) for key in (stem(other), f"={other}"))
    return frozenset(found)


def _pieces(word: str) -> list[str]:
    """Stems of the parts of a compound such as "base_link" or "useNativeDriver"; a plain word has one."""
    return [stem(part.lower()) for piece in _PIECE.findall(word) for part in _CAMEL.findall(piece)]


def _parts_without_spaces(word: str) -> list[str]:
    """The pairs of characters of a word without spaces, and the words of other scripts within it.

    >>> _parts_without_spaces("安装器Python")
    ['安装', '装器', 'Python']
    """
    runs = [match[0] for match in _RUN.finditer(word)]
    return [part for run in runs for part in ((_bigrams(run) or [run]) if _CJK.match(run) else [run])]


def _is_name(part: str) -> bool:
    return _CJK.match(part) is None and (part[0].isupper() or _looks_like_code(part))


def told_apart(wanted: list[Term], question: str, known: frozenset[str]) -> list[Term]:
    """The terms of a question in a script without spaces, as far as the text with the keys in `known` tells them apart.

    A pair of characters that the text lacks between two of its words is no word. What it lacks at one end of the
    question asks ("如何", "是什么"), if it is short and no longer than what the text has.
    """
    spans = [(m.start() + i, pair) for m in _CJK.finditer(question) for i, pair in enumerate(_bigrams(m[0]))]
    held = {at for begin, pair in spans if pair in known for at in (begin, begin + 1)}
    if not held:
        return wanted
    every = {at for begin, _ in spans for at in (begin, begin + 1)}
    ends = {at for at in every if at < min(held)} or {at for at in every if at > max(held)}
    asking = ends if len(ends) <= min(MOST_ASKING, len(held)) else set()
    kept = {pair for begin, pair in spans if pair in known or not {begin, begin + 1} <= held | asking}
    return [term for term in wanted if term.word not in {pair for _, pair in spans} - kept] or wanted


def _bigrams(word: str) -> list[str]:
    """Pairs of adjacent characters, which stand for words in scripts without spaces."""
    return [a + b for a, b in pairwise(word)]


def _term(word: str, named: bool) -> Term:
    small = _CONTROL_KEY.sub("ctrl", word.lower().replace("’", "'"))
    joined = "".join(_PIECE.findall(small))
    pieces = [piece for piece in _pieces(word) if piece not in STOP_WORDS]
    # "sim-to-real" is also "sim" and "real", but FlatList is not a flat list.
    split = len(pieces) > 1 and not word.isalnum() and not any(piece.isdigit() for piece in pieces)
    weight = max((rarity(piece) for piece in pieces), default=MIN_WEIGHT) if split else rarity(small)
    if any(character.isdigit() for character in word):
        weight = 1.0
    if small in FACTS:
        weight = 1.0
    elif small in LIGHT or small in SOFT or small in VAGUE:
        weight = min(weight, LIGHT_WEIGHT)
    if named:
        weight = max(weight, NAME_WEIGHT)
    forms = {joined, stem(joined), stem(small)}
    if (named and not split) or small in FACTS:  # as written: Digit is not "digital", "founded" is not "found"
        forms = {f"={joined}", f"={joined}s", f"={joined.removesuffix('s')}"}
    if version := _VERSION.fullmatch(small):  # with its points: 3.1 is not 31, and v3.1 is 3.1
        forms = {f"={version[1]}"}
    forms |= _also().get(stem(small), set())
    return Term(word, frozenset(forms), frozenset(pieces if split else ()), weight, named)


def _looks_like_code(word: str) -> bool:
    inner = word[1:]
    return any(c.isupper() for c in inner) or any(c.isdigit() or c in "_./#:" for c in word)


def _join_numbered(match: re.Match[str]) -> str:
    """Join "ROS 2" and "RT-2" to one word, but not "move 5" or "top 10"."""
    is_name = any(c.isupper() for c in match[1][1:]) or not is_common(match[1].lower())
    return f"{match[1]}{match[2]}" if is_name else match[0]


@cache
def _also() -> dict[str, set[str]]:
    """Stems of `SAYS_ALSO` by the stem of the question's word."""
    return {stem(word): {stem(other) for other in others} - STOP_WORDS for word, others in SAYS_ALSO.items()}
