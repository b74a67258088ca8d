"""The widget on a page of another site: one that MkDocs built, with the book's own addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import index_book
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server
from tests.serving import serving
from tests.test_browser import CHROMIUM, browser
from tests.wire import HTML, Reply, Request, WireServer, listening

__all__ = ["browser"]  # the fixture

BUILT: Final = Path(__file__).parent / "data" / "mkdocs_widgets.html"  # by MkDocs 1.6.1 from the page of `conftest.py`
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on this machine (Debian: chromium)")


@dataclass
class Site(WireServer):
    """The book's site: every address of a folder is the page, with the widget of `askbook` in it."""

    askbook: str = ""

    def answer(self, request: Request) -> Reply:
        if not request.path.endswith("/"):
            return Reply(status=404)
        script = f'<script type="module" src="{self.askbook}/static/widget.js"></script>' * 2 + "</body>"
        page = BUILT.read_text(encoding="utf-8").replace("</body>", script)
        return Reply(body=page, content_type=f"{HTML}; charset=utf-8")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with listening(Site()) as opened:
        yield opened


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with openai_server() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(
    site: Site, endpoint: Endpoint, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The site, with an askbook beside it that knows the site's addresses and allows its pages."""
    home = tmp_path_factory.mktemp("widget")
    asyncio.run(index_book(tiny_source, home, site.address))
    variables = {
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": endpoint.address,
        "OPENAI_MODEL": "scripted",
        "ASKBOOK_ALLOWED_ORIGINS": site.address,
    }
    with serving(home, variables) as address:
        site.askbook = address
        yield site


def test_a_reader_asks_on_the_page_and_a_citation_scrolls_to_its_heading(
    served: Site, endpoint: Endpoint, browser: Any
) -> None:
    endpoint.script[:] = [answer("Mount a widget with the steel bracket, then tighten its two screws to 5 Nm [1].")]
    page, said = browser.new_page(viewport={"width": 1000, "height": 300}), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{served.address}/widgets/")
    page.click("text=Ask this book")
    page.keyboard.type("How do I mount a widget?")
    page.keyboard.press("Enter")
    page.wait_for_selector("a.citation")
    assert "steel bracket" in page.inner_text("dialog .body")
    page.click("a.citation")
    page.wait_for_function("location.hash === '#mounting-a-widget'")
    assert page.url.startswith(f"{served.address}/widgets/")
    page.keyboard.press("Escape")
    assert page.is_hidden("dialog")
    assert "the others do nothing" in " ".join(said)  # the page has the script twice
    page.close()


def test_a_site_that_is_not_allowed_gets_no_answer(served: Site, endpoint: Endpoint, browser: Any) -> None:
    endpoint.script.clear()
    page = browser.new_page()
    page.goto(f"{served.address.replace('127.0.0.1', 'localhost')}/widgets/")  # another origin
    page.wait_for_timeout(500)
    assert page.locator("text=Ask this book").count() == 0
    page.close()
