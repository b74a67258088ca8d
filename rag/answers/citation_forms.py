"""Citations in a form of a profile's own, as its instructions ask a model for: read, and turned into numbers.

`[Source: title](url)`, `[Title - Heading](url)` and `(from Title)` count where they name exactly one passage of this
turn; the address that is shown later is the passage's and never the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from rag.types import CitationStyle, Passage

_LABEL: Final = r"(?:\\.|[^\[\]\\\n]){1,300}"
_LINK: Final = rf"\[(?P<label>{_LABEL})\]\((?P<url>[^()\s]{{1,500}}(?:\([^()\s]{{0,100}}\)[^()\s]{{0,100}})?)\)"
_BARE: Final = rf"\[(?P<bare>[Ss]ource:{_LABEL})\](?![(\[])"
_FROM: Final = r"\([Ff]rom\b ?(?P<name>[^()\n]{0,300}(?:\([^()\n]{0,100}\)[^()\n]{0,100})?)\)"
_NUMBERED: Final = re.compile(r"\[\d{1,4}\]|(?<=source )\d{1,4}\b|(?<=passage )\d{1,4}\b", re.IGNORECASE)
_AND: Final = re.compile(r"\s*;\s*|,?\s+and\s+")
_CODE: Final = r"(?P<ticks>`+)(?s:.*?)(?P=ticks)"
_OPEN_FROM: Final = r"\((?:[Ff]|[Ff]r|[Ff]ro|[Ff]rom|[Ff]rom [^()\n]{0,300})\s*$"


class CitationForms:
    """The forms that a profile accepts, over the passages of one turn. Without a form nothing is changed."""

    def __init__(self, accepts: Sequence[CitationStyle], passages: Iterable[Passage]) -> None:
        self._passages = list(passages)
        self._accepts = frozenset(accepts)
        links = bool(self._accepts & {"source", "title"})
        chapters = "chapter" in self._accepts
        bare = "source" in self._accepts
        forms = [form for form, wanted in ((_LINK, links), (_BARE, bare), (_FROM, chapters)) if wanted]
        self._form = re.compile(rf"{_CODE}|(?P<space>[ \t]?)(?P<form>{'|'.join(forms)})") if forms else None
        self._open = re.compile(_OPEN_FROM) if chapters else None

    def is_open(self, text: str) -> bool:
        """Whether the text ends in what may be the beginning of a citation in words; links are held for everyone."""
        if self._open is None:
            return False
        tail = text[-1000:]
        return "\n" not in tail[len(tail.rstrip()) :] and self._open.search(tail) is not None

    def as_numbers(self, text: str) -> tuple[str, int]:
        """The text with its citations in the form `[n]`, and how many were taken out since they name no passage."""
        if self._form is None:
            return text, 0
        unknown = 0

        def one(match: re.Match[str]) -> str:
            nonlocal unknown
            if match["form"] is None:
                return match[0]
            groups = match.groupdict()
            if groups.get("label") is not None and not self._is_citation(match["label"], match["url"]):
                return match[0]
            found, strange = self._numbers(groups)
            if strange and any(match["form"] in passage.text for passage in self._passages):
                return match[0]  # the book's own words
            unknown += strange
            # Not straight before a bracket, which would make a link of the number.
            gap = " " if found and match.string.startswith("(", match.end()) else ""
            return f"{match['space']}{found}{gap}" if found else ""

        return self._form.sub(one, text), unknown

    def _numbers(self, groups: Mapping[str, str | None]) -> tuple[str, int]:
        """The markers for what a form names, and how many of its names are no passage's."""
        if (label := groups.get("label")) is not None:
            named = [self._by_link(label, groups["url"] or "")]
        elif (bare := groups.get("bare")) is not None:
            named = [self._by_name(bare.partition(":")[2])]
        else:
            name = groups["name"] or ""
            if numbers := _NUMBERED.findall(name):
                return "".join(f"[{number.strip('[]')}]" for number in numbers), 0
            whole = self._by_name(name)
            named = [whole] if len(whole) == 1 else [self._by_name(one) for one in _AND.split(name)]
        markers = [f"[{found[0].number}]" for found in named if len(found) == 1]
        return "".join(markers), len(named) - len(markers)

    def _is_citation(self, label: str, url: str) -> bool:
        """A link that stands in a passage is the book's own; where only `[Source: ...]` cites, others are links."""
        if "title" not in self._accepts and not _plain(label).startswith("source:"):
            return False
        ours = any(_same_url(url, one) for passage in self._passages for one in (passage.url, passage.link))
        return ours or not any(url in passage.text for passage in self._passages)

    def _by_name(self, name: str) -> list[Passage]:
        wanted = _plain(name)
        if not wanted:
            return []
        return _first_few(
            [one for one in self._passages if wanted in _full_names(one)],
            [one for one in self._passages if wanted in (_plain(one.title), _plain(one.chapter or ""))],
        )

    def _by_link(self, label: str, url: str) -> list[Passage]:
        wanted = _plain(re.sub(r"^\s*source:", "", label, flags=re.IGNORECASE))
        there = [one for one in self._passages if _same_url(url, one.url) or _same_url(url, one.link)]
        exact = [one for one in there if _same_url(url, one.link) and one.link != one.url]
        named = [one for one in there if wanted in _full_names(one)]
        numbered = [one for one in there if wanted == str(one.number)]
        titled = [one for one in there if wanted == _plain(one.title)]
        return _first_few(numbered, named, [one for one in titled if one in exact], exact, titled, there)


def _first_few(*candidates: list[Passage]) -> list[Passage]:
    """The first list that names exactly one passage, else nothing."""
    return next((found for found in candidates if len(found) == 1), [])


def _full_names(passage: Passage) -> set[str]:
    """How a passage is named with its heading."""
    names = {_plain(passage.breadcrumb)} if passage.breadcrumb else set()
    if passage.heading:
        names |= {_plain(f"{passage.title}{between}{passage.heading}") for between in (" - ", ", ", ": ", " > ")}
    return names


def _plain(text: str) -> str:
    """A name for comparing: without escapes, quotes and case, white space made one space."""
    return " ".join(re.sub(r"\\(.)", r"\1", text).strip(" \"'“”*_").casefold().split())


def _same_url(one: str, other: str) -> bool:
    return unquote(one).rstrip("/") == unquote(other).rstrip("/")
