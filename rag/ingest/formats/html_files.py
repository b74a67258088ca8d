"""HTML files: the pages of a built site, or a single saved page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.html_elements import choice, class_names, is_unlisted, leads_elsewhere, meta, page_title
from rag.ingest.html_markdown import html_text, main_element, parsed_html
from rag.ingest.literal_signs import less_escaped

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

SEARCHED: Final = 20_000  # tags of a page in which trafilatura looks for the text; with more it takes too long
# What programs that write pages from source code or from one document add: they name themselves in the page's head.
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
_TEXTS: Final = choice("article, main, [role=main]")
_NAME: Final = re.compile(r"[a-z]+")
_JAVADOC_LISTS: Final = re.compile(r"javadoc/\w*(?:Index|Tree|Help|Search|AllClasses|AllPackages)\w*Writer")
_DOXYGEN_LISTS: Final = re.compile(
    r"\b(?:Source File|(?:Member|File|Class) List|Graph Legend|Class Index|Class Members\b.*|Directory Reference)$"
)


def page_texts(raw: bytes) -> list[LoadedText]:
    """The text in `article` or `main`, else what trafilatura finds; none if the page is not meant to be found.

    Raises `ValueError` if it cannot be read.
    """
    page = parsed_html(raw)
    if leads_elsewhere(page) or not without_furniture(page):
        return []
    has_title = any(_is_title(one) for one in page.find_all("h1"))
    fields: dict[str, Any] = {} if has_title else {"title": page_title(page)}
    if is_unlisted(page):
        fields["noindex"] = True
    element = main_element(page)
    if element is None and raw.count(b"<") > SEARCHED:
        element = page.body
    body = html_text(element) if element is not None else _found_by_words(page)
    return [LoadedText(body, "plain", fields)]


def _is_title(heading: Tag) -> bool:
    """Whether a heading of the first level stands in the text, or where Doxygen has the title."""
    above = heading.parent
    return any(one in _TEXTS for one in heading.parents) or (above is not None and "headertitle" in class_names(above))


def _found_by_words(page: BeautifulSoup) -> str:
    """The text that stands out from menus and lists of links; the whole page if nothing does."""
    from trafilatura import extract

    found = extract(
        str(page),
        output_format="markdown",
        include_formatting=True,
        include_tables=True,
        include_links=True,
        include_comments=False,
        deduplicate=False,
    )
    if found:
        return less_escaped(unicode_text(found))
    return html_text(page.body) if page.body is not None else ""


def without_furniture(page: BeautifulSoup) -> bool:
    """Remove what the program that wrote a page put there. False for a page that has nothing else."""
    written_by = meta(page, "name", "generator").strip()
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
    for code in page.select("div.fragment"):  # a box whose lines are elements
        block = page.new_tag("pre")
        block.string = "\n".join(line.get_text() for line in code.select("div.line"))
        code.replace_with(block)
    return True


def _only_lists(page: BeautifulSoup, written_by: str) -> bool:
    classes = list(page.body.get("class") or ()) if page.body is not None else []
    title = page.title.get_text().strip() if page.title is not None else ""
    return (
        bool(_JAVADOC_LISTS.match(written_by))
        or (written_by == "rustdoc" and bool({"src", "sys"} & set(classes)))
        or (written_by.startswith("Doxygen") and bool(_DOXYGEN_LISTS.search(title) or page.select_one("#SRIndex")))
    )
