"""HTML files: the pages of a built site, or a single saved page."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from rag.ingest.data_values import unicode_text
from rag.ingest.fences import fenced_lines
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.html_furniture import without_furniture
from rag.ingest.html_elements import choice, class_names, is_unlisted, leads_elsewhere, page_title
from rag.ingest.html_markdown import html_text, main_element, parsed_html, settle
from rag.ingest.literal_signs import less_escaped

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

SEARCHED: Final = 20_000  # tags of a page in which trafilatura looks for the text; with more it takes too long
_TEXTS: Final = choice("article, main, [role=main]")
_RULE: Final = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")


def page_texts(raw: bytes) -> list[LoadedText]:
    """The text in `article` or `main`, else what trafilatura finds; none if the page is not meant to be found.

    Raises `ValueError` if it cannot be read.
    """
    page = parsed_html(raw)
    if leads_elsewhere(page) or not without_furniture(page):
        return []
    _resolve_links(page)
    has_title = any(_is_title(one) for one in page.find_all("h1"))
    fields: dict[str, Any] = {} if has_title else {"title": page_title(page)}
    if is_unlisted(page):
        fields["noindex"] = True
    element = main_element(page)
    if element is None and raw.count(b"<") > SEARCHED:
        element = page.body
    body = html_text(element) if element is not None else _found_by_words(page)
    return [LoadedText(body, "plain", fields)]


def _resolve_links(page: BeautifulSoup) -> None:
    """Make links relative to the page's `<base>` relative to the page. A fragment alone names a place of the page."""
    base = page.find("base", href=True)
    if base is None:
        return
    for link in page.find_all("a", href=True):
        with suppress(ValueError):
            if not (target := str(link["href"])).startswith("#"):
                link["href"] = urljoin(str(base["href"]), target)


def _is_title(heading: Tag) -> bool:
    """Whether a heading of the first level stands in the text, or where Doxygen has the title."""
    above = heading.parent
    return any(one in _TEXTS for one in heading.parents) or (above is not None and "headertitle" in class_names(above))


def _found_by_words(page: BeautifulSoup) -> str:
    """The text that stands out from menus and lists of links; the whole page if nothing does."""
    from trafilatura import extract

    settle(page)
    for place in page.find_all("a", href=False):
        place.unwrap()  # trafilatura drops the words of a list with links that lead nowhere
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
        return less_escaped(with_heads(unicode_text(found)))
    return html_text(page.body) if page.body is not None else ""


def with_heads(text: str) -> str:
    """The text with a line below the first row of each table, as Markdown wants; trafilatura puts one below heads only.

    >>> with_heads("A list:\\n| a | b |\\n| c | d |")
    'A list:\\n\\n| a | b |\\n| --- | --- |\\n| c | d |'
    """
    lines = text.split("\n")
    code = fenced_lines(lines)
    found: list[str] = []
    for n, line in enumerate(lines):
        is_first = _is_row(line) and n not in code and not (n and _is_row(lines[n - 1]))
        if is_first and n and lines[n - 1].strip():
            found.append("")
        found.append(line)
        if is_first and not (n + 1 < len(lines) and _RULE.fullmatch(lines[n + 1])):
            found.append("|" + " --- |" * (len(re.findall(r"(?<!\\)\|", line)) - 1))
    return "\n".join(found)


def _is_row(line: str) -> bool:
    return line.startswith("|") and line.rstrip().endswith("|") and len(line.rstrip()) > 1
