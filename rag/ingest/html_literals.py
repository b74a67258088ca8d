"""What a page shows letter by letter without the elements of code: typewriter words, lone signs, and set lines."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from rag.ingest.html_elements import class_names

if TYPE_CHECKING:
    from bs4.element import Tag

PROSE: Final = 25  # words; a page with more in typewriter letters writes its prose in them
_EMPHASIS: Final = ("i", "em", "b", "strong")
_BLOCKS: Final = frozenset(["p", "li", "dt", "dd", "td", "th", "div"])
_LITERAL: Final = ("pre", "code", "kbd", "samp")
_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~]{1,3}|[!-/:-@\[-`{-~]+(?: [!-/:-@\[-`{-~]+)")


def place_literals(element: Tag) -> None:
    """Make code of what is shown letter by letter in an element."""
    _place_lines(element)
    _place_typewriter(element)
    for one in element.find_all(_EMPHASIS):
        if _SIGNS.fullmatch(one.get_text().strip()) and not one.find_parent(_LITERAL) and _is_term(one):
            one.string = one.get_text().strip()
            one.name = "code"


def _place_lines(element: Tag) -> None:
    """Make blocks of code of the blocks in which DocBook keeps lines and blanks."""
    for block in element.find_all(["p", "div"]):
        if "literallayout" not in class_names(block) or block.find("a", href=True) is not None:
            continue
        for end in block.find_all("br"):
            end.replace_with("\n")
        lines = re.sub(r"\n\n?", "\n", block.get_text().replace("\xa0", " "))
        block.name = "pre"
        block.string = dedent(lines).strip("\n")


def _place_typewriter(element: Tag) -> None:
    """Make code of typewriter words, unless prose is in them too."""
    found = [one for one in element.find_all("tt") if not one.find_parent(_LITERAL)]
    if any(one.find(_BLOCKS) is not None or len(one.get_text().split()) > PROSE for one in found):
        return
    for one in found:
        one.name = "code"


def _is_term(one: Tag) -> bool:
    """Whether emphasised words begin a block that goes on after them."""
    place = one
    while not _text_before(place):
        above = place.parent
        if above is None or above.name in _BLOCKS:
            return above is not None and bool(
                re.match(r"\s+\S", above.get_text().lstrip()[len(one.get_text().strip()) :])
            )
        place = above
    return False


def _text_before(place: Tag) -> str:
    return "".join(one.get_text() for one in place.previous_siblings).strip()
