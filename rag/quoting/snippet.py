"""What is quoted of code: all of a short block; of a long one the commands or the statements that were asked for."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from rag.quoting.relevance import share
from rag.quoting.terms import Term, keys
from rag.types import OMISSION

PROGRAM_LINES: Final = 30  # quoted of a program
SESSION_LINES: Final = 14  # of a session that is quoted whole, and of commands that are quoted from a longer one
COMMAND_LINES: Final = 6  # of commands without prompts and output that are quoted whole
OUTPUT_LINES: Final = 7  # quoted of a command and its output, if a longer block is cut

_FENCE: Final = re.compile(r"([`~]+) *([\w#+.-]*)")
_SHELL: Final = re.compile(r"bash|sh|shell|zsh|fish|console|powershell|pwsh|shell-session|pwsh-session|terminal|bat")
_PROMPT: Final = re.compile(r"(?:\S{0,40}[\w\])~] ?)?[$%❯] \S|PS[^>\n]{0,40}> ?\S|[A-Z]:\\[^>\n]{0,60}> ?\S")
_REMARK: Final = re.compile(r"\s*(?:#|//|::|REM\b)|\s*$")


def snippet(text: str, wanted: Sequence[Term]) -> str:
    """A fenced block without its outer indent and the settings of its fence, such as a title; of a long one a part.

    What is left out is marked. Of commands the one that holds most of the terms is quoted with its output; a program is
    quoted from the top-level statement on whose lines hold most of the terms.
    """
    first, _, rest = text.partition("\n")
    body = textwrap.dedent(rest).split("\n")
    fence = _FENCE.match(first)
    close, language = (fence[1], fence[2]) if fence else ("```", "")
    if body[-1].strip() == close:
        body.pop()
    whole = list(body)
    prompts = any(_PROMPT.match(line) for line in body)
    if (prompts or _SHELL.fullmatch(language)) and len(body) > (SESSION_LINES if prompts else COMMAND_LINES):
        body = _session(body, wanted)
    elif len(body) > PROGRAM_LINES:
        body = _program(body, wanted)
    if body != whole:
        above = [OMISSION] if body[0] not in (whole[0], OMISSION) else []
        body = [*above, *body, *([OMISSION] if body[-1] not in (whole[-1], OMISSION) or body == whole[:1] else [])]
    return "\n".join([close + language, *body, close])


def _session(body: Sequence[str], wanted: Sequence[Term]) -> list[str]:
    """The commands that hold most of the terms, each with its output, as many as there is room for; else the first."""
    commands = _commands(body)
    shares = [share(wanted, keys("\n".join(command))) for command in commands]
    best = max(shares)
    chosen: list[str] = []
    skipped = False
    for command, held in zip(commands, shares, strict=True):
        part = command if len(command) <= OUTPUT_LINES else [*command[:OUTPUT_LINES], OMISSION]
        if held < best or (chosen and len(chosen) + len(part) > SESSION_LINES):
            skipped = True
            continue
        if chosen and skipped and chosen[-1] != OMISSION:
            chosen.append(OMISSION)
        chosen += part
        skipped = False
        if not best:
            break
    return chosen


def _commands(body: Sequence[str]) -> list[list[str]]:
    """The lines by command: its remarks, the command and its output. Without prompts a blank line ends a command."""
    found: list[list[str]] = [[]]
    prompts = any(_PROMPT.match(line) for line in body)
    for line in body:
        if prompts and _PROMPT.match(line):
            remarks = found[-1]
            cut = len(remarks)
            while cut and _REMARK.match(remarks[cut - 1]):
                cut -= 1
            found[-1], before = remarks[:cut], remarks[cut:]
            found.append([*before, line])
        elif not prompts and not line.strip():
            found.append([])
        else:
            found[-1].append(line)
    stripped = ("\n".join(command).strip("\n") for command in found)
    return [command.split("\n") for command in stripped if command]


def _program(body: Sequence[str], wanted: Sequence[Term]) -> list[str]:
    starts = [i for i, line in enumerate(body) if line[:1].strip() and not (i and body[i - 1].strip())]
    begin = max(starts or [0], key=lambda i: share(wanted, keys("\n".join(body[i : i + PROGRAM_LINES]))))
    part = list(body[begin : begin + PROGRAM_LINES])
    blanks = [i for i in range(5, len(part)) if not part[i].strip()]
    return part[: blanks[-1]] if blanks else part
