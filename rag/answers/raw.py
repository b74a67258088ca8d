"""What a model sends, as text that may be read on: without what nobody sees, and without its thinking aloud.

It comes in tokens, and an escape sequence or a tag may be spread over several of them: such a beginning is held back
until it is whole or can be none, so that what is left does not depend on how the text was split.
"""

from __future__ import annotations

import re
from typing import Final

from rag.visible import OPEN_SEQUENCE, is_plain, visible

_TAGS: Final = ("<think>", "<thinking>")
_END: Final = re.compile(r"</think(?:ing)?>")
_LONGEST_END: Final = len("</thinking>")
_LINE_BREAK: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL: Final = re.compile("[\x1b\x9b\x9d]")


class Raw:
    """Takes tokens, gives text. A model that reasons may begin with `<think>...</think>`, no part of an answer."""

    def __init__(self) -> None:
        self._sequence = ""  # an escape sequence that has not ended yet
        self._held = ""  # what may be the beginning of a tag
        self._where = "start"  # then "thought", then "answer"

    def feed(self, text: str) -> str:
        """Take the next tokens; give what of the answer they finish."""
        text, self._sequence = self._sequence + text, ""
        if is_plain(text):
            return self._answer(text)
        if _CONTROL.search(text) and (unfinished := OPEN_SEQUENCE.search(text)):
            text, self._sequence = text[: unfinished.start()], text[unfinished.start() :]
        return self._answer(visible(_LINE_BREAK.sub("\n", text)))

    def close(self) -> str:
        """What was held back, where it is no thought."""
        rest = self._answer(visible(self._sequence))
        return rest + (self._held if self._where == "start" else "")

    def _answer(self, text: str) -> str:
        if self._where == "answer":
            return text
        text, self._held = self._held + text, ""
        if self._where == "start":
            begun = text.lstrip()
            if begun.startswith(_TAGS):
                self._where = "thought"
            elif any(tag.startswith(begun) for tag in _TAGS):  # nothing yet, or a part of the tag
                self._held = text
                return ""
            else:
                self._where = "answer"
                return text
        if end := _END.search(text):
            self._where = "answer"
            return text[end.end() :]
        self._held = text[-_LONGEST_END:]
        return ""
