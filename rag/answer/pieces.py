"""A model's text as it arrives: visible characters only, cut into sentences, lines and whole code blocks."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rag.text.sentences import ends_sentence
from rag.text.visible import OPEN_SEQUENCE, is_plain, visible

# A tag, or its beginning at the end of what has arrived.
_BEGIN: Final = re.compile("<think(?:ing)?>|<" + "".join(f"(?:{c}" for c in "thinking") + ")?" * 8 + r"\Z")
_END: Final = re.compile(r"</think(?:ing)?>")
_LONGEST_END: Final = len("</thinking>")
_FENCES: Final = ("```", "~~~")
_HEAD: Final = 40  # code points of a line in which a fence stands
_MAY_END: Final = ".!?…。！？:)]】*_\"'”’"  # what a sentence may end with, marker and quotes included
_LINE_BREAK: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL: Final = re.compile("[\x1b\x9b\x9d]")


class Raw:
    """Takes tokens, gives visible text. Drops the `<think>...</think>` of a reasoning model.

    A thought begins where a sentence may begin: at the start, on a new line, or after the end of a sentence. A tag
    within a sentence or in code belongs to the answer. A thought that never ends takes the rest of the answer with it.
    """

    def __init__(self) -> None:
        self._sequence = ""  # an unfinished escape sequence
        self._held = ""  # a possible beginning of a tag
        self._line = self._last = ""  # the beginning and the last visible character of the unfinished line
        self._ticks = 0  # the backticks of the unfinished line
        self._thinks = self._in_code = False

    def feed(self, text: str) -> str:
        """Take the next tokens; return the text that they complete."""
        text, self._sequence = self._sequence + text, ""
        if is_plain(text):
            return self._answer(text)
        if _CONTROL.search(text) and (unfinished := OPEN_SEQUENCE.search(text)):
            text, self._sequence = text[: unfinished.start()], text[unfinished.start() :]
        return self._answer(visible(_LINE_BREAK.sub("\n", text)))

    def close(self) -> str:
        """The text that was held back, unless it is a thought."""
        rest = self._answer(visible(self._sequence))
        return rest + ("" if self._thinks else self._held)

    def _answer(self, text: str) -> str:
        """The text without thoughts."""
        text, self._held = self._held + text, ""
        shown = ""
        while text:
            if self._thinks:
                end = _END.search(text)
                if end is None:
                    self._held = text[-_LONGEST_END:]
                    break
                self._thinks, text = False, text[end.end() :]
                continue
            tag = _BEGIN.search(text)
            shown += self._pass(text[: tag.start()] if tag else text)
            if tag is None:
                break
            text = text[tag.end() :]
            if not self._may_think():
                shown += self._pass(tag[0])
            elif tag[0].endswith(">"):
                self._thinks = True
            else:
                self._held = tag[0]
        return shown

    def _pass(self, text: str) -> str:
        """Note where the answer stands after this text."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._in_code ^= self._line.lstrip(" \t").startswith(_FENCES)
                self._line, self._last, self._ticks = "", "", 0
            if len(self._line) < _HEAD:
                self._line += part[:_HEAD]
            self._last = part.rstrip(" \t")[-1:] or self._last
            self._ticks += part.count("`")
        return text

    def _may_think(self) -> bool:
        """Whether a sentence may begin here, outside code."""
        return not self._in_code and self._ticks % 2 == 0 and (not self._last or self._last in _MAY_END)


LONGEST: Final = 10_000  # code points of a piece; a longer one is cut and is no sentence

# Where inline code begins or ends, and where a piece may end: white space after a sentence or line, full stops that no
# white space follows (Chinese, Japanese), and a marker with a letter right behind it or behind its full stop. The
# leading character class lets the engine skip everything else.
_EVENT: Final = re.compile(
    r"[` \t\n。！？.!?…\]】](?:(?<=`)(?<!``)`*+(?=[^`])"
    r"|(?<=[.!?…\"'”’)\]】*_>][ \t])[ \t]*+(?=\S)"
    r"|(?<=[ \t])(?<![ \t\n][ \t])[ \t]*+\n\s*+(?=\S)|(?<=\n)(?<![ \t\n]\n)\s*+(?=\S)"
    r"|(?<=[。！？])(?<![。！？][。！？])[。！？]*+[」』”’）]*+(?=\S)"
    r"|(?<=[\]】][.!?…])(?=[^\s\d])|(?<=[\]】])(?=[^\W\d_]))"
)
_OPENING: Final = re.compile(r"(`{3,}|~{3,})(.*)")
_CLOSING: Final = re.compile(r"\n[ \t]*+(`{3,}|~{3,})(?=[ \t]*+\n|[ \t]++[\[【])")  # a marker may stand behind it
_SPACE: Final = re.compile(r"\s++(?=\S)")
_MARKER: Final = r"(?:\[\[?[^\[\]\n]{0,20}\d[\d\s,;/‐‑‒–—―−~-]{0,100}+(?:†[^\[\]\n]{0,80})?\]\]?|【[^【】\n]{1,120}】)"
_MARKERS: Final = re.compile(rf"(?:{_MARKER}(?!:)[ \t]*+){{1,20}}")  # with a colon it begins a footnote
_MARKER_BEHIND: Final = re.compile(rf"\s*{_MARKER}$")
_LOOK: Final = 140  # code points in which a marker ends, if it is one
_AFTER_SENTENCE: Final = "\"'”’)]】*_>"
_BEFORE_SENTENCE: Final = "*_\"'“‘«([`"
_STOPS: Final = ".!?…"


class TextPiece(NamedTuple):
    """`text` with the white space that follows it; `code` marks a fenced block, which is left unchanged.

    `whole` is false when the piece was too long and the next one continues it.
    """

    text: str
    code: bool = False
    whole: bool = True


class PieceCutter:
    """Takes tokens, gives pieces. Nothing is lost: the joined pieces are the joined tokens.

    >>> PieceCutter().feed("A node runs. It is a pro")
    [TextPiece(text='A node runs. ', code=False, whole=True)]
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._scanned = 0
        self._at_line_start = True
        self._judged = False  # whether the start of the line was looked at
        self._fence = ""
        self._ticks = ""  # the backticks of unfinished inline code

    def feed(self, text: str) -> list[TextPiece]:
        """Take the next tokens; return the pieces that they finish."""
        self._buffer += text
        found: list[TextPiece] = []
        begin = 0
        while (end := self._end(begin)) is not None:
            piece = TextPiece(
                self._buffer[begin:end], bool(self._fence), whole=end - begin != LONGEST or bool(self._fence)
            )
            found.append(piece)
            if not piece.text.isspace():
                self._at_line_start = piece.code or "\n" in piece.text[len(piece.text.rstrip()) :]
            self._fence = self._ticks = ""
            self._judged = False
            self._scanned = begin = end
        self._buffer = self._buffer[begin:]
        self._scanned -= begin
        return found

    def close(self) -> TextPiece:
        """What is left; its text may be empty."""
        last, self._buffer = self._buffer, ""
        return TextPiece(last, bool(self._fence) or (self._at_line_start and _opens_fence(last) != ""))

    def _end(self, begin: int) -> int | None:
        """Where the piece that starts at `begin` ends; None while that is not known."""
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
        for event in _EVENT.finditer(self._buffer, self._scanned, begin + LONGEST + _LOOK):
            if event.end() >= begin + LONGEST:
                return begin + LONGEST
            if event[0][0] == "`":
                self._ticks = "" if self._ticks == event[0] else self._ticks or event[0]
            else:
                cut = self._may_cut(begin, event)
                if cut is None:  # depends on text that has not arrived; look again from here
                    self._scanned = event.start()
                    return None
                if cut:
                    return event.end()
            self._scanned = event.end()
        if len(self._buffer) - begin >= LONGEST + _LOOK:
            return begin + LONGEST
        # Only an unfinished run at the end is scanned again.
        self._scanned = max(self._scanned, len(self._buffer.rstrip().rstrip("`。！？」』”’）.!?…]】")))
        return None

    def _may_cut(self, begin: int, event: re.Match[str]) -> bool | None:
        """Whether a piece ends with this event; None while that depends on text that has not arrived."""
        space, after = event[0] if event[0].isspace() else "", event.end()
        marked = _marker_follows(self._buffer, after, own_line="\n" in space)
        if marked is not False:
            return None if marked is None else False
        if "\n" not in space and (row := self._in_row(begin)) is not False:
            return None if row is None else False
        if event[0][-1] in f"{_STOPS}]】":
            return not self._ticks and _ends_at_marker(self._buffer, begin, after)
        if "\n" in space or event.start() == begin:
            return True
        return False if self._ticks else _ends_sentence(self._buffer, begin, event.start() if space else after, after)

    def _in_row(self, begin: int) -> bool | None:
        """Whether the piece is a row of a table, whose cells may hold sentences; None while its line has not ended."""
        if not self._at_line_start or self._buffer[begin] != "|":
            return False
        line_end = self._buffer.find("\n", begin, begin + LONGEST)
        if line_end < 0:
            return None if len(self._buffer) - begin < LONGEST else False
        return self._buffer[begin:line_end].rstrip().endswith("|")


def _marker_follows(text: str, at: int, *, own_line: bool) -> bool | None:
    """Whether markers stand at `at`. On a new line they count only when nothing else is on it."""
    if text[at] not in "[【":
        return False
    found = _MARKERS.match(text, at)
    if len(text) - (found.end() if found else at) < _LOOK and (
        found is None or text[found.end() :][:1] in ("", "[", "【")
    ):
        closed = found is None and re.match(r"[\[【]{1,2}[^\]】\n]*[\]】\n]", text[at:])
        return False if closed else None
    if found is None:
        return False
    return not own_line or text[found.end()] == "\n"


def _opens_fence(line: str) -> str:
    """The fence that the line opens, or nothing. No backtick may follow a fence of backticks (CommonMark 4.5)."""
    opening = _OPENING.match(line)
    return opening[1] if opening and not (line[0] == "`" and "`" in opening[2]) else ""


def _ends_at_marker(text: str, begin: int, end: int) -> bool | None:
    """Whether a sentence ends at `end` without white space, as in "It runs [1].The other" and "It runs.[1]The other".

    A capital must follow: "rows[0].name" is code.
    """
    tail = text[end : end + 40]
    follower = tail.lstrip(_BEFORE_SENTENCE)[:1]
    if not follower:
        return None if len(tail) < 40 else False
    if not follower.isalpha() or follower.islower():
        return False
    if text[end - 1] not in _STOPS:
        return _ends_sentence(text, begin, end, end)
    marker = _MARKER_BEHIND.search(text, max(begin, end - _LOOK), end - 1)
    return marker is not None and marker.start() > begin


def _ends_sentence(text: str, begin: int, end: int, after: int) -> bool | None:
    """Whether a sentence ends at `end`, its markers and quotes included; `after` is where the next may begin."""
    while text[end - 1] in "]】" and (marker := _MARKER_BEHIND.search(text, max(begin, end - _LOOK), end)):
        end = marker.start()
    while end > begin and text[end - 1] in _AFTER_SENTENCE:
        end -= 1
    if end == begin or text[end - 1] not in ".!?…。！？":
        return False
    if text[end - 1] in "。！？":
        return True
    tail = text[after : after + 40]
    follower = tail.lstrip(_BEFORE_SENTENCE)[:1]
    if not follower:
        return None if len(tail) < 40 else True
    # A small letter may begin a sentence too. Joined to the one before, it would be checked together with it.
    return ends_sentence(text, begin, end, "`" if tail[0] == "`" or follower.islower() else follower)
