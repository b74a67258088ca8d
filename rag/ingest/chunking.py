"""Cut a document into chunks: at its headings, in whole blocks where they fit, within the embedding model's limit."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final
from uuid import UUID, uuid5

from rag.book import Chunk, Document, without_addresses
from rag.ingest.page import Block, parsed
from rag.ingest.splitting import longest, pack
from rag.ingest.titles import bounded, is_numbered, same_title, says_it_all

NAMESPACE: Final = UUID("6f1c1a52-6d0b-5f0e-9a3f-3b1f6f0e7c11")
MAX_TOKENS: Final = 250  # the packaged model sees 254 word pieces
LEAST_TOKENS: Final = 32
CHARACTERS: Final = 16  # most characters per token: a word piece vocabulary counts a run of any length as one unknown
CRUMBS: Final = 4  # a breadcrumb takes at most one part in so many of a chunk's tokens
LONGEST_CRUMBS: Final = 600  # characters
_CHAPTER: Final = re.compile(
    r"(?:chapter|part|appendix|lesson|module|unit|kapitel|teil)\s+(?:\d+|[IVXLC]+|[A-Z])\b", re.I
)


@dataclass(slots=True)
class _Section:
    """The blocks from one heading to the next. `path` holds the headings above them, without the page's title.

    `titled` is whether the page's title stands above them too.
    """

    path: tuple[str, ...] = ()
    anchor: str = ""
    blocks: list[Block] = field(default_factory=list)
    titled: bool = True


def page_key(document: Document) -> str:
    """The key of a page: its address on the site, else its source and path."""
    return document.url if _on_site(document) else f"{document.source}\n{document.path}"


def chunk(document: Document, *, count_tokens: Callable[[str], int], max_tokens: int = MAX_TOKENS) -> list[Chunk]:
    """The document's chunks, in order.

    Every chunk satisfies `count_tokens(chunk.worded_text) <= max_tokens`; `embedded_text` is never longer. A chunk's id
    is made of the page's key, the headings above it and its number under them, so an edit elsewhere in the page does
    not change it. A heading without text makes no chunk; an empty page has none. Raises ValueError for `max_tokens`
    below `LEAST_TOKENS`.
    """
    if max_tokens < LEAST_TOKENS:
        raise ValueError(f"max_tokens is {max_tokens}; chunks need at least {LEAST_TOKENS}.")
    count = lru_cache(maxsize=64)(count_tokens)  # packing measures the same text more than once
    whole = parsed(document).text
    starts = [0, *(match.end() for match in re.finditer("\n", whole)), len(whole)]
    starts.append(len(whole))  # a block may end one line after the last
    chunks: list[Chunk] = []
    places: Counter[tuple[str, ...]] = Counter()
    for section in _sections(document):
        breadcrumb = _breadcrumb(document, section, lambda t: count(t) <= max_tokens // CRUMBS)
        prefix = f"{breadcrumb}\n\n" if breadcrumb else ""

        def fits(text: str, prefix: str = prefix) -> bool:
            return len(text) <= CHARACTERS * max_tokens and count(prefix + without_addresses(text)) <= max_tokens

        for begin, text in pack(section.blocks, whole, starts, fits):
            place = places[section.path]
            places[section.path] += 1
            line = bisect_right(starts, begin) - 1
            chunks.append(_chunk(document, section, breadcrumb, text, place, len(chunks), line))
    return [replace(one, page_chunks=len(chunks)) for one in chunks]


def _chunk(
    document: Document, section: _Section, breadcrumb: str, text: str, place: int, index: int, line: int
) -> Chunk:
    """The chunk, with the number of the printed page, if any, on which it begins: a browser opens it by `#page=N`."""
    page = max(1, bisect_right(document.page_lines, line)) if document.page_lines else None
    anchor = f"page={page}" if page else section.anchor if _on_site(document) else ""
    return Chunk(
        id=str(uuid5(NAMESPACE, "\0".join([page_key(document), *section.path, str(place)]))),
        text=text,
        title=document.title,
        heading=section.path[-1] if section.path else "",
        breadcrumb=breadcrumb,
        url=document.url,
        anchor=anchor,
        source=document.source,
        source_file_path=document.path,
        chunk_index=index,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        document_sha256=document.sha256,
        chapter=section.path[0] if page and section.path else _chapter(document),
        page_number=page,
        kind=document.kind,
    )


def _on_site(document: Document) -> bool:
    return document.url.startswith(("http://", "https://"))


def _chapter(document: Document) -> str | None:
    if document.chapter is not None:
        return document.chapter
    if _CHAPTER.match(document.title):
        return document.title
    return document.breadcrumb[0] if document.breadcrumb else None


def _sections(document: Document) -> Iterator[_Section]:
    """The page cut at its top-level headings. A heading inside a quote or list is content."""
    levels: list[tuple[int, str, str]] = []  # the headings above: level, text, anchor
    section = _Section()
    blocks = parsed(document).blocks
    beside = _has_siblings(blocks, document.title)
    for block in blocks:
        if block.kind != "heading":
            section.blocks.append(block)
            continue
        yield section
        levels = [above for above in levels if above[0] < block.level]
        text = bounded(block.text)
        is_title = block.level == 1 and same_title(text, document.title)
        if not is_title:  # the page's title is not part of the path
            levels.append((block.level, text, block.anchor or (levels[-1][2] if levels else "")))
        titled = section.titled if block.level > 1 else is_title or not beside
        section = _Section(tuple(t for _, t, _ in levels if t), levels[-1][2] if levels else "", titled=titled)
    yield section


def _has_siblings(blocks: Sequence[Block], title: str) -> bool:
    """Whether further headings of level 1 stand beside the page's title, such as those of a list of releases.

    They stand below a title that nothing but them follows, such as that of a book.
    """
    places = [n for n, block in enumerate(blocks) if block.kind == "heading" and block.level == 1]
    if len(places) < 2 or not same_title(bounded(blocks[places[0]].text), title):
        return False
    return places[1] > places[0] + 1


def _breadcrumb(document: Document, section: _Section, fits: Callable[[str], bool]) -> str:
    """`Folder > Title > H2 > H3`, without repeated neighbours, and without a title that the section stands beside.

    Of two neighbours that differ only in the number of a section, the numbered one stays. A folder whose words are all
    in the page's title (`Nvidia isaac sim > Chapter 9: NVIDIA Isaac Sim`) is left out. A breadcrumb that is too long
    loses its outermost parts: `… > H2 > H3`.
    """
    crumbs: list[str] = []
    folders = document.breadcrumb
    if folders and (says_it_all(document.title, folders[-1]) or same_title(document.title, folders[-1])):
        folders = folders[:-1]
    for crumb in (*folders, *[document.title][: section.titled], *section.path):
        if crumbs and is_numbered(crumb, crumbs[-1]):
            crumbs[-1] = crumb
        elif crumb and not (crumbs and same_title(crumb, crumbs[-1])):
            crumbs.append(crumb)
    for first in range(len(crumbs)):
        breadcrumb = " > ".join([*["…"][:first], *crumbs[first:]])
        if len(breadcrumb) <= LONGEST_CRUMBS and fits(breadcrumb):  # counting the tokens of a long one takes long
            return breadcrumb
    return _shortened(crumbs[-1], fits) if crumbs else ""


def _shortened(title: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a title that fits, with an ellipsis; empty if not even one character does."""
    sizes = range(1, min(len(title), LONGEST_CRUMBS) + 1)
    size = longest(sizes, lambda size: fits(title[:size].rstrip() + "…"))
    return title[:size].rstrip() + "…" if size else ""
