"""The passages retrieved for a question, as a record that can be formatted, trimmed and cited.

The graph keeps passages only during a turn. Afterwards, `Agent.last_retrieval` returns this record with the chunks as
they are stored now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from rag.answer.evidence import best_quote
from rag.answer.render import make_citation, scores_footer
from rag.book import Chunk
from rag.prompt.prompts import passages_cost, trim_passages
from rag.prompt.tool import NOTHING_FOUND
from rag.types import Citation, CitationStyle, Passage, Record, now


class RetrievalContext(Record):
    """The passages of one question in the order shown, best first, each with its number in that turn."""

    query: str
    results: list[Passage]
    filter_applied: str | None = None
    retrieved_at: str = Field(default_factory=now)

    @classmethod
    def of_turn(cls, turn: Mapping[str, Any], chunks: Sequence[Chunk]) -> Self | None:
        """The context of a turn from `rag.conversation.turns`; None if the turn searched nothing.

        Passages that are not in `chunks`, because the index no longer has them, are left out.
        """
        searches = turn.get("retrievals") or []
        if not searches:
            return None
        stored = {chunk.id: chunk for chunk in chunks}
        shown = [record for record in turn.get("retrieved_chunks") or [] if record["chunk_id"] in stored]
        return cls(
            query=searches[0]["query"],
            results=[stored[record["chunk_id"]].passage(record["rank"], record["score"]) for record in shown],
            filter_applied=searches[0]["filter_applied"],
            retrieved_at=searches[-1]["timestamp"],
        )

    @property
    def total_tokens(self) -> int:
        """An upper estimate, counted as `trim_to_budget` does."""
        return passages_cost(self.results)

    def format_for_agent(self) -> str:
        """URL, score and text of each passage in the format of the profile `book-agent`; `NOTHING_FOUND` if none."""
        blocks = [
            f"[{passage.number}] Source: {passage.url}\n    Score: {passage.score:.2f}\n    Content: {passage.text}\n"
            for passage in self.results
        ]
        return "\n".join(blocks) or NOTHING_FOUND

    def format_for_prompt(self) -> str:
        """Title, URL and text of each passage in the format of the profile `isaac-sim`; empty if none."""
        blocks = [f"[{p.number}] Source: {p.title} ({p.url})\n{p.text}" for p in self.results]
        return "\n\n".join(["Context from book:", *blocks]) if blocks else ""

    def format_sources_footer(self) -> str:
        """All passages as in an answer's footer with scores; empty if there are none."""
        return scores_footer((passage.number, passage.link, passage.score) for passage in self.results)

    def trim_to_budget(self, budget: int) -> Self:
        """A copy within `budget` tokens: the lowest scores are dropped first, and the later one of equals."""
        return self.model_copy(update={"results": trim_passages(self.results, budget)})

    def get_citations(self, style: CitationStyle = "source") -> list[Citation]:
        """One citation per passage, quoting the part that is most similar to the query."""
        return [make_citation(passage, best_quote(self.query, passage.text), style) for passage in self.results]
