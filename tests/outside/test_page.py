"""The web page in Chromium, as readers use it: with a mouse, with a keyboard and on a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.homes import copied
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, UNKNOWN
from tests.serving import served

DESKTOP, PHONE, LOW = (1280, 800), (360, 740), (1280, 400)
TIMEOUT: Final = 40_000  # milliseconds that a step may take on a busy machine
SHOWN: Final = "Every widget has exactly four teeth"


class Site(NamedTuple):
    address: str
    model: Endpoint
    browser: Browser


@pytest.fixture(scope="module")
def site(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server on the book, the model that it asks, and a browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not on this machine (Debian: apt-get install chromium)")
    home = copied(book, tmp_path_factory.mktemp("page") / "home")
    expect.set_options(timeout=TIMEOUT)
    with openai_server() as model, sync_playwright() as playwright:
        variables = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": model.address, "ASKBOOK_JUDGE": "none"}
        with served(home, variables) as server:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            yield Site(server.address, model, browser)
            browser.close()


@pytest.fixture(params=[DESKTOP], ids=str)
def page(site: Site, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page, opened by a new visitor. It may fail at nothing, and ask nothing of another server."""
    site.model.script.clear()
    wrong: list[str] = []
    width, height = request.param
    with site.browser.new_context(viewport={"width": width, "height": height}) as visit:
        opened = visit.new_page()
        opened.set_default_timeout(TIMEOUT)
        opened.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("request", lambda sent: wrong.append(sent.url) if not sent.url.startswith(site.address) else None)
        opened.goto(site.address)
        yield opened
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it scrolls sideways"
    assert wrong == []


def ask(page: Page, question: str = TEETH) -> None:
    page.get_by_role("textbox", name="question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def number(page: Page) -> Locator:
    """The number behind the answer's sentence."""
    return page.get_by_role("article").last.get_by_role("button", name="Source 1").first


def expect_marked_passage(page: Page) -> None:
    passage = page.get_by_role("complementary", name="Passage")
    expect(passage).to_contain_text("A widget is a small part that turns a shaft.")
    expect(passage.locator("mark")).to_have_text(f"{SHOWN}.")


@pytest.mark.parametrize("page", [DESKTOP, PHONE], indirect=True)
def test_a_click_on_a_number_shows_the_passage_with_its_quote_marked(page: Page, site: Site) -> None:
    site.model.script = [answer(FOUR_TEETH)]
    ask(page)
    expect(page.get_by_role("article")).to_contain_text(SHOWN)
    number(page).click()
    expect_marked_passage(page)


def test_a_conversation_is_there_after_a_reload(page: Page, site: Site) -> None:
    site.model.script = [answer(FOUR_TEETH)]
    ask(page)
    expect(number(page)).to_be_visible()
    page.reload()
    expect(page.get_by_role("article").get_by_role("heading", name=TEETH)).to_be_visible()
    number(page).click()
    expect_marked_passage(page)
    expect(page.get_by_role("navigation").get_by_role("button", name=TEETH, exact=True).first).to_be_visible()


def test_the_keyboard_alone_asks_opens_a_passage_and_comes_back(page: Page, site: Site) -> None:
    site.model.script = [answer(FOUR_TEETH)]
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
def test_a_refusal_and_a_failure_say_so_and_can_be_asked_again(page: Page, site: Site) -> None:
    ask(page, UNKNOWN)
    expect(page.get_by_role("article")).to_contain_text("I don't have information about that in the book content")
    site.model.script = [refuses(401)]
    ask(page)
    expect(page.get_by_role("alert")).to_have_text("Authentication failed. Please check your API keys.")
    site.model.script = [answer(FOUR_TEETH)]
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_role("article").last).to_contain_text(SHOWN)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.xfail(strict=True, reason="page issue: a further question goes to the top of the view")
@pytest.mark.parametrize("page", [LOW], indirect=True)
def test_a_further_question_is_in_view_after_its_answer(page: Page, site: Site) -> None:
    sentences = ("A gadget is a machine made of twelve widgets [2].", "Never use alcohol on the paint [3].", FOUR_TEETH)
    for turns in range(1, 4):
        site.model.script = [answer("\n\n".join(sentences * 2))]
        ask(page)
        expect(page.get_by_role("article").get_by_role("heading", name="Sources")).to_have_count(turns)
    view, asked = page.get_by_role("main").bounding_box(), page.get_by_role("heading", name=TEETH).last.bounding_box()
    assert view
    assert asked
    assert 0 <= asked["y"] - view["y"] < 60
