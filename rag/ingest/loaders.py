"""Read a folder of Markdown, or one file, into documents."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from rag.book import Document
from rag.errors import UsageError
from rag.ingest import mdbook_summary, page_addresses
from rag.ingest.headings import readable
from rag.ingest.mdx import clean, front_matter
from rag.ingest.page import Page
from rag.ingest.source_files import SUFFIXES, page_files, plain_text, read_file, read_inside

# Part of every page's hash. Raise it when cleaning or chunking changes, so that every page is ingested again.
VERSION: Final = 1
_KINDS: Final = "Give a folder with .md, .mdx or .markdown files, or one such file."
_CONFIGURATIONS: Final = ("book.toml", "docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read, or a folder that could not be listed, and why. `path` is relative to `source`."""

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


def load_source(
    source: Path, *, base_url: str | None = None, skip: Collection[str] = (), own: bool = False
) -> LoadResult:
    """Read every page of a folder (recursively), or one file. Paths in `skip` are left out.

    `own`: the source is part of askbook. Its files may be hard links, as some installers make them.

    Files that begin with `_` are partials, and `SUMMARY.md` at the root is mdBook's table of contents: neither is a
    page. Hidden folders, `node_modules` and links to folders are not entered. Raises `UsageError` when the source is
    missing, has an unsupported suffix or holds no page that can be read, and when `base_url` is not a web address.
    """
    base_url = page_addresses.checked_base_url(base_url) if base_url is not None else None
    source, root, files, failures = _files(source, skip)
    texts: dict[str, tuple[bytes, str]] = {}
    for file in files:
        path = file.relative_to(root).as_posix()
        try:
            path.encode()  # a name that is not UTF-8 can be neither stored nor printed
            raw = read_file(file, root, hard_links=own)
            texts[path] = raw, plain_text(raw)
        except (OSError, ValueError) as error:
            failures.append(Failure(source.as_posix(), _shown(path), _reason(error)))
    if not texts:
        why = f": {failures[0].path}: {failures[0].reason}" if failures else ""
        raise UsageError(f"{source} contains no readable page{why}.", code="no_pages", hint=_KINDS)
    folders = _folders(root, texts)
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


def _files(source: Path, skip: Collection[str]) -> tuple[Path, Path, list[Path], list[Failure]]:
    """The resolved source, the folder that paths are relative to, the pages in a stable order, and the failures."""
    try:
        resolved = source.expanduser().resolve()
        resolved.as_posix().encode()
        is_folder = resolved.is_dir()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        why = _reason(error) if isinstance(error, OSError | UnicodeEncodeError) else error
        raise UsageError(f"The source {source} cannot be opened: {why}.", code="source") from error
    if is_folder:
        failures: list[Failure] = []

        def failed(folder: Path, error: OSError) -> None:
            path = folder.relative_to(resolved).as_posix()
            failures.append(
                Failure(resolved.as_posix(), _shown(path), f"the folder cannot be listed: {_reason(error)}")
            )

        left_out = {resolved / path for path in skip}
        if (resolved / "SUMMARY.md").is_file():
            left_out.add(resolved / "SUMMARY.md")
        found = page_files(resolved, left_out, failed)
        return resolved, resolved, sorted(found, key=lambda f: f.relative_to(resolved).parts), failures
    if not resolved.exists():
        raise UsageError(f"There is no {source}.", code="source", hint=_KINDS)
    if resolved.suffix.lower() not in SUFFIXES or not resolved.is_file():
        raise UsageError(f"{source} is not a Markdown file.", code="source", hint=_KINDS)
    return resolved, resolved.parent, [resolved], []


def _folders(root: Path, paths: Collection[str]) -> set[Path]:
    """The folders of the pages, and those above them up to `root`."""
    folders = {root}
    for path in paths:
        folder = (root / path).parent
        while folder not in folders:
            folders.add(folder)
            folder = folder.parent
    return folders


def _shown(path: str) -> str:
    """A path that can be printed: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


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
    if not isinstance(loaded, dict):
        return {}
    return {key: _unicode(v) for key, v in loaded.items() if isinstance(key, str) and isinstance(v, str)}


def _unicode(value: str) -> str:
    """The text with U+FFFD for a lone surrogate, which an escape in YAML or JSON can make, and which has no UTF-8."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
                return " ".join(_unicode(label).split())
    return readable(page_addresses.without_number(folder.name))
