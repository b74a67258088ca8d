"""HTML as Markdown: the part of a page that is its text, with headings, code, tables and links. lxml parses it."""

from __future__ import annotations

import re
from copy import copy
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rag.ingest.data_values import unicode_text
from rag.ingest.dialects import pictured
from rag.ingest.fences import fenced
from rag.ingest.html_boxes import place_boxes
from rag.ingest.html_definitions import place_definitions
from rag.ingest.html_elements import choice, class_names
from rag.ingest.html_emphasis import join_emphasis
from rag.ingest.html_literals import place_literals
from rag.ingest.html_notes import place_notes
from rag.ingest.html_tables import make_plain
from rag.ingest.literal_signs import marked, unmarked
from rag.ingest.tags import with_powers

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag

LONGEST: Final = 10_000_000  # characters of the text of a page; a cell may claim to span a thousand columns
TAB_GROUPS: Final = 200  # of a page whose tabs are labelled
BLANKS: Final = 200  # in a row that are kept: more make markdownify slow
LEVELS: Final = 12  # of quotes and lists in each other; what is deeper stands on the last of them
TAGS: Final = 100_000  # each takes about a kilobyte of memory; a book on one page has some ten thousand
_MANY_BLANKS: Final = re.compile(rf"[ \t]{{{BLANKS}}}[ \t]+")
_AROUND_IMAGES: Final = frozenset({"p", "figure", "div", "main", "article", "section", "body"})
_ENDED: Final = ("p", "div", "li", "dd", "td", "th", "blockquote")  # blocks
_INDENTED: Final = ("blockquote", "li", "dd")
_DROPPED: Final = choice(
    "script, style, noscript, template, svg, iframe, form, button, input, select, textarea, nav, [role=navigation], "
    "[role=search], .linenos, .gutter, .boring, .visually-hidden",
    hidden=True,
)
_AROUND: Final = choice("nav, header, footer, aside, [role=navigation], [role=banner], [role=contentinfo]")
_MAIN: Final = choice("main, [role=main]")
_FORMULAS: Final = choice(".katex, mjx-container, math")
_TABS: Final = choice(".tabbed-labels, [role=tablist]")
_PANELS: Final = choice(".tabbed-block, [role=tabpanel]")
_LINES: Final = choice(".token-line, .line")
_HEADINGS: Final = choice("h1, h2, h3, h4, h5, h6")
_FOOTERS: Final = choice("footer")
_NOTE_TITLES: Final = frozenset(["admonition-title", "markdown-alert-title"])
_LANGUAGE: Final = re.compile(r"(?:language|lang|highlight|highlight-source|brush:)-?([\w+#.-]{1,20})$")
_NO_LANGUAGE: Final = frozenset({"default", "none", "text", "plaintext", "notranslate", "source", "highlight"})
_CHARSET: Final = re.compile(rb"<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*[\"']?([\w-]{2,30})", re.I)


def parsed_html(raw: bytes) -> BeautifulSoup:
    """The elements of a page. Raises `ValueError` for bytes that are no text, and for more than `TAGS` tags."""
    from bs4 import BeautifulSoup

    if raw.count(b"<") > TAGS:
        raise ValueError(f"it has more than {TAGS:,} tags; split it into several pages")
    text = re.sub(r"\A\s*<\?xml[^>]{0,200}\?>", "", decoded_html(raw))
    text = with_powers(_MANY_BLANKS.sub(" " * BLANKS, text))
    return BeautifulSoup(text if "<" in text else f"<body>{text}", "lxml")


def decoded_html(raw: bytes) -> str:
    """The text of a page in UTF-8, the encoding that it names, or windows-1252. Raises `ValueError` for NUL bytes."""
    if b"\0" in raw and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is not a text file: it contains NUL bytes")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    named = _CHARSET.search(raw[:2000])
    for encoding in ("utf-8-sig", *([named[1].decode("ascii")] if named else [])):
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode("windows-1252", "replace")


def main_element(page: BeautifulSoup) -> Tag | None:
    """The element that holds the text of a page: `article`, `main`, or all if nothing is around it; else None."""
    articles = [one for one in page.find_all("article") if not one.find_parent("article")]
    if len(articles) == 1:
        return articles[0]
    mains = list(_MAIN.inside(page))
    if len(mains) == 1:
        return mains[0]
    body = page.body
    is_text = body is not None and not articles and not mains and not any(_AROUND.inside(body))
    return body if is_text else None


def html_text(element: Tag, *, anchors: bool = True) -> str:
    """An element, which is changed, as Markdown. With `anchors`, a heading has its id as `{#id}`.

    Raises `ValueError` if it is nested too deeply.
    """
    for dropped in _DROPPED.inside(element):
        dropped.decompose()
    settle(element)
    for labels in islice(_TABS.inside(element), TAB_GROUPS):
        _label_tabs(labels)
    _end_note_titles(element)
    for heading in _HEADINGS.inside(element):
        _mark_heading(heading, anchors=anchors)
    for footer in _FOOTERS.inside(element):
        footer.decompose()
    _unquote(element)
    _flatten(element)
    _number_items(element)
    _note_lone_images(element)
    try:
        text: str = _converter().convert_soup(element)
    except RecursionError:
        raise ValueError("it is nested too deeply; take some of its levels apart") from None
    if len(text) > LONGEST:
        raise ValueError(f"its text becomes larger than {LONGEST // 10**6} megabytes")
    return re.sub(r"\n(?:[ ]*\n){2,}", "\n\n", unmarked(unicode_text(text))).strip()


def settle(element: Tag) -> None:
    """Change formulas, notes, definitions and tables in an element: Markdown or trafilatura would lose some of them."""
    for formula in _FORMULAS.inside(element):
        _typeset(formula)
    place_boxes(element)
    place_notes(element)
    place_literals(element)
    join_emphasis(element)
    place_definitions(element)
    make_plain(element)


def _end_note_titles(element: Tag) -> None:
    """Put a colon after the title of each note."""
    for title in element.find_all(True):
        if any(name in _NOTE_TITLES or "admonitionHeading" in name for name in class_names(title)):
            words = title.get_text().rstrip()
            if any(map(str.isalnum, words)) and not words.endswith((":", ".", "!", "?")):
                title.append(":")


def _label_tabs(labels: Tag) -> None:
    """Put the label of each tab above its panel."""
    names = [" ".join(one.get_text().split()) for one in labels.find_all(["label", "li", "a"], recursive=False)]
    if labels.parent is None:
        return
    panels = list(_PANELS.inside(labels.parent))
    known = {id(one) for one in panels}
    outer = [one for one in panels if not any(id(parent) in known for parent in one.parents)]
    if len(names) != len(outer):
        return
    for name, panel in zip(names, outer, strict=True):
        label = copy(labels)  # any element will do: its name and its text are replaced
        label.name, label.attrs = "p", {}
        label.string = f"{name}:"
        panel.insert(0, label)
    labels.decompose()


def _mark_heading(heading: Tag, *, anchors: bool) -> None:
    """Reduce a heading to its words and its id, which may be that of its section or of a link in it."""
    anchor = heading.get("id") or _inner_id(heading) or _section_id(heading) or _id_before(heading)
    for link in heading.find_all("a"):
        if any(c.isalnum() for c in link.get_text()):
            link.unwrap()
        else:
            link.decompose()
    heading["data-anchor"] = str(anchor or "") if anchors else ""
    for around in heading.parents:
        if around.name == "dl":  # a list whose terms are headings is a run of sections
            for one in (around, *around.find_all(["dt", "dd"], recursive=False)):
                one.name = "div"


def _inner_id(heading: Tag) -> Any:
    inner = heading.find(["a", "span"], attrs={"id": True}) or heading.find("a", attrs={"name": True})
    return (inner.get("id") or inner.get("name")) if inner is not None else None


def _section_id(heading: Tag) -> Any:
    parent = heading.parent
    if parent is None or parent.name not in ("section", "div") or not parent.get("id"):
        return None
    children = parent.find_all(True, recursive=False)
    first = next((one for one in children if one.name != "span" and not _is_mark(one)), None)
    return parent.get("id") if first is heading else None


def _id_before(heading: Tag) -> Any:
    """The id of an empty link right before a heading, as old pages and Doxygen have it."""
    before = heading.find_previous_sibling(True)
    is_place = before is not None and _is_mark(before) and not before.get("href")
    return (before.get("id") or before.get("name")) if is_place and before is not None else None


def _is_mark(element: Tag) -> bool:
    """Whether an element is a link without words, such as a paragraph sign."""
    return element.name == "a" and not any(c.isalnum() for c in element.get_text())


def _typeset(formula: Tag) -> None:
    """A formula as its TeX source, if the page has it, or else its signs with blanks between them."""
    tex = formula.find("annotation", attrs={"encoding": "application/x-tex"})
    source = tex.get_text() if tex is not None else str(formula.get("alttext") or "")
    if source.strip():
        formula.replace_with(f"${' '.join(source.split())}$")
    elif formula.name == "math":
        formula.replace_with(" ".join(formula.get_text(" ").split()) or " ")


def _unquote(element: Tag) -> None:
    """Make plain blocks of the quotes that only set code, tables and lists in."""
    from bs4.element import NavigableString

    for quote in element.find_all("blockquote"):
        inner = [one for one in quote.find_all(True, recursive=False) if one.name != "br"]
        alone = not any(type(one) is NavigableString and one.strip() for one in quote.children)
        only_lists = bool(inner) and all(one.name in ("ul", "ol") for one in inner)
        if any(one.name in ("table", "pre", "dl") for one in inner) or (alone and only_lists):
            quote.name = "div"


def _flatten(element: Tag) -> None:
    """Make plain blocks of the quotes and items that are nested deeper than `LEVELS`: each level marks every line."""
    for one in element.find_all(_INDENTED):
        if sum(parent.name in _INDENTED for parent in one.parents) >= LEVELS:  # the parents are flattened already
            one.name = "div"


def _number_items(element: Tag) -> None:
    """Mark the items of numbered lists with their numbers, so that none has to count those before it."""
    for numbered in element.find_all("ol"):
        start = str(numbered.get("start") or "")
        first = int(start) if start.isascii() and start.isdigit() and len(start) < 10 else 1
        for n, item in enumerate(numbered.find_all("li", recursive=False), first):
            item["data-mark"] = f"{n}."


def _note_lone_images(element: Tag) -> None:
    """Mark the images whose parent has no text, so that each parent is looked through once."""
    alone: dict[int, bool] = {}
    for image in element.find_all("img"):
        parent = image.parent
        if parent is None or parent.name not in _AROUND_IMAGES:
            continue
        if id(parent) not in alone:
            alone[id(parent)] = parent.name == "figure" or not parent.get_text(strip=True)
        if alone[id(parent)]:
            image["data-alone"] = ""


def _language(element: Tag) -> str:
    """The language of a block of code, by its class or that of an element just inside or around it."""
    inner = element.find("code")
    around = [element, *([inner] if inner is not None else []), *list(element.parents)[:3]]
    for name in (name for one in around for name in class_names(one)):
        found = _LANGUAGE.match(name)
        if found and found[1].lower() not in _NO_LANGUAGE:
            return found[1].lower()
    return ""


def _code(element: Tag) -> str:
    """The lines of a block of code. Some pages make an element of each, ended by `br` or by nothing."""
    for line in element.find_all("br"):
        line.replace_with("\n")
    text = element.get_text()
    lines = list(_LINES.inside(element)) if "\n" not in text.strip() else []
    if len(lines) > 1:
        text = "\n".join(line.get_text() for line in lines)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _link(element: Tag, text: str, *, is_plain: bool) -> str:
    """A link with the converted text in it; only the text if it leads nowhere or `is_plain`; nothing without words."""
    words, target = " ".join(text.split()), str(element.get("href") or "")
    if not any(c.isalnum() or c == "`" for c in words):
        return ""
    if not target or is_plain or re.match(r"(?i)\s*(?:javascript|data):", target):
        return text
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    address = f"<{target}>" if re.search(r"[\s()]", target) else target
    return f"{start}[{words}]({address}){end}"


def _heading(level: int, tag: Tag, text: str, *, is_inline: bool) -> str:
    words = " ".join(text.split())
    if not words or is_inline:
        return f" {words} " if words else ""
    anchor = re.sub(r"[\s{}]", "", str(tag.get("data-anchor") or ""))
    return f"\n\n{'#' * max(1, min(6, level))} {words} {{#{anchor}}}\n\n"


def _item(tag: Tag, text: str) -> str:
    mark = f"{tag.get('data-mark', '-')} " if tag.parent is not None and tag.parent.name == "ol" else "- "
    first, *rest = text.strip().split("\n")
    lines = [mark + first, *(" " * len(mark) + line if line else "" for line in rest)]
    return "\n".join(lines) + "\n" if first else "\n"


def _image(tag: Tag, *, is_plain: bool) -> str:
    alt = str(tag.get("alt") or "")
    alt = alt if is_plain else marked(alt)
    alone = tag.has_attr("data-alone") and alt.strip()
    return f"\n\n{pictured(alt)}\n\n" if alone else " ".join(alt.split())


def _is_last(ending: Tag) -> bool:
    """Whether a line break is the last of a block, which ends there anyway."""
    after = (getattr(one, "name", None) == "br" or not str(one).strip() for one in ending.next_siblings)
    return ending.parent is not None and ending.parent.name in _ENDED and all(after)


@cache
def _converter() -> Any:
    """markdownify, with the Markdown of the rest of askbook. `unmarked` settles which signs of the text are escaped."""
    from markdownify import MarkdownConverter

    class Converter(MarkdownConverter):
        def escape(self, text: str, parent_tags: set[str]) -> str:
            return marked(text)

        def process_text(self, el: Any, parent_tags: set[str] | None = None) -> str:
            text = str(super().process_text(el, parent_tags))  # type: ignore[misc]  # its stub lacks it
            is_line = getattr(el.previous_sibling, "name", None) == "br" and "_noformat" not in (parent_tags or ())
            return text.lstrip() if is_line else text

        def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return "" if _is_last(el) else str(super().convert_br(el, text, parent_tags))  # type: ignore[misc]

        def convert_hN(self, n: int, el: Tag, text: str, parent_tags: set[str]) -> str:
            return _heading(n, el, text, is_inline="_inline" in parent_tags)

        def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\n\n{fenced(code, _language(el))}\n\n" if (code := _code(el)).strip() else ""

        def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            escaped = re.sub(r"(?<!\\)\|", r"\|", text)
            return str(super().convert_td(el, escaped, parent_tags))  # type: ignore[misc]  # its stub lacks it

        convert_th = convert_td

        def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return _item(el, text)

        def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return _image(el, is_plain="_noformat" in parent_tags)

        def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return _link(el, text, is_plain="_noformat" in parent_tags)

    return Converter(
        bullets="-", newline_style="backslash", table_infer_header=True, heading_style="atx", wrap=True, wrap_width=None
    )
