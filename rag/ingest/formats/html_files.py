"""HTML files: the pages of a built site, or a single saved page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.formats.file_format import LARGEST, LoadedText, need_extra, texts_apart
from rag.ingest.formats.generated_pages import without_furniture
from rag.ingest.html_markdown import html_text, is_published, main_element, page_title, parsed_html

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

# For one page. Some steps of the libraries take time with the square of a page's tags, or with their depth.
SECONDS: Final = 60.0
SEARCHED: Final = 20_000  # tags of a page in which trafilatura looks for the text; with more it takes too long


class HtmlLoader:
    """The text in `article` or `main`. Where a page has neither, trafilatura finds it by its words."""

    suffixes = frozenset({".html", ".htm", ".xhtml"})
    largest = LARGEST

    def load(self, raw: bytes) -> list[LoadedText]:
        need_extra("bs4", "html", "HTML pages")
        return texts_apart(__name__, "page_texts", raw, seconds=SECONDS)


def page_texts(raw: bytes) -> list[LoadedText]:
    """The text of a page; none if the page is not meant to be found. Raises `ValueError` if it cannot be read."""
    page = parsed_html(raw)
    if not is_published(page) or not without_furniture(page):
        return []
    heading = page.select_one("article h1, main h1, [role=main] h1, .headertitle > h1")
    fields: dict[str, Any] = {} if heading is not None else {"title": page_title(page)}
    element = main_element(page)
    if element is None and raw.count(b"<") > SEARCHED:
        element = page.body
    body = html_text(element) if element is not None else _found_by_words(page)
    return [LoadedText(body, "plain", fields)]


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
        return unicode_text(found)
    return html_text(page.body) if page.body is not None else ""
