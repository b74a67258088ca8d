"""Read a folder of Markdown, or one file, into documents."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from rag.book import Document
from rag.errors import UsageError
from rag.ingest import mdbook_summary, page_addresses
from rag.ingest.headings import readable
from rag.ingest.includes import is_inside, read_inside
from rag.ingest.mdx import clean, front_matter
from rag.ingest.page import Page

SUFFIXES: Final = frozenset({".md", ".mdx", ".markdown"})
# Part of every page's hash. Raise it when cleaning or chunking changes, so that every page is ingested again.
VERSION: Final = 1
_KINDS: Final = "Give a folder with .md, .mdx or .markdown files, or one such file."
_CONFIGURATIONS: Final = ("book.toml", "docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read, and why. `path` is relative to `source`."""

    source: str
    path: str
    reason: str

    @property
    def file(self) -> str:
        """The whole path of the file. A source can be the file itself."""
        return self.source if Path(self.source).name == self.path else f"{self.source}/{self.path}"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The pages of a source in the order of their paths, and the files that could not be read."""

    source: str
    documents: tuple[Document, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class _Book:
    """Values that all pages of a source share."""

    source: Path
    root: Path
    generator: page_addresses.Generator
    base_url: str | None
    labels: dict[str, str]
    contents: dict[str, mdbook_summary.Entry]

    @property
    def include_root(self) -> Path:
        """The folder that includes may not leave: the book's own, when the source is a `src` or `docs` inside it."""
        above = self.root.parent
        return above if any((above / name).is_file() for name in _CONFIGURATIONS) else self.root


def load_source(source: Path, *, base_url: str | None = None, skip: Collection[str] = ()) -> LoadResult:
    """Read every page of a folder (recursively), or one file. Paths in `skip` are left out.

    Files that begin with `_` are partials, and `SUMMARY.md` at the root is mdBook's table of contents: neither is a
    page. Hidden folders, `node_modules` and links to folders are not entered. Raises `UsageError` when the source is
    missing, has an unsupported suffix or holds no page that can be read, and when `base_url` is not a web address.
    """
    base_url = page_addresses.checked_base_url(base_url) if base_url is not None else None
    source, root, files = _files(source, skip)
    texts: dict[str, tuple[bytes, str]] = {}
    failures: list[Failure] = []
    for file in files:
        path = file.relative_to(root).as_posix()
        try:
            path.encode()  # a name that is not UTF-8 can be neither stored nor printed
            texts[path] = _read(file, root)
        except (OSError, ValueError) as error:
            failures.append(Failure(source.as_posix(), os.fsencode(path).decode("utf-8", "replace"), _reason(error)))
    if not texts:
        why = f": {failures[0].path}: {failures[0].reason}" if failures else ""
        raise UsageError(f"{source} contains no readable page{why}.", code="no_pages", hint=_KINDS)
    folders = {root} | {(root / path).parent for path in texts}
    folders |= {above for folder in folders for above in folder.parents if above.is_relative_to(root)}
    generator = page_addresses.detect(root, sorted(folders), (text for _, text in texts.values()))
    contents = mdbook_summary.read(read_inside(root, root / "SUMMARY.md") or "") if generator == "mdbook" else {}
    labels = {f.relative_to(root).as_posix(): _folder_label(f, root, generator) for f in folders if f != root}
    book = _Book(source, root, generator, base_url, labels, contents)
    documents: list[Document] = []
    for path, (raw, text) in texts.items():
        try:
            documents.append(_document(book, path, raw, text))
        except ValueError as error:
            failures.append(Failure(source.as_posix(), path, _reason(error)))
    if not documents:
        why = f"{failures[0].path}: {failures[0].reason}"
        raise UsageError(f"No page could be read in {source}: {why}.", code="no_pages", hint=_KINDS)
    return LoadResult(source.as_posix(), tuple(documents), tuple(failures))


def _files(source: Path, skip: Collection[str]) -> tuple[Path, Path, list[Path]]:
    """The resolved source, the folder that paths are relative to, and the pages in a stable order."""
    try:
        resolved = source.expanduser().resolve()
        resolved.as_posix().encode()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        why = _reason(error) if isinstance(error, UnicodeEncodeError) else error
        raise UsageError(f"The source {source} cannot be opened: {why}.", code="source") from error
    if resolved.is_dir():
        return resolved, resolved, sorted(_walk(resolved, skip), key=lambda f: f.relative_to(resolved).parts)
    if not resolved.exists():
        raise UsageError(f"There is no {source}.", code="source", hint=_KINDS)
    if resolved.suffix.lower() not in SUFFIXES or not resolved.is_file():
        raise UsageError(f"{source} is not a Markdown file.", code="source", hint=_KINDS)
    return resolved, resolved.parent, [resolved]


def _walk(root: Path, skip: Collection[str]) -> Iterator[Path]:
    left_out = {root / path for path in skip}
    if (root / "SUMMARY.md").is_file():
        left_out.add(root / "SUMMARY.md")
    for name, folders, files in os.walk(root):  # does not follow links to folders, so it ends
        folder = Path(name)
        folders[:] = [
            f for f in folders if not f.startswith(".") and f != "node_modules" and folder / f not in left_out
        ]
        for file in (folder / f for f in files if not f.startswith((".", "_"))):
            # Reading a pipe or a socket would hang. A broken link is kept, so that it is reported.
            present = file.is_file() or (file.is_symlink() and not file.exists())
            if file.suffix.lower() in SUFFIXES and file not in left_out and present:
                yield file


def _read(file: Path, root: Path) -> tuple[bytes, str]:
    """The bytes of a page and its text, with plain newlines and without a byte order mark."""
    if file.is_symlink() and not _may_follow(file, root):
        raise ValueError("it is a link to a file outside the folder or to a hidden one; copy the file instead")
    raw = file.read_bytes()
    if b"\0" in raw:
        raise ValueError("it is not a text file: it contains NUL bytes")
    return raw, raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _may_follow(link: Path, root: Path) -> bool:
    """Whether a link leads to a file of the same folder. Opening a broken one says what is wrong."""
    try:
        return is_inside(root, link) or not link.exists()
    except RuntimeError:  # a loop of links
        return True


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "its name is not UTF-8; rename it"
    if isinstance(error, UnicodeDecodeError):
        return (
            f"it is not UTF-8 text: byte 0x{error.object[error.start]:02x} at position {error.start}; save it as UTF-8"
        )
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _document(book: _Book, path: str, raw: bytes, text: str) -> Document:
    head, body = front_matter(text)
    fields = _fields(head)
    if head and not fields and ":" not in head:  # text between two horizontal rules, not front matter
        body = text
    file = book.root / path
    mdx = book.generator == "docusaurus" or file.suffix.lower() == ".mdx"
    parsed = clean(body, file=file, root=book.include_root, mdx=mdx)
    entry = book.contents.get(path)
    title = fields.get("title", "").strip() or parsed.title or (entry.title if entry else "") or _name(path)
    parents = path.split("/")[:-1]
    folders = tuple(book.labels["/".join(parents[: n + 1])] for n in range(len(parents)))
    breadcrumb = entry.above if entry else folders
    url = page_addresses.page_url(book.base_url, path, book.generator, fields) if book.base_url else _relative(path)
    digest = hashlib.sha256(json.dumps([VERSION, url, title, breadcrumb, parsed.text]).encode() + raw).hexdigest()
    title = " ".join(title.split())
    return Page(book.source.as_posix(), path, url, title, parsed.text, digest, breadcrumb, parsed=parsed)


def _relative(path: str) -> str:
    """The path as a relative address: `javascript:x.md` begins with a scheme, `./javascript:x.md` does not."""
    return f"./{path}" if ":" in path.split("/")[0] else path


def _fields(head: str) -> dict[str, str]:
    """The front matter's plain fields as text. Broken YAML is read line by line and never fails the page."""
    try:
        loaded = yaml.load(head, Loader=yaml.BaseLoader)  # all values stay strings: `title: 2024` is a title
    except (yaml.YAMLError, ValueError, RecursionError):
        lines = (line.partition(":") for line in head.split("\n"))
        return {key.strip(): value.strip(" '\"") for key, colon, value in lines if colon and key.strip().isidentifier()}
    return {str(k): v for k, v in loaded.items() if isinstance(v, str)} if isinstance(loaded, dict) else {}


def _name(path: str) -> str:
    """A title made of the file's name, or of the folder's name for an index page."""
    parts = path.split("/")
    stem = Path(parts[-1]).stem
    if stem.lower() in ("index", "readme") and len(parts) > 1:
        return readable(page_addresses.without_number(parts[-2]))
    return readable(page_addresses.without_number(stem))


def _folder_label(folder: Path, root: Path, generator: page_addresses.Generator) -> str:
    """A folder's title: the label in its `_category_` file, else its name made readable."""
    if generator == "docusaurus":
        for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
            text = read_inside(root, folder / name)
            if text is None:
                continue
            try:
                loaded = json.loads(text) if name.endswith(".json") else yaml.load(text, Loader=yaml.BaseLoader)
            except (ValueError, yaml.YAMLError, RecursionError):
                continue
            if isinstance(loaded, dict) and isinstance(label := loaded.get("label"), str) and label.strip():
                return " ".join(label.split())
    return readable(page_addresses.without_number(folder.name))
