"""What the tests from outside share: a small book, a command line on it, and a scripted model over HTTP.

These tests know the product only as its users do. They may import the names that the manual documents, and otherwise
use `run.py`, HTTP and the packages of others; `test_imports.py` enforces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from rag.settings import Settings
from tests.command_line import ROOT, CommandLine
from tests.openai_server import OPENAI_KEY, Endpoint, openai_server

PAGES: Final = {
    "widgets.md": """# Widgets

A widget is a small part that turns a shaft. Every widget has exactly four teeth.

## Mounting a widget

Mount a widget with the steel bracket, then tighten its two screws to 5 Nm:

```bash
widget mount --torque 5
```
""",
    "gadgets.md": """# Gadgets

A gadget is a machine made of twelve widgets. Gadgets are painted blue at the factory in Lund.

## Cleaning a gadget

Clean a gadget with warm water once a month. Never use alcohol on the paint.
""",
}
TEETH: Final = "How many teeth does a widget have?"
FOUR_TEETH: Final = "Every widget has exactly four teeth [1]."
UNKNOWN: Final = "Who won the football world cup in 1998?"


# Every variable that `.env.example` lists, so that none of this machine reaches a test.
VARIABLES: Final = re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a book of two pages, four sections."""
    folder = tmp_path_factory.mktemp("pages")
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def book(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with that book in it, as `run.py ingest` makes it. Tests that write use a copy of it."""
    run = CommandLine(tmp_path_factory.mktemp("ingest"))
    done = run.process("ingest", str(pages))
    assert done.code == 0, done.err
    return run.home


@pytest.fixture
def run(tmp_path: Path, book: Path) -> CommandLine:
    """A command line in a fresh folder, whose home is a copy of `book`."""
    return CommandLine(tmp_path, book)


@pytest.fixture
def model() -> Iterator[Endpoint]:
    """A scripted endpoint of OpenAI's wire format: `model.script` holds its replies, `model.requests` what it got."""
    with openai_server() as opened:
        yield opened


@pytest.fixture
def keys(model: Endpoint) -> dict[str, str]:
    """The environment that names the endpoint: for a command, or for `settings_of`."""
    return {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": model.address, "ASKBOOK_JUDGE": "none"}


@pytest.fixture
def settings_of(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    """Settings from an environment with only the given variables, and a copy of the book as the home folder."""

    def settings(**environment: str) -> Settings:
        home = CommandLine(tmp_path / "agent", book).home
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in ({"ASKBOOK_HOME": str(home)} | environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)  # no `.env` of this checkout
        return Settings.from_env()

    return settings
