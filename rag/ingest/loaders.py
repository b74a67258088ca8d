"""Read a folder or one file into documents: find the generator, read the files, and write each page as Markdown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rag.book import Document
from rag.errors import UsageError
from rag.ingest.formats.known_formats import BY_SUFFIX
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.known_generators import generator_of
from rag.ingest.page import Page, plain_inline
from rag.ingest.site_addresses import checked_base_url
from rag.ingest.source_files import KINDS, Failure, SourceFiles, read_file, source_files

# Part of every page's hash. Raise it when cleaning or chunking changes, so that every page is ingested again.
VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The pages of a source in the order of their paths, and the files that could not be read.

    `generator` is the name of the generator whose rules were followed, and `reason` says why.
    """

    source: str
    documents: tuple[Document, ...]
    failures: tuple[Failure, ...]
    generator: str = "plain"
    reason: str = ""


def load_source(
    source: Path,
    *,
    base_url: str | None = None,
    skip: Collection[str] = (),
    generator: str | None = None,
    own: bool = False,
) -> LoadResult:
    """Read every page of a folder (recursively), or one file. Paths in `skip` are left out.

    The pages are those that the generator publishes; `generator` names it, and otherwise it is found by its files.
    `own`: the source is part of askbook. Its files may be hard links, as some installers make them.

    Raises `UsageError` when the source is missing, has an unsupported suffix or holds no page that can be read, when
    `base_url` is not a web address, and for an unknown generator.
    """
    base_url = checked_base_url(base_url) if base_url is not None else None
    found = source_files(source, skip)
    rules = generator_of(found.root, found.files, generator)
    failures = list(found.unlisted)
    pages = _read_pages(found, rules, failures, own=own)
    if not pages:
        why = f": {failures[0].path}: {failures[0].reason}" if failures else ""
        raise UsageError(f"{source} contains no readable page{why}.", code="no_pages", hint=KINDS)
    rules.enter([page for page, _ in pages], base_url)
    documents: list[Document] = []
    for page, raw in pages:
        if page.path not in rules.pages:
            continue
        try:
            documents.append(_document(found, rules, page, raw))
        except ValueError as error:
            failures.append(found.failure(page.file, error))
    if not documents:
        why = f"{failures[0].path}: {failures[0].reason}"
        raise UsageError(f"No page could be read in {source}: {why}.", code="no_pages", hint=KINDS)
    return LoadResult(found.source.as_posix(), tuple(documents), tuple(failures), rules.name, rules.reason)


def _read_pages(
    found: SourceFiles, rules: Generator, failures: list[Failure], *, own: bool
) -> list[tuple[PageFile, bytes]]:
    """The published pages with the bytes of their files. Files that cannot be read are appended to `failures`."""
    pages: list[tuple[PageFile, bytes]] = []
    for file in found.files:
        if not rules.is_page(file):
            continue
        path = file.relative_to(found.root).as_posix()
        try:
            path.encode()  # a name that is not UTF-8 can be neither stored nor printed
            raw = read_file(file, found.root, hard_links=own)
            loaded = BY_SUFFIX[file.suffix.lower()].load(raw)
        except (OSError, ValueError) as error:
            failures.append(found.failure(file, error))
            continue
        page = PageFile(path, file, loaded.body, loaded.syntax, loaded.fields, loaded.has_head)
        if rules.is_published(page):
            pages.append((page, raw))
    return pages


def _document(found: SourceFiles, rules: Generator, page: PageFile, raw: bytes) -> Document:
    parsed = rules.convert(page)
    title = plain_inline(rules.title(page)) or parsed.title or plain_inline(rules.usual_title(page))
    breadcrumb = rules.breadcrumb(page)
    url = rules.url(page)
    digest = hashlib.sha256(json.dumps([VERSION, url, title, breadcrumb, parsed.text]).encode() + raw).hexdigest()
    return Page(found.source.as_posix(), page.path, url, title, parsed.text, digest, breadcrumb, parsed=parsed)
