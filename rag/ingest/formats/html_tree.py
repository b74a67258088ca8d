"""The elements of a page as Markdown can have them: headings with their ids, lists, notes, tables and code.

Each function changes a tree of lxml in place. `html_markdown` writes what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, urljoin

from rag.ingest.dialects import pictured

Element = Any  # an element of lxml, which has no types

HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
BLOCKS: Final = frozenset(["p", "div", "pre", "ul", "ol", "dl", "table", "blockquote", "section", *HEADINGS])
LEVELS: Final = (
    12  # of quotes and lists in each other; what is deeper stands on the last of them: each marks every line
)
TAB_GROUPS: Final = 200  # of a page whose tabs are labelled: all panels around each are looked at
FILLED: Final = 10_000  # cells of a page that are put into the further rows that a cell spans
REPEATED: Final = 200  # characters of a cell that stands in each of its rows; a longer one stands in the first
_LANGUAGE: Final = re.compile(r"(?:language|lang|highlight|highlight-source|brush:)-?([\w+#.-]{1,20})$")
_NO_LANGUAGE: Final = frozenset({"default", "none", "text", "plaintext", "notranslate", "source", "highlight"})
_NOTE_TITLE: Final = re.compile(r"admonition-?title|markdown-alert-title|admonitionHeading", re.IGNORECASE)
_NOTE_LINK: Final = re.compile(r"note-?ref|fnref|footnote|back-?(?:link|ref)", re.IGNORECASE)
_NOTE_LABEL: Final = re.compile(r"\W*(?:\d{1,4}|[a-z])?\W*", re.IGNORECASE)
_POWER: Final = re.compile(r"[-+−–]?(?:\d[\d.,]{0,20}[a-z]?|[ijkmnpqtxyzNT])")
_AROUND_IMAGES: Final = frozenset({"p", "figure", "div", "main", "article", "section", "body"})
_ODD_TARGET: Final = re.compile(r"[\s()<>]")
_NO_TARGET: Final = re.compile(r"\s*(?:javascript|data|vbscript):", re.IGNORECASE)


def words(element: Element) -> str:
    """The text of an element in one line."""
    return " ".join(element.text_content().split())


def named(element: Element) -> list[str]:
    """The classes of an element."""
    return str(element.get("class") or "").split()


def rename(element: Element, name: str) -> None:
    """Give an element another name and no attributes."""
    element.tag = name
    element.attrib.clear()


def shape(main: Element, *, base: str = "", anchors: bool = True) -> None:
    """Bring an element into the form that `html_markdown` writes. `base` is what the page's links are relative to."""
    for number in list(main.iter("sup")):
        _raise(number)
    for formula in list(main.iter("math", "mjx-container")):
        _typeset(formula)
    _drop_note_marks(main)
    left = TAB_GROUPS
    for labels in list(main.iter()):
        if left and ("tabbed-labels" in named(labels) or labels.get("role") == "tablist"):
            left -= 1
            _label_tabs(labels)
        elif _NOTE_TITLE.search(str(labels.get("class") or "")) and (title := words(labels)):
            _append(labels, "" if title.endswith((":", ".", "!", "?")) else ":")
    for code in list(main.iter("pre")):
        _set_code(code)
    for code in list(main.iter("kbd", "samp", "tt")):
        code.tag = "code"
    _lay_out_tables(main)
    for heading in list(main.iter(*HEADINGS)):
        _mark_heading(heading, anchors=anchors)
    _place_definitions(main, anchors=anchors)
    _describe_images(main)
    for link in list(main.iter("a")):
        _point(link, base)
    _flatten(main)


def _append(element: Element, text: str) -> None:
    """Put text at the end of an element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "").rstrip() + text
    else:
        element.text = (element.text or "").rstrip() + text


def _before(element: Element) -> str:
    """The text right before an element, in the same block."""
    previous, parent = element.getprevious(), element.getparent()
    if previous is None:
        return str((parent.text if parent is not None else "") or "")
    return str(previous.tail or previous.text_content())


def _raise(number: Element) -> None:
    """Write a raised number as a power: 2^32 is not 232. Raised letters such as those of `1st` mean none."""
    text, before = words(number), _before(number)
    if number.find(".//a") is None:  # the mark of a note
        if _POWER.fullmatch(text) and before and not before[-1].isspace():
            number.text = f"^{text}"
            del number[:]
        number.drop_tag()


def _typeset(formula: Element) -> None:
    """A formula as its TeX source, if the page has it, or else as the row of its signs."""
    if formula.getparent() is None:
        return
    tex = next((one for one in formula.iter("annotation") if one.get("encoding") == "application/x-tex"), None)
    source = words(tex) if tex is not None else " ".join(str(formula.get("alttext") or "").split())
    around = next((one for one in formula.iterancestors("span", "div") if "katex" in named(one)), formula)
    shown = source or " ".join(" ".join(formula.itertext()).split())
    tail = around.tail
    around.clear()
    around.tag, around.text, around.tail = "tex", f"${shown}$" if source else shown, tail


def _drop_note_marks(main: Element) -> None:
    """Remove the raised numbers of footnotes, which stand as paragraphs where the page has them, and the ways back."""
    for link in list(main.iter("a")):
        parent, kinds = link.getparent(), f"{link.get('class') or ''} {link.get('role') or ''}"
        raised = parent is not None and (parent.tag == "sup" or link.find("sup") is not None)
        if not str(link.get("href") or "").startswith("#") or not (raised or _NOTE_LINK.search(kinds)):
            continue
        if _NOTE_LABEL.fullmatch(words(link)):
            mark = parent if parent.tag == "sup" else link
            before, around = mark.getprevious(), mark.getparent()
            if before is not None:
                before.tail = (before.tail or "").rstrip()
            elif around is not None:
                around.text = (around.text or "").rstrip()
            mark.drop_tree()


def _label_tabs(labels: Element) -> None:
    """Put the label of each tab above its panel."""
    around = labels.getparent()
    if around is None:
        return
    names = [words(one) for one in labels if one.tag in ("label", "li", "a", "div")]
    panels = [one for one in around.iter() if "tabbed-block" in named(one) or one.get("role") == "tabpanel"]
    known = set(panels)
    outer = [one for one in panels if known.isdisjoint(one.iterancestors())]
    if len(names) != len(outer):
        return
    for name, panel in zip(names, outer, strict=True):
        label = panel.makeelement("p")
        label.text, label.tail = f"{name}:", panel.text
        panel.text = None
        panel.insert(0, label)
    labels.drop_tree()


def _set_code(code: Element) -> None:
    """Reduce a block of code to its lines and its language. Some pages make an element of each line."""
    inner = code.find(".//code")
    kinds = [kind for one in (code, inner, *list(code.iterancestors())[:3]) if one is not None for kind in named(one)]
    found = (match[1].lower() for kind in kinds if (match := _LANGUAGE.match(kind)))
    for ending in list(code.iter("br")):
        ending.tail = "\n" + (ending.tail or "")
    text = code.text_content()
    if "\n" not in text.strip():
        lines = [one for one in code.iter() if {"token-line", "line"} & set(named(one))]
        text = "\n".join(line.text_content() for line in lines) if len(lines) > 1 else text
    language, tail = next((one for one in found if one not in _NO_LANGUAGE), ""), code.tail
    code.clear()
    code.text, code.tail = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n"), tail
    code.set("data-language", language)


def _mark_heading(heading: Element, *, anchors: bool) -> None:
    """Reduce a heading to its words and its id, which may be that of its section or of a link in it or before it."""
    id_ = heading.get("id") or _id_inside(heading) or _id_around(heading)
    for link in list(heading.iter("a")):
        link.drop_tag() if any(map(str.isalnum, link.text_content())) else link.drop_tree()
    around = list(heading.iterancestors())
    if any(one.tag in ("td", "th", "figcaption") for one in around):
        return
    for one in around:  # a list whose terms or items are headings is a run of sections
        if one.tag == "dl" or (one.tag in ("ul", "ol") and heading.tag != "h1"):
            for part in (one, *one.iterchildren("dt", "dd", "div", "li")):
                rename(part, "div")
    _title(heading, heading.tag, id_ if anchors else "")


def _title(heading: Element, name: str, id_: Any) -> None:
    """Make an element a heading with an id, which may be empty. One without words is no heading."""
    if not words(heading):
        heading.drop_tree()
        return
    rename(heading, name)
    heading.set("data-anchor", re.sub(r"[\s{}]", "", str(id_ or "")))


def _id_inside(element: Element) -> Any:
    inner = next((one for one in element.iter("a", "span", "code") if one.get("id")), None)
    inner = inner if inner is not None else next((one for one in element.iter("a") if one.get("name")), None)
    return inner.get("id") or inner.get("name") if inner is not None else None


def _id_around(heading: Element) -> Any:
    """The id of an empty link right before a heading, or of the section that it begins."""
    before = heading.getprevious()
    while before is not None and not any(map(str.isalnum, before.text_content())):
        if before.tag in ("a", "span") and (id_ := before.get("id") or before.get("name")):
            return id_
        before = before.getprevious()
    around = heading.getparent()
    begins = before is None and around is not None and not (around.text or "").strip()
    return around.get("id") if begins and around.tag in ("section", "div", "header") else None


# Lists of definitions


def _place_definitions(main: Element, *, anchors: bool) -> None:
    """Make items of terms and what describes them, or sections where the terms are places with long descriptions."""
    level = 1
    levels: dict[Element, int] = {}  # of the headings of lists that became sections
    for one in list(main.iter(*HEADINGS, "dl")):
        if one.tag != "dl":
            level = int(one.tag[1])
            continue
        entries = list(_entries(one))
        above = next((levels[around] for around in one.iterancestors() if around in levels), level)
        if anchors and _is_run_of_sections(one, entries, main):
            levels[one] = min(above + 1, 6)
            for terms, bodies in entries:
                _make_section(terms, bodies, levels[one])
            rename(one, "div")
        else:
            _make_items(one, entries)


def _entries(listing: Element) -> Iterator[tuple[list[Element], list[Element]]]:
    terms: list[Element] = []
    bodies: list[Element] = []
    for part in list(listing.iter("dt", "dd")):
        if next(part.iterancestors("dl"), None) is not listing:
            continue
        if part.tag == "dt" and bodies:
            yield terms, bodies
            terms, bodies = [], []
        (terms if part.tag == "dt" else bodies).append(part)
    if terms or bodies:
        yield terms, bodies


def _is_run_of_sections(listing: Element, entries: list[Any], main: Element) -> bool:
    """Whether every term has an id, most descriptions are long, and no text follows that belongs to none of them."""
    if any(one.tag in ("li", "td", "th", "blockquote", "ul") for one in listing.iterancestors()):
        return False
    if not entries or not all(any(map(_id, terms)) for terms, _ in entries):
        return False
    long = sum(sum(child.tag in BLOCKS for body in bodies for child in body) > 1 for _, bodies in entries)
    return 2 * long >= len(entries) and _ends_section(listing, main)


def _id(term: Element) -> str:
    return str(term.get("id") or _id_inside(term) or "")


def _ends_section(listing: Element, main: Element) -> bool:
    place = listing
    while place is not None and place is not main and place.tag != "dd":
        if (place.tail or "").strip():
            return False
        after = next((one for one in place.itersiblings() if words(one)), None)
        if after is not None:
            first = after[0] if after.tag in ("div", "section") and len(after) else after
            return first.tag in (*HEADINGS, "dl")
        place = place.getparent()
    return True


def _make_section(terms: list[Element], bodies: list[Element], level: int) -> None:
    first, *others = terms
    id_ = next(filter(None, map(_id, terms)))
    for link in list(first.iter("a")):
        link.drop_tag() if any(map(str.isalnum, link.text_content())) else link.drop_tree()
    if len(words(first)) > 80 and not re.search(r"\s", id_):  # a signature: its name is the heading
        heading = first.makeelement("dt")
        heading.text = id_
        first.addprevious(heading)
        _title(heading, f"h{level}", id_)
        others.insert(0, first)
    else:
        _title(first, f"h{level}", id_)
    for term in others:
        term.tag = "p"
    for body in bodies:
        rename(body, "div")


def _make_items(listing: Element, entries: list[Any]) -> None:
    """Make an item of each entry: its terms in one line, which leads in what describes them."""
    items = []
    for terms, bodies in entries:
        item = listing.makeelement("li")
        for n, term in enumerate(terms):
            for block in list(term.iter("p", "div")):
                block.drop_tag()
            marked = any(True for _ in term.iter("b", "strong", "code"))
            rename(term, "span" if marked or not words(term) else "b")
            term.text = (term.text or "").lstrip()
            if len(term):
                term[-1].tail = (term[-1].tail or "").rstrip()
            else:
                term.text = term.text.rstrip()
            term.tail = ", " if n < len(terms) - 1 else None
            item.append(term)
        for n, body in enumerate(bodies):
            lead = item[-1] if len(item) and n == 0 else None
            item.append(body)
            body.tail = None
            first = body[0] if len(body) and not (body.text or "").strip() else None
            if lead is not None and words(body):
                is_block = first is not None and first.tag in BLOCKS - {"p"}
                lead.tail = ("" if words(lead)[-1:] in (":", "?", "!") else ":") + ("" if is_block else " ")
                if first is not None and first.tag == "p":
                    first.text = (first.text or "").lstrip()
                    body.text = None
                    first.drop_tag()
                body.text = (body.text or "").lstrip() or None
            body.drop_tag() if n == 0 else rename(body, "div")
        items.append(item)
    tail = listing.tail
    listing.clear()
    listing.tag, listing.tail = "ul", tail
    listing.extend(items)


# Tables


def _lay_out_tables(main: Element) -> None:
    """Make tables of rows with the same columns, and plain blocks of those that only lay out the page."""
    left = FILLED
    for table in list(main.iter("table")):
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        cells = [cell for row in rows for cell in row.iterchildren("td", "th")]
        numbered = len(rows) == 1 and len(cells) == 2 and cells[1].find(".//pre") is not None
        if numbered and re.fullmatch(r"[\d\s]*", cells[0].text_content()):  # the lines of a block of code
            cells.pop(0).drop_tree()
        if len(cells) == 1 or table.find(".//table") is not None or any(map(_is_laid_out, cells)):
            for part in [*cells, *rows, *table.iterchildren("thead", "tbody", "tfoot"), table]:
                rename(part, "div")
            continue
        for caption in list(table.iterchildren("caption")):
            caption.tail = None
            rename(caption, "p")
            table.addprevious(caption)
        tail = table.tail
        table.clear()
        table.tail = tail
        for row in rows:
            row.tail = None
        table.extend(row for row in rows if len(row))
        left = _fill(rows, left)
        for cell in (cell for row in rows for cell in row):
            _make_inline(cell)


def _is_laid_out(cell: Element) -> bool:
    """Whether a cell is a part of the page: a section with a heading."""
    inside = {one.tag for one in cell.iter()}
    return bool(inside & set(HEADINGS)) and bool(inside & {"p", "ul", "ol", "dl", "pre"})


def _number(cell: Element, name: str) -> int:
    stated = str(cell.get(name) or "")
    return max(1, min(1_000, int(stated))) if stated.isascii() and stated.isdigit() and len(stated) < 9 else 1


def _fill(rows: list[Element], left: int) -> int:
    """Put each cell that spans several rows into all of them, and return how many more cells may be put."""
    hanging: dict[int, tuple[int, Element]] = {}  # by its column, a cell from above and the rows that it still spans
    for row in rows:
        column = 0
        for cell in [*row, None]:
            while column in hanging and left > 0:
                rest, above = hanging.pop(column)
                if rest > 1:
                    hanging[column] = (rest - 1, above)
                repeated = above.makeelement(above.tag, {"colspan": str(_number(above, "colspan"))})
                repeated.text = text if len(text := words(above)) <= REPEATED else None
                row.append(repeated) if cell is None else cell.addprevious(repeated)
                left -= 1
                column += _number(above, "colspan")
            if cell is None:
                break
            if (spanned := _number(cell, "rowspan")) > 1:
                hanging[column] = (spanned - 1, cell)
            column += _number(cell, "colspan")
    return left


def _make_inline(cell: Element) -> None:
    """Make a piece of code of each line of the blocks of code in a cell."""
    for block in list(cell.iter("pre")):
        lines = [line.strip() for line in (block.text or "").split("\n") if line.strip()]
        rename(block, "span")
        block.text = " "
        for line in lines:
            code = block.makeelement("code")
            code.text, code.tail = line, " "
            block.append(code)


# Images, links and levels


def _describe_images(main: Element) -> None:
    """Put the description of each image in its place, marked where it stands alone."""
    with_words: dict[Element, bool] = {}
    for image in list(main.iter("img")):
        parent, alt = image.getparent(), " ".join(str(image.get("alt") or "").split())
        previous = image.getprevious()
        before = previous.tail if previous is not None else parent.text if parent is not None else None
        beside = (before or "").strip() or (image.tail or "").strip()
        alone = parent is not None and bool(alt) and not beside and parent.tag in _AROUND_IMAGES
        if alone and parent.tag == "p":
            if parent not in with_words:
                with_words[parent] = bool(words(parent))
            alone = not with_words[parent]
        tail = image.tail
        image.clear()
        image.tag, image.text, image.tail = ("p", pictured(alt), tail) if alone else ("span", alt, tail)


def _point(link: Element, base: str) -> None:
    """Give a link its address. Without words it goes; only its words stay if it leads nowhere or has blocks in it."""
    target = str(link.get("href") or "").strip()
    if not words(link):
        link.drop_tree()
    elif not target or _NO_TARGET.match(target) or any(one.tag in BLOCKS for one in link.iterdescendants()):
        link.drop_tag()
    elif any(map(str.isalnum, link.text_content())):
        try:
            target = urljoin(base, target) if base and not target.startswith("#") else target
        except ValueError:
            base = ""
        rename(link, "a")
        link.set("href", _ODD_TARGET.sub(lambda sign: quote(sign[0]), target))
    else:
        link.drop_tree()


def _flatten(main: Element) -> None:
    """Make plain blocks of quotes that only set in, and of the levels beyond `LEVELS`; number the items of lists."""
    for one in list(main.iter("blockquote", "li", "dd")):
        inner = {child.tag for child in one if child.tag != "br"}
        sets_in = inner & {"table", "pre"} or (inner and inner <= {"ul", "ol"} and not _own_text(one))
        levels = sum(1 for _ in one.iterancestors("blockquote", "li", "dd"))
        if levels >= LEVELS or (one.tag == "blockquote" and sets_in):
            rename(one, "div")
    for numbered in main.iter("ol"):
        stated = str(numbered.get("start") or "")
        first = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 10 else 1
        for n, item in enumerate(numbered.iterchildren("li"), first):
            item.set("data-mark", f"{n}.")
    for ending in list(main.iter("br")):
        last = ending.getnext() is None and not (ending.tail or "").strip()
        ending.tail = (ending.tail or "").lstrip()
        if last and ending.getparent().tag in (*BLOCKS, "li", "td", "th", "dd"):
            ending.drop_tree()


def _own_text(element: Element) -> str:
    tails: Iterable[str] = (child.tail or "" for child in element)
    return "".join([element.text or "", *tails]).strip()
