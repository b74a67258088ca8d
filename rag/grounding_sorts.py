"""What a sentence of an answer is: a claim, or a heading, a lead, a code block, a remark about the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

Sort = Literal["claim", "heading", "lead", "code", "remark"]

_MARKER: Final = re.compile(r"[\[【]\^?\d{1,3}(?:[,\s–-]{1,3}\d{1,3}){0,20}[\]】]")
_HEADING: Final = re.compile(r"\s*#{1,6}\s")


def claim_of(sentence: str, passages: Sequence[str]) -> tuple[Sort, str]:
    """The sort of a sentence, and what is left of it to be checked."""
    text = _MARKER.sub("", sentence).strip()
    if not text or _HEADING.match(text):
        return "heading", text
    return "claim", text
