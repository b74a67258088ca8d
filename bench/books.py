"""What is left of generators' syntax in the passages of books, and which of their links lead nowhere.

    python -m bench.books FOLDER... [--built FOLDER] [--show KIND]

Prints for each book: pages, passages, passages with leftover syntax by kind (outside code), links of passages to pages
or anchors that the book does not have. `--built` names the folder of a site that the book's own generator has
made; then pages, anchors and links that the site does not have, and pages that only it has, are counted too. `--show`
prints the passages of one kind.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from tokenizers import BertWordPieceTokenizer

from rag.book import Chunk, Document
from rag.embedding.local import VOCABULARY
from rag.ingest.chunking import chunk
from rag.ingest.loaders import LoadResult, load_source

BASE: Final = "https://book.example"
CODE: Final = re.compile(
    r"^(?P<in>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*)(?P<mark>```+|~~~+).*?(?:^[ \t>]*(?P=mark)[ \t]*$|\Z)"
    r"|(?<![`\\])(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)|^(?: {4}|\t).*$",
    re.MULTILINE | re.DOTALL,
)
LEFTOVERS: Final = {
    "import or export": r"^(?:import\s.+\sfrom\s+['\"]|import ['\"]|export (?:default|const|function)\b)",
    "component": r"(?<![\w&])</?[A-Z][\w.]*(?:\s[^<>]*)?/?>",
    "html tag": r"</?(?:div|span|a|p|br|img|details|summary|table|tr|td|th|ul|ol|li|h[1-6]|section|iframe|pre|code"
    r"|strong|em|b|i|sup|sub|kbd|center|figure|video|style|script)(?:\s[^<>]*)?/?>",
    "comment": r"<!--|\{/\*|\{#.*?#\}",
    "directive :::": r"^[ \t>]*:::",
    "admonition": r"^[ \t>]*(?:!!!|\?\?\?\+?)[ \t]+\w|^[ \t]*///[ \t]*\w*",
    "alert": r"^[ \t>]*\[!\w+\]",
    "tab": r"^[ \t]*===[!+]?[ \t]+\"",
    "snippet": r"-{1,}8<-{1,}|^[ \t]*\{\*.*\*\}[ \t]*$",
    "shortcode": r"\{\{[<%].*?[%>]\}\}",
    "template": r"\{\{[#\s\w].*?\}\}|\{%.*?%\}",
    "attribute list": r"\{[:#.][ \t]*[\w#.:-][^{}\n]*\}|\{ ?[:#.][\w-]+[^{}\n]*\}",
    "role": r"(?<!\w):(?:[a-z][\w.+-]*:)*[a-z][\w.+-]*:`|\{[a-z][\w:-]*\}`",
    "rst": r"^[ \t]*\.\. |`__?(?!\w)|^[ \t]*:[a-z]+:[ \t]",
    "reference link": r"\]\[[^\]\n]*\]",
    "link definition": r"^ {0,3}\[[^\]\n]+\]:[ \t]+\S",
    "footnote": r"\[\^[^\]\s]+\]",
    "image": r"!\[[^\]]*\]\(",
    "relative link": r"\]\((?!https?:|mailto:|tel:|ftp:|[a-z][a-z+.-]*:)[^)\s]*\)",
    "placeholder": "\0",
}
_LINK: Final = re.compile(rf"\]\(<?({re.escape(BASE)}[^\s()<>#]*)(?:#([^\s()<>]*))?>?\)")


class _Ids(HTMLParser):
    """The ids of all elements of a page, and the addresses in links of its head."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.redirects = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        self.redirects |= tag == "meta" and (given.get("http-equiv") or "").lower() == "refresh"


def pieces(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def read(source: Path) -> tuple[LoadResult, list[Chunk]]:
    """A book with its passages, by the tokenizer of the packaged embedding model."""
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    result = load_source(source, base_url=BASE)
    found = [c for d in result.documents for c in chunk(d, count_tokens=lambda text: pieces(tokenizer, text))]
    return result, found


def longest(chunks: Iterable[Chunk]) -> int:
    """The most word pieces that the embedding model gets for a passage."""
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    return max(pieces(tokenizer, one.embedded_text) for one in chunks)


def prose(text: str) -> str:
    """The text without its code."""
    return CODE.sub("", text)


def leftovers(chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    """The passages with syntax that a reader of the site does not see, by kind, in their texts, titles and headings."""
    found: dict[str, list[Chunk]] = defaultdict(list)
    for one in chunks:
        seen = f"{prose(one.text)}\n\n{one.title}\n\n{one.heading}"
        for kind, pattern in LEFTOVERS.items():
            if re.search(pattern, seen, re.MULTILINE):
                found[kind].append(one)
    return found


def anchors_of(documents: Iterable[Document]) -> dict[str, set[str]]:
    """The anchors that the loader gives to the headings of each page, by address."""
    from rag.ingest.page import parsed, walk

    return {d.url.rstrip("/"): {b.anchor for b in walk(parsed(d).blocks) if b.anchor} for d in documents}


def broken(chunks: Iterable[Chunk], anchors: dict[str, set[str]]) -> Iterator[tuple[Chunk, str]]:
    """Links of passages to pages of the book, or anchors on them, that do not exist."""
    for one in chunks:
        for url, anchor in _LINK.findall(prose(one.text)):
            page = anchors.get(url.rstrip("/"))
            if page is None or (anchor and unquote(anchor) not in page):
                yield one, f"{url}#{anchor}"


def cut_lead_ins(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The passages that end with a line that leads in what the next passage of their section begins with."""
    return [
        one
        for one, after in pairwise(chunks)
        if one.text.rstrip().endswith(":") and (one.url, one.breadcrumb) == (after.url, after.breadcrumb)
    ]


def built_pages(folder: Path) -> dict[str, set[str]]:
    """The ids of each page of a built site, by its path without `index.html`, `.html` and slashes at its end."""
    found = {}
    for file in sorted(folder.rglob("*.html")):
        reader = _Ids()
        reader.feed(file.read_text(encoding="utf-8", errors="replace"))
        if not reader.redirects:
            found[bare(file.relative_to(folder).as_posix())] = reader.ids
    return found


def bare(path: str) -> str:
    return re.sub(r"(?:(?:^|/)index)?\.html$", "", unquote(path).strip("/")).strip("/").removesuffix(".html")


def compared(
    documents: Sequence[Document], chunks: Sequence[Chunk], built: dict[str, set[str]]
) -> dict[str, list[str]]:
    """Where the book and the built site differ."""
    ours = {bare(d.url.removeprefix(BASE)) for d in documents}
    wrong = {
        f"{c.url}#{c.anchor}"
        for c in chunks
        if c.anchor and c.anchor not in built.get(bare(c.url.removeprefix(BASE)), {c.anchor})
    }
    dead = {
        f"{c.source_file_path}: {url}#{anchor}"
        for c in chunks
        for url, anchor in _LINK.findall(prose(c.text))
        if (page := built.get(bare(url.removeprefix(BASE)))) is None or (anchor and unquote(anchor) not in page)
    }
    generated = {"404", "print", "toc", "search", "genindex", "py-modindex", "http-routingtable", "sitemap"}
    only = {page for page in set(built) - ours if page.rpartition("/")[2] not in generated and "_modules" not in page}
    return {
        "pages that the site lacks": sorted(ours - set(built)),
        "pages that only the site has": sorted(only),
        "anchors that the site lacks": sorted(wrong),
        "links of passages that the site lacks": sorted(dead),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--built", type=Path)
    parser.add_argument("--show", default="")
    options = parser.parse_args()
    for folder in options.folders:
        result, chunks = read(folder)
        found = leftovers(chunks)
        cut = cut_lead_ins(chunks)
        counts = Counter({kind: len(ones) for kind, ones in found.items()})
        lost = sorted({f"{c.source_file_path}: {link}" for c, link in broken(chunks, anchors_of(result.documents))})
        print(f"{folder.name}: {result.generator} ({result.reason})")
        print(f"  {len(result.documents)} pages, {len(result.failures)} failed, {len(chunks)} passages")
        print(f"  leftover syntax: {dict(counts) or 'none'}; links inside the book that lead nowhere: {len(lost)}")
        print(f"  passages that end with a lead-in: {len(cut)}; longest passage: {longest(chunks)} word pieces")
        differences = compared(result.documents, chunks, built_pages(options.built)) if options.built else {}
        for what, ones in differences.items():
            print(f"  {what}: {len(ones)}")
        shown = (
            (cut if options.show == "lead-in" else []) or found.get(options.show) or differences.get(options.show) or []
        )
        for one in lost if options.show == "links" else shown:
            text = one if isinstance(one, str) else f"--- {one.source_file_path} {one.heading}\n{one.text}"
            print(text)


if __name__ == "__main__":
    main()
