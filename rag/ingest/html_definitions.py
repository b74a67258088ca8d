"""Definition lists of a page as lists of items, or as sections where the terms are places with long descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rag.ingest.html_elements import class_names

if TYPE_CHECKING:
    from bs4.element import NavigableString, PageElement, Tag

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = frozenset(["p", "pre", "ul", "ol", "dl", "table", "blockquote", "div", "section"])
_MARKED: Final = ("b", "strong", "code", "kbd", "samp", "tt")  # what shows a term already
_PARTS: Final = ("dt", "dd")
_CONTAINERS: Final = frozenset(["li", "td", "th", "blockquote", "ul"])
_ENDS: Final = frozenset(["dd", "body", "main", "article"])


@dataclass(slots=True)
class _Entry:
    """One or more terms and what describes them."""

    terms: list[Tag] = field(default_factory=list)
    bodies: list[Tag] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The id of its first term that has one, or that of a place in it."""
        return next(filter(None, map(_id, self.terms)), "")

    @property
    def is_long(self) -> bool:
        """Whether the description has several blocks."""
        return sum(child.name in _BLOCKS for one in self.bodies for child in one.find_all(True, recursive=False)) > 1


def place_definitions(element: Tag) -> None:
    """Make lists of the definition lists in an element, or sections, each of which has the id of its term.

    A list with headings in it is left as it is.
    """
    for one in element.find_all(_PARTS):
        if one.parent is not None and one.parent.name in _PARTS:  # the one before was left open
            one.parent.insert_after(one)
    level = 1
    levels: dict[int, int] = {}  # of the headings of lists that became sections, by their elements
    for one in element.find_all([*_HEADINGS, "dl"]):
        if one.name != "dl":
            level = int(one.name[1])
            continue
        if one.find(_HEADINGS) is not None:
            continue
        entries = list(_entries(one))
        around = next((levels.get(id(above), 0) for above in one.parents if _is_level(above, levels)), level)
        if around and _is_run_of_sections(one, entries, element):
            levels[id(one)] = around + 1
            _make_sections(one, entries, min(around + 1, 6))
        else:
            _make_list(one, entries)


def _is_level(element: Tag, levels: dict[int, int]) -> bool:
    """Whether an element is a list that became sections, or one in which there can be none."""
    return element.name in _CONTAINERS or id(element) in levels


def _entries(listing: Tag) -> Iterator[_Entry]:
    entry = _Entry()
    for part in _parts(listing.contents):
        if entry.bodies and (part.name == "dt" or not entry.terms):
            yield entry
            entry = _Entry()
        (entry.terms if part.name == "dt" else entry.bodies).append(part)
    if entry.terms or entry.bodies:
        yield entry


def _parts(children: Iterable[PageElement]) -> Iterator[Tag]:
    """The terms and descriptions of a list, which may stand in boxes. Words outside of them are a description too."""
    from bs4.element import Tag

    for child in children:
        if isinstance(child, Tag):
            yield from _parts(child.contents) if child.name == "div" else (child,)
        elif _has_words(child):
            described = Tag(name="dd")
            described.string = str(child)
            yield described


def _id(term: Tag) -> str:
    inner = term.find("a", attrs={"name": True}) or term.find(id=True)
    return str(term.get("id") or (inner is not None and (inner.get("name") or inner.get("id"))) or "")


def _is_run_of_sections(listing: Tag, entries: list[_Entry], element: Tag) -> bool:
    """Whether every term has an id, most descriptions are long, and no text follows that belongs to none of them."""
    return (
        bool(entries)
        and all(entry.anchor for entry in entries)
        and 2 * sum(entry.is_long for entry in entries) >= len(entries)
        and _ends_section(listing, element)
    )


def _ends_section(listing: Tag, element: Tag) -> bool:
    """Whether a heading, a list of definitions or nothing follows."""
    from bs4.element import Tag

    place: Tag | None = listing
    while place is not None and place is not element and place.name not in _ENDS:
        after = next((one for one in place.next_siblings if _has_words(one)), None)
        if after is not None:
            inner = after.find(True) if isinstance(after, Tag) and after.name in ("div", "section") else after
            return isinstance(inner, Tag) and inner.name in (*_HEADINGS, "dl")
        place = place.parent
    return True


def _has_words(node: PageElement) -> bool:
    from bs4.element import NavigableString, Tag

    is_text = isinstance(node, Tag) or type(node) is NavigableString  # a comment is none
    return is_text and bool(node.get_text(strip=True))


def _make_list(listing: Tag, entries: list[_Entry]) -> None:
    """Make an item of each entry. Out of a long list, its parts are taken faster all at once."""
    listing.clear()
    listing.extend([_box("li", entry) for entry in entries])
    listing.name = "ul"


def _make_sections(listing: Tag, entries: list[_Entry], level: int) -> None:
    from bs4.element import Tag

    listing.clear()
    for entry in entries:
        heading = Tag(name=f"h{level}")
        heading.string = _name(entry)
        heading["id"] = entry.anchor
        listing.extend([heading, _box("div", entry)])
    listing.name = "div"


def _name(entry: _Entry) -> str:
    """The words of a term that are its place, or else all of them."""
    term = next(one for one in entry.terms if _id(one))
    place = term.find("a", attrs={"name": True})
    words = place.get_text() if place is not None else ""
    return " ".join((words if words.strip() else term.get_text()).split()).rstrip("¶ ") or entry.anchor


def _box(name: str, entry: _Entry) -> Tag:
    """An element with a line of the terms of an entry, which leads in what describes them."""
    from bs4.element import Tag

    box = Tag(name=name)
    terms = [term for term in entry.terms if _has_words(term)]
    for n, term in enumerate(terms):
        box.extend([", ", _shown(term)] if n else [_shown(term)])
    for body in entry.bodies:
        body.name = "div"
        box.append(body)
    if entry.bodies:
        joint = _joint(terms[-1].get_text() if terms else "", entry.bodies[0])
        if terms:
            terms[-1].insert_after(joint)
    return box


def _shown(term: Tag) -> Tag:
    """A term in one line, as bold letters unless it has a form of its own, such as that of code."""
    for block in term.find_all(["p", "div"]):
        block.unwrap()
    for n, text in enumerate(_texts(term)):
        said = re.sub(r"\s+", " ", text)
        text.replace_with(said if n else re.sub(r"^ ?: ", "", said))  # Texinfo writes the kind of a definition, or none
    _trim(term)
    term.name = "code" if "sig" in class_names(term) else "span" if term.find(_MARKED) is not None else "b"
    for italic in term.find_all(["i", "em"]) if term.name == "b" else ():
        italic.unwrap()
    return term


def _texts(element: Tag) -> list[NavigableString]:
    from bs4.element import NavigableString

    return [one for one in element.find_all(string=True) if type(one) is NavigableString]


def _trim(element: Tag) -> None:
    """Remove the blanks around the words of an element."""
    for strip, step in ((str.lstrip, 1), (str.rstrip, -1)):
        for text in _texts(element)[::step]:
            if stripped := strip(text):
                text.replace_with(stripped)
                break
            text.extract()


def _joint(words: str, body: Tag) -> str:
    """What parts a term from its description, whose first paragraph stands in the same line."""
    from bs4.element import Tag

    first = next(filter(_has_words, body.contents), None)
    name = getattr(first, "name", None)
    is_block = first is None or name in _BLOCKS - {"p"}
    if not is_block:
        _trim(body)
    if isinstance(first, Tag) and first.name == "p":
        _trim(first)
        first.unwrap()
    body.unwrap()
    colon = "" if words[-1:] in (":", "?", "!") else ":"
    return colon if is_block else f"{colon} "
