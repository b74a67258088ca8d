"""A site as a source: the pages under an address, found by its sitemaps and by following links.

The crawl keeps to robots.txt, to the prefix, and to limits of pages, bytes and time. A few requests wait for their
answers at once. These are read in the order of the queue, so the same site gives the same pages.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import Final
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

from rag.errors import SourceFailedError, UsageError
from rag.ingest.patterns import Selection
from rag.ingest.source_files import Failure, SourceFiles
from rag.ingest.sources.page_links import PageLinks, SiteScope, other_kind, sitemap_pages
from rag.ingest.sources.site_client import AGENT, Fetched, SiteClient, private_host
from rag.system.process import need
from rag.system.stopping import stop_if_cancelled

PAGES: Final = 5_000
BYTES: Final = 500_000_000  # of all pages
SECONDS: Final = 3_600.0  # for the whole crawl
DELAY: Final = 0.2  # seconds between two requests
AT_ONCE: Final = 4  # requests without an answer; one if robots.txt asks for a delay
LONGEST_DELAY: Final = 10.0  # seconds that robots.txt may ask for
_NOTICED: Final = 0.2  # seconds in which a crawl ends that was cancelled
SILENT: Final = 10  # pages in a row that fail before the site counts as gone
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_GONE: Final = frozenset({401, 403, 404, 410})
_HINT: Final = "Give the address of a page or of a folder of a site, such as https://example.org/docs/."


OnPage = Callable[[int, int], None]  # told how many pages were asked for, and how many are known so far


def crawl(address: str, folder: Path, *, selection: Selection, watch: OnPage | None = None) -> SourceFiles:
    """The pages of a site, by the address of a page or of a sitemap. Raises `UsageError` if it cannot be read."""
    need("bs4", "html", "Reading a site")
    need("defusedxml", "html", "Reading a site")
    if not address.isprintable() or "@" in address.partition("://")[2].partition("/")[0]:
        raise UsageError(
            "The address of a site has a user name or a sign that no address has.", code="source", hint=_HINT
        )
    try:
        with SiteClient(private_host=private_host(address), delay=DELAY) as client:
            client.at_once = AT_ONCE
            return _Crawl(client, address, folder.resolve(), selection, watch).run()
    except ValueError as error:
        raise SourceFailedError(f"{address} cannot be read: {error}.", code="source", hint=_HINT) from error


@dataclass(slots=True)
class _Crawl:
    client: SiteClient
    address: str
    folder: Path
    selection: Selection
    watch: OnPage | None
    scope: SiteScope = field(init=False)
    name: str = field(init=False)
    is_list: bool = field(init=False)
    robots: RobotFileParser = field(init=False)
    waiting: deque[str] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    addresses: dict[str, str] = field(default_factory=dict)  # the address of each page that is kept, by its path
    failures: list[Failure] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    kept: set[str] = field(default_factory=set)  # addresses of pages
    left: int = BYTES

    def run(self) -> SourceFiles:
        first = self._start()
        if first is not None:
            self._keep(first)
        self._visit_all()
        files = tuple(self.folder / path for path in sorted(self.addresses))
        return SourceFiles(
            self.folder, self.folder, files, tuple(self.failures), self.others, self.name, self.addresses
        )

    def _visit_all(self) -> None:
        """Visit the pages in the queue, and those that they lead to, until none is left or a limit is reached."""
        until = time.monotonic() + SECONDS
        asked: deque[tuple[str, Future[Fetched]]] = deque()
        failed = visited = 0  # `failed` counts pages in a row
        while self.waiting or asked:
            reason = self._reason_to_stop(until, failed)
            if reason:
                self.failures.append(Failure(self.name, ".", reason))
                return
            # No more requests than the limits would still allow if each of them gave a page, or each of them failed.
            room = min(self.client.at_once, PAGES - len(self.addresses), SILENT - failed)
            while self.waiting and len(asked) < room:
                url = self.waiting.popleft()
                if self.robots.can_fetch(AGENT, url):
                    asked.append((url, self._ask(url)))
                else:
                    self.others["robots.txt"] += 1
            if asked:
                failed = 0 if self._visit(*asked.popleft()) else failed + 1
                visited += 1
                if self.watch is not None:
                    self.watch(visited, visited + len(asked) + len(self.waiting))

    def _ask(self, url: str) -> Future[Fetched]:
        """Request a page. The thread is one that the end of the program does not wait for."""
        answer: Future[Fetched] = Future()

        def fetch() -> None:
            try:
                answer.set_result(self.client.fetch(url, allowed=self._is_of_site))
            except Exception as error:
                answer.set_exception(error)

        Thread(target=fetch, name="crawl", daemon=True).start()
        return answer

    def _start(self) -> Fetched | None:
        """Read robots.txt, the sitemaps, and the start page, unless that is a sitemap itself."""
        self.is_list = self.address.partition("?")[0].endswith((".xml", ".xml.gz"))
        self.scope = SiteScope.of(self.address)
        self.name = (self.scope.origin + self.scope.prefix).rstrip("/")
        if self.is_list:  # the list says which pages, so it may name those of the whole host
            self.name, self.scope = self.address, replace(self.scope, prefix="/")
        self._obey()
        if self.is_list:
            self._add(sitemap_pages(self.address, self._list), self.address)
            if not self.waiting:
                raise ValueError("it lists no pages of its own site")
            return None
        first = self.client.fetch(self.address)
        if first.status != HTTPStatus.OK or first.kind not in _HTML:
            kind = f"it is no page but {first.kind or 'of an unknown kind'}"
            raise ValueError(kind if first.status == HTTPStatus.OK else f"it answers with the status {first.status}")
        self._move(first.url)
        self.seen.add(self.scope.address(first.url, first.url) or first.url)
        lists = self.robots.site_maps() or [urljoin(self.scope.origin + self.scope.prefix, "sitemap.xml")]
        for one in lists[:10]:
            self._add(sitemap_pages(one, self._list), one)
        return first

    def _move(self, url: str) -> None:
        """Adopt the final address of the start page: a redirect moves the whole site, one to https only its origin."""
        moved = SiteScope.of(url)
        if not self._is_of_site(url):
            self.scope = moved
            self._obey()
        elif moved.origin != self.scope.origin:
            self.scope = replace(self.scope, origin=moved.origin)

    def _obey(self) -> None:
        """Read the rules for programs. Raises `ValueError` if they forbid the start page."""
        self.robots = self._robots()
        if not self.robots.can_fetch(AGENT, self.scope.origin + self.scope.prefix):
            raise ValueError("its robots.txt asks programs not to read it")
        asked = self.robots.crawl_delay(AGENT)
        if asked is not None:
            self.client.slow_down(min(float(asked), LONGEST_DELAY))

    def _robots(self) -> RobotFileParser:
        """The rules for programs. A site without them allows everything; one that fails to say allows nothing."""
        robots = RobotFileParser()
        found = self.client.fetch(f"{self.scope.origin}/robots.txt", allowed=self._is_of_host)
        if found.status >= 500:
            raise ValueError(f"its robots.txt answers with the status {found.status}")
        usable = found.status == HTTPStatus.OK and found.kind not in _HTML
        robots.parse(found.body.decode("utf-8", "replace").splitlines() if usable else [])
        return robots

    def _list(self, url: str) -> bytes | None:
        """The bytes of a sitemap of this site; None if there is none."""
        if not self._is_of_host(url) or not self.robots.can_fetch(AGENT, url):
            return None
        try:
            return self.client.fetch(url, allowed=self._is_of_host).body or None
        except ValueError:
            return None

    def _is_of_host(self, url: str) -> bool:
        return url.startswith(self.scope.origin + "/")

    def _is_of_site(self, url: str) -> bool:
        return self.scope.address(url, url) is not None

    def _reason_to_stop(self, until: float, failed: int) -> str:
        if len(self.addresses) >= PAGES:
            return f"the site has more than {PAGES:,} pages; give a narrower address, or --exclude parts of it"
        if self.left <= 0:
            return f"the pages of the site are larger than {BYTES // 10**6} megabytes; give a narrower address"
        if time.monotonic() > until:
            return f"reading the site takes longer than {SECONDS / 60:.0f} minutes; give a narrower address"
        return f"the last {failed} pages could not be fetched, so the others were not tried" if failed >= SILENT else ""

    def _visit(self, url: str, answer: Future[Fetched]) -> bool:
        """Wait for a page and keep it. False if the site does not answer as it should."""
        path = self.scope.path(url)
        try:
            found = _awaited(answer)
        except ValueError as error:
            self.failures.append(Failure(self.name, path, str(error)))
            return False
        if found.status == HTTPStatus.OK:
            self._keep(found)
        elif found.status >= 400 and found.status not in _GONE:  # a link to a page that is gone is a flaw of its page
            self.failures.append(Failure(self.name, path, f"it answers with the status {found.status}"))
            return False
        return True

    def _keep(self, found: Fetched) -> None:
        """Store a page under its canonical address, and add its links."""
        url = self.scope.address(found.url, found.url)
        if url is None:  # it was redirected out of the site
            return
        self.seen.add(url)
        if found.kind not in _HTML:
            self.others[found.kind or ""] += 1
            return
        try:
            page = PageLinks.of(found.body)
        except ValueError as error:
            self.failures.append(Failure(self.name, self.scope.path(url), str(error)))
            return
        base = urljoin(url, page.base) if page.base else url
        if page.follow and not self.is_list:
            self._add(page.links, base)
        url = (self.scope.address(page.canonical, base) if page.canonical else None) or url
        path = "" if url in self.kept else self._free_path(url)
        self.kept.add(url)
        if path and self.selection.takes(path):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(found.body)
            self.addresses[path] = url
            self.left -= len(found.body)

    def _add(self, links: Iterable[str], base: str) -> None:
        """Put links into the queue that lead to pages of the site and are not in it yet."""
        for link in links:
            url = self.scope.address(link, base)
            if url is None or url in self.seen or len(self.seen) > 20 * PAGES:
                continue
            self.seen.add(url)
            if kind := other_kind(url):
                self.others[kind] += 1
            elif not self.selection.excludes(self.scope.path(url)):
                self.waiting.append(url)

    def _free_path(self, url: str) -> str:
        """The path of a page in the folder."""
        path = self.scope.path(url)
        names = PurePosixPath(path).parts
        odd = any(len(name) > 200 or name.startswith(".") for name in names) or len(path) > 1_000
        blocked = path in self.addresses or any(
            parent.as_posix() in self.addresses for parent in PurePosixPath(path).parents
        )
        if odd or blocked or (self.folder / path).is_dir():
            return f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.html"
        return path


def _awaited(answer: Future[Fetched]) -> Fetched:
    """The answer to a request, unless nobody waits for the site any more."""
    while True:
        stop_if_cancelled()
        try:
            return answer.result(timeout=_NOTICED)
        except TimeoutError:
            if answer.done():  # it is the error of the request
                raise
