"""The list of sources with scores, and what is said where nothing was found: one wording wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

NOTHING_FOUND: Final = "No relevant content found in the book."


def scores_footer(sources: Iterable[tuple[int, str, float]]) -> str:
    """The footer with scores, from (number, address, score): a rule, "Sources:", and a line for each."""
    lines = [f"[{number}] {url} (score: {score:.2f})" for number, url, score in sources]
    return "\n".join(["", "---", "**Sources:**", *lines]) if lines else ""
