"""Reads a prompt back: the passages and the question that `rag.prompt.passage_format` has written into it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rag.prompt.passage_format import _CONTROL, _LINE_START, _QUESTION, _TOKEN_START

_ESCAPED_CONTROL_LINE: Final = re.compile(rf"{_LINE_START}\\(?=\\*(?:{_CONTROL}))", re.MULTILINE | re.IGNORECASE)
_ESCAPED_CHAT_TOKEN: Final = re.compile(rf"([<\[])\\(?=\\*(?:{_TOKEN_START}|/?INST\]))")
_HEADER: Final = re.compile(r"\[(\d+)\] Source: (.*) \((\S*)\)")
_OPEN: Final = re.compile(r"^<<<passages (\w+)>>>$", re.MULTILINE)


class PromptPassage(NamedTuple):
    """A passage read from a prompt. `title` is the label in its header: the breadcrumb, or the title if it has none."""

    number: int
    title: str
    url: str
    text: str


def parse_passages(text: str) -> tuple[list[PromptPassage], str]:
    """The passages of the first block in `text`, and the text after the block; ([], text) if there is no block."""
    opening = _OPEN.search(text)
    if opening is None:
        return [], text
    body, _, rest = text[opening.end() :].partition(f"\n<<<end {opening[1]}>>>")
    blocks: list[tuple[re.Match[str], list[str]]] = []
    for line in body.split("\n")[1:]:
        if header := _HEADER.fullmatch(line):
            blocks.append((header, []))
        elif blocks:
            blocks[-1][1].append(line)
    return [_passage(header, lines) for header, lines in blocks], rest


def parse_prompt(text: str) -> tuple[list[PromptPassage], str]:
    """The passages and the question of a turn's last human message.

    Text in another format has no passages; its question is what follows "Question: ", or else the whole text.
    """
    passages, rest = parse_passages(text)
    _, found, question = rest.partition(_QUESTION)
    return passages, (question if found else rest).strip()


def _passage(header: re.Match[str], lines: list[str]) -> PromptPassage:
    # The writer ends every text with a line break, which split() turns into an empty last line.
    text = "\n".join(lines[:-1] if lines and not lines[-1] else lines)
    return PromptPassage(int(header[1]), header[2], header[3], _as_written(text))


def _as_written(text: str) -> str:
    """Undo the escapes of `as_data`."""
    return _ESCAPED_CONTROL_LINE.sub(r"\1", _ESCAPED_CHAT_TOKEN.sub(r"\1", text))
