"""Records a session of the real program on a pseudo-terminal as `docs/chat.svg`, the picture in the README.

python -m tests.recording
"""

from __future__ import annotations

import io
import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.terminal import CTRL_D, ROOT, Terminal

FILE: Final = ROOT / "docs" / "chat.svg"
QUESTIONS: Final = ("Does askbook work offline?", "And on Windows?", "Who won the world cup?")
_WIDTH: Final = 92
_COLOURS: Final = {"brown": "yellow", "brightblack": "bright_black", "brightblue": "bright_blue"}
# The fonts that rich would load from elsewhere.
_FONTS: Final = re.compile(r"@font-face \{\{.*?\n    \}\}\n?", re.S)


def recorded(home: Path) -> list[Text]:
    """The lines of a session in a new home, with their colours."""
    with Terminal(home=home, width=_WIDTH, height=60) as chat:
        chat.dim_as_colour = True
        chat.prompt()
        for question in QUESTIONS:
            chat.enter(question)
        shown = [*chat.screen.history.top, *(chat.screen.buffer[row] for row in range(chat.screen.lines))]
        lines = [_line([row[column] for column in range(_WIDTH)]) for row in shown]
        chat.type(CTRL_D)
        chat.end()
    while lines and lines[-1].plain in ("", "›"):
        lines.pop()
    return lines


def _line(characters: list[Any]) -> Text:
    """The characters of a row, those of one style in one piece."""
    line = Text()
    for style, run in groupby(characters, key=_style):
        line.append("".join(one.data for one in run), style)
    line.rstrip()
    return line


def _style(character: Any) -> Style:
    colour = _COLOURS.get(character.fg, character.fg)
    if re.fullmatch("[0-9a-f]{6}", colour):
        colour = f"#{colour}"
    return Style(color=None if colour == "default" else colour, bold=character.bold)


def write(file: Path = FILE) -> None:
    """Record a session and write it."""
    with tempfile.TemporaryDirectory() as folder:
        lines = recorded(Path(folder) / ".askbook")
    screen = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        screen.print(line, no_wrap=True)
    svg = screen.export_svg(title="askbook", code_format=_FONTS.sub("", CONSOLE_SVG_FORMAT), unique_id="chat")
    file.write_text("\n".join(line.rstrip() for line in svg.split("\n")), encoding="utf-8")


def text_of(file: Path = FILE) -> list[str]:
    """The lines of text in the picture, from top to bottom."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for element in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text"):
        if "clip-path" in element.attrib:  # not the title of the window
            rows.setdefault(float(element.attrib["y"]), []).append((float(element.attrib["x"]), element.text or ""))
    return ["".join(text for _, text in sorted(row)).replace("\xa0", " ").rstrip() for _, row in sorted(rows.items())]


if __name__ == "__main__":
    write()
