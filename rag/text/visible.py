"""What a reader sees of a text, and the one form in which words are compared.

`visible` removes what nobody sees: escape sequences, control characters, zero-width and direction marks, hidden tags.
They can repaint a terminal, hide an instruction or disguise a line. Stored text is never changed, since citations count
its code points; it is cleaned on its way into a prompt or onto a screen.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Escape sequences (ECMA-48): CSI with its parameters, OSC such as a hyperlink, and two-byte sequences.
_SEQUENCE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]{0,2000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,8}[0-Z\\\\^-~]"
)
# An escape sequence that the end of the text cuts off.
OPEN_SEQUENCE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}$|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]{0,2000}\x1b?$|\x1b[ -/]{0,8}$"
)
# Control characters except tab and line feed; soft hyphen; direction marks, zero-width and invisible mathematical
# characters; interlinear anchors; lone surrogates; variation selectors and tags, which can spell out hidden text.
HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
# What JSON may hold as it is and a terminal must not get: the hidden characters, and the separators of lines.
UNPRINTABLE: Final = re.compile(f"{HIDDEN.pattern}|[\u2028\u2029]")
_LINE_BREAK: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BREAKS: Final = {ord("\n"): " ", ord("\t"): " "}
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def normal(text: str) -> str:
    """The form in which words are compared: NFKC, lower case, nothing hidden, plain quotes.

    >>> normal("The ﬁrst Mo\u00adtor’s")
    "the first motor's"
    """
    return unicodedata.normalize("NFKC", visible(text)).casefold().replace("’", "'")


def without_controls(text: str) -> str:
    """The text without escape sequences and control characters; tab and line breaks stay."""
    return _CONTROLS.sub("", _SEQUENCE.sub("", text))


def visible(text: str, instead: str = "") -> str:
    """The text as a reader sees it. A character `instead` replaces each hidden one, so that offsets stay right."""
    if text.isascii() and text.translate(_BREAKS).isprintable():  # as most text is; a tenth of the time of a search
        return text
    if not instead:
        text = _SEQUENCE.sub("", text)
    return HIDDEN.sub(instead, text)


def plain_lines(text: str) -> str:
    """The visible text, with every kind of line break as a line feed."""
    return visible(_LINE_BREAK.sub("\n", text))
