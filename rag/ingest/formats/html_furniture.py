"""What the program that wrote a page put around its text: menus, steps to other pages, lists of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from rag.ingest.html_elements import choice, class_names, meta

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

# What programs that write pages from source code or from one document add: they name themselves in the page's head.
_FURNITURE: Final = {
    "doxygen": "#titlearea, #nav-path, .navpath, .footer, .ttc, .permalink, .header > .summary, .lineno, .levels",
    "rustdoc": "a.src, .hideme, [data-nosnippet], #copy-path, .rustdoc-breadcrumbs, #synthetic-implementations, "
    "#synthetic-implementations-list, #blanket-implementations, #blanket-implementations-list",
    "javadoc": ".sub-title, .inheritance, .search-input-container, .table-header",
    "asciidoctor": "#toc, #footer",
    "mediawiki": "#toc, .mw-editsection, .magnify, .printfooter, .catlinks, #jump-to-nav, #siteSub, #contentSub",
    **dict.fromkeys(
        ("docbook", "modular"), ".navheader, .navfooter, div.toc, div.lot, div[class^=list-of-], .longdesc-link"
    ),
    **dict.fromkeys(
        ("texi", "makeinfo"),
        "table[class^=index-], table:has(a.summary-letter), .printindex, [class*=header-printindex], "
        "[class*=entries-printindex], .contents, .shortcontents, .contents-heading, .shortcontents-heading, "
        "body > p > font[size='-1']",
    ),
}
# Where the text stands, by the program that wrote the page, in pages without `main` and `article`.
_TEXTS: Final = {
    "docutils": ("div.body", "div.document"),  # Sphinx names it too, whatever its theme calls the text
    "mediawiki": ("#mw-content-text", "#bodyContent"),
}
# How links lead from page to page: by what they say, by `rel` and by `accesskey`.
_NEXT: Final = frozenset(["next", "prev", "previous", "<", ">", "<<", ">>", "«", "»", "←", "→", "‹", "›"])
_STEPS: Final = _NEXT | {"up", "top", "home", "contents", "index", "start", "?"}
_KEYS: Final = {"n": "next", "p": "prev", "u": "up"}
_AROUND: Final = choice("p, div, table, tbody, tr, td, th, b, strong, span, center, ul, li")
_LARGEST: Final = 150  # elements and texts in a line of such links
_WORD: Final = re.compile(r"[^\W_]+")
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
    _remove_steps(page)
    written_by = meta(page, "name", "generator").strip()
    name = _NAME.match(written_by.lower())
    if name is None:
        return True
    _name_text(page, _TEXTS.get(name[0], ()))
    if (furniture := _FURNITURE.get(name[0])) is None:
        return True
    for element in page.find_all(class_=True):  # in capitals in "Modular DocBook HTML Stylesheet"
        element["class"] = " ".join(one.lower() if one.isupper() else one for one in class_names(element))
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


def _name_text(page: BeautifulSoup, places: Sequence[str]) -> None:
    """Make `main` of the first place that a page has, if it has neither that nor an `article`."""
    if page.find(["main", "article"]) is None and page.find(role="main") is None:
        found = next(filter(None, map(page.select_one, places)), None)
        if found is not None:
            found.name = "main"


def _remove_steps(page: BeautifulSoup) -> None:
    """Remove the lines of links that lead to the next page, the one before and the contents, wherever they stand."""
    known: dict[int, int] = {}
    for link in page.find_all("a"):
        if link.decomposed or not _signs(link) & _NEXT:
            continue
        found, parent = None, link.parent
        while parent is not None and parent in _AROUND:
            if id(parent) not in known:
                known[id(parent)] = _steps(parent)
            if not known[id(parent)]:
                break
            found, parent = parent if known[id(parent)] > 1 else None, parent.parent
        if found is not None:
            found.decompose()


def _steps(element: Tag) -> int:
    """The number of steps in an element that holds no words but those of links and names of steps; 0 for others."""
    from bs4.element import NavigableString, Tag

    inner = list(islice(element.descendants, _LARGEST))
    tags = [one for one in inner if isinstance(one, Tag)]
    if len(inner) == _LARGEST or any(one.name in ("code", "pre", "h1", "h2", "h3") for one in tags):
        return 0
    texts = [one for one in inner if type(one) is NavigableString and not one.find_parent("a")]
    words = [word.lower() for one in texts for word in _WORD.findall(one)]
    steps = sum(bool(_signs(one) & _STEPS) for one in tags if one.name == "a")
    return steps + len(words) if set(words) <= _STEPS else 0


def _signs(link: Tag) -> set[str]:
    """What a link says of where it leads, in lower case."""
    images = (str(one.get("alt") or "") for one in link.find_all("img", limit=2))
    said = (link.get_text()[:20], *images, _KEYS.get(str(link.get("accesskey")), ""), *(link.get("rel") or ()))
    return {one.strip().lower() for one in said}


def _only_lists(page: BeautifulSoup, written_by: str) -> bool:
    classes = class_names(page.body) if page.body is not None else []
    title = page.title.get_text().strip() if page.title is not None else ""
    return (
        bool(_JAVADOC_LISTS.match(written_by))
        or (written_by == "rustdoc" and bool({"src", "sys"} & set(classes)))
        or (written_by.startswith("Doxygen") and bool(_DOXYGEN_LISTS.search(title) or page.select_one("#SRIndex")))
    )
