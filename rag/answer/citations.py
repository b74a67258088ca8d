"""Citations as a model writes them: forms such as `(from Chapter 2: Installation)`, which become `[n]`, and brackets of
the book's own.

Each passage has a set of names: title, heading, chapter, file, with and without their numbers. A citation in words
means every passage whose names are all of its words.

A bracket such as the interval [0, 1] looks like a marker. It is the book's if a passage has it with the same words
directly around it, and is written with signs that no visible text has until it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rag.evidence.analyzed_text import read
from rag.text.english import phrases
from rag.text.english.units import unit_of
from rag.text.english.word_lists import LINK_WORDS
from rag.text.markup import BOOK_BRACKETS, expand, same_address
from rag.text.vocabulary import is_english
from rag.types import CitationStyle, Passage

# The citation forms of profiles. A link is `[Source: title](url)` or `[title](url)`, a chapter `(from Chapter 2)`.
_LABEL: Final = r"(?:\\.|[^\[\]\\\n]){1,300}"
_LINK: Final = rf"(?<!!)\[(?P<label>{_LABEL})\]\((?P<url>[^()\s]{{1,500}}(?:\([^()\s]{{0,100}}\)[^()\s]{{0,100}})?)\)"
_BARE: Final = rf"\[(?P<bare>[Ss]ource:(?![ \t]*\d){_LABEL})\](?![(\[])"
_FROM: Final = r"\([Ff]rom\b ?(?P<name>[^()\n]{0,300}(?:\([^()\n]{0,100}\)[^()\n]{0,100})?)\)"
_NUMBERED: Final = re.compile(r"\[\d{1,4}\]|(?<=source )\d{1,4}\b|(?<=passage )\d{1,4}\b", re.IGNORECASE)
_REFERRED: Final = "\x0e"  # precedes a citation after ", see"; no visible text has this character
_REFERS: Final = re.compile(rf"[ \t]*[,;–—]{phrases.REFERS_TO}{_REFERRED}", re.IGNORECASE)
MOST_NAMES: Final = 12  # places at which a list of names is cut
_NAME_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_INDEX_FILES: Final = ("index", "_index", "readme")
_EMPTY: Final = re.compile(r"[ \t]\([ \t]*\)")  # what is left of a strange citation in parentheses
_MARKED: Final = re.compile(r"\[\d")
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_CODE: Final = r"(?P<ticks>`+)(?s:.*?)(?P=ticks)"
# Numbers of passages among the words of a sentence; those in code and in brackets are other forms.
_SPOKEN: Final = re.compile(rf"{_CODE}|\[[^\[\]\n]*\]|\([^()\n]*\)|(?P<spoken>{phrases.SPOKEN_NUMBERS})")
_OPEN_FROM: Final = re.compile(r"\([Ff](?:r(?:o(?:m(?: [^()\n]{0,300})?)?)?)?[^\S\n]*\Z")


class CitationForms:
    """Turns the citation forms that a profile accepts into `[n]`, over the passages of one turn."""

    def __init__(self, accepts: Sequence[CitationStyle], passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._accepts = accepts
        self._has_markers = self._has_raised = False  # whether the answer has "[1]" so far, and "¹"
        forms = [_LINK, _BARE, _FROM if "chapter" in accepts else r"(?P<name>(?!))"]
        self._form = re.compile(rf"{_CODE}|(?P<space>[ \t]?)(?P<form>{'|'.join(forms)})")

    def is_open(self, text: str) -> bool:
        """Whether the text may end inside a citation in words."""
        return "chapter" in self._accepts and _OPEN_FROM.search(text[-1000:]) is not None

    def is_in_passages(self, text: str) -> bool:
        """Whether a passage has these very signs."""
        return any(text in passage.text for passage in self._passages)

    def as_numbers(self, text: str, *, begins: bool = False) -> tuple[str, int, list[int]]:
        """The text with its citations as `[n]`, and how many were removed because they name no passage.

        A link whose words belong to the sentence is reduced to them; the list holds the passages that it cites. In an
        item or a row, whatever `begins` the text or a cell belongs to it.
        """
        unknown, marked = 0, _MARKED.search(text) is not None
        named: list[int] = []

        def numbered(match: re.Match[str]) -> str:
            nonlocal unknown
            word = bool(match["label"]) and (_is_word(match, begins=begins) or self._is_phrase(match))
            if match["form"] is None or (
                match["url"] is not None and not self._is_citation(match, word=word, marked=marked)
            ):
                return match[0]
            found, strange = self._numbers(match)
            if strange and (self._is_of_the_book(match, marked=marked) or (not found and self._is_said(match["name"]))):
                return match[0]
            unknown += strange
            if match["url"] is not None and not word and self._points(match):
                if not phrases.FOR.match(match.string) and _REFERS.search(
                    match.string[: match.start("form")] + _REFERRED
                ):
                    return f"{_REFERRED} {found}"
                word = True
            if word:
                named.extend(n for n in expand(found) if f"[{n}]" not in text)
                return f"{match['space']}{match['label']}"
            # A space before a bracket, which would make the number a link.
            gap = " " if match.string.startswith("(", match.end()) else ""
            return f"{match['space']}{found}{gap}" if found else ""

        plain = _REFERS.sub("", self._form.sub(numbered, text)).replace(_REFERRED, "")
        plain = _EMPTY.sub("", plain) if unknown else plain
        self._has_markers |= marked
        plain, letters = self._without_letter(plain)
        plain = self._with_raised(self._with_trailing(_SPOKEN.sub(self._with_spoken, plain)))
        return plain, unknown + letters, list(dict.fromkeys(named))

    def _without_letter(self, text: str) -> tuple[str, int]:
        """The text without a footnote such as "[a]" at its end, which names no passage, and how many that were."""
        found = phrases.TRAILING_LETTER.search(text)
        if found is None or self.is_in_passages(found["sign"]):
            return text, 0
        return text[: found.start()] + text[found.end() :], 1

    def _with_spoken(self, found: re.Match[str]) -> str:
        """ "passage 1" as "passage [1]", if every number is one of a passage and no passage has these words."""
        spoken = found["spoken"]
        if not spoken or any(spoken.casefold() in passage.text.casefold() for passage in self._passages):
            return found[0]
        word, _, numbers = spoken.partition(" ")
        cited = [int(number) for number in re.findall(r"\d+", numbers)]
        is_ours = {passage.number for passage in self._passages}.issuperset(cited)
        return f"{word} {''.join(f'[{number}]' for number in cited)}" if is_ours else spoken

    def _with_trailing(self, text: str) -> str:
        """The text with the number in parentheses at its end as a marker, if it has no other marker."""
        found = None if _MARKED.search(text) else phrases.TRAILING_NUMBER.search(text)
        if found is None or self.is_in_passages(found[0].strip()):
            return text
        number = found["n"] or found["braced"]
        is_ours = any(str(passage.number) == number for passage in self._passages)
        return f"{text[: found.start()]} [{number}]{text[found.end() :]}" if is_ours else text

    def _with_raised(self, text: str) -> str:
        """The text with raised numbers as markers, "It runs.¹", if the answer has no other; none of a formula."""
        plain = self._has_markers or text.isascii() or "`" in text or "=" in text
        return text if plain else phrases.RAISED_NUMBERS.sub(self._as_marker, text)

    def _as_marker(self, found: re.Match[str]) -> str:
        word, raised = found["word"], found["raised"]
        cited = [int(number) for number in re.findall(r"\d+", raised.translate(_RAISED))]
        is_ours = {passage.number for passage in self._passages}.issuperset(cited)
        if not is_ours or self.is_in_passages(word.strip() + raised) or (word.isalpha() and self._is_power(found)):
            return found[0]
        self._has_raised = True
        return f"{word.rstrip()} {''.join(f'[{number}]' for number in cited)}"

    def _is_power(self, found: re.Match[str]) -> bool:
        """Whether a raised number behind a word may be a power: "m²", "sin²", "speed³" before any footnote."""
        word, number = found["word"], found["raised"]
        if unit_of(word):  # "89 kg¹" has a footnote, and "m/kg²" a power
            return bool(unit_of(word + number)) or not re.search(r"\d\s?\Z", found.string[: found.start()])
        known = is_english(word.casefold()) or any(word in read(passage.text).parts for passage in self._passages)
        known = known and len(word) > 2 and word.casefold() not in phrases.FUNCTIONS
        goes_on = re.match(r"\s+\S", found.string[found.end() :]) is not None
        return not known or (number != "¹" and (goes_on or not self._has_raised))

    def _is_of_the_book(self, form: re.Match[str], *, marked: bool) -> bool:
        """Whether a form that names no passage is the book's: as a whole, or the words of a link near a marker."""
        if self.is_in_passages(form["form"]):
            return True
        words = re.findall(r"\w+", _plain(form["label"])) if form["label"] and marked else []
        return bool(words) and any(read(passage.text).parts.issuperset(words) for passage in self._passages)

    def _is_said(self, name: str | None) -> bool:
        """Whether a parenthesis says what a passage says, and names no page: "(from each parent)", "(from 6 to 9)"."""
        words = name_words(name or "")
        if not name or not phrases.NAMES_PAGE.isdisjoint(words) or ("to" not in words and not name[0].islower()):
            return False
        letters = {word for word in words if not word.isdecimal()}
        return any(read(passage.text).parts.issuperset(letters) for passage in self._passages)

    def _numbers(self, form: re.Match[str]) -> tuple[str, int]:
        """The markers for the passages that a form names, and how many of its names fit no page."""
        if (name := form["name"]) is None:
            title = re.sub(r"^\s*source:", "", form["label"] or form["bare"], flags=re.IGNORECASE)
            named = [self._named(title, form["url"])]
        elif numbers := _NUMBERED.findall(name):
            return "".join(f"[{number.strip('[]')}]" for number in numbers), 0
        else:
            named = self._listed(name)
        meant = dict.fromkeys(passage.number for found in named for passage in found)
        return "".join(f"[{number}]" for number in meant), sum(not found for found in named)

    def _is_phrase(self, link: re.Match[str]) -> bool:
        """Whether its words are what a passage says and no name of one: "It has [four teeth](widgets.md)"."""
        label = _plain(link["label"])
        words = re.findall(r"[^\W\d_]+", label)
        if LINK_WORDS.issuperset(words) or not link["label"].lstrip("*_ ")[:1].islower():
            return False
        if any(consists_of(name_words(label), names) for _, names in self._names):
            return False
        return any(read(passage.text).parts.issuperset(words) for passage in self._passages)

    def _points(self, link: re.Match[str]) -> bool:
        """Whether a sentence points at the page of a passage by a link: "see [Nodes](nodes.md)"."""
        ours = any(_is_address_of(link["url"], passage.url, passage.link) for passage in self._passages)
        return (
            ours and not _is_source(link) and phrases.BEFORE_LINK.search(link.string[: link.start("form")]) is not None
        )

    def _is_citation(self, link: re.Match[str], *, word: bool, marked: bool) -> bool:
        """Whether a link cites: not if a passage contains it, nor a strange one after "see".

        A link to the address of a passage cites it in every profile, also if it is a `word` of the sentence; but in a
        text with a marker it may be the book's own.
        """
        pointed = not word and phrases.BEFORE_LINK.search(link.string[: link.start("form")]) is not None
        ours = any(_is_address_of(link["url"], passage.url, passage.link) for passage in self._passages)
        if "title" in self._accepts or _is_source(link):
            return ours or not (pointed or self.is_in_passages(link["url"]) or word or not self._accepts)
        return ours and not (marked and self.is_in_passages(link["form"]))

    def _named(self, name: str, url: str | None = None) -> list[Passage]:
        """The passages that a name means, among those at the address of a link if there is one.

        Of several the check keeps those that say what the sentence says.
        """
        words = name_words(name)
        meant = [passage for passage, names in self._names if consists_of(words, names)]
        if url is None:
            return meant
        # A number is the form that is asked for, whatever address a model puts after it: no reader sees that address.
        numbered = [passage for passage in self._passages if _plain(name) == str(passage.number)]
        exact = [
            passage for passage in self._passages if passage.link != passage.url and _is_address_of(url, passage.link)
        ]
        there = [
            passage
            for passage in self._passages
            if _is_address_of(url.partition("#")[0], passage.url) or passage in exact
        ]
        titled = [passage for passage in meant if passage in there]
        return numbered or [passage for passage in titled if passage in exact] or titled or exact or there

    def _listed(self, names: str) -> list[list[Passage]]:
        """The passages of each name in a list, such as "Chapters 2 and 3"; none where a name means none."""
        joints = [joint.span() for joint in phrases.LIST_JOINT.finditer(names)][:MOST_NAMES]
        starts, ends = [0, *(end for _, end in joints)], [*(start for start, _ in joints), len(names)]
        found: list[list[Passage]] = []
        begin, sort = 0, ""
        while begin < len(starts):
            for end in range(len(ends) - 1, begin - 1, -1):  # "Fast, hot and cold" may be one title
                name = names[starts[begin] : ends[end]]
                if meant := self._named(f"{sort} {name}" if name.strip()[:1].isdigit() else name):
                    break
            found.append(meant)
            sort = next((word for word in name_words(name) if word in phrases.NUMBERED_SORTS), sort)
            begin = end + 1
        return found

    @cached_property
    def _names(self) -> list[tuple[Passage, frozenset[tuple[str, ...]]]]:
        return [(passage, names_of(passage)) for passage in self._passages]


def _plain(text: str) -> str:
    """A name for comparing: without escapes, quotes and case, white space made one space."""
    return " ".join(re.sub(r"\\(.)", r"\1", text).strip(" \"'“”*_").casefold().split())


def _is_source(link: re.Match[str]) -> bool:
    return _plain(link["label"]).startswith("source:")


def _is_word(link: re.Match[str], *, begins: bool) -> bool:
    """Whether the words of a link to a passage belong to the sentence, as its subject or after "the"."""
    if _is_source(link):
        return False
    before = link.string[: link.start("form")].rpartition("|")[2]
    goes_on = phrases.AFTER_LINK.match(link.string, link.end()) is not None
    if not re.search(r"\w", before):
        return begins or goes_on
    return bool(phrases.NEEDS_WORD.search(before) or (goes_on and phrases.BEFORE_LINK.search(before)))


def _is_address_of(url: str, *places: str) -> bool:
    return any(same_address(url) == same_address(place) for place in places if place)


def name_words(name: str) -> tuple[str, ...]:
    """A name as words: "Ch. 02-install.md" is chapter, 2, install, md."""
    found = _NAME_WORD.findall(re.sub(r"\\(.)", r"\1", name).casefold())
    return tuple(phrases.SORTS_OF_PARTS.get(word, word.lstrip("0") or word) for word in found)


def consists_of(words: tuple[str, ...], names: frozenset[tuple[str, ...]]) -> bool:
    """Whether the words are some of the names, with words such as "the" and "section" before, between and after them.

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
    for word in name_words(sort) if sort else phrases.NUMBERED_SORTS:
        yield from ((word, *numbers[:end]) for end in range(1, len(numbers) + 1))


_BRACKET: Final = re.compile(r"(?P<escape>\\?)\[(?=[^\[\]\n\d]{0,100}\d)(?P<inner>[^\[\]\n]{1,200})\](?!\()")
_WORD: Final = re.compile(r"\w+|[^\w\s*`|>#\\]")  # the words and signs around a bracket; markup does not count
_AFTER: Final = re.compile(r"(?:\\?\[[^\[\]\n]*\]|[^\w\[])*+(?P<word>\w*)")
_AROUND: Final = 200  # code points in which the words around a bracket stand
_CERTAIN: Final = 1  # words before a bracket that cannot be a marker
_DOUBTFUL: Final = 3  # words before a bracket that may be a marker of the answer


class _Place(NamedTuple):
    """A bracket with the words and signs before it, the last one first, and the word after it."""

    inner: str
    before: tuple[str, ...]
    after: str
    alone: bool  # no other bracket follows in its sentence
    escaped: bool


class BookBrackets:
    """The brackets with numbers in the passages of one turn."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages

    def hidden(self, text: str) -> str:
        """A sentence of the answer with the signs of `BOOK_BRACKETS` in place of the book's own brackets."""
        if "[" not in text or not self._places:
            return text
        parts, end = [], 0
        for bracket in _BRACKET.finditer(text):
            if self._is_the_book_s(_place(text, bracket)):
                inside = bracket["inner"].removesuffix("\\")
                parts += [text[end : bracket.start()], BOOK_BRACKETS[0], inside, BOOK_BRACKETS[1]]
                end = bracket.end()
        return "".join([*parts, text[end:]])

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, _Place]]]:
        """The brackets of the passages and their titles, each with the number of its passage, by what is in them."""
        found: dict[str, list[tuple[int, _Place]]] = {}
        for passage in self._passages:
            for text in (passage.text, passage.title, passage.heading, passage.breadcrumb):
                for place in _places(text or ""):
                    found.setdefault(place.inner, []).append((passage.number, place))
        return found

    def _is_the_book_s(self, place: _Place) -> bool:
        standing = self._places.get(place.inner, ())
        numbers = expand(place.inner)
        known = {passage.number for passage in self._passages}.issuperset(numbers)
        words = _DOUBTFUL if numbers and known and not place.escaped else _CERTAIN
        by = [number for number, own in standing if _is_same(place, own, words)]
        # At the end of a sentence "[2]" cites passage 2, whether or not passage 2 ends its sentence so.
        cites = words == _DOUBTFUL and place.alone and not place.after and not set(by).isdisjoint(numbers)
        return bool(by) and not cites


def _places(text: str) -> Iterator[_Place]:
    return (_place(text, bracket) for bracket in _BRACKET.finditer(text)) if "[" in text else iter(())


def _place(text: str, bracket: re.Match[str]) -> _Place:
    before = _WORD.findall(text[max(0, bracket.start() - _AROUND) : bracket.start()])[-_DOUBTFUL:]
    rest = text[bracket.end() : bracket.end() + _AROUND]
    after = _AFTER.match(rest)
    return _Place(
        re.sub(r"\s|\\$", "", bracket["inner"]),
        tuple(word.casefold() for word in reversed(before)),
        after["word"].casefold() if after else "",
        "[" not in rest,
        bool(bracket["escape"]),
    )


def _is_same(place: _Place, own: _Place, most: int) -> bool:
    """Whether the words around two brackets are the same, up to `most` before them and, if there may be doubt, after.

    Near the beginning or the end of its sentence the first bracket has fewer words.
    """
    before = place.before[:most]
    if own.before[: len(before)] != before:
        return False
    if before and most == _CERTAIN:
        return True
    return len(before) + bool(place.after) >= min(most, 2) and place.after in ("", own.after)
