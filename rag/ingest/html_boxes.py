"""Boxes of a page: notes and lists of fields as DocBook makes them, and figures whose picture repeats their title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag.ingest.html_elements import class_names

if TYPE_CHECKING:
    from bs4.element import PageElement, Tag

FIGURE: Final = 2_000  # characters of a figure that are compared with what its pictures show
_NOTES: Final = frozenset({"note", "tip", "warning", "caution", "important"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TABLE_PARTS: Final = ("thead", "tbody", "tr", "td")
_BLOCKS: Final = _HEADINGS | {"p", "div", "section", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "hr"}
_BOXES: Final = ("div", "aside", "section")


def place_boxes(element: Tag) -> None:
    """Make a line of the title of each note, take away what a picture repeats, and line breaks between blocks."""
    for box in element.find_all(_BOXES):
        if not _NOTES.isdisjoint(class_names(box)):
            _place_title(box)
    for listing in element.find_all("div", class_="segmentedlist"):
        _place_fields(listing)
    said: dict[int, str] = {}  # by figures
    for image in element.find_all("img", alt=True):
        figure = next((one for one in image.parents if one.name == "figure" or "figure" in class_names(one)), None)
        if figure is None:
            continue
        if id(figure) not in said:
            said[id(figure)] = _plain(figure.get_text())[:FIGURE]
        if _plain(str(image["alt"])) in said[id(figure)]:
            image["alt"] = ""
    for ending in element.find_all("br"):
        beside = [_neighbour(ending, step) for step in ("previous_sibling", "next_sibling")]
        if all(one is None or getattr(one, "name", None) in _BLOCKS for one in beside):
            ending.decompose()


def _place_title(box: Tag) -> None:
    """Make a paragraph of a title that is a heading, which would begin a section, or the first row of a table."""
    inner = box.find_all(True, recursive=False)
    first = inner[0] if inner else None
    if first is None:
        return
    if first.name == "table" and len(inner) == 1:
        titles = first.find_all("th")
        if len(titles) != 1 or first.find("table") is not None:
            return
        for cell in first.find_all("td"):
            if not cell.get_text(strip=True):
                cell.decompose()  # the picture beside the title
        for part in (first, *first.find_all(_TABLE_PARTS)):
            part.name = "div"
        _make_line(titles[0])
    elif first.name in _HEADINGS and "title" in class_names(first):
        _make_line(first)


def _place_fields(listing: Tag) -> None:
    """Make definitions of the entries of a list of fields: the first field is the term, the others describe it."""
    from bs4.element import Tag

    listing.name = "dl"
    for entry in listing.find_all("div", class_="seglistitem", recursive=False):
        fields = list(entry.find_all("div", class_="seg", recursive=False))
        if not fields:
            continue
        first, *others = fields
        for name in first.find_all(class_="segtitle"):
            name.decompose()  # "Option:", the same in each entry
        first.name = "dt"
        if (place := entry.find("a", id=True, recursive=False)) is not None:
            first["id"] = str(place["id"])
            place.decompose()
        described = Tag(name="dd")
        for field in others:
            field.name = "div" if field.find(list(_BLOCKS)) is not None else "p"
            described.append(field)
        first.insert_after(described)
        entry.unwrap()


def _make_line(title: Tag) -> None:
    words = title.get_text().rstrip()
    if any(map(str.isalnum, words)) and not words.endswith((":", ".", "!", "?")):
        title.append(":")
    title.name = "p"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _neighbour(node: PageElement, step: str) -> PageElement | None:
    """The next element or text on one side that is no blank space; None where there is none."""
    one: PageElement | None = getattr(node, step)
    while one is not None and not getattr(one, "name", None) and not one.get_text(strip=True):
        one = getattr(one, step)
    return one
