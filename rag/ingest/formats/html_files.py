"""HTML files: the pages of a built site, or a single saved page, without what stands around their text."""

from __future__ import annotations

import codecs
import re
from typing import Any, Final

from rag.ingest.formats.file_format import LoadedText
from rag.ingest.formats.html_markdown import markdown_of
from rag.ingest.formats.html_tree import Element, named, shape, words
from rag.ingest.text_form import one_form

TAGS: Final = 100_000  # each takes about a kilobyte of memory; a book on one page has some ten thousand
ATTRIBUTES: Final = 2_000  # of a tag: lxml takes quadratic time for them
BLANKS: Final = 200  # in a row that are kept: more make markdownify slow
_MANY_BLANKS: Final = re.compile(rf"[ \t]{{{BLANKS}}}[ \t]+")
_LONG_TAG: Final = re.compile(rb"<[A-Za-z][^<>]{4000,}")
_CHARSET: Final = re.compile(rb"<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*[\"']?([\w-]{2,30})", re.I)
# encoding.spec.whatwg.org: what browsers read for these names, by Python's names of encodings.
_AS_BROWSERS: Final = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8", "utf-7": "cp1252",
}  # fmt: skip


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NO_TEXT: Final = _set(
    "head script style noscript template svg canvas iframe object audio video dialog button input select "
    "textarea nav form"
)
_NO_ROLES: Final = _set("navigation search doc-toc")
_AROUND: Final = _set("header footer aside")  # of a page whose text has no element of its own
_AROUND_ROLES: Final = _set("banner contentinfo complementary")
# What programs put around and into the text: Sphinx, MkDocs, Docusaurus, mdBook, rustdoc, Doxygen, javadoc,
# Asciidoctor, DocBook, MediaWiki, Texinfo. An id begins with `#`.
_FURNITURE: Final = _set(
    """
    linenos gutter boring visually-hidden sr-only headerlink related sphinxsidebar breadcrumbs pagination-nav
    theme-doc-breadcrumbs theme-doc-toc-mobile src rustdoc-breadcrumbs hideme navheader navfooter
    navpath nav-path ttc permalink lineno levels longdesc-link mw-editsection magnify printfooter catlinks
    skip-link toctoggle edit-this-page viewcode-link viewcode-back md-source-file #titlearea #nav-path #copy-path
    #synthetic-implementations #synthetic-implementations-list #blanket-implementations #blanket-implementations-list
    #SRIndex #footer #jump-to-nav #siteSub #contentSub #MSearchSelectWindow
    """
)
# Pages of these programs that only list others or show sources, by the title or the classes of the body.
_ONLY_LISTS: Final = {
    "doxygen": re.compile(
        r"\b(?:Source File|(?:Member|File|Class) List|Graph Legend|Class Index|Class Members\b.*|Directory Reference)$"
    ),
    "javadoc": re.compile(r"^(?:Index|All Classes|(?:Class )?Hierarchy|Search|API Help|Overview \(.*\))\b"),
    "rustdoc": re.compile(r" - source$|^List of all items\b"),
}
_BY_PROGRAM: Final = {
    "doxygen": _set("summary footer"),
    "javadoc": _set("sub-title inheritance search-input-container table-header"),
    "texi": _set("header-printindex-cp printindex contents shortcontents contents-heading"),
}
_CONTENTS: Final = _set("toc lot table-of-contents #toc")
# Where the text stands in pages without `main` and `article`, the innermost place first.
_TEXTS: Final = ("#apicontent", "#mw-content-text", "#bodyContent", "markdown-body", "body", "document")
_MENU: Final = re.compile(r"(?:^|[\s_-])(?:side|nav|menu|toc|lot|table-of|crumb|footer|banner|hd|pager)", re.IGNORECASE)
_NEXT: Final = _set("next prev previous < > << >> « » ← → ‹ ›")
_STEPS: Final = _NEXT | _set("up top home contents index start ? n p u of the")
_STEP_LINE: Final = _set("p div table tbody tr td th b strong span center ul li")


def page_texts(raw: bytes) -> list[LoadedText]:
    """The text in `article` or `main`, else of the whole page without menus; none if the page only leads elsewhere.

    Raises `ValueError` if it cannot be read.
    """
    page = parsed_html(raw)
    metas = [(one.attrib, str(one.get("content") or "")) for one in page.iter("meta")]
    if any(str(given.get("http-equiv")).lower() == "refresh" for given, _ in metas):
        return []
    title = page_title(page, next((said for given, said in metas if given.get("property") == "og:site_name"), ""))
    program = next((said for given, said in metas if str(given.get("name")).lower() == "generator"), "").lower()
    if any(program.startswith(name) and lists.search(title) for name, lists in _ONLY_LISTS.items()):
        return []
    main, is_named = main_element(page)
    drop_furniture(main, program, whole_page=not is_named)
    has_title = is_named and main.find(".//h1") is not None
    fields: dict[str, Any] = {} if has_title else {"title": title}
    if any(str(given.get("name")).lower() == "robots" and "noindex" in said.lower() for given, said in metas):
        fields["noindex"] = True
    base = next((str(one.get("href")) for one in page.iter("base") if one.get("href")), "")
    shape(main, base=base)
    return [LoadedText(markdown_of(main), "plain", fields)]


def parsed_html(raw: bytes) -> Element:
    """The root of a page. Raises `ValueError` for bytes that are no text, and for a page that is too large."""
    from lxml import html

    if raw.count(b"<") > TAGS:
        raise ValueError(f"it has more than {TAGS:,} tags; split it into several pages")
    if any(len(tag[0].split()) > ATTRIBUTES for tag in _LONG_TAG.finditer(raw)):
        raise ValueError(f"a tag of it has more than {ATTRIBUTES:,} attributes")
    text = _MANY_BLANKS.sub(" " * BLANKS, re.sub(r"\A\s*<\?xml[^>]{0,200}\?>", "", decoded_html(raw)))
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    body = text if "<" in text else f"<body>{text.replace('&', '&amp;')}</body>"
    page = html.document_fromstring(body.encode("utf-8", "replace"), parser=parser, ensure_head_body=True)
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):  # lxml drops what is deeper
        raise ValueError("it is nested too deeply; take some of its levels apart")
    return page


def decoded_html(raw: bytes) -> str:
    """The text of a page in UTF-8, the encoding that it names, or windows-1252. Raises `ValueError` for NUL bytes."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace").replace("\0", "\ufffd")
    if b"\0" in raw:
        raise ValueError("it is not a text file: it contains NUL bytes; save it as UTF-8")
    named_in_page = _CHARSET.search(raw[:2000])
    encodings = ["utf-8-sig", "cp1252"]
    if named_in_page:
        try:
            name = codecs.lookup(named_in_page[1].decode("ascii")).name
        except LookupError:
            name = "utf-8"
        encodings.insert(0 if name.startswith("iso2022") else 1, _AS_BROWSERS.get(name, name))
    for encoding in encodings:
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode(encodings[-2] if named_in_page and encodings[-2] != "utf-8" else "cp1252", "replace")


def page_title(page: Element, site: str) -> str:
    """The title in the head of a page, without the name of the site after it."""
    title = " ".join(one_form(page.findtext(".//title") or "").split())
    parts = re.split(r"\s+[|—·«]\s+|\s+[-–]\s+(?=[^-–]*$)", title)
    if len(parts) > 1 and parts[-1] == site:
        return title[: title.rindex(site)].rstrip(" |—·«-–")
    return parts[0] if "|" in title or "—" in title else title


def main_element(page: Element) -> tuple[Element, bool]:
    """The element that holds the text of a page, and whether the page says so; else its body."""
    body = page.find("body")
    mains = [one for one in page.iter() if one.tag == "main" or one.get("role") == "main"]
    articles = [one for one in page.iter("article") if next(one.iterancestors("article"), None) is None]
    main = max(mains, key=lambda one: len(one.text_content()), default=None)
    if len(articles) == 1 and (main is None or 2 * len(articles[0].text_content()) > len(main.text_content())):
        return articles[0], True
    if main is not None:
        return main, True
    for place in _TEXTS if not articles else ():
        found = next((one for one in body.iter() if place in _names(one) and one.tag in ("div", "section")), None)
        if found is not None:
            return found, True
    return body, False


def drop_furniture(main: Element, program: str = "", *, whole_page: bool = False) -> None:
    """Remove what is no text: menus, scripts, what no reader sees, and links to other pages around the text.

    `program` is what wrote the page, in lower case, and `whole_page` says that the element is all of it.
    """
    furniture = _FURNITURE.union(*(names for name, names in _BY_PROGRAM.items() if program.startswith(name)))
    for one in list(main.iter()):
        names = _names(one)
        if one is main or one.getparent() is None:
            continue
        if one.tag == "form" and one.find(".//p") is not None:  # around a whole page
            continue
        dropped = one.tag in _NO_TEXT or one.get("role") in _NO_ROLES or _is_hidden(one)
        dropped = dropped or not furniture.isdisjoint(names) or one.tag == "footer"
        dropped = dropped or (not names.isdisjoint(_CONTENTS) and one.find(".//a") is not None)
        dropped = dropped or (one.tag == "table" and any(name.startswith("index-") for name in names))  # of Texinfo
        dropped = dropped or (one.tag == "table" and one.find('.//a[@class="summary-letter"]') is not None)
        if whole_page and not dropped:
            around = one.tag in _AROUND or one.get("role") in _AROUND_ROLES
            dropped = (around and one.find(".//h1") is None) or _is_menu(one)
        if dropped:
            one.drop_tree()
    for title in [one for one in main.iter("div") if "headertitle" in _names(one)]:  # of Doxygen
        inner = next((one for one in title.iter("div") if "title" in _names(one)), title)
        inner.tag = "h1"
    for code in [one for one in main.iter("div") if "fragment" in _names(one)]:
        lines = [line.text_content() for line in code.iter("div") if "line" in _names(line)]
        code.tag = "pre"
        if lines:
            del code[:]
            code.text = "\n".join(lines)
    _drop_steps(main)


def _names(element: Element) -> set[str]:
    """The classes and the id of an element, which begins with `#`."""
    id_ = element.get("id")
    classes = {one.lower() if one.isupper() else one for one in named(element)}  # in capitals in old DocBook
    return {*classes, f"#{id_}"} if id_ else classes


def _is_hidden(element: Element) -> bool:
    """Whether no reader sees an element. A panel of a tab is hidden only while another is chosen."""
    if element.get("aria-hidden") == "true":
        return "katex-html" in named(element) or not any(True for _ in element.iter("math"))
    style = re.sub(r"\s", "", str(element.get("style") or "")).lower()
    hidden = "hidden" in element.attrib or "display:none" in style or "visibility:hidden" in style
    return hidden and element.get("role") != "tabpanel" and not any("tab" in name for name in named(element))


def _is_menu(element: Element) -> bool:
    """Whether an element calls itself a menu and most of its words are links."""
    if not _MENU.search(f"{element.get('class') or ''} {element.get('id') or ''}"):
        return False
    linked = sum(len(words(link)) for link in element.iter("a"))
    return 2 * linked > len(words(element))


def _drop_steps(main: Element) -> None:
    """Remove the lines of links that lead to the next page, the one before and the contents, wherever they stand."""
    known: dict[Element, int] = {}
    for link in list(main.iter("a")):
        if not _says(link) & _NEXT:
            continue
        found, place = None, link.getparent()
        while place is not None and place is not main and place.tag in _STEP_LINE:
            if place not in known:
                known[place] = _steps(place)
            if not known[place]:
                break
            found, place = place if known[place] > 1 else found, place.getparent()
        if found is not None and found.getparent() is not None:
            found.drop_tree()


def _says(link: Element) -> set[str]:
    """What a link says of where it leads, in lower case."""
    images = (str(one.get("alt") or "") for one in link.iter("img"))
    key = {"n": "next", "p": "prev", "u": "up"}.get(str(link.get("accesskey")).lower(), "")
    return {one.strip().lower() for one in (words(link), *images, key, *str(link.get("rel") or "").split())}


def _steps(place: Element) -> int:
    """The number of steps in a line with no words but those of links and names of steps; 0 for other lines."""
    if len(place.text_content()) > 600 or any(True for _ in place.iter("code", "pre", "h1", "h2", "h3")):
        return 0
    links = set(place.iter("a"))
    texts = [one.text or "" for one in place.iter() if one not in links and links.isdisjoint(one.iterancestors())]
    texts += [one.tail or "" for one in place.iterdescendants() if links.isdisjoint(one.iterancestors())]
    said = {word.lower() for text in texts for word in re.findall(r"[^\W_]+", text)}
    return sum(bool(_says(link) & _STEPS) for link in links) + len(said) if said <= _STEPS else 0
