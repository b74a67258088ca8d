"""Pages that programs write from source code or from one document: what is theirs, and not text of the page.

Such a program names itself in the page's head. What is removed are links to sources, menus in plain boxes, line
numbers, and whole pages that only list what stands on others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

_FURNITURE: Final = {
    "doxygen": "#titlearea, #nav-path, .navpath, .footer, .ttc, .permalink, .header > .summary, .lineno, .levels",
    "rustdoc": "a.src, .hideme, [data-nosnippet], #copy-path, .rustdoc-breadcrumbs, #synthetic-implementations, "
    "#synthetic-implementations-list, #blanket-implementations, #blanket-implementations-list",
    "javadoc": ".sub-title, .inheritance, .search-input-container, .table-header",
    "asciidoctor": "#toc, #footer",
}
# Lists of javadoc whose items are sections with headings.
_LISTS_OF_SECTIONS: Final = ", ".join(
    f"ul.{name}, ul.{name} > li" for name in ("summary-list", "details-list", "member-list")
)
_NAME: Final = re.compile(r"[a-z]+")
_JAVADOC_LISTS: Final = re.compile(r"javadoc/\w*(?:Index|Tree|Help|Search|AllClasses|AllPackages)\w*Writer")
_DOXYGEN_LISTS: Final = re.compile(
    r"\b(?:Source File|(?:Member|File|Class) List|Graph Legend|Class Index|Class Members\b.*|Directory Reference)$"
)


def without_furniture(page: BeautifulSoup) -> bool:
    """Remove what the program that wrote a page put there. False for a page that has nothing else."""
    written_by = _generator(page)
    name = _NAME.match(written_by.lower())
    furniture = _FURNITURE.get(name[0]) if name else None
    if furniture is None:
        return True
    if _only_lists(page, written_by):
        return False
    for element in page.select(furniture):
        if not element.decomposed:
            element.decompose()
    for boxed in page.select(_LISTS_OF_SECTIONS):
        boxed.unwrap()
    for title in page.select(".headertitle > .title"):
        title.name = "h1"
    for code in page.select("div.fragment"):
        _write_code(page, code)
    return True


def _generator(page: BeautifulSoup) -> str:
    meta = page.select_one("meta[name=generator]")
    return str(meta.get("content") or "").strip() if meta is not None else ""


def _only_lists(page: BeautifulSoup, written_by: str) -> bool:
    classes = list(page.body.get("class") or ()) if page.body is not None else []
    title = page.title.get_text().strip() if page.title is not None else ""
    return (
        bool(_JAVADOC_LISTS.match(written_by))
        or (written_by == "rustdoc" and bool({"src", "sys"} & set(classes)))
        or (written_by.startswith("Doxygen") and bool(_DOXYGEN_LISTS.search(title) or page.select_one("#SRIndex")))
    )


def _write_code(page: BeautifulSoup, code: Tag) -> None:
    """A box whose lines are elements, as preformatted text."""
    lines = [line.get_text() for line in code.select("div.line")]
    block = page.new_tag("pre")
    block.string = "\n".join(lines)
    code.replace_with(block)
