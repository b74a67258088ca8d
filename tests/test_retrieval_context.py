"""What was retrieved for a question: written out, trimmed, cited, and had back from a stored conversation."""

from __future__ import annotations

from datetime import datetime

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.book import Chunk
from rag.conversation.retrieval_context import RetrievalContext
from rag.errors import UsageError
from rag.prompt.prompts import trim_passages
from rag.types import Passage
from tests.fake_index import FakeIndex
from tests.fakes import passage
from tests.index_cases import make_point
from tests.openai_server import Endpoint, answer
from tests.profile_wire import Wire

TWO = [passage(1, "One.\nStill one.", score=0.826), passage(2, "Two.", score=0.5)]
CONTEXT = RetrievalContext(query="What is one?", results=TWO)
NOTHING = RetrievalContext(query="What is one?", results=[])


def test_the_agents_format_has_address_score_and_content() -> None:
    assert CONTEXT.format_for_agent() == (
        "[1] Source: https://book.example/page-1\n"
        "    Score: 0.83\n"
        "    Content: One.\nStill one.\n"
        "\n"
        "[2] Source: https://book.example/page-2\n"
        "    Score: 0.50\n"
        "    Content: Two.\n"
    )


def test_nothing_found_is_said_in_a_sentence() -> None:
    assert NOTHING.format_for_agent() == "No relevant content found in the book."


def test_the_prompts_format_has_title_address_and_text() -> None:
    assert CONTEXT.format_for_prompt() == (
        "Context from book:\n"
        "\n"
        "[1] Source: Page 1 (https://book.example/page-1)\nOne.\nStill one.\n"
        "\n"
        "[2] Source: Page 2 (https://book.example/page-2)\nTwo."
    )


def test_the_footer_of_what_was_retrieved_has_a_line_for_each() -> None:
    assert CONTEXT.format_sources_footer() == (
        "\n\n---\n**Sources:**\n"
        "[1] https://book.example/page-1#nodes (score: 0.83)\n"
        "[2] https://book.example/page-2#nodes (score: 0.50)"
    )


def test_nothing_has_no_footer() -> None:
    assert NOTHING.format_sources_footer() == NOTHING.format_for_prompt() == ""


def test_an_answer_that_cites_everything_has_the_footer_of_what_was_retrieved() -> None:
    writer = AnswerWriter(TWO, AnswerOptions("No.", footer="scores", mode="off"))
    writer.feed("It is so [1]. And so [2].")
    footer = writer.close()[-1]
    assert footer == CONTEXT.format_sources_footer()
    assert writer.shown.content.endswith(footer)


def test_trimmed_to_a_budget_the_lowest_scores_are_gone() -> None:
    long = [passage(n, "word " * 200, score=n / 10) for n in (1, 2, 3)]
    whole = RetrievalContext(query="q", results=long)
    trimmed = whole.trim_to_budget(700)
    assert [one.number for one in trimmed.results] == [one.number for one in trim_passages(long, 700)] == [2, 3]
    assert 0 < trimmed.total_tokens <= 700 < whole.total_tokens
    assert (trimmed.query, trimmed.retrieved_at) == (whole.query, whole.retrieved_at)


def test_a_budget_of_all_its_tokens_keeps_everything() -> None:
    many = RetrievalContext(query="q", results=[passage(n, "word " * 20 * n) for n in range(1, 6)])
    assert many.trim_to_budget(many.total_tokens) == many
    assert len(many.trim_to_budget(many.total_tokens - 1).results) == 4


def test_nothing_fits_into_no_tokens() -> None:
    assert CONTEXT.trim_to_budget(0).results == []
    assert NOTHING.total_tokens == 0


def test_each_passage_can_be_had_as_a_citation() -> None:
    first, second = CONTEXT.get_citations()
    assert (first.formatted, second.formatted) == (
        "[Source: Page 1](https://book.example/page-1#nodes)",
        "[Source: Page 2](https://book.example/page-2#nodes)",
    )
    assert TWO[0].text[first.start : first.end] == first.quote
    assert [one.formatted for one in CONTEXT.get_citations("numbered")] == ["[1]", "[2]"]


# --- of a stored conversation ---------------------------------------------------------------------------------------


def stored() -> tuple[FakeIndex, Passage]:
    """An index with one chunk, and the passage that a search makes of it."""
    index, point = FakeIndex(), make_point("nodes", [1.0, 0.0, 0.0, 0.0])
    index.points[point.chunk.id] = point
    return index, point.chunk.passage(1, 0.75)


async def test_the_last_retrieval_of_a_conversation_has_its_chunks_as_they_are_stored(endpoint: Endpoint) -> None:
    wire = Wire("isaac-sim", endpoint)
    wire.index, found = stored()
    wire.searcher.passages = [found, passage(2, "A chunk that is gone.")]
    await wire.ask(answer("It is so [1]."), thread="t")
    async with wire.agent() as agent:
        context = await agent.last_retrieval("t")
    assert context is not None
    assert (context.query, context.filter_applied, context.results) == ("What is a node?", None, [found])
    assert datetime.fromisoformat(context.retrieved_at).tzinfo is not None


async def test_a_conversation_that_is_not_stored_has_no_last_retrieval(endpoint: Endpoint) -> None:
    async with Wire("isaac-sim", endpoint).agent() as agent:
        with pytest.raises(UsageError, match='There is no conversation "t"'):
            await agent.last_retrieval("t")


def test_a_turn_that_searched_nothing_has_no_context() -> None:
    chunks: list[Chunk] = []
    assert RetrievalContext.of_turn({"retrievals": [], "retrieved_chunks": []}, chunks) is None
