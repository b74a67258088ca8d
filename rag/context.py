"""What was retrieved, as text: the formats that the profiles' designs know beside that of `rag.prompt_format`.

They take this turn's passages in their order. Their numbers are the passages', so that a list and the markers of an
answer always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rag.types import Passage

NOTHING_FOUND: Final = "No relevant content found in the book."


def format_for_agent(passages: Sequence[Passage]) -> str:
    """Address, score and content of each passage, as the profile `book-agent` knows them; a sentence for none."""
    if not passages:
        return NOTHING_FOUND
    lines: list[str] = []
    for one in passages:
        lines += [f"[{one.number}] Source: {one.url}", f"    Score: {one.score:.2f}", f"    Content: {one.text}", ""]
    return "\n".join(lines)


def format_for_prompt(passages: Sequence[Passage]) -> str:
    """Title, address and text of each passage, as the profile `isaac-sim` knows them; empty for none."""
    blocks = [f"[{one.number}] Source: {one.title} ({one.url})\n{one.text}" for one in passages]
    return "\n\n".join(["Context from book:", *blocks]) if blocks else ""


def format_sources_footer(passages: Sequence[Passage]) -> str:
    """The footer of all that was retrieved; empty for nothing."""
    return scores_footer((one.number, one.url, one.score) for one in passages)


def scores_footer(sources: Iterable[tuple[int, str, float]]) -> str:
    """The footer with scores, from (number, address, score): a rule, "Sources:", and a line for each."""
    lines = [f"[{number}] {url} (score: {score:.2f})" for number, url, score in sources]
    return "\n".join(["", "---", "**Sources:**", *lines]) if lines else ""
