"""Read a source into documents: find the generator, read the files, and write each page as Markdown."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from pydantic import SkipValidation

from rag.book import Document
from rag.errors import SourceFailedError, UsageError
from rag.ingest.links import checked_base_url
from rag.ingest.page import Page, plain_inline
from rag.ingest.patterns import EVERYTHING, Selection
from rag.ingest.report import SourceSummary
from rag.ingest.sites.detection import site_of
from rag.ingest.sites.site_rules import CrawledSite, PageFile, Site
from rag.ingest.source_files import CONVERT, KINDS, Failure, SourceFiles, read_file
from rag.ingest.sources.opened_source import opened_source
from rag.ingest.titles import bounded, names_no_page, page_kind
from rag.system.stopping import stop_if_cancelled

# Part of every page's hash. Raise it when cleaning or chunking changes, so that every page is ingested again.
VERSION: Final = 11


class LoadResult(SourceSummary):
    """A source with its pages in the order of their paths, and the files that could not be read.

    `title` is what the configuration of its generator calls the site.
    """

    documents: SkipValidation[tuple[Document, ...]]
    failures: SkipValidation[tuple[Failure, ...]] = ()
    title: str = ""

    def summary(self) -> SourceSummary:
        """What a report says of the source."""
        return SourceSummary(**{name: getattr(self, name) for name in SourceSummary.model_fields})


def load_source(
    source: Path | str,
    *,
    base_url: str | None = None,
    skip: Collection[str] = (),
    generator: str | None = None,
    own: bool = False,
    selection: Selection = EVERYTHING,
    watch: Callable[[int, int], None] | None = None,
) -> LoadResult:
    """Read every page of a source: a folder (recursively), one file, or the address of a repository or a site.

    The pages are those that the generator publishes; `generator` names it, and otherwise it is found by its files.
    Paths in `skip`, and those that are not selected, are left out. `own`: the source is part of askbook. Its files may
    be hard links, as some installers make them. `watch(done, known)` counts the pages of a site while they are fetched.

    Raises `UsageError` when the source is missing, has an unsupported suffix or holds no page that can be read, when
    `base_url` is not a web address, and for an unknown generator.
    """
    base_url = checked_base_url(base_url) if base_url is not None else None
    with opened_source(source, skip=skip, selection=selection, watch=watch) as found:
        site = CrawledSite(found.root, found.addresses) if found.addresses else None
        rules = site or site_of(found.root, generator)
        return _loaded(found, rules, base_url, own=own)


def _loaded(found: SourceFiles, rules: Site, base_url: str | None, *, own: bool) -> LoadResult:
    failures = list(found.unlisted)
    others = Counter(found.others)
    pages = _read_pages(found, rules, failures, others, own=own)
    if not pages:
        other = "" if rules.name == "plain" else " Or name other rules with --generator, such as --generator plain."
        by = f" by the rules of {rules.name} ({rules.reason})" if other else ""
        problem = f"{found.name} contains no readable page{by}"
        if not failures:
            raise UsageError(f"{problem}.", code="no_pages", hint=f"{KINDS} {CONVERT}{other}")
        problem = f"{problem}: {failures[0].path}: {failures[0].reason}"
        raise SourceFailedError(f"{problem}.", code="no_pages", hint=KINDS + other)
    rules.enter([page for page, _ in pages], base_url)
    documents: list[Document] = []
    for page, digest in pages:
        stop_if_cancelled()
        if page.path not in rules.pages:
            others[page.file.suffix.lower()] += 1
            continue
        try:
            documents.append(_document(found, rules, page, digest))
        except Exception as error:
            failures.append(found.failure(page.file, error))
    if not documents:
        why = f"{failures[0].path}: {failures[0].reason}"
        raise SourceFailedError(f"No page could be read in {found.name}: {why}.", code="no_pages", hint=KINDS)
    return LoadResult(
        source=found.name,
        documents=tuple(documents),
        failures=tuple(failures),
        generator=rules.name,
        reason=rules.reason,
        passed_over=others - rules.included,
        title=rules.site_title(),
        refused=rules.refused,
        advice=rules.advice,
    )


def _read_pages(
    found: SourceFiles, rules: Site, failures: list[Failure], others: Counter[str], *, own: bool
) -> list[tuple[PageFile, bytes]]:
    """The published pages with the hashes of their files. Fills `failures`, and counts the files that are no pages."""
    pages: list[tuple[PageFile, bytes]] = []
    for file in found.files:
        stop_if_cancelled()
        suffix = file.suffix.lower()
        if not rules.reads(file):
            others[suffix] += 1
            continue
        path = file.relative_to(found.root).as_posix()
        loader = rules.loader(suffix)
        try:
            path.encode()  # a name that is not UTF-8 can be neither stored nor printed
            raw = read_file(file, found.root, hard_links=own, largest=loader.largest)
            read = [PageFile.of(text, path, file) for text in loader.load(raw)]
            published = [page for page in read if not page.problem and rules.is_published(page)]
        except Exception as error:
            failures.append(found.failure(file, error))
            continue
        failures += (Failure(found.name, page.path, page.problem) for page in read if page.problem)
        if not published:
            others[suffix] += 1
        digest = hashlib.sha256(raw).digest()
        pages += ((page, digest) for page in published)
    listed = [one for one in pages if not one[0].is_set("noindex")]
    if len(pages) > 2 * len(listed):
        return pages  # a manual that search engines must not list as a whole, such as one of an old version
    others.update(page.file.suffix.lower() for page, _ in pages if page.is_set("noindex"))
    return listed


def _document(found: SourceFiles, rules: Site, page: PageFile, file_digest: bytes) -> Document:
    parsed = rules.convert(page)
    title = plain_inline(rules.title(page))
    if not title or names_no_page(title):
        title = parsed.title or title or plain_inline(rules.usual_title(page))
    title = bounded(title)
    breadcrumb = rules.breadcrumb(page)
    url = rules.url(page)
    # The other chapters of a book that is one file do not make this one a changed page.
    read = page.body.encode() if page.part else file_digest
    chapter = (*page.above[1:], title)[0] if page.part else None
    record = json.dumps([VERSION, url, title, breadcrumb, parsed.text, page.page_lines])  # `kind` is made of these
    return Page(
        found.name,
        page.path,
        url,
        title,
        parsed.text,
        hashlib.sha256(record.encode() + read).hexdigest(),
        breadcrumb,
        chapter,
        page.page_lines,
        page_kind(page.path, title, parsed.text),
        parsed=parsed,
    )
