"""The chat on a real pseudo-terminal, as a person sees it. Few processes, many steps in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import QUESTION
from tests.homes import copied
from tests.terminal import CTRL_D, Terminal


@pytest.fixture
def home(tiny_book: Path, tmp_path: Path) -> Path:
    copied(tiny_book, tmp_path / "home")
    return tmp_path / "home"


def test_an_answer_has_no_empty_lines_and_one_line_for_each_source(home: Path) -> None:
    with Terminal(home=home, width=80) as chat:
        shown = chat.enter(QUESTION).split("\n")
        assert shown[-7:] == [
            "  widget mount --torque 5", "  [3]", "",
            "[1] Widgets  widgets.md", "[3] Widgets > Mounting a widget  widgets.md", "", "›",
        ]  # fmt: skip
        assert "Sources:" not in chat.text
        assert "\n\n\n" not in chat.text
        assert "“Every widget has exactly four teeth.”" in chat.enter("/sources").replace("\n    ", " ")
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert not chat.cursor_hidden
