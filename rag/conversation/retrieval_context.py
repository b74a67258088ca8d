"""What was retrieved for a question, as a record that can be written out, trimmed and cited.

The machine keeps passages only while it answers. A program that wants them afterwards gets this record of
`Agent.last_retrieval`, with the chunks as they are stored now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field

from rag.answer.citations import best_quote, make_citation, scores_footer
from rag.book import Chunk
from rag.prompt.budget import estimate_tokens, trim_passages
from rag.prompt.tool import NOTHING_FOUND
from rag.types import Citation, CitationStyle, Passage, Record, now


class RetrievalContext(Record):
    """The passages of one question, best first as they were shown, each with its number of that turn."""

    query: str
    results: list[Passage]
    filter_applied: str | None = None
    retrieved_at: str = Field(default_factory=now)

    @classmethod
    def of_turn(cls, turn: Mapping[str, Any], chunks: Sequence[Chunk]) -> Self | None:
        """From a turn of `rag.conversation.turns` and its chunks; None for a turn that searched nothing.

        Chunks that are gone from the index since are left out.
        """
        searches = turn.get("retrievals") or []
        if not searches:
            return None
        stored = {chunk.id: chunk for chunk in chunks}
        shown = [one for one in turn.get("retrieved_chunks") or [] if one["chunk_id"] in stored]
        return cls(
            query=searches[0]["query"],
            results=[Passage.of(stored[one["chunk_id"]], one["rank"], one["score"]) for one in shown],
            filter_applied=searches[0]["filter_applied"],
            retrieved_at=searches[-1]["timestamp"],
        )

    @property
    def total_tokens(self) -> int:
        """An estimate, rather too many than too few."""
        return sum(estimate_tokens(one.text) for one in self.results)

    def format_for_agent(self) -> str:
        """Address, score and content of each passage, as the profile `book-agent` knows them; a sentence for none."""
        if not self.results:
            return NOTHING_FOUND
        lines: list[str] = []
        for one in self.results:
            lines += [
                f"[{one.number}] Source: {one.url}",
                f"    Score: {one.score:.2f}",
                f"    Content: {one.text}",
                "",
            ]
        return "\n".join(lines)

    def format_for_prompt(self) -> str:
        """Title, address and text of each passage, as the profile `isaac-sim` knows them; empty for none."""
        blocks = [f"[{one.number}] Source: {one.title} ({one.url})\n{one.text}" for one in self.results]
        return "\n\n".join(["Context from book:", *blocks]) if blocks else ""

    def format_sources_footer(self) -> str:
        """The footer of all that was retrieved, in the form of an answer's footer with scores; empty for nothing."""
        return scores_footer((one.number, one.link, one.score) for one in self.results)

    def trim_to_budget(self, budget: int) -> Self:
        """A context within `budget` tokens: the lowest scores go first, of equals the later."""
        return self.model_copy(update={"results": trim_passages(self.results, budget)})

    def get_citations(self, style: CitationStyle = "source") -> list[Citation]:
        """A citation of each passage, with the stretch of it that is closest to the query as its quote."""
        return [make_citation(one, best_quote(self.query, one.text), style) for one in self.results]
