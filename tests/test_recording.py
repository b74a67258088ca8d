"""The picture in the README shows what the program does now, in what matters."""

from __future__ import annotations

import re
from pathlib import Path

from tests.command_line import CommandLine
from tests.manual import PAGES, ROOT
from tests.recording import FILE, QUESTIONS, text_of
from tests.terminal import flat

HINT = "Record it again with: make recording"


def test_the_readme_shows_the_picture() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({FILE.relative_to(ROOT).as_posix()})" in readme


def test_the_picture_loads_nothing_from_elsewhere() -> None:
    svg = FILE.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"'\s)<]+", svg)) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}
    assert "/home/" not in svg
    assert "/tmp/" not in svg


def test_the_picture_opens_as_the_chat_does(tmp_path: Path) -> None:
    shown = _without_numbers(flat(" ".join(text_of())))
    for line in CommandLine(tmp_path)(stdin="/quit\n", ASKBOOK_HOME=".askbook").err.splitlines():
        if not line.startswith("Indexing"):
            assert _without_numbers(flat(line)) in shown, HINT


def test_the_answers_in_the_picture_stand_in_the_manual() -> None:
    manual = _plain("\n".join(page.read_text(encoding="utf-8") for page in PAGES))
    asked = re.split(r"^› ", "\n".join(text_of()), flags=re.M)[1:]
    assert [turn.partition("\n")[0] for turn in asked] == list(QUESTIONS)
    for turn in asked[:-1]:
        answer = re.split(r"^\[\d+\] .*\.md$", turn.partition("\n")[2], maxsplit=1, flags=re.M)[0]
        sentences = re.findall(r"(?:^|(?<=\] )|(?<=• ))([A-Za-z][^\[\]•]{20,}?) ?\[\d+\]", flat(answer))
        assert len(sentences) >= 2
        for sentence in sentences:
            assert _plain(sentence) in manual, HINT
    assert "I don't have information about that in the book content" in asked[-1]


def _without_numbers(text: str) -> str:
    """The text without the size of the manual, which changes with every page."""
    return re.sub(r"[\d,]+ (?=pages|passages)", "", text)


def _plain(text: str) -> str:
    """The words alone: without marks of code and lists, white space made one space."""
    return flat(re.sub(r"`|^- ", "", text, flags=re.M))
