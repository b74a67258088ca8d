"""The screens of the chat at three widths, compared with those in `tests/screens`.

To rewrite them after a change that is meant, run `SCREENS=write pytest tests/test_screens.py` and look at them.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import index_book
from tests.terminal import CTRL_D, ROOT, Terminal, words_broken

SCREENS = ROOT / "tests" / "screens"
PAGES = {
    "index.md": """# The Widget Handbook

The widget handbook describes how widgets are built, repaired and counted.

## How many teeth does a widget have?

A widget has exactly four teeth. Each tooth is ground from hard steel, as the [drawing](https://widgets.example/d) says.
""",
    "repair.md": """# Repairing a widget

## How to replace a broken tooth

Loosen both screws, then run the tool for teeth with the number of the tooth:

```bash
widget-tool teeth --replace 3 --torque 5 --lubricant graphite --verify-each-tooth-afterwards
```

The torque depends on the screw:

| screw | torque | lubricant |
| --- | --- | --- |
| M4 | 3 Nm | none |
| M5 | 5 Nm | graphite |

## 齿轮的维护

每个齿轮每月清洗一次。 A gear is cleaned with warm water once a month.

## תחזוקה

יש לנקות את הגלגל. The wheel is cleaned once a year.
""",
}
# What differs from run to run.
CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "00000000-0000-4000-8000-000000000000"),
    (re.compile(r"\b20\d\d-\d\d-\d\d(?: \d\d:\d\d)?"), lambda found: "2026-01-01 00:00"[: len(found[0])]),
    (re.compile(r"(?<=^time      )[^\n]*(?:\n {10}[^\n]*)*", re.M), "9 ms"),
    (re.compile(r"\b\d\.\d\d\b"), "0.00"),
)
STEPS = (
    "How many teeth does a widget have?",
    "/sources",
    "/show",
    "/show 9",
    "/why",
    "And how do I replace one?",
    "齿轮的维护",
    "תחזוקה",
    "Who won the 1998 world cup?",
    "hello",
    "/sources",
    "/retry",
    "/undo",
    "/threads",
    "/book",
    "/book notes",
    "/why",
    "/model",
    "/model gpt",
    "/profile",
    "/export",
    "/resume",
    "/nonsense",
    "/help",
)


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small book in it that was never asked anything."""
    folder = tmp_path_factory.mktemp("screens")
    source = folder / "handbook"
    source.mkdir()
    for name, text in PAGES.items():
        (source / name).write_text(text, encoding="utf-8")
    home, site = folder / "home", "https://widgets.example/docs"
    asyncio.run(index_book(source, home, site))
    notes = folder / "notes"
    notes.mkdir()
    (notes / "notes.md").write_text("# Notes on gears\n\nA gear has twelve teeth.\n", encoding="utf-8")
    asyncio.run(index_book(notes, home, collection="notes"))
    return home


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_main_paths_look_as_they_should(handbook: Path, tmp_path: Path, width: int) -> None:
    shutil.copytree(handbook, tmp_path / ".askbook")
    with Terminal(home=tmp_path / ".askbook", width=width, height=50) as chat:
        screens = [chat.prompt()]
        screens += [f"› {step}\n{chat.enter(step)}" for step in STEPS]
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert not chat.cursor_hidden
    shown = "\n".join(re.sub(r"\n› ?[^\n]*$", "\n", screen) for screen in screens)
    for changing, instead in CHANGING:
        shown = changing.sub(instead, shown)
    golden = SCREENS / f"chat-{width}.txt"
    if os.environ.get("SCREENS") == "write":
        golden.write_text(shown + "\n", encoding="utf-8")
    assert words_broken(screens, sorted(set(re.findall(r"[a-z]{6,}", _prose())))) == []
    assert max(map(_columns, shown.splitlines())) <= width
    assert shown + "\n" == golden.read_text(encoding="utf-8")


def _prose() -> str:
    """The words of the pages that are in no address. A terminal breaks an address that is wider than itself."""
    return " ".join(line for page in PAGES.values() for line in page.split("\n") if not line.startswith("#"))


def _columns(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)
