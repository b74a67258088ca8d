"""Footnotes of a page: each stands in parentheses at its first mark, and no mark is left as a link."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Final

from rag.ingest.html_elements import class_names
from rag.ingest.links import NOTE

if TYPE_CHECKING:
    from bs4.element import Tag

_LABEL: Final = re.compile(r"\W*(?:\d{1,4}|[a-z]|[ivx]{1,5})?\W*", re.IGNORECASE)
_MARK: Final = re.compile(r"note-?ref|footnote-reference|fnref", re.IGNORECASE)
_NOTES: Final = re.compile(r"(?:foot|end|rear)-?notes?\b", re.IGNORECASE)
_REFERENCES: Final = re.compile(r"references|citation|bibliograph", re.IGNORECASE)
_BACK: Final = re.compile(r"back-?(?:link|ref)|footnote-back|reversefootnote", re.IGNORECASE)
_SIGNS: Final = re.compile(r"[\w*†‡§¶]")  # of a mark
_BEFORE: Final = "[](){}.:^↑, "  # what stands around the number of a note
_RAISED: Final = " []()"  # what stands around a raised mark
_ITEMS: Final = frozenset({"li", "p", "aside", "div", "dd"})
_BLOCKS: Final = ("pre", "table", "ul", "ol")
_AROUND: Final = frozenset({"ol", "ul", "section", "aside", "div"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "hr"})


def place_notes(element: Tag) -> None:
    """Put the footnotes in an element where they are first mentioned, and remove the marks of all others."""
    marks = [link for link in element.find_all("a") if _is_mark(link)]
    if not marks:
        return
    targets = {str(one["id"]): one for one in element.find_all(id=True)}
    ids = {one for mark in marks for one in _ids(mark)}
    seen: set[str] = set()
    placed: list[Tag] = []
    for mark in marks:
        name = str(mark["href"]).partition("#")[2]
        note = targets.get(name)
        text = _text(note, mark, ids) if note is not None and name not in seen else ""
        seen.add(name)
        if text and note is not None:
            placed.append(note)
        _replace(mark, f"({text})" if text else "")
    _remove(placed)


def _is_mark(link: Tag) -> bool:
    words = link.get_text().strip()
    if "#" not in str(link.get("href") or "") or not words or not _LABEL.fullmatch(words):
        return False
    raised = link.find("sup") is not None or (link.parent is not None and link.parent.name == "sup")
    return raised or bool(_MARK.search(_kinds(link)))


def _kinds(element: Tag) -> str:
    """What an element calls itself: its classes and roles."""
    return " ".join([*class_names(element), str(element.get("role") or ""), str(element.get("epub:type") or "")])


def _ids(mark: Tag) -> set[str]:
    """The ids to which a note may lead back."""
    around = (mark, *mark.find_all(id=True), *([mark.parent] if mark.parent is not None else []))
    return {str(one.get("id")) for one in around if one.get("id")}


def _text(note: Tag, mark: Tag, ids: set[str]) -> str:
    """The words of a note without its number; empty for one that is long, or that is none."""
    if note.name not in _ITEMS or note.find(_BLOCKS) is not None or len(note.get_text()) > NOTE + 50:
        return ""
    leads_back = {str(link.get("href") or "").partition("#")[2] for link in note.find_all("a")} & _ids(mark)
    kinds = " ".join(_kinds(one) for one in (note, *list(note.parents)[:3]))
    is_here = str(mark["href"]).startswith("#") and _NOTES.search(kinds)
    if not (leads_back or is_here) or _REFERENCES.search(kinds):
        return ""
    alone = copy(note)
    for link in alone.find_all("a"):
        if str(link.get("href") or "").partition("#")[2] in ids or _BACK.search(_kinds(link)):
            link.decompose()
    words = " ".join(alone.get_text().split()).lstrip(_BEFORE)
    label = "".join(_SIGNS.findall(mark.get_text()))
    if not re.match(r"\w", words.removeprefix(label)):  # its number, not a word or a number that begins with it
        words = words.removeprefix(label).lstrip(_BEFORE)
    return words if len(words) <= NOTE and any(map(str.isalnum, words)) else ""


def _replace(mark: Tag, text: str) -> None:
    """Put the text of a note, or nothing, in place of its mark and of the raised brackets around it."""
    parent = mark.parent
    whole = mark
    if (
        parent is not None
        and parent.name == "sup"
        and parent.get_text().strip(_RAISED) == mark.get_text().strip(_RAISED)
    ):
        whole = parent
    before = whole.previous_sibling
    if text:
        is_apart = isinstance(before, str) and before[-1:].isspace()
        whole.insert_before(text if is_apart else f" {text}")
    whole.decompose()


def _remove(notes: list[Tag]) -> None:
    """Remove notes that stand in the text, and what has only held notes."""
    around = {id(note.parent): note.parent for note in notes if note.parent is not None}
    for note in notes:
        if not note.decomposed:
            note.decompose()
    for held in around.values():
        place: Tag | None = held
        while place is not None and not place.decomposed and _held_notes(place):
            above = place.parent
            place.decompose()
            place = above


def _held_notes(place: Tag) -> bool:
    """Whether an element has nothing but the title of a list of notes."""
    if place.name not in ("ol", "ul") and not (place.name in _AROUND and _NOTES.search(_kinds(place))):
        return False
    if any(one.name not in _HEADINGS for one in place.find_all(True, recursive=False)):
        return False
    titles = "".join(one.get_text() for one in place.find_all(_HEADINGS, recursive=False))
    return place.get_text().strip() == titles.strip()
