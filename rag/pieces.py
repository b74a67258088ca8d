"""A model's text cut into pieces while it arrives: sentences, lines, whole blocks of code.

Where a cut falls depends on the text alone and never on how it was split into tokens, so an answer that is streamed
and one that comes at once are cut the same. A piece is given out when nothing that may still come can belong to it:
a marker after a full stop does, and so does the rest of inline code. Every character is looked at a bounded number of
times, however long a line is.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_EVENT: Final = re.compile(r"(?P<ticks>`++(?=[^`]))|(?<!\s)(?P<space>\s++)(?=\S)")
_OPENING: Final = re.compile(r"(`{3,}|~{3,})(.*)")
_CLOSING: Final = re.compile(r"\n[ \t]*+(`{3,}|~{3,})[ \t]*+(?=\n)")
_SPACE: Final = re.compile(r"\s++(?=\S)")
_MARKER_BEHIND: Final = re.compile(r"\s*[\[【][\s\d,;–-]{1,100}[\]】]$")
_AFTER_SENTENCE: Final = "\"'”’)]】*_"


class Piece(NamedTuple):
    """`text` with the white space that follows it; `code` says that it is a fenced block, to be left as it stands."""

    text: str
    code: bool = False


class PieceCutter:
    """Takes tokens, gives pieces; joined, the pieces are the tokens joined."""

    def __init__(self) -> None:
        self._buffer = ""
        self._scanned = 0
        self._at_line_start = True
        self._judged = False  # whether it is known what stands at the line's start
        self._fence = ""
        self._ticks = ""  # the backticks of inline code that has not ended yet

    def feed(self, text: str) -> list[Piece]:
        """Take the next tokens; return the pieces that they finish."""
        self._buffer += text
        found: list[Piece] = []
        begin = 0
        while (end := self._end(begin)) is not None:
            piece = Piece(self._buffer[begin:end], bool(self._fence))
            found.append(piece)
            if not piece.text.isspace():
                self._at_line_start = piece.code or "\n" in piece.text[len(piece.text.rstrip()) :]
            self._fence = self._ticks = ""
            self._judged = False
            self._scanned = begin = end
        self._buffer = self._buffer[begin:]
        self._scanned -= begin
        return found

    def close(self) -> Piece:
        """What is left; its text may be empty."""
        last, self._buffer = self._buffer, ""
        return Piece(last, bool(self._fence) or (self._at_line_start and _opens_fence(last) != ""))

    def _end(self, begin: int) -> int | None:
        """Where the piece that starts at `begin` ends, None where that is not known yet."""
        if self._at_line_start and not self._judged:
            head, line_end = self._buffer[begin : begin + 3], self._buffer.find("\n", begin)
            if head in ("", "`", "``", "~", "~~") or (head in ("```", "~~~") and line_end < 0):
                return None
            self._judged = True
            self._fence = _opens_fence(self._buffer[begin : max(line_end, begin)])
            self._scanned = line_end if self._fence else begin
        return self._fenced_end() if self._fence else self._text_end(begin)

    def _fenced_end(self) -> int | None:
        for closing in _CLOSING.finditer(self._buffer, self._scanned):
            if closing[1].startswith(self._fence):
                space = _SPACE.match(self._buffer, closing.end())
                self._scanned = closing.start()
                return space.end() if space else None
        self._scanned = max(self._scanned, self._buffer.rfind("\n"))
        return None

    def _text_end(self, begin: int) -> int | None:
        for event in _EVENT.finditer(self._buffer, self._scanned):
            self._scanned = event.end()
            if ticks := event["ticks"]:
                self._ticks = "" if self._ticks == ticks else self._ticks or ticks
            elif self._buffer[event.end()] not in "[【" and self._may_cut(begin, event):
                return event.end()
        # An unfinished run of white space or backticks at the end is looked at again, what is before it is not.
        self._scanned = max(self._scanned, len(self._buffer.rstrip().rstrip("`")))
        return None

    def _may_cut(self, begin: int, event: re.Match[str]) -> bool:
        start, space = event.span("space")[0], event["space"]
        if "\n" in space or start == begin:
            return True
        return not self._ticks and not space.strip(" \t") and _ends_sentence(self._buffer, begin, start)


def _opens_fence(line: str) -> str:
    """The fence that the line opens, or nothing: a fence of backticks has none behind it (CommonMark 4.5)."""
    opening = _OPENING.match(line)
    return opening[1] if opening and not (line[0] == "`" and "`" in opening[2]) else ""


def _ends_sentence(text: str, begin: int, end: int) -> bool:
    """Whether a sentence ends at `end`, its markers and closing quotes included."""
    while text[end - 1] in "]】" and (marker := _MARKER_BEHIND.search(text, max(begin, end - 110), end)):
        end = marker.start()
    while end > begin and text[end - 1] in _AFTER_SENTENCE:
        end -= 1
    return end > begin and text[end - 1] in ".!?…"
