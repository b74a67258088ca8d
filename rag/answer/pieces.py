"""A model's text as it arrives: visible characters only, cut into sentences, lines, blocks of code and thoughts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from rag.text.english.phrases import UNFINISHED
from rag.text.markup import OPEN_SEQUENCE, is_plain, visible
from rag.text.sentences import ends_sentence, in_parentheses, is_plain_stop

LONGEST: Final = 10_000  # code points of a piece; a longer one is cut and is no sentence

# Where inline code begins or ends, and where a piece may end: white space after a sentence or line, full stops that no
# white space follows (Chinese, Japanese), a marker with a letter right after it or after its full stop, and a tag that
# breaks the line. The leading character class lets the engine skip everything else.
_EVENT: Final = re.compile(
    r"[` \t\n。！？.!?…\]】<](?:(?<=`)(?<!``)`*+(?=[^`])"
    r"|(?<=<)(?i:br|/?(?:li|[ou]l|p|div))(?:\s[^<>\n]{0,100})?/?>"
    r"|(?<=[.!?…\"'”’)\]】*_>⁰¹²³⁴-⁹⁾][ \t])[ \t]*+(?=\S)"
    r"|(?<=[ \t])(?<![ \t\n][ \t])[ \t]*+\n\s*+(?=\S)|(?<=\n)(?<![ \t\n]\n)\s*+(?=\S)"
    r"|(?<=[。！？])(?<![。！？][。！？])(?!(?<=[A-Za-z0-9]。)[A-Za-z])[。！？]*+[」』”’）]*+(?=\S)"
    r"|(?<=[\]】][.!?…])(?=[^\s\d])|(?<=[\]】])(?=[^\W\d_]))"
)
_OPEN_TAG: Final = re.compile(r"<[^<>\n]{0,110}\Z")
_LINE_BREAK: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL: Final = re.compile("[\x1b\x9b\x9d]")
# The fence of a block of code, in a quotation too. No backtick follows a fence of backticks (CommonMark 4.5).
OPENING: Final = re.compile(r"(?P<quoted>(?:>[ \t]*)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_THOUGHT: Final = re.compile(r"\s*<think(?:ing)?>")
_THOUGHT_ENDS: Final = re.compile(r"</think(?:ing)?>")
_REST: Final = re.compile(r"\s*+(?=\S)")
_MARKER: Final = (
    r"(?:\\?\[\[?[^\[\]\n]{0,20}\d[\d\s,;/‐‑‒–—―−~-]{0,100}+(?:†[^\[\]\n]{0,80})?\\?\]\]?|【[^【】\n]{1,120}】)"
)
# With a colon it begins a footnote; with a dash a range, [1]-[3].
_MARKERS: Final = re.compile(rf"(?:{_MARKER}(?!:)(?:[‐‑‒–—-](?=\[)|[ \t]*+)){{1,20}}")
# Markers before a sentence that begins a line, "[1] It runs.", perhaps behind the sign of an item.
_LEADING: Final = re.compile(
    rf"\s*(?P<sign>(?:[-*+•]|\d{{1,9}}[.)])[ \t]+)?(?:{_MARKER}[ \t]*){{1,20}}:?[ \t]*(?=[^\s.,;:!?)])"
)
_MARKER_BEHIND: Final = re.compile(rf"(?:(?<=\])[‐‑‒–—-]|\s*){_MARKER}$")
# A bold label with a full stop, "1. **Pump.**", which belongs to the sentence after it.
_LABEL: Final = re.compile(r"\s*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)?\*\*[^*\n\]]{1,60}\.\*\*[ \t]*")
_IS_LINE: Final = re.compile(
    r"\s*(?:#|\||>|\*\*[^*\n]*\*\*:?[ \t]*\n|[^\n`]{1,300} \| )"
)  # a heading, a row or a quotation ends with its line
_IS_WHOLE: Final = re.compile(
    r"[.!?…:;。！？：][\"'”’)\]】*_`⁰¹²³⁴-⁹]*\Z|\A\Z"
)  # a line that ends so goes on in no other one
_LETTERED: Final = re.compile(r"(?:[a-z]|[ivx]{2,5})[.)][ \t]")
_MAY_BE_LETTERED: Final = re.compile(r"(?:[a-z]|[ivx]{2,5})[.)]?")
_NUMBERED: Final = re.compile(r"\d{1,9}[.)](?:\s|\Z)")
_BEGINS_TEXT: Final = re.compile(r"[^\W\d_]|`(?!``)|[\"'“‘(]")  # no list, fence, heading, row or quotation
_QUOTATION: Final = re.compile(r"\s*(?:>[ \t]*)+")  # the signs before a line of a block quotation
_NUMBER_ENDS: Final = 12  # code points in which the number of an item ends
_LOOK: Final = 140  # code points in which a marker ends, if it is one
_NEXT: Final = 40  # code points in which the first letter of a sentence is
_AFTER_SENTENCE: Final = "\"'”’)]】*_>"
_RAISED_BEHIND: Final = re.compile(r"[⁽⁰¹²³⁴-⁹](?:[⁽⁾⁰¹²³⁴-⁹,’]{0,20}[⁾⁰¹²³⁴-⁹])?\Z")  # a footnote: "It runs.¹"
_BEFORE_SENTENCE: Final = "*_\"'“‘«([`"
_STOPS: Final = ".!?…"
_FENCES: Final = ("```", "~~~")
_LONGEST_OPEN: Final = 1000  # code points of a link or a citation in words

PieceKind = Literal["text", "code", "thought", "overlong"]


class TextPiece(NamedTuple):
    """`text` with the white space that follows it.

    "code" is a fenced block, "thought" what a model thinks aloud, "overlong" a part of what is too long for a piece.
    """

    text: str
    kind: PieceKind = "text"


class PieceSplitter:
    """Takes tokens, gives pieces. Nothing visible is lost: the joined pieces are the joined tokens.

    A thought, `<think>...</think>`, begins where a piece does; such a tag elsewhere is text. `is_open` says of a text
    whether it may end within a link or a citation in words, where no piece ends. A tag that breaks the line, such as
    `<br>`, becomes a line break, except in code, in a row, and where `is_the_book_s` says that it belongs to the text.

    >>> PieceSplitter().feed("A node runs. It is a pro")
    [TextPiece(text='A node runs. ', kind='text')]
    """

    def __init__(
        self, is_open: Callable[[str], bool] = lambda _: False, is_the_book_s: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._is_open = is_open
        self._is_the_book_s = is_the_book_s
        self._sequence = ""  # an unfinished escape sequence
        self._text = ""  # what is not cut yet
        self._seen = 0  # how far it was looked through
        self._kind: PieceKind | None = None  # of the first piece in it; None while that is not known
        self._closing = _THOUGHT_ENDS  # of a thought or a block of code
        self._ticks = ""  # the backticks of unfinished inline code
        self._at_line_start = self._at_block_start = True
        self._led = False  # whether markers stand before the sentences of this block: "[1] It runs. [2] It stops."

    def feed(self, text: str) -> list[TextPiece]:
        """Take the next tokens; return the pieces that they finish."""
        self._text += self._visible(text)
        found: list[TextPiece] = []
        while (end := self._end()) is not None:
            found.append(self._cut(end))
        return found

    def close(self) -> TextPiece:
        """What is left; its text may be empty."""
        self._text += visible(self._sequence)
        self._kind = self._kind or self._begins(ended=True)
        return self._cut(len(self._text))

    def _visible(self, text: str) -> str:
        text, self._sequence = self._sequence + text, ""
        if is_plain(text):
            return text
        if _CONTROL.search(text) and (unfinished := OPEN_SEQUENCE.search(text)):
            text, self._sequence = text[: unfinished.start()], text[unfinished.start() :]
        return visible(_LINE_BREAK.sub("\n", text))

    def _cut(self, end: int) -> TextPiece:
        kind = self._kind or "text"
        following: PieceKind | None = "overlong" if kind in ("text", "overlong") and end == LONGEST else None
        piece = TextPiece(self._text[:end], following or kind)
        breaks = piece.text[len(piece.text.rstrip()) :].count("\n")
        if piece.kind == "code":
            self._at_line_start = self._at_block_start = True
        elif kind != "thought" and piece.text.isspace():
            self._at_block_start |= breaks > 1
        elif kind != "thought":
            self._led = self._is_led()
            self._at_line_start, self._at_block_start = breaks > 0, breaks > 1
        self._text, self._seen, self._kind, self._ticks = self._text[end:], 0, following, ""
        return piece

    def _end(self) -> int | None:
        """Where the first piece ends; None while that is not known."""
        self._kind = self._kind or self._begins()
        if self._kind is None:
            return None
        return self._closed_end() if self._kind in ("code", "thought") else self._text_end()

    def _begins(self, *, ended: bool = False) -> PieceKind | None:
        """What begins here: code by its fence, a thought by its tag; None while more text could tell."""
        if _THOUGHT.match(self._text):
            self._closing = _THOUGHT_ENDS
            return "thought"
        head = self._text.lstrip()[: len("<thinking>")]
        sign = head.lstrip("> \t")
        fenced = any(sign.startswith(fence) or (fence.startswith(sign) and not ended) for fence in _FENCES)
        line, newline, _ = self._text.partition("\n")
        if not ended and ("<thinking>".startswith(head) or (self._at_line_start and fenced and not newline)):
            return None
        opening = OPENING.match(line) if self._at_line_start else None
        if opening is None:
            return "text"
        fence, before = f"{opening['fence']}{opening['fence'][0]}*+", "[ \t>]*+" if opening["quoted"] else "[ \t]*+"
        self._closing = re.compile(rf"\n{before}{fence}(?=[ \t]*+\n|[ \t]++[\[【])")  # or with a marker
        return "code"

    def _closed_end(self) -> int | None:
        """The end of a thought or a block of code."""
        closing = self._closing.search(self._text, self._seen)
        if closing is None:
            self._seen = max(self._seen, self._text.rfind("\n"), len(self._text) - _LOOK)
            return None
        self._seen = closing.start()
        rest = _REST.match(self._text, closing.end())
        return rest.end() if rest else None

    def _text_end(self) -> int | None:
        while (event := _EVENT.search(self._text, self._seen, LONGEST + _LOOK)) is not None:
            if event.end() >= LONGEST:
                return LONGEST
            if event[0][0] == "<":
                row = self._in_row()
                if row is None:
                    self._seen = event.start()
                    return None
                if not row and not self._ticks and not self._is_the_book_s(event[0]):
                    self._break_at(event)
                    continue
            elif event[0][0] == "`":
                self._ticks = "" if self._ticks == event[0] else self._ticks or event[0]
            else:
                cut = self._may_cut(event)
                if cut is None:  # depends on text that has not arrived; look again from here
                    self._seen = event.start()
                    return None
                if cut:
                    return event.end()
            self._seen = event.end()
        if len(self._text) >= LONGEST + _LOOK:
            return LONGEST
        # Only an unfinished run or tag at the end is looked through again.
        tag = _OPEN_TAG.search(self._text, self._seen)
        end = tag.start() if tag else len(self._text.rstrip().rstrip("`。！？」』”’）.!?…]】"))
        self._seen = max(self._seen, end)
        return None

    def _is_led(self) -> bool:
        """Whether the first piece belongs to a block whose sentences have their markers before them."""
        if not self._at_line_start:
            return self._led
        found = _LEADING.match(self._text)
        return found is not None and (self._led or self._at_block_start or bool(found["sign"]))

    def _break_at(self, tag: re.Match[str]) -> None:
        """Put a line break in place of a tag; at the beginning of a line it needs one less."""
        before, sign = self._text[: tag.start()], _break_of(tag[0])
        if self._at_line_start and not before.strip():
            sign = sign.removeprefix("\n")
        self._text, self._seen = before + sign + self._text[tag.end() :], tag.start()

    def _may_cut(self, event: re.Match[str]) -> bool | None:
        """Whether a piece ends with this event; None while that depends on text that has not arrived."""
        space, after = event[0] if event[0].isspace() else "", event.end()
        if space.count("\n") == 1 and (wrapped := self._is_wrapped(event.start(), after)) is not False:
            return None if wrapped is None else False
        if "\n" in space or (space and not event.start()):
            return True
        marked = _marker_follows(self._text, after)
        if marked is None:
            return None
        if marked:
            behind = _MARKERS.match(self._text, after) if space and self._is_led() else None
            if not behind or self._text[behind.end()] in "\n.,;:!?)":
                return False
            after = behind.end()
        if (row := self._in_row()) is not False:
            return None if row is None else False
        if self._ticks:
            return False
        if event[0][-1] in f"{_STOPS}]】":
            ends = _ends_at_marker(self._text, after)
        else:
            ends = _ends_sentence(self._text, event.start() if space else after, after)
        if ends and _LABEL.fullmatch(self._text, 0, after):
            return False
        return ends and not self._is_open(self._text[max(0, after - _LONGEST_OPEN) : after])

    def _is_wrapped(self, end: int, after: int) -> bool | None:
        """Whether a sentence goes on in the next line.

        That line begins with a small letter or a number, of no list; or with any word or code, if this line ends with
        a comma or a word such as "the". A line break within a paragraph is a space in Markdown. None while that depends
        on text that has not arrived.
        """
        if (
            self._ticks
            or _IS_LINE.match(self._text)
            or _IS_WHOLE.search(self._text[max(0, end - _LOOK) : end].rstrip())
        ):
            return False
        if self._text[after].islower():
            begun = _MAY_BE_LETTERED.fullmatch(self._text, after)
            return None if begun else _LETTERED.match(self._text, after) is None
        if self._text[after].isdigit():
            number = _NUMBERED.match(self._text, after)
            return None if number is None and len(self._text) - after < _NUMBER_ENDS else number is None
        if not UNFINISHED.search(self._text, max(0, end - _LOOK), end):
            return False
        return None if self._text[after:] in ("`", "``") else _BEGINS_TEXT.match(self._text, after) is not None

    def _in_row(self) -> bool | None:
        """Whether the piece is a row of a table, whose cells may hold sentences; None while its line has not ended."""
        if not self._at_line_start or self._text[0] != "|":
            return False
        line_end = self._text.find("\n", 0, LONGEST)
        if line_end < 0:
            return None if len(self._text) < LONGEST else False
        return self._text[:line_end].rstrip().endswith("|")


def _break_of(tag: str) -> str:
    """The line break that stands for a tag, with the sign of an item."""
    name = tag.strip("</> \t").split()[0].rstrip("/").lower()
    if name == "li":
        return "" if tag[1] == "/" else "\n- "
    return "\n\n" if tag[1] == "/" else "\n"


def _marker_follows(text: str, at: int) -> bool | None:
    """Whether there are markers at `at`; None while that depends on text that has not arrived."""
    if text[at] not in "[【" and text[at : at + 2] not in ("\\", "\\["):
        return False
    found = _MARKERS.match(text, at)
    end = found.end() if found else at
    if len(text) - end >= _LOOK or (found and text[end:][:1] not in ("", "[", "【")):
        return found is not None
    return False if not found and re.match(r"[\[【]{1,2}[^\]】\n]*[\]】\n]", text[at:]) else None


def _ends_at_marker(text: str, end: int) -> bool | None:
    """Whether a sentence ends at `end` without white space, as in "It runs [1].The other" and "It runs.[1]The other".

    A capital must follow: "rows[0].name" is code.
    """
    tail = text[end : end + _NEXT]
    follower = tail.lstrip(_BEFORE_SENTENCE)[:1]
    if not follower:
        return None if len(tail) < _NEXT else False
    if not follower.isalpha() or follower.islower():
        return False
    if text[end - 1] not in _STOPS:
        return _ends_sentence(text, end, end)
    marker = _MARKER_BEHIND.search(text, max(0, end - _LOOK), end - 1)
    return marker is not None and marker.start() > 0


def _ends_sentence(text: str, end: int, after: int) -> bool | None:
    """Whether a sentence ends at `end`, its markers and quotes included; `after` is where the next may begin."""
    while text[end - 1] in "]】" and (marker := _MARKER_BEHIND.search(text, max(0, end - _LOOK), end)):
        end = marker.start()
    raised = _RAISED_BEHIND.search(text, max(0, end - _NEXT), end)
    end = len(text[: raised.start() if raised else end].rstrip(_AFTER_SENTENCE))
    if end == 0 or text[end - 1] not in ".!?…。！？":
        return False
    tail = text[after : after + _NEXT]
    follower = tail.lstrip(_BEFORE_SENTENCE)[:1]
    if follower.islower() and re.search(r"\b[A-Za-z]\.$", text[max(0, end - 3) : end]):
        return False  # an abbreviation of one letter: "40 l. a minute"
    if text[end - 1] in "。！？" or not follower:
        return True if text[end - 1] in "。！？" or len(tail) >= _NEXT else None
    if in_parentheses(text, 0, end) is None:
        return None
    begin = quoted.end() if (quoted := _QUOTATION.match(text)) else 0
    # A small letter may begin a sentence too. Joined to the one before, it would be checked together with it.
    small = follower.islower() and is_plain_stop(text, end)
    return ends_sentence(text, begin, end, "`" if tail[0] == "`" or small else follower)
