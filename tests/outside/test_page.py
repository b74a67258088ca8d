"""The web page in Chromium, as readers use it: with a mouse, with a keyboard and on a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.homes import copied
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, UNKNOWN
from tests.serving import served

DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
TIMEOUT: Final = 40_000  # milliseconds that a step may take on a busy machine
Site = tuple[str, Endpoint, Browser]  # the address of a server on the book, the model that it asks, and a browser
SHOWN: Final = "Every widget has exactly four teeth"


@pytest.fixture(scope="module")
def site(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not on this machine (Debian: apt-get install chromium)")
    expect.set_options(timeout=TIMEOUT)
    with openai_server() as model, sync_playwright() as playwright:
        variables = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": model.address, "ASKBOOK_JUDGE": "none"}
        with served(copied(book, tmp_path_factory.mktemp("page") / "home"), variables) as server:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            yield server.address, model, browser
            browser.close()


@pytest.fixture
def model(site: Site) -> Endpoint:
    return site[1]


@pytest.fixture(params=[DESKTOP], ids=str)
def page(site: Site, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page, opened by a new visitor. It may fail at nothing, and ask nothing of another server."""
    address, _, browser = site
    wrong: list[str] = []
    with browser.new_context(viewport=request.param) as visit:
        opened = visit.new_page()
        opened.set_default_timeout(TIMEOUT)
        opened.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("request", lambda sent: wrong.append(sent.url) if not sent.url.startswith(address) else None)
        opened.goto(address)
        yield opened
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it scrolls sideways"
    assert wrong == []


def ask(page: Page, question: str = TEETH) -> None:
    page.get_by_role("textbox", name="question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def number(page: Page) -> Locator:
    return page.get_by_role("article").last.get_by_role("button", name="Source 1").first


def expect_marked_passage(page: Page) -> None:
    passage = page.get_by_role("complementary", name="Passage")
    expect(passage).to_contain_text("A widget is a small part that turns a shaft.")
    expect(passage.locator("mark")).to_have_text(f"{SHOWN}.")


@pytest.mark.parametrize("page", [DESKTOP, PHONE], indirect=True)
def test_a_click_on_a_number_shows_the_passage_with_its_quote_marked(page: Page, model: Endpoint) -> None:
    model.script = [answer(FOUR_TEETH)]
    ask(page)
    expect(page.get_by_role("article")).to_contain_text(SHOWN)
    number(page).click()
    expect_marked_passage(page)


def test_a_conversation_is_there_after_a_reload(page: Page, model: Endpoint) -> None:
    model.script = [answer(FOUR_TEETH)]
    ask(page)
    expect(number(page)).to_be_visible()
    page.reload()
    expect(page.get_by_role("article").get_by_role("heading", name=TEETH)).to_be_visible()
    expect(number(page)).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("button", name=TEETH, exact=True).first).to_be_visible()


def test_the_keyboard_alone_asks_opens_a_passage_and_comes_back(page: Page, model: Endpoint) -> None:
    model.script = [answer(FOUR_TEETH)]
    expect(page.get_by_role("textbox", name="question")).to_be_focused()
    page.keyboard.type(TEETH)
    page.keyboard.press("Enter")
    expect(number(page)).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if number(page).evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect_marked_passage(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Passage")).to_be_hidden()
    expect(number(page)).to_be_focused()


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_a_refusal_and_a_failure_say_so_and_can_be_asked_again(page: Page, model: Endpoint) -> None:
    ask(page, UNKNOWN)
    expect(page.get_by_role("article")).to_contain_text("I don't have information about that in the book content")
    model.script = [refuses(401)]
    ask(page)
    expect(page.get_by_role("alert")).to_have_text("Authentication failed. Please check your API keys.")
    model.script = [answer(FOUR_TEETH)]
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_role("article").last).to_contain_text(SHOWN)
    expect(page.get_by_role("alert")).to_have_count(0)
