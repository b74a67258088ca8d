"""Passages that stand on a page directly before or after a good one, shown although `k` others were better.

A textbook says in the next paragraph what the one that was found only begins. A neighbour that the search has found as
well, though further down, is right more often than another passage of its rank (`docs/retrieval.md`); one that it has
not found is hardly ever, so no passage is fetched for this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rag.book import Chunk
from rag.retrieval.duplicates import Fingerprint

if TYPE_CHECKING:
    from rag.retrieval.candidates import Candidate

BESIDE: Final = 2  # of the passages that are kept, how many may bring a neighbour
AMONG: Final = 20  # candidates among which it must be


def joined(candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], most: int) -> list[Candidate]:
    """The candidates with the outcome "neighbour" for `most` of those beyond `k` at most, the better ones first.

    `chunks` holds each candidate's, by id. A neighbour has passed the threshold and says nothing that a kept one says.
    """
    kept = [chunks[one.chunk_id] for one in candidates if one.outcome == "kept"]
    places = {place for chunk in kept[:BESIDE] for place in _beside(chunk)} if most else set()
    prints = [Fingerprint.of(chunk.text) for chunk in kept] if places else []
    found = list(candidates)
    for number, one in enumerate(candidates[:AMONG]):
        chunk = chunks[one.chunk_id]
        if len(prints) - len(kept) < most and one.outcome == "beyond_k" and _place(chunk) in places:
            mine = Fingerprint.of(chunk.text)
            if not any(mine.same(other) for other in prints):
                prints.append(mine)
                found[number] = replace(one, outcome="neighbour")
    return found


def _place(chunk: Chunk) -> tuple[str, str, str, int]:
    """Where a chunk stands: its page, and its number there."""
    return chunk.source, chunk.source_file_path, chunk.url, chunk.chunk_index


def _beside(chunk: Chunk) -> list[tuple[str, str, str, int]]:
    return [_place(replace(chunk, chunk_index=chunk.chunk_index + step)) for step in (-1, 1)]
