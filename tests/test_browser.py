"""The page in a real browser, against a real server whose model is scripted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server, refuses
from tests.serving import serving

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
AXE: Final = Path(__file__).parent / "vendor" / "axe.min.js"
# Chromium as root, without the connections that it opens on its own.
_OPTIONS: Final = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
GOOD: Final = "Every widget has exactly four teeth [1]."
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on this machine (Debian: chromium)")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with openai_server() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tiny_book: Path, endpoint: Endpoint) -> Iterator[str]:
    variables = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": endpoint.address, "OPENAI_MODEL": "scripted"}
    with serving(tiny_book, variables) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """The window of all tests: a new one costs Chromium a quarter of a second."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def page(window: Any, address: str, endpoint: Endpoint) -> Iterator[Any]:
    """The page at its first visit. No test may leave an error on the console."""
    endpoint.script.clear()
    yield from _visited(window, address)


def _visited(page: Any, address: str) -> Iterator[Any]:
    """Open the page as a new window would: with the usual size and colours, and without anything that a site keeps."""
    page.goto("about:blank")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="null")
    page.mouse.move(0, 0)
    forgetting = page.context.new_cdp_session(page)
    forgetting.send("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "all"})
    forgetting.send("Network.clearBrowserCache")
    forgetting.detach()
    problems: list[str] = []
    page.goto(f"{address}/static/icon.svg")  # what is of the window alone can only be forgotten there
    page.evaluate("sessionStorage.clear()")
    listeners = {
        "pageerror": lambda error: problems.append(str(error)),
        "console": lambda message: problems.append(message.text) if message.type == "error" else None,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(address)
    page.wait_for_selector(".welcome")
    yield page
    page.goto("about:blank")
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    # The browser itself logs each failed request, which the page has shown to its reader.
    assert [problem for problem in problems if "Failed to load resource" not in problem] == []


def ask(page: Any, question: str = "How many teeth has a widget?") -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def answered(page: Any) -> None:
    page.wait_for_selector(".last .sources")


def test_a_question_is_answered_and_a_citation_opens_the_passage_with_its_quote(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer("Every widget has ", "exactly four teeth [1]."))
    ask(page)
    answered(page)
    page.click("button.citation")
    page.wait_for_selector("#passage mark")
    assert page.inner_text("#passage mark") == "Every widget has exactly four teeth."
    page.keyboard.press("Escape")
    assert page.is_hidden("#passage")
    assert page.evaluate("document.activeElement.className") == "citation"


def test_a_first_visitor_is_offered_questions_that_the_book_answers(page: Any, endpoint: Endpoint) -> None:
    for _ in range(100):  # the server tries them after its start
        if page.locator(".suggestion").count():
            break
        page.wait_for_timeout(200)
        page.reload()
    endpoint.script.append(answer("Mount a widget with the steel bracket, then tighten its two screws to 5 Nm [1]."))
    page.locator(".suggestion", has_text=re.compile("mount", re.IGNORECASE)).click()
    answered(page)


def test_a_reload_keeps_the_answer_with_its_sources(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(GOOD))
    ask(page)
    answered(page)
    page.reload()
    answered(page)
    assert "four teeth" in page.inner_text(".last .body")
    page.click(".last .sources button")
    page.wait_for_selector("#passage mark")


def test_a_sentence_that_could_not_be_confirmed_has_a_mark_with_its_reason(page: Any, endpoint: Endpoint) -> None:
    # The judge is the same model; here it does not answer in the closed form, so the mark stays.
    endpoint.script += [answer(f"{GOOD} No widget turns a shaft [1]."), *[answer("?") for _ in range(3)]]
    ask(page)
    answered(page)
    assert page.inner_text(".last .notice .sign") == "?"
    assert "[?]" not in page.inner_text(".last .notice")
    page.hover("button.mark")
    page.wait_for_selector(".mark .hint", state="visible")
    assert len(page.inner_text(".mark .hint")) > 20
    endpoint.script.clear()


def test_an_answer_can_be_stopped_and_asked_again(page: Any, endpoint: Endpoint) -> None:
    held = answer(GOOD + " Mount a widget", finish=None)
    endpoint.script.append(type(held)(**{**held.__dict__, "hang": True}))
    ask(page)
    page.wait_for_selector("#send.stop")
    page.wait_for_selector(".last .body p")
    page.click("#send")
    page.wait_for_selector("text=Stopped. Only the question is stored")
    endpoint.script.append(answer(GOOD))
    page.click(".last .action >> text=Ask again")
    answered(page)


def test_a_failure_is_told_and_the_conversation_goes_on(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(refuses(401, "no such key"))
    ask(page)
    page.wait_for_selector("[role=alert]")
    assert "Authentication failed" in page.inner_text("[role=alert]")
    endpoint.script.append(answer(GOOD))
    page.click(".last .action >> text=Ask again")
    answered(page)
    assert page.locator("[role=alert]").count() == 0


def test_a_wrong_key_is_told_and_another_one_opens_the_page(page: Any) -> None:
    page.route("**/api/books", lambda route: route.fulfill(status=401, json={"error": {"message": "No such key."}}))
    page.reload()
    page.wait_for_selector("#key-dialog >> text=This server needs a key.")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#key-dialog >> text=The server does not accept this key.")
    page.unroute_all()
    page.keyboard.type("right")
    page.keyboard.press("Enter")
    page.wait_for_selector(".welcome")
    assert page.is_hidden("#key-dialog")


def test_a_turn_can_be_taken_back_and_a_conversation_deleted(page: Any, endpoint: Endpoint) -> None:
    endpoint.script += [answer(GOOD), answer(GOOD)]
    ask(page, "How many teeth has one?")
    answered(page)
    page.click(".last .action >> text=Take back")
    page.wait_for_selector(".welcome")
    assert page.input_value("#question") == "How many teeth has one?"
    page.keyboard.press("Enter")
    answered(page)
    row = page.locator("#thread-list li", has=page.locator("[aria-current]"))
    row.hover()
    row.locator("button[title=Delete]").click()
    page.wait_for_selector(".welcome")


def test_a_refused_question_goes_back_into_the_box_and_no_stored_turn_is_touched(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(GOOD))
    ask(page, "How many teeth has one widget?")
    answered(page)
    long = "teeth " * 1000
    ask(page, long)
    page.wait_for_selector("#state.problem >> text=at most 2,000 are allowed")
    assert page.input_value("#question") == long
    assert page.locator("article h2").all_inner_texts() == ["How many teeth has one widget?"]
    page.reload()
    answered(page)


@pytest.mark.parametrize("name", ["Take back", "Ask again"])
def test_the_buttons_of_a_turn_leave_what_another_window_has_asked(page: Any, endpoint: Endpoint, name: str) -> None:
    endpoint.script += [answer(GOOD), answer(GOOD)]
    ask(page, "How many teeth has this widget?")
    answered(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".last .sources")
    ask(other, "How many teeth has that widget?")
    other.wait_for_selector("article:nth-of-type(2) .sources")
    other.close()
    page.click(f".last .action >> text={name}")
    page.wait_for_selector("#state >> text=changed in another window")
    both = ["How many teeth has this widget?", "How many teeth has that widget?"]
    assert page.locator("article h2").all_inner_texts() == both
    assert page.locator("article .sources").count() == 2


def test_what_a_book_or_a_reader_writes_is_text(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(f"{GOOD}\n\n<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1))"))
    ask(page, "How many teeth has a widget <img src=x onerror=alert(1)>?")
    answered(page)
    assert page.locator("#talk img").count() == 0
    assert page.locator("#talk a[href^=javascript]").count() == 0
    assert "<img src=x" in page.inner_text(".last .asked")


def test_everything_can_be_done_by_the_keyboard(page: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(GOOD))
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type("How many teeth has a widget?")
    page.keyboard.press("Enter")
    answered(page)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "citation":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#passage mark")
    assert page.evaluate("document.activeElement.id") == "passage-title"


VIEWS: Final = [(width, scheme) for width in (1440, 820, 390) for scheme in ("light", "dark")]


def look(page: Any, address: str, width: int, scheme: str) -> None:
    """Load the page anew at this width and in these colours."""
    page.goto("about:blank")
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector(".welcome")


def serious(page: Any) -> list[str]:
    """The rules of access that the page breaks badly."""
    # Through the debugger, which the policy of the page does not bind.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")  # without a path to each element that passes
    return [rule["id"] for rule in found["violations"] if rule["impact"] in ("serious", "critical")]


def test_the_page_has_no_serious_fault_of_access_and_fits_its_width(
    page: Any, address: str, endpoint: Endpoint
) -> None:
    for width, scheme in VIEWS:
        look(page, address, width, scheme)
        endpoint.script[:] = [answer(f"{GOOD}\n\n- Every widget has exactly four teeth [1].\n")]
        ask(page)
        answered(page)
        page.click("button.citation >> nth=0")
        page.wait_for_selector("#passage mark")
        assert serious(page) == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, scheme


# --- several books ---------------------------------------------------------------------------------------------------

COPPER: Final = "Every kettle has a lid of copper [1]."


@pytest.fixture(scope="module")
def library(two_books: Path, endpoint: Endpoint) -> Iterator[str]:
    """The address of a server with two books."""
    variables = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": endpoint.address, "OPENAI_MODEL": "scripted"}
    with serving(two_books, variables) as found:
        yield found


@pytest.fixture
def shelf(window: Any, library: str, endpoint: Endpoint) -> Iterator[Any]:
    """The page of a server with two books, at its first visit."""
    endpoint.script.clear()
    yield from _visited(window, library)


def test_with_one_book_there_is_nothing_to_choose(page: Any) -> None:
    assert page.is_hidden("#book")
    assert page.inner_text("#only-book").startswith("book · ")


def test_a_chosen_book_answers_shows_its_passages_and_is_named_in_the_list(shelf: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(COPPER))
    shelf.select_option("#book", "kettles")
    assert "Kettles" in shelf.inner_text(".welcome")
    ask(shelf, "What is the lid of a kettle made of?")
    answered(shelf)
    shelf.click("button.citation")
    shelf.wait_for_selector("#passage mark")
    assert shelf.inner_text("#passage mark") == "Every kettle has a lid of copper."
    shelf.wait_for_selector("#thread-list [aria-current]")
    assert shelf.inner_text("#thread-list [aria-current] small") == "Kettles"


def test_another_book_begins_another_conversation_and_the_first_keeps_its_own(shelf: Any, endpoint: Endpoint) -> None:
    endpoint.script.append(answer(COPPER))
    shelf.select_option("#book", "kettles")
    ask(shelf, "What is the lid of a kettle made of, please?")
    answered(shelf)
    first = shelf.url
    shelf.select_option("#book", "book")
    shelf.wait_for_selector(".welcome")
    assert "A new conversation begins with the book" in shelf.inner_text("#state")
    endpoint.script.append(answer(GOOD))
    ask(shelf)
    answered(shelf)
    assert shelf.url != first
    shelf.click("#thread-list button.thread >> text=lid of a kettle made of, please")
    shelf.wait_for_selector(".last .sources")
    assert shelf.input_value("#book") == "kettles"
    shelf.click(".last .sources button")
    shelf.wait_for_selector("#passage mark")
    assert shelf.inner_text("#passage mark") == "Every kettle has a lid of copper."


def test_the_choice_of_a_book_fits_and_has_no_serious_fault_of_access(shelf: Any, library: str) -> None:
    for width, scheme in VIEWS:
        look(shelf, library, width, scheme)
        shelf.wait_for_selector("#book", state="visible")
        assert serious(shelf) == [], (width, scheme)
        assert shelf.evaluate("document.documentElement.scrollWidth") <= width, scheme


def test_no_request_leaves_the_server(browser: Any, address: str, endpoint: Endpoint) -> None:
    endpoint.script[:] = [answer(GOOD)]
    context = browser.new_context()
    page, hosts = context.new_page(), set()
    page.on("request", lambda request: hosts.add(re.match(r"\w+://[^/]+|\w+:", request.url)[0]))  # type: ignore[index]
    page.goto(address)
    page.wait_for_selector(".welcome")
    ask(page)
    answered(page)
    context.close()
    assert hosts == {address}
