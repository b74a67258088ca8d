"""What `/why` says of a search: its queries, the scores of each leg, the sum, and the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.terminal import printable
from rag.types import Grounding

WORDS = {
    "kept": "",
    "neighbour": "beside a better one",
    "below_threshold": "below the threshold",
    "duplicate": "said already",
    "beyond_k": "enough were better",
}


def why_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    """The lines for a trace as `Trace.as_data` gives it; candidates that were not used are shown while they are few."""
    for query in trace["queries"]:
        mark = "rewritten: " if query["kind"] == "rewrite" else ""
        yield f"  weight {query['weight']:.2f}  {mark}{printable(_short(query['text']))}"
    kinds = [query["kind"] for query in trace["queries"]]
    yield f"  scores    {', '.join(_legs(kinds))}; threshold {trace['threshold']:g}"
    used = sum(candidate["outcome"] == "kept" for candidate in trace["candidates"])
    for place, candidate in enumerate(trace["candidates"][: used + 5], 1):
        scores = "  ".join(f"{score:.3f}" for score in candidate["scores"])
        fate = WORDS[candidate["outcome"]]
        yield (
            f"  {place:2}. sum {candidate['fused']:.3f}  score {candidate['cosine']:.3f}  ({scores})  "
            f"{printable(candidate['heading'] or candidate['title'])}{f': {fate}' if fate else ''}"
        )


def checked_line(grounding: Grounding) -> str:
    """`5 sentences, 4 supported, 1 removed; gpt-4o judged 5 and rejected 1`"""
    counts = f"{grounding.sentences} sentences, {grounding.supported} supported, {grounding.removed} removed"
    judge = grounding.judge
    return counts + (f"; {judge.model} judged {judge.sentences} and rejected {judge.removed}" if judge else "")


def _legs(kinds: list[str]) -> Iterator[str]:
    """`cosine, BM25, cosine in context 1, ...`: the raw question has two legs, every other query one."""
    yield from ("cosine", "BM25")
    for number, kind in enumerate(kinds[1:], 1):
        yield "cosine of the rewrite" if kind == "rewrite" else f"cosine in context {number}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:99]}…"
