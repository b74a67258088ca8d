"""A site as a source: its pages are read politely, within its prefix, and nothing else is asked for anything."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError, Event, Lock
from typing import Any

import pytest

from rag.errors import UsageError
from rag.ingest.book_sources import BookSources, IngestOptions
from rag.ingest.formats.reader_process import read_apart
from rag.ingest.loaders import LoadResult, load_source
from rag.ingest.sources import page_links, site_client
from rag.ingest.sources import site as crawler
from rag.ingest.sources.page_links import SiteScope
from rag.ingest.sources.site_client import SiteClient, is_public
from tests.web_site import WebSite, moved, page, plain, web_site
from tests.wire import HTML, Reply, dripping, dripping_headers, refusal

DOCS = {
    "/docs/": page("Start", "<p>Start words. <a href='guide'>Guide</a> <a href='#x'>x</a> <a href='a.png'>a</a></p>"),
    "/docs/guide": page("Guide", "<h2 id='turn'>Turn</h2><p>Turn words. <a href='/docs/deep/er/'>Deeper</a></p>"),
    "/docs/deep/er/": page(
        "Deeper", "<p>Deep words. See <a href='../../guide#turn'>turn</a>.</p><a href='/blog'>B</a>"
    ),
    "/docs/alone": page("Alone", "<p>Lonely words.</p>"),
    "/blog": page("Blog", "<p>No page of the docs.</p>"),
}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawler, "DELAY", 0.0)


@pytest.fixture
def docs() -> Iterator[WebSite]:
    with web_site(DOCS) as site:
        yield site


def load(site: WebSite, path: str = "/docs/", **options: Any) -> LoadResult:
    return load_source(site.address + path, **options)


def titles(result: LoadResult) -> set[str]:
    return {document.title for document in result.documents}


def test_a_page_without_a_link_is_found_by_the_sitemap(docs: WebSite) -> None:
    places = "".join(f"<url><loc>{docs.address}{path}</loc></url>" for path in ("/docs/alone", "/blog", "/docs/guide"))
    inner = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
    outer = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>{docs.address}/m.xml.gz</loc></sitemap></sitemapindex>'
    docs.answers |= {
        "/robots.txt": plain(f"User-agent: *\nAllow: /\nSitemap: {docs.address}/all.xml\n"),
        "/all.xml": plain(outer),
        "/m.xml.gz": Reply(body=gzip.compress(inner.encode()), content_type="application/gzip"),
    }
    assert titles(load(docs)) == {"Start", "Guide", "Deeper", "Alone"}
    listed = load(docs, "/m.xml.gz")
    assert titles(listed) == {"Alone", "Blog", "Guide"}
    assert listed.source == f"{docs.address}/m.xml.gz"


def test_robots_txt_is_obeyed(docs: WebSite) -> None:
    docs.answers["/robots.txt"] = plain("User-agent: *\nDisallow: /docs/deep/\n\nUser-agent: other\nDisallow: /\n")
    result = load(docs)
    assert titles(result) == {"Start", "Guide"}
    assert result.passed_over["robots.txt"] == 1
    assert docs.sent("user-agent") == {"askbook"}
    docs.answers["/robots.txt"] = plain("User-agent: askbook\nDisallow: /docs\n")
    with pytest.raises(UsageError, match=r"robots\.txt asks"):
        load(docs)
    docs.answers["/robots.txt"] = Reply(status=500)
    with pytest.raises(UsageError, match="status 500"):
        load(docs)


def test_requests_keep_the_delay_that_the_site_asks_for(docs: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    docs.answers["/robots.txt"] = plain("User-agent: *\nCrawl-delay: 3\n")
    load(docs)
    assert len([wait for wait in waits if wait > 2]) == len(docs.asked) - 1


def test_a_page_has_its_canonical_address_once(docs: WebSite) -> None:
    canonical = f"<link rel='canonical' href='{docs.address}/docs/guide'>"
    docs.answers["/docs/"] = page(
        "Start", "<p>Start. <a href='guide'>1</a> <a href='copy'>2</a> <a href='away'>3</a></p>"
    )
    docs.answers["/docs/copy"] = page("Copy", "<p>Turn words.</p>", canonical)
    docs.answers["/docs/away"] = page("Away", "<p>Away.</p>", "<link rel='canonical' href='https://other.example/'>")
    urls = sorted(document.url.removeprefix(docs.address) for document in load(docs).documents)
    assert urls == ["/docs/", "/docs/away", "/docs/deep/er/", "/docs/guide"]


def test_a_redirect_of_the_start_page_moves_the_site_and_one_of_a_page_must_stay_in_it(docs: WebSite) -> None:
    docs.answers["/start"] = moved("/docs/")
    docs.answers["/docs/guide"] = moved("/blog")
    result = load(docs, "/start")
    assert titles(result) == {"Start"}
    assert "/blog" not in docs.asked
    docs.answers["/docs/"] = moved("/docs/")
    with pytest.raises(UsageError, match="redirects more than 5 times"):
        load(docs)


def test_pages_that_fail_are_told_and_keep_their_passages_and_lost_ones_are_not(docs: WebSite) -> None:
    docs.answers["/docs/"] = page(
        "Start", "<p>Start. <a href='guide'>1</a> <a href='none'>2</a> <a href='big'>3</a></p>"
    )
    docs.answers["/docs/guide"] = Reply(status=500)
    docs.answers["/docs/big"] = Reply(body=b"<p>" + b" " * (site_client.LARGEST + 1), content_type=HTML)
    result = load(docs)
    assert {failure.path: failure.reason for failure in result.failures} == {
        "guide.html": "it answers with the status 500",
        "big.html": "it is larger than 10 megabytes",
    }
    assert result.failures[0].file == f"{docs.address}/docs/guide.html"


def test_a_page_that_no_parser_likes_does_not_stop_the_others(docs: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser of Python raised for the first; the other one takes time with the square of its end tags."""

    def hasty(module: str, function: str, raw: bytes, *, seconds: float) -> Any:
        assert seconds == page_links.SECONDS
        return read_apart(module, function, raw, seconds=1.0 if b"</x>" in raw else seconds)

    monkeypatch.setattr(page_links, "read_apart", hasty)
    docs.answers["/docs/"] = page("Start", "<p>Words <![ of> <a href='guide'>the guide</a> <a href='slow'>slow</a></p>")
    docs.answers["/docs/slow"] = page("Slow", "<div></x>" * 300_000)
    result = load(docs)
    assert titles(result) >= {"Start", "Guide"}
    assert [one.reason for one in result.failures] == ["reading it takes longer than 1 seconds"]


def test_a_packed_bomb_is_not_unpacked(docs: WebSite) -> None:
    packed = gzip.compress(b" " * (site_client.LARGEST * 3))
    docs.answers["/docs/guide"] = Reply(body=packed, headers=(("content-encoding", "gzip"),), content_type=HTML)
    (failure,) = load(docs).failures
    assert failure.reason == "it is larger than 10 megabytes"


def test_a_site_without_an_end_stops_at_the_limit(docs: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawler, "PAGES", 7)
    number = iter(range(10**6))

    def endless() -> Reply:
        return page("Endless", f"<p>Words. <a href='/docs/{next(number)}'>on</a></p>")

    docs.answers.update({"/docs/": endless, **{f"/docs/{n}": endless for n in range(100)}})
    result = load(docs)
    assert len(result.documents) == 7
    (failure,) = result.failures
    assert (failure.file, failure.path) == (f"{docs.address}/docs", ".")
    assert "more than 7 pages" in failure.reason


def test_a_site_that_stops_answering_is_given_up(docs: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    links = "".join(f"<a href='{n}'>{n}</a>" for n in range(50))
    docs.answers["/docs/"] = page("Start", f"<p>Words.</p>{links}")
    docs.answers.update({f"/docs/{n}": Reply(status=502) for n in range(50)})
    result = load(docs)
    assert len(result.failures) == crawler.SILENT + 1
    assert "were not tried" in result.failures[-1].reason


def test_a_site_that_only_names_a_private_address_later_is_refused(
    docs: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the name is public when it is checked first, and private when it is asked again."""
    port = docs.address.rpartition(":")[2]
    answers = iter(["93.184.216.34"])

    def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers, "127.0.0.1"), int(port)))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(UsageError, match="address inside a private network"):
        load_source(f"http://rebound.example:{port}/docs/")
    assert docs.asked == []


@pytest.mark.parametrize(("named", "asked"), [("7", 2), ("30", 2), ("31", 1), ("soon", 1)])
def test_a_busy_site_is_asked_once_more_after_the_time_it_names(
    named: str, asked: int, docs: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    docs.answers["/docs/guide"] = refusal(429, retry_after=named)
    assert [failure.reason for failure in load(docs).failures] == ["it answers with the status 429"]
    assert docs.asked.count("/docs/guide") == asked
    assert any(wait > 5 for wait in waits) == (asked > 1)


@pytest.mark.parametrize("slow", [dripping(), dripping_headers()], ids=["body", "headers"])
def test_a_page_that_does_not_end_is_given_up(slow: Reply, docs: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_client, "SECONDS", 0.3)
    docs.answers["/docs/guide"] = slow
    (failure,) = load(docs).failures
    assert failure.file.endswith("/docs/guide.html")
    assert failure.reason.startswith("it cannot be fetched: ")


def test_a_redirect_from_outside_into_the_network_is_not_followed(
    docs: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs.answers["/docs/"] = moved("http://inside.example/")
    find = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **options: find("10.0.0.1" if host == "inside.example" else host, *more, **options),
    )
    with pytest.raises(UsageError, match=r"inside\.example has an address inside a private network"):
        load(docs)


def test_a_request_goes_to_the_address_that_was_checked_and_names_the_host(
    docs: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = docs.address.rpartition(":")[2]
    resolved: list[str] = []
    find = socket.getaddrinfo

    def resolve(host: str, *more: Any, **options: Any) -> Any:
        resolved.append(host)
        return find("127.0.0.1" if host == "docs.example" else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # it would resolve the name itself
    with SiteClient(private_host="docs.example") as client:
        assert client.fetch(f"http://docs.example:{port}/docs/").status == 200
    assert docs.sent("host") == {f"docs.example:{port}"}
    assert resolved.count("docs.example") == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_which_addresses_are_public(address: str, expected: bool) -> None:
    assert is_public(address) is expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("guide", "https://a.example/docs/guide"),
        ("./x/../guide#y", "https://a.example/docs/guide"),
        ("HTTP://A.EXAMPLE:80/docs/", "https://a.example/docs/"),
        ("/docs", "https://a.example/docs"),
        ("/docs/%C3%BC b", "https://a.example/docs/%C3%BC%20b"),
        ("/docs/ü", "https://a.example/docs/%C3%BC"),
        ("/documents", None),
        ("../", None),
        ("/docs/%2e%2e/x", "https://a.example/docs/%2e%2e/x"),
        ("?page=2", None),
        ("https://a.example:8443/docs/", None),
        ("//b.example/docs/", None),
        ("https://a.example@b.example/docs/", None),
        ("mailto:a@b.example", None),
        ("javascript:alert(1)", None),
        ("http://[", None),
    ],
)
def test_which_links_belong_to_a_site(link: str, expected: str | None) -> None:
    assert SiteScope.of("https://a.example/docs/index.html").address(link, "https://a.example/docs/") == expected


def test_a_site_that_is_not_there_is_one_line(docs: WebSite) -> None:
    for path, says in (("/none", "status 404"), ("/a.css", "no page but text/css")):
        docs.answers["/a.css"] = Reply(content_type="text/css")
        with pytest.raises(UsageError, match=says):
            load(docs, path)
    with pytest.raises(UsageError, match="cannot be fetched") as caught:
        load_source("http://127.0.0.1:9/docs/")
    assert "\n" not in caught.value.message


def test_a_few_pages_are_fetched_at_the_same_time_and_read_in_the_order_of_their_links(docs: WebSite) -> None:
    together, guard, most, running = Barrier(crawler.AT_ONCE), Lock(), [0], [0]

    def slow(number: int) -> Reply:
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with suppress(BrokenBarrierError):
            together.wait(20)  # passes only when so many requests are there at the same time
        time.sleep(0.02 * (8 - number))  # the first ones answer last
        with guard:
            running[0] -= 1
        return page(f"Page {number}", f"<p>Words. <a href='same'>{number}</a></p>", f"<base href='{number}/'>")

    names = [str(number) for number in range(2 * crawler.AT_ONCE)]
    docs.answers = {
        "/docs/": page("Start", "<p>Start.</p>" + "".join(f"<a href='{name}'>x</a>" for name in names)),
        **{f"/docs/{name}": partial(slow, int(name)) for name in names},
    }
    result = load(docs)
    assert not together.broken
    assert most[0] == crawler.AT_ONCE
    assert titles(result) == {"Start", *(f"Page {name}" for name in names)}
    deeper = [path for path in docs.asked if path.endswith("/same")]
    assert sorted(deeper) == [f"/docs/{name}/same" for name in names]


def test_a_site_that_asks_for_a_delay_gets_one_request_at_a_time(docs: WebSite) -> None:
    guard, running, most = Lock(), [0], [0]

    def counted() -> Reply:
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with guard:
            running[0] -= 1
        return page("One", "<p>Words.</p>")

    docs.answers = {
        "/robots.txt": plain("User-agent: *\nCrawl-delay: 0\n"),
        "/docs/": page("Start", "<p>Start.</p>" + "".join(f"<a href='{n}'>x</a>" for n in range(5))),
        **{f"/docs/{n}": counted for n in range(5)},
    }
    assert len(load(docs).documents) == 6
    assert most[0] == 1


async def test_a_crawl_that_is_cancelled_ends_though_a_page_does_not_answer(docs: WebSite) -> None:
    asked, go_on = Event(), Event()

    def silent() -> Reply:
        asked.set()
        go_on.wait(60)
        return page("Late", "<p>Late.</p>")

    links = "".join(f"<a href='{n}'>x</a>" for n in range(50))
    docs.answers = {"/docs/": page("Start", f"<p>Start.</p>{links}"), "/docs/0": silent}
    try:
        sources = BookSources([f"{docs.address}/docs/"], IngestOptions(), None)
        reading = asyncio.create_task(sources.load(lambda _: None, lambda *_: None))
        await asyncio.to_thread(asked.wait, 60)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 20)
    finally:
        go_on.set()
    assert len(docs.asked) < 10
