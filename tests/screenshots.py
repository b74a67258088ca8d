"""Pictures of the page's main states for the README, by Chromium from a server on askbook's own manual.

make screenshots
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.rooms import ROOT
from tests.serving import served

PICTURES: Final = ROOT / "tests" / "pictures"
QUESTION: Final = "Does askbook work offline?"
REFUSED: Final = "Who won the world cup?"
_DESKTOP: Final = {"width": 1280, "height": 800}
_PHONE: Final = {"width": 390, "height": 780}


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is not on this machine (Debian: apt-get install chromium).")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        _first_visit(browser, server.address)
        _answer(browser, server.address)
        _phone(browser, server.address)
        browser.close()


def _first_visit(browser: Any, address: str) -> None:
    page = _opened(browser, address, viewport=_DESKTOP)
    for _ in range(100):  # the server looks for questions after its start
        if page.locator(".suggestion").count():
            break
        page.wait_for_timeout(200)
        page.reload()
        page.wait_for_selector(".welcome")
    _take(page, "first-visit")


def _answer(browser: Any, address: str) -> None:
    page = _opened(browser, address, viewport=_DESKTOP)
    _ask(page, QUESTION)
    page.click("button.citation >> nth=0")
    page.wait_for_selector("#passage mark")
    _take(page, "answer")


def _phone(browser: Any, address: str) -> None:
    page = _opened(browser, address, viewport=_PHONE, device_scale_factor=2, color_scheme="dark")
    _ask(page, QUESTION)
    page.fill("#question", REFUSED)
    page.keyboard.press("Enter")
    page.wait_for_selector(".last .action >> text=Ask again")
    _take(page, "phone-dark")


def _opened(browser: Any, address: str, **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    page.goto(address)
    page.wait_for_selector(".welcome")
    return page


def _ask(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.wait_for_selector(".last .sources")


def _take(page: Any, name: str) -> None:
    """Save what the page shows as WebP, which is a quarter of the size of a PNG."""
    page.wait_for_timeout(300)  # transitions
    shot = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    file = PICTURES / f"{name}.webp"
    file.write_bytes(base64.b64decode(shot["data"]))
    sys.stdout.write(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main()
