"""A document to chunks: by its headings, whole blocks first, none longer than the embedding model sees."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from uuid import UUID, uuid5

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from rag.book import Chunk, Document
from rag.ingest.headings import Anchors, heading_text, markdown, same_title, says_it_all
from rag.ingest.splitting import pack

NAMESPACE: Final = UUID("6f1c1a52-6d0b-5f0e-9a3f-3b1f6f0e7c11")
MAX_TOKENS: Final = 250  # the embedded model sees 254 word pieces
LEAST_TOKENS: Final = 32
# Characters a token may stand for. A word piece vocabulary counts an unbroken run of any length as one unknown token.
CHARACTERS: Final = 16
CRUMBS: Final = 4  # the breadcrumb may take this part of a chunk
_CHAPTER: Final = re.compile(
    r"(?:chapter|part|appendix|lesson|module|unit|kapitel|teil)\s+(?:\d+|[IVXLC]+|[A-Z])\b", re.I
)


@dataclass(slots=True)
class _Section:
    """A heading and the blocks up to the next one. `path` holds the headings under the page's title."""

    path: tuple[str, ...] = ()
    anchor: str = ""
    nodes: list[SyntaxTreeNode] = field(default_factory=list)


def page_key(document: Document) -> str:
    """What a page is known by: its address on the site, or its place in its source."""
    return document.url if _on_site(document) else f"{document.source}\n{document.path}"


def chunk(document: Document, *, count_tokens: Callable[[str], int], max_tokens: int = MAX_TOKENS) -> list[Chunk]:
    """The document's chunks, in order.

    `count_tokens(chunk.worded_text) <= max_tokens` holds for every one, and for `embedded_text`, which is no longer. An
    id depends on the page's key, the headings above the chunk and its place under them, so that an edit elsewhere in
    the page leaves it alone. A heading without text of its own makes no chunk, and an empty page none at all. Raises
    ValueError below `LEAST_TOKENS`.
    """
    if max_tokens < LEAST_TOKENS:
        raise ValueError(f"max_tokens is {max_tokens}; chunks need at least {LEAST_TOKENS}.")
    count = lru_cache(maxsize=64)(count_tokens)  # the same candidate is measured by itself and in its place
    starts = _line_starts(document.text)
    chunks: list[Chunk] = []
    places: Counter[tuple[str, ...]] = Counter()
    for section in _sections(document):
        breadcrumb = _breadcrumb(document, section.path, lambda t: count(t) <= max_tokens // CRUMBS)
        prefix = f"{breadcrumb}\n\n" if breadcrumb else ""

        def fits(text: str, prefix: str = prefix) -> bool:
            return len(text) <= CHARACTERS * max_tokens and count(prefix + text) <= max_tokens

        for text in pack(section.nodes, document.text, starts, fits):
            place = places[section.path]
            places[section.path] += 1
            chunks.append(_chunk(document, section, breadcrumb, text, place, len(chunks)))
    return chunks


def _chunk(document: Document, section: _Section, breadcrumb: str, text: str, place: int, index: int) -> Chunk:
    return Chunk(
        id=str(uuid5(NAMESPACE, "\0".join([page_key(document), *section.path, str(place)]))),
        text=text,
        title=document.title,
        heading=section.path[-1] if section.path else "",
        breadcrumb=breadcrumb,
        url=document.url,
        anchor=section.anchor if _on_site(document) else "",
        source=document.source,
        source_file_path=document.path,
        chunk_index=index,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        document_sha256=document.sha256,
        chapter=_chapter(document),
    )


def _on_site(document: Document) -> bool:
    return document.url.startswith(("http://", "https://"))


def _chapter(document: Document) -> str | None:
    if _CHAPTER.match(document.title):
        return document.title
    return document.breadcrumb[0] if document.breadcrumb else None


def _line_starts(text: str) -> list[int]:
    """The offset of every line, and twice that of the end, for maps that end after the last line."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(min(starts[-1] + len(line) + 1, len(text)))
    return [*starts, len(text)]


def _sections(document: Document) -> Iterator[_Section]:
    """The page cut at its top-level headings; headings in quotes and lists are content."""
    anchors = Anchors()
    levels: list[tuple[int, str, str]] = []  # the headings above: level, text, anchor
    section = _Section()
    for node in SyntaxTreeNode(markdown().parse(document.text)).children:
        if node.type != "heading":
            section.nodes.append(node)
            continue
        yield section
        text, custom = heading_text(_inline(node))
        anchor = anchors.next(text, custom)
        level = int(node.tag[1])
        levels = [above for above in levels if above[0] < level]
        if level > 1 or not same_title(text, document.title):  # the page's own title opens no section
            levels.append((level, text, anchor or (levels[-1][2] if levels else "")))
        section = _Section(tuple(t for _, t, _ in levels if t), levels[-1][2] if levels else "")
    yield section


def _inline(heading: SyntaxTreeNode) -> Token:
    token = heading.children[0].token
    if token is None:
        raise AssertionError("a heading has an inline token")
    return token


def _breadcrumb(document: Document, path: tuple[str, ...], fits: Callable[[str], bool]) -> str:
    """`Folder > Title > H2 > H3`, equal neighbours once; the outermost give way where it would take too much.

    A folder whose words are all in the page's title (`Nvidia isaac sim > Chapter 9: NVIDIA Isaac Sim`) is left out.
    """
    crumbs: list[str] = []
    folders = document.breadcrumb
    if folders and (says_it_all(document.title, folders[-1]) or same_title(document.title, folders[-1])):
        folders = folders[:-1]
    for crumb in (*folders, document.title, *path):
        if crumb and not (crumbs and same_title(crumb, crumbs[-1])):
            crumbs.append(crumb)
    if fits(" > ".join(crumbs)) and len(" > ".join(crumbs)) <= 600:
        return " > ".join(crumbs)
    for first in range(1, len(crumbs)):
        shorter = " > ".join(["…", *crumbs[first:]])
        if fits(shorter) and len(shorter) <= 600:
            return shorter
    return _shortened(crumbs[-1], fits) if crumbs else ""


def _shortened(title: str, fits: Callable[[str], bool]) -> str:
    low, high = 0, min(len(title), 600)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(title[:middle].rstrip() + "…") else (low, middle - 1)
    return title[:low].rstrip() + "…" if low else ""
