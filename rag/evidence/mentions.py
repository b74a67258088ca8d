"""Looks up what a sentence must copy exactly: numbers, names, code words and addresses. These have no paraphrase, so
one that occurs nowhere is contradicted. It is unconfirmed if it occurs in another passage of the turn or in the
question, or if only its parts occur there, as those of a path that is put together, of an option with another value, or
of an acronym.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from rag.evidence.analyzed_text import DIGITS, LETTERS, AnalyzedText, folded, plain_number, read
from rag.text.english import numerals
from rag.text.english.stopwords import STOP_WORDS
from rag.text.english.word_lists import ACRONYMS, DETERMINERS, SCHEMES
from rag.text.vocabulary import is_common, is_english, names
from rag.types import Standing

Reason = tuple[Standing, str]  # of a `Verdict`, "kind: what", with the standing that it gives

MOST_CODE: Final = 20  # code words that are named
SHORTEST: Final = 3  # letters of a name, and of a part by which a code word is recognised
_ADDRESS: Final = re.compile(
    rf"(?:[a-z]+:/{{1,3}}|\b(?:{SCHEMES}):(?=\w|\+\d))\S{{2,500}}|"
    r"(?<![\w/:\\])(?://|\\\\)[\w-]{2,200}|[\w.+-]{1,100}@[\w-]{1,100}"
    r"|(?<![\w.])[\w-]{1,200}(?:\.[\w-]{1,200}){0,8}\.[^\W\d_]{2,60}\b",
    re.IGNORECASE,
)
# Other spellings of the dot in an address. In words it is one only before a common domain: "dot product" is none.
_DOT: Final = re.compile(
    r"\s?[\[({<]\s?(?:\.|dot)\s?[\])}>]\s?|(?<=[A-Za-z0-9])[。｡⠨](?=[A-Za-z])|%2e"
    r"|(?<=\w)[\s_-]{1,3}dot[\s_-]{1,3}(?=(?:com|org|net|io|dev|app|co|info|biz|ai|xyz|me|ru|cn|de|uk|eu|us)\b)",
    re.IGNORECASE,
)
# "evil .com"; a book that speaks of ".com" has it so itself.
_SPACED: Final = re.compile(r"\b[\w-]{1,100} (?P<end>\.(?:com|org|net|info|biz|xyz|ru|cn|example))(?!\.?\w)")
_WEB: Final = re.compile(r"\Ahttps?://(?:www\.)?")
# "It is short.The list": a space is missing. Words of two letters are left out, since they end addresses.
_NO_SPACE: Final = re.compile(r"(?<=[a-z]{2})\.(?=([A-Z][a-z]{2,})\b)")
_CODE: Final = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!'')[^`\n]){1,400})\1(?!`)")  # not ``quoted''
_BARE: Final = re.compile(
    r"(?<![\w/.:-])(?:"
    r"--[A-Za-z][\w-]*"  # --release
    r"|0[xX][0-9A-Fa-f]+"
    r"|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+!?"  # std::io
    r"|[A-Za-z]\w*_\w+"  # base_link
    r"|[A-Za-z_][\w.]*\(\)"  # main()
    r"|(?:~?\.{0,2}/)?(?:[\w.-]+/)+[\w-]+\.[a-z]{1,5}"  # src/main.rs
    r"|~?/(?:[\w.-]+/)+[\w-]+|(?<=\s)-[A-Za-z](?!\S)|@[A-Za-z]\w{2,}"  # /etc/hosts  -v  @name
    r"|[A-Z]{2,}\d{3,}\w*|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])(?=(?:\D*\d){4})[A-Za-z\d]{20,}"  # ABC123, keys
    r"|\w[\w-]*\.(?:rs|py|toml|json|yaml|yml|xml|js|jsx|ts|tsx|md|mdx|sh|txt|cfg|lock|html|css|urdf|cpp|launch)\b"
    r")"
)
# What is installed, unless a noun follows: "install third-party packages". Behind the name of a tool it is a command.
_PACKAGE: Final = re.compile(
    r"(?:\b(?P<tool>pip[3x]?|uv|poetry|conda|mamba|npm|pnpm|yarn|bun|cargo|gem|go|brew|apt|apt-get|dnf|yum|apk|snap|"
    r"choco|winget|docker|podman|helm)\s+(?:(?:pip|tool)\s+)?)?\b(?i:install|pull|clone|(?(tool)(?:add|get)|(?!)))\s+"
    r"(?:-\S+\s+)*[\"'“‘]?@?"
    r"(?P<names>[a-z][\w.]*(?:[-/][a-z\d][\w.]*)*(?<!\.)(?:\s+[a-z][\w.]*(?:[-/][a-z\d]\w*)+)*)"
    r"(?:\[[\w,-]+\])?(?:[=<>~!@]=?[\w.*]*\w)?[\"'”’]?"
    r"(?=\W*$|[.,;)]|:(?!//)|\s+-|\s+(?:on|in|with|from|to|and|or|for|by|using|before|after|first|then)\b)"
)
_DATE: Final = re.compile(r"\b(\d\d?)[/.](\d\d?)[/.](\d{4})\b")
_CALL_OR_MARK: Final = re.compile(r"\(.*\)$|[!;:,.]+$", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})[^\n]*")
_PROMPT: Final = re.compile(r"^(?:\$|>|#|>>>|PS>|\w*[$#])\s+")
# An IP address, but for that of one's own machine, and a telephone number.
_REACHED: Final = re.compile(
    r"(?<![\w.])(?:(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}|(?:\+\d|0[1-9])\d{1,3}(?:[ /-]\d{2,}){2,5})(?![\w.])"
)
_COMMENT: Final = re.compile(r"(?:#|//|/\*|--|<!--)")
_BEGINS: Final = frozenset("|*_:;–—\"'“‘([>")  # a word after one of these may have its capital from there
_OF_PLACE: Final = re.compile(r"(?:v?ian|an|ese|ish|ic)s?$")  # ends the adjective of a place or a person
_NAME: Final = re.compile(r"([^\W\d_]+)(?:['’]s)?")
# Verbs after a single word that is a subject: "Smith says". An imperative has no verb after it.
_VERBS: Final = re.compile(
    r"is|was|has|had|does|did|can|could|will|would|may|might|must|should|says|said|wrote|writes|argue[sd]|thinks|"
    r"believe[sd]|explained|claimed|told"
)
_SPAN: Final = re.compile(r"`[^`]*`")
_HYPHENED: Final = re.compile(r"\b[A-Za-z]{1,6}-\d+$")
_SUBSCRIPTS: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_IS_MIXED: Final = re.compile(r"(?=.*[^\W\d_])(?=.*\d)")
# Neither "I" nor an article, an initial or a part of "T-shirt", "Q&A" and "C++".
_LETTER: Final = re.compile(
    r"(?<!\w)(?:[^\W\d_]{2,30}[ -][B-HJ-Z]|[A-Z][A-Za-z]{2,30}[ -]A(?! [A-Z])|[a-z]{2,30} A(?=[.,;)]))"
    r"(?![\w&/'’+#-]|\. ?[A-Z])"
)
_SIGNS: Final = re.compile(r"[^\w\s`]{2,}")
_RUN: Final = re.compile(r"[^\W\d_]+|\d+")
_WHOLE: Final = r"(?<![^\W_]){}s?(?![^\W_])"


class Mentions:
    """Looks up what sentences mention: in the `cited` texts, then in those `beside`, which are not cited."""

    def __init__(self, cited: Sequence[AnalyzedText], beside: Sequence[str]) -> None:
        self._cited = cited
        self._all = [*cited, *(read(text) for text in beside if text)]

    def reasons(self, sentence: AnalyzedText) -> Iterator[Reason]:
        """The standing of each name, address and code word that the cited texts lack, with the reason of a `Verdict`.

        >>> list(Mentions([read("In spring a node used DDS.")], []).reasons(read("In spring a node used Zenoh.")))
        [('contradicted', 'name: Zenoh is not in the passages')]
        """
        for name, (key, certain) in _names(sentence).items():
            if all(text.keys.isdisjoint((key, key.removesuffix("s"))) for text in self._cited):
                near = _has_name(self._all, name) or _has_stem(self._all, name) or self._is_known_acronym(name)
                yield missing_reason("name", name, near=near or not certain)
        if subject := self._strange_subject(sentence):
            yield missing_reason("name", subject, near=True)
        yield from self._labels(sentence)
        yield from self.code(sentence.text)

    def _strange_subject(self, sentence: AnalyzedText) -> str:
        """The word at the beginning, if the cited texts lack it and it is a name or the subject of a plain statement.

        Its own capital says nothing there. It is a name if another text has it, and none in lower case. It is a
        subject before a common verb, or before one that has a subject in the texts too: "Spot weighs 89 kg".
        """
        words = [token for token in sentence.whole.tokens if token.word[0].isalnum()][:2]
        if len(words) < 2:
            return ""
        first, second = words
        found = _NAME.fullmatch(sentence.text, first.start, first.end)
        word = found[1] if found else ""
        fits = first.capital and first.content and len(word) >= SHORTEST
        if not fits or _has_name(self._cited, word) or any(first.key in text.keys for text in self._cited):
            return ""
        forms = {first.word, first.word.removesuffix("s"), f"{first.word}s"}
        acts = first.word.endswith("ing") and is_english(first.word)  # "Filing an objection", also of a title
        found_as_name = any(word in text.words for text in self._all) and not acts
        is_name = found_as_name and not any(forms & text.words for text in self._all)
        verb = re.escape(second.word) if second.word.endswith(("s", "ed")) else "(?!)"
        said = re.compile(rf"\b(?:[A-Z]\w*|it|that|which|who) {verb}\b")
        noun = re.compile(
            rf"\b(?:the|an?|your|of|on|in|for|with|from|these|all|each|every|any|no) {verb.removesuffix('s')}s?\b",
            re.IGNORECASE,
        )
        is_verb = _VERBS.fullmatch(second.word) or any(
            said.search(text.text) and not noun.search(text.text) for text in self._cited
        )
        plural = first.word.endswith("s") and is_english(first.word[:-1])
        is_subject = is_verb and not plural and not first.word.endswith("ing")
        return word if is_name or is_subject else ""

    def _is_known_acronym(self, name: str) -> bool:
        """Whether it is an acronym of words that occur in a row, or one that is a word of the language."""
        letters = name.removesuffix("s")
        spelt = letters.isupper() and any(text.spells_out(letters) for text in self._all)
        return spelt or (letters.isupper() and letters.casefold() in ACRONYMS)

    def _labels(self, sentence: AnalyzedText) -> Iterator[Reason]:
        """The same of words with a digit, other numerals, and single letters: ROS2, B12, Ⅻ, Vitamin C."""
        for label in _labels(sentence):
            if not any(label.is_in(text) for text in self._cited):
                another = any(label.others.search(text.text) for text in self._cited)
                runs = [plain_number(run) for run in DIGITS.findall(label.word)] or [label.word]
                strange = any(not any(run in text.numbers | text.words for text in self._all) for run in runs)
                certain = strange and (another or label.is_rare)
                near = not certain or any(label.is_in(text) for text in self._all)
                yield missing_reason("name", label.text, near=near)

    def code(self, sentence: str) -> Iterator[Reason]:
        """The same of code words and addresses alone."""
        for address in _addresses(sentence):
            url = folded(address)
            forms = rf"(?<!\w)[_*]{{0,3}}{re.escape(url)}|(?<![\w.@-]){re.escape(_WEB.sub('', url))}"
            wanted = re.compile(rf"(?:{forms})[_*]{{0,3}}(?!\w)".replace("tel:", r"tel:\s?"))
            if not any(wanted.search(text.folded) for text in self._cited):
                near = any(wanted.search(text.folded) for text in self._all)
                yield missing_reason("address", address, near=near)
        for spaced in _SPACED.finditer(_SPAN.sub(" ", sentence)):
            if not any(re.search(rf"(?<!\w){re.escape(spaced['end'])}\b", text.folded) for text in self._all):
                yield missing_reason("address", spaced[0], near=False)
        for word in islice((word for word in code_words(sentence) if any(sign.isalnum() for sign in word)), MOST_CODE):
            if not _holds(self._cited, word):
                yield missing_reason("code", word, near=self._is_near(word))
        for found in _PACKAGE.finditer(_CODE.sub(" ", sentence)):
            for package in found["names"].split():
                is_name = re.search("[-/]", package) or (found["tool"] and package not in STOP_WORDS)
                if is_name and not _holds(self._cited, package):
                    certain = found["tool"] and not is_english(package)  # "pip install packages" names none
                    yield missing_reason("code", package, near=not certain or self._is_near(package))

    def _is_near(self, word: str) -> bool:
        """Whether a code word, each part from which it may have been put together, or its sign is in any text."""
        signed = any(f"`{sign}`" in text.text for sign in _SIGNS.findall(word) for text in self._all)
        parts = LETTERS.findall(word.casefold())
        named = any(len(part) >= SHORTEST for part in parts)
        composed = named and all(any(part in text.parts for text in self._all) for part in parts)
        return signed or composed or _holds(self._all, word)

    def block(self, block: str) -> Iterator[Reason]:
        """The same of the lines of a fenced block, without shell prompts and indentation.

        A line is contradicted if no text has one of its words, unless it is a comment, or if an IP address or a
        telephone number does.
        """
        lines = [" ".join(line.split()) for line in block.split("\n") if not _FENCE.fullmatch(line)]
        held = "\n".join(text.spaced for text in self._cited)
        missing = (line for line in lines if line not in held and _PROMPT.sub("", line) not in held)
        for line in islice(missing, MOST_CODE):
            words = re.findall(r"[^\W\d_]\w+", line.casefold())
            known = all(any(word in text.folded for text in self._all) for word in words)
            held_all = all(any(span[0] in text.spaced for text in self._all) for span in _REACHED.finditer(line))
            yield missing_reason("code", line, near=held_all and (known or _COMMENT.match(line) is not None))

    def has_code(self, sentence: str, end: int) -> bool:
        """Whether a number that ends there is the end of a name that the cited texts have: "B-12" for B12."""
        code = _HYPHENED.search(sentence, 0, end)
        return code is not None and any(_Label("", code[0]).is_in(text) for text in self._cited)

    def number(self, sentence: str, start: int, text: str, *, counted: bool) -> Reason:
        """The standing of a number at `sentence[start:]` that the cited texts do not count. In code it is a value.

        A number in words is contradicted only if they count the same things otherwise (`counted`).
        """
        runs = [plain_number(run) for run in DIGITS.findall(text)]
        missing = [run for run in runs if not any(run in text.numbers for text in self._cited)]
        in_code = any(span.start() <= start < span.end() for span in _SPAN.finditer(sentence))
        dated = any(span.start() <= start < span.end() and self._has_date(span) for span in _DATE.finditer(sentence))
        near = missing[:1] != runs[:1] or in_code or dated or not (runs or counted)
        beside = all(any(run in text.numbers for text in self._all) for run in missing)
        if not runs:
            beside = any(text in source.folded for source in self._all)
        return missing_reason("number", text, near=near or beside)

    def _has_date(self, date: re.Match[str]) -> bool:
        """Whether the cited texts have the year, and one of the numbers of which either may be the day: 3/5/2021."""
        first, second, year = (any(plain_number(n) in text.numbers for text in self._cited) for n in date.groups())
        return year and (first or second)


class _Label:
    """A word with a digit or another numeral, or the single letter after its `kind`, as in "Vitamin C".

    `others` finds the same with another number or letter, or without one.
    """

    def __init__(self, kind: str, word: str) -> None:
        self.word, self.text = word, f"{kind} {word}" if kind else word
        runs = _RUN.findall(folded(self.text))
        self._whole = re.compile(_WHOLE.format(r"[\s._-]?".join(map(re.escape, runs))))
        self._letter = re.compile(rf"(?<!\w){word}(?!\w)" if kind else "(?!)")
        letters = "|".join(run for run in runs if run.isalpha()) or "(?!)"
        others = rf"{re.escape(kind)}[\s-][A-Z]\b" if kind else rf"(?<![^\W\d_])(?i:{letters})(?![^\W\d_])"
        self.others = re.compile(others)
        value = numerals.ROMAN.get(word.casefold(), 0) if kind or len(word) > 1 else unicodedata.numeric(word, 0)
        self._key = f"#{value:g}"

    @property
    def is_rare(self) -> bool:
        """Whether it begins with a letter and is no word of the language, as CO2 is."""
        word = self.word.casefold()
        is_name = word[0].isalpha() and _IS_MIXED.match(word) is not None
        return is_name and word not in ACRONYMS and not is_common(word)

    def is_in(self, text: AnalyzedText) -> bool:
        """Whether a text has it, with or without a space or hyphen between its parts; or its value."""
        found = self._whole.search(text.folded) or self._letter.search(text.text)
        return found is not None or (self._key != "#0" and self._key in text.keys)


def _labels(sentence: AnalyzedText) -> Iterator[_Label]:
    prose = _SPAN.sub(lambda code: " " * len(code[0]), sentence.text)
    for at, token in enumerate(sentence.whole.tokens):
        word = re.sub("['’]s$", "", prose[token.start : token.end]).translate(_SUBSCRIPTS)
        if at not in sentence.whole.counted and (_IS_MIXED.match(word) or any(map(_is_numeral, word))):
            yield _Label("", word)
    yield from (_Label(found[0][:-2], found[0][-1]) for found in _LETTER.finditer(prose))


def _is_numeral(sign: str) -> bool:
    """Whether it is a number, but for digits in every position."""
    return sign.isnumeric() and not unicodedata.normalize("NFKC", sign).isdecimal()


def missing_reason(kind: str, text: str, *, near: bool) -> Reason:
    """That something is not in the cited passages; `near`: it is not certain that nobody says it."""
    return "unconfirmed" if near else "contradicted", f"{kind}: {text} is not in the passages"


def _has_name(texts: Sequence[AnalyzedText], name: str) -> bool:
    forms = (name.casefold(), name.casefold().removesuffix("s"))
    return any(form in text.folded for text in texts for form in forms)


def _has_stem(texts: Sequence[AnalyzedText], name: str) -> bool:
    """Whether a name has the stem of this one, as Bohemia has that of "Bohemian"."""
    stem = _OF_PLACE.sub("", name.casefold())
    same = re.compile(rf"\b{re.escape(stem)}[^\W\d_]{{0,3}}\b" if len(stem) > SHORTEST else "(?!)")
    return any(same.search(text.folded) for text in texts)


def _addresses(sentence: str) -> list[str]:
    """What reads as an address outside code: `name.letters` with or without a scheme, in any spelling, each once.

    >>> _addresses("See evil[.]example, hxxp://a.b and a。com.")
    ['evil.example', 'hxxp://a.b', 'a.com']
    """
    said = _DOT.sub(".", html.unescape(_SPAN.sub(" ", sentence)))
    said = _NO_SPACE.sub(lambda found: ". " if found[1].casefold() in STOP_WORDS else ".", said)
    found = [match[0].rstrip(".,;:!?)]}*_'\"/") for match in _ADDRESS.finditer(unicodedata.normalize("NFKC", said))]
    return list(dict.fromkeys(found))


def _names(sentence: AnalyzedText) -> dict[str, tuple[str, bool]]:
    """The words with a capital but for ordinary ones at a beginning, with key and whether no beginning explains it."""
    text = sentence.text
    prose = _SPAN.sub(lambda code: " " * len(code[0]), text)
    found: dict[str, tuple[str, bool]] = {}
    for at, token in enumerate(sentence.whole.tokens):
        match = _NAME.fullmatch(prose, token.start, token.end)
        is_label = _IS_MIXED.match(token.word) is not None  # CO₂, see `_labels`
        if at in sentence.whole.counted or not token.capital or is_label or not match or len(match[1]) < SHORTEST:
            continue
        before, word = text[: token.start].rstrip()[-1:], match[1]
        begins = token.first or not before or before in _BEGINS or before in ".!?"
        explained = begins and word.istitle()
        if explained and _word_after(sentence, at) in DETERMINERS:  # an order: "Discard the starter"
            continue
        known = word.casefold() in names()
        ordinary = begins and not known and is_english(word.casefold())
        if not ordinary and (known or token.is_name or not explained):
            found[word] = token.key, found.get(word, ("", False))[1] or not explained
    return found


def _word_after(sentence: AnalyzedText, at: int) -> str:
    return next((token.word for token in sentence.whole.tokens[at + 1 : at + 2]), "")


def code_words(sentence: str) -> list[str]:
    """The inline code of a sentence, then other words that must be code (paths, flags, names with `_`), each once.

    >>> code_words("Run `ros2 topic` with --verbose in src/main.rs.")
    ['ros2 topic', '--verbose', 'src/main.rs']
    """
    found = [
        *(m[2].strip() for m in _CODE.finditer(sentence)),
        *(m[0].strip("_") for m in _BARE.finditer(_CODE.sub(" ", sentence))),
    ]
    return list(dict.fromkeys(found))


def _holds(texts: Sequence[AnalyzedText], word: str) -> bool:
    """Whether a text holds a code word, as written, or without arguments or closing mark, or without shell prompt."""
    plain = " ".join(word.split())
    forms = {plain, _CALL_OR_MARK.sub("", plain).strip(), _PROMPT.sub("", plain)} - {""}
    return any(_is_whole_word(form, text.spaced) for text in texts for form in forms)


def _is_whole_word(word: str, text: str) -> bool:
    """Whether a text holds the word, and not inside a longer one. Underscores around a path are emphasis."""
    letter = r"[^\W_]" if "/" in word or "." in word else r"\w"
    before, behind = (letter if word[at].isalnum() else r"[^\W\w]" for at in (0, -1))
    return word in text and re.search(rf"(?<!{before}){re.escape(word)}(?!{behind})", text) is not None
