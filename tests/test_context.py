"""What was retrieved, as text."""

from __future__ import annotations

from rag.answer import AnswerWriter, Manner
from rag.context import format_for_agent, format_for_prompt, format_sources_footer
from tests.fakes import passage

TWO = [passage(1, "One.\nStill one.", score=0.826), passage(2, "Two.", score=0.5)]


def test_the_agents_format_has_address_score_and_content() -> None:
    assert format_for_agent(TWO) == (
        "[1] Source: https://book.example/page-1\n"
        "    Score: 0.83\n"
        "    Content: One.\nStill one.\n"
        "\n"
        "[2] Source: https://book.example/page-2\n"
        "    Score: 0.50\n"
        "    Content: Two.\n"
    )


def test_nothing_found_is_said_in_a_sentence() -> None:
    assert format_for_agent([]) == "No relevant content found in the book."


def test_the_prompts_format_has_title_address_and_text() -> None:
    assert format_for_prompt(TWO) == (
        "Context from book:\n"
        "\n"
        "[1] Source: Page 1 (https://book.example/page-1)\nOne.\nStill one.\n"
        "\n"
        "[2] Source: Page 2 (https://book.example/page-2)\nTwo."
    )


def test_the_footer_of_what_was_retrieved_has_a_line_for_each() -> None:
    assert format_sources_footer(TWO) == (
        "\n---\n**Sources:**\n"
        "[1] https://book.example/page-1 (score: 0.83)\n"
        "[2] https://book.example/page-2 (score: 0.50)"
    )


def test_nothing_has_no_footer() -> None:
    assert format_sources_footer([]) == format_for_prompt([]) == ""


def test_an_answer_may_have_the_footer_with_scores_of_what_it_cites() -> None:
    writer = AnswerWriter(
        [passage(1, link="https://b.example/p", score=0.826), passage(2)], Manner("No.", footer="scores", mode="off")
    )
    writer.feed("It is so [1].")
    footer = writer.close()[-1]
    assert footer == "\n---\n**Sources:**\n[1] https://b.example/p (score: 0.83)"
    assert writer.shown.content == f"It is so [1].{footer}"
