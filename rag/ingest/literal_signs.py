"""Signs of Markdown that an author wrote as text, such as the stars of `void **code` and the `#` of `# apt update`.

They are marked while HTML becomes Markdown. Then each block is parsed, and what would read as markup gets a backslash.
"""

from __future__ import annotations

import re
from typing import Final

from rag.ingest.page import markdown_parser

LONGEST: Final = 20_000  # characters of a block that is parsed
MOST: Final = 500  # marks of one
_SIGNS: Final = "*_`[]#>"
_MARKS: Final = (
    "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6"  # stand for the signs; Unicode keeps them for use inside a program
)
# The signs that are tried together without a backslash, in order.
_TRIED: Final = (_MARKS, *_MARKS[:3], _MARKS[3:5], _MARKS[4], _MARKS[3], *_MARKS[5:])
_MARKED: Final = str.maketrans(_SIGNS, _MARKS)
_READ: Final = str.maketrans(_MARKS, _SIGNS)
# Not the signs that CommonMark never reads as markup: in snake_case, with space around, after a backslash.
_SIGN: Final = re.compile(
    r"(?<!\\)(?:(?<!\w)_++|_++(?!\w)|(?<![\s*])\*++|\*++(?!\s)|`++|[\[\]]|^[ \t]*+(?:#(?=#{0,5}(?:\s|$))|>))",
    re.MULTILINE,
)
_MARK: Final = re.compile(f"[{_MARKS}]")
# A pattern of paths such as `/usr/include/*/*.h`, or signs in quotation marks such as ".*", which are easier to read as
# code than with backslashes.
_PATTERN: Final = re.compile(
    rf"(?<=[\"“])[^\w\s\"“”`{_MARKS[2]}]{{0,5}}{_MARKS[0]}[^\w\s\"“”`{_MARKS[2]}]{{0,5}}(?=[\"”])|"
    rf"(?<![^\s(])(?=[^\s{_MARKS[0]}]*{_MARKS[0]})(?=[^\s/]*/)[\w./~{_MARKS[0]}{_MARKS[1]}-]*[\w{_MARKS[0]}](?=[.,;:)]?(?:\s|\Z))"
)
_BLOCK_END: Final = re.compile(r"(\n{2,}|\n(?=[ >]*(?:[-|]|\d+\.) ))")
_NUMBER_SIGN: Final = re.compile(r"(?<![\\{\[])\\#(?=\w)|(?<=\[)\\#(?=\d{1,9}\]\()")
_ELSEWHERE_MARKUP: Final = re.compile(r"\$|\\[(`]|\\\[(?=[\s\d^#!x])|\A\s*\\\[.*\\\]\s*\Z", re.DOTALL)
_BULLET: Final = re.compile(rf"^([ >]*(?:(?:-|\d+\.) +)*){_MARKS[0]}(?=\s)", re.MULTILINE)
# Code, or an escaped sign; in snake_case it needs no backslash.
_ESCAPED: Final = re.compile(
    r"(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)|`[^`\n]*`|(?P<inside>(?<=[^\W_])(?:\\_)+(?=[^\W_]))|\\(?P<sign>[*_`\[\]])|\\\\",
    re.DOTALL,
)


def marked(text: str) -> str:
    """The text of an element with marks in place of its signs."""
    return _SIGN.sub(lambda signs: signs[0].translate(_MARKED), _MARK.sub("", text))


def less_escaped(markdown: str) -> str:
    """Markdown in which every sign of the text is escaped, with the backslashes that it needs."""

    def sign(found: re.Match[str]) -> str:
        if found["inside"]:
            return found[0].replace("\\", "")
        return found["sign"].translate(_MARKED) if found["sign"] else found[0]

    return unmarked(_ESCAPED.sub(sign, _MARK.sub("", markdown)))


def plainer(markdown: str) -> str:
    """Markdown that its author wrote, without the backslashes that it does not need. Its code is masked.

    Blocks with formulas, and with brackets that would look like a citation or a box to tick, stay as they are.
    """
    if "\\" not in markdown:
        return markdown
    blocks = _BLOCK_END.split(markdown)
    return "".join(
        block if "\\" not in block or _ELSEWHERE_MARKUP.search(block) else less_escaped(_NUMBER_SIGN.sub("#", block))
        for block in blocks
    )


def unmarked(text: str) -> str:
    """The Markdown with the signs that were marked, escaped in the blocks where they would be read as markup."""
    if not _MARK.search(text):
        return text
    blocks = _BLOCK_END.split(_BULLET.sub(r"\1*", text))
    return "".join(_unmarked(block) if _MARK.search(block) else block for block in blocks)


def _unmarked(block: str) -> str:
    """One block; a sign is escaped only where the block reads otherwise without."""
    if len(block) > LONGEST or len(_MARK.findall(block)) > MOST:
        return _escaped(block)
    wanted = _shown(_escaped(block))
    for marks in _TRIED:
        plain = re.sub(f"[{marks}]", lambda mark: mark[0].translate(_READ), block)
        if plain != block and _shown(_escaped(plain)) == wanted:
            block = plain
    return _escaped(_PATTERN.sub(lambda found: f"`{found[0].translate(_READ)}`", block))


def _escaped(block: str) -> str:
    return _MARK.sub(lambda mark: f"\\{mark[0].translate(_READ)}", block)


def _shown(block: str) -> str:
    return str(markdown_parser().render(block.strip()))
