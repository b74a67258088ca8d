"""The one form that text is brought to where it is read: NFC, without characters that nobody sees."""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from typing import Final

from rag.ingest.data_values import unicode_text

# Soft hyphens, zero-width and direction marks, invisible operators and fillers, and tags, which can spell hidden text.
_UNSEEN: Final = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_JOINERS: Final = re.compile("(?<![^\x00-\u02ff])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u02ff])")
_ODD: Final = re.compile("[^\n\t\x20-\x7e\xa0-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e]")
_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP: Final = re.compile(r"[*_`\[\]|\\]")


def one_form(text: str) -> str:
    """The text in NFC with plain newlines, and U+FFFD for what cannot be stored.

    Joiners stay between letters of scripts that need them, and in emoji.

    >>> one_form("cafe\\u0301 co\\u00adop\\u200berate")
    'café cooperate'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not _ODD.search(text):
        return text
    return unicodedata.normalize("NFC", _JOINERS.sub("", _UNSEEN.sub("", unicode_text(text))))


def with_characters(markdown: str) -> str:
    """Markdown, whose code is masked, with the characters that its references name.

    >>> with_characters("a &amp; b, 2 &#42; 3, AT&T;")
    'a & b, 2 \\\\* 3, AT&T;'
    """
    if "&" not in markdown:
        return markdown

    def character(found: re.Match[str]) -> str:
        shown = unescape(found[0])
        return found[0] if shown == found[0] else _MARKUP.sub(r"\\\g<0>", one_form(" ".join(shown.split()) or " "))

    return _REFERENCE.sub(character, markdown)
