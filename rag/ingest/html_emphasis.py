"""Bold and italic words of a page whose marks would touch in Markdown, where they would be read as other marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bs4.element import PageElement, Tag

_BOLD: Final = ("b", "strong")
_ITALIC: Final = ("i", "em")
_NAMES: Final = ["b", "strong", "i", "em"]
_PLAIN: Final = "span"
_LITERAL: Final = ("pre", "code", "kbd", "samp")
_BLOCKS: Final = ("p", "div", "ul", "ol", "dl", "table", "pre")


def join_emphasis(element: Tag) -> None:
    """Make one of bold and italic words that nothing parts, and plain text of those whose marks would be none.

    Elements become empty or lose their names, since it takes long to remove one of many from a paragraph.
    """
    for one in element.find_all(_NAMES):
        if one.name not in _NAMES or one.find(_BLOCKS) is not None or one.find_parent(_LITERAL):
            continue
        if one.find_parent(_BOLD if one.name in _BOLD else _ITALIC) is not None:
            one.name = _PLAIN
            continue
        last, end = one, one.get_text()[-1:]
        while not end.isspace() and (following := _touching(last)) is not None:
            last, end = following, following.get_text()[-1:] or end
            one.name = "b" if {one.name, last.name}.intersection(_BOLD) else one.name
            one.extend(last.contents[:])
            last.name = _PLAIN
        if not _stands(one, last):
            one.name = _PLAIN


def _touching(one: Tag) -> Tag | None:
    """The bold or italic words right after an element that begin without a blank; None where there are none."""
    from bs4.element import Tag

    following = one.next_sibling
    if not isinstance(following, Tag) or following.name not in _NAMES or following.find(_BLOCKS) is not None:
        return None
    return None if following.get_text()[:1].isspace() else following


def _stands(one: Tag, last: Tag) -> bool:
    """Whether Markdown would read the marks: not those between a letter outside and a sign inside."""
    text = one.get_text()
    before, after = _text(one.previous_sibling)[-1:], _text(last.next_sibling)[:1]
    opens = not before.isalnum() or text[:1].isalnum() or text[:1].isspace()
    return opens and (not after.isalnum() or text[-1:].isalnum() or text[-1:].isspace())


def _text(node: PageElement | None) -> str:
    return node.get_text() if node is not None else ""
