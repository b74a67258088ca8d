"""The budget: what gives way when not everything fits into the model's window."""

from __future__ import annotations

import pytest

from rag.errors import AskbookError
from rag.profiles.profile import load_profile
from rag.profiles.schema import BudgetSection
from rag.prompt.prompts import Fitted, estimate_tokens, fit, system_prompt, trim_history, trim_passages
from rag.types import AnsweredQuestion, Passage
from tests.fakes import passage

TURNS = [AnsweredQuestion(f"Question {n}?", "word " * 100) for n in range(8)]
PASSAGES = [passage(n, "word " * 200, score=score) for n, score in ((1, 0.5), (2, 0.9), (3, 0.7))]


def fitted(
    window: int,
    *,
    history: list[AnsweredQuestion] | None = None,
    passages: list[Passage] | None = None,
    max_tokens: int | None = 256,
    question: str = "What is a node?",
) -> Fitted:
    return fit(
        window=window,
        max_tokens=max_tokens,
        system="You answer questions.",
        question=question,
        history=TURNS if history is None else history,
        passages=PASSAGES if passages is None else passages,
    )


def test_everything_stays_where_there_is_room() -> None:
    assert fitted(32_000) == Fitted(TURNS, PASSAGES, 256)


def test_the_oldest_turns_give_way_first_and_whole() -> None:
    kept = fitted(2_500).history
    assert 0 < len(kept) < len(TURNS)
    assert kept == TURNS[-len(kept) :]


def test_the_history_gives_way_before_a_passage_does() -> None:
    result = fitted(1_400)
    assert (result.history, len(result.passages)) == ([], 3)


def test_passages_give_way_from_the_lowest_score_up() -> None:
    assert [[one.number for one in fitted(window).passages] for window in (1_400, 1_200, 800)] == [
        [1, 2, 3],
        [2, 3],
        [2],
    ]


def test_of_equal_passages_the_later_gives_way() -> None:
    equal = [passage(n, "word " * 200, score=0.5) for n in (1, 2, 3)]
    assert [one.number for one in fitted(1_200, passages=equal).passages] == [1, 2]


def test_a_passage_that_fills_the_window_alone_goes_before_the_others() -> None:
    giant = passage(1, "word " * 100_000, score=1.0)
    small = passage(2, "word " * 20, score=0.5)
    kept = fitted(8_192, max_tokens=500, passages=[giant, small])
    assert ([one.number for one in kept.passages], kept.answer_tokens) == ([2], 500)
    assert trim_passages([giant, small], 1_000) == [small]
    with pytest.raises(AskbookError, match="The passages are too long"):
        fitted(8_192, passages=[giant])


def test_passages_keep_their_numbers_and_order() -> None:
    assert [one.number for one in fitted(1_200).passages] == [2, 3]


def test_the_history_takes_less_than_a_third_of_the_window() -> None:
    long = [AnsweredQuestion("Question?", "word " * 200) for _ in range(100)]
    kept = fitted(10_000, history=long, passages=[]).history
    taken = sum(estimate_tokens(one.question) + estimate_tokens(one.answer) for one in kept)
    assert 2_400 < taken <= 3_000


def test_the_answer_gets_what_the_profile_says_where_it_fits() -> None:
    assert fitted(8_192, max_tokens=500).answer_tokens == 500


def test_the_answer_is_clipped_to_half_of_what_is_left() -> None:
    left = 2_048 - estimate_tokens("You answer questions.") - estimate_tokens("What is a node?")
    assert left // 2 - 50 < fitted(2_048, max_tokens=100_000, passages=[]).answer_tokens < left // 2


def test_everything_that_is_kept_fits_into_the_window() -> None:
    for window in range(520, 9_000, 100):
        result = fitted(window, question="word " * 20)
        assert result.answer_tokens >= 64
        assert result.passages
        texts = ["You answer questions.", "word " * 20, *(one.text for one in result.passages)]
        texts += [text for exchange in result.history for text in exchange]
        assert sum(map(estimate_tokens, texts)) + result.answer_tokens <= window


@pytest.mark.parametrize("passages", [[], None])
def test_a_question_that_does_not_fit_is_an_overflow(passages: list[Passage] | None) -> None:
    with pytest.raises(AskbookError) as caught:
        fitted(1_024, question="word " * 2_000, passages=passages)
    assert (caught.value.error_type, caught.value.code) == ("context_overflow", "question_too_large")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("Hello, world!", 4), ("A node is a process that performs computation.", 9), ("机器人操作系统", 5)],
)
def test_an_estimate_is_rather_too_high_than_too_low(text: str, tokens: int) -> None:
    assert tokens <= estimate_tokens(text) <= 2 * tokens + 1


@pytest.mark.parametrize("word", ["программа", "برنامج", "कार्यक्रम", "πρόγραμμα"])
def test_other_alphabets_are_counted_finer_than_latin_letters(word: str) -> None:
    assert estimate_tokens(word * 100) > 2 * estimate_tokens("program"[: len(word)] * 100)


def test_scripts_without_spaces_are_counted_by_the_letter() -> None:
    assert estimate_tokens("机" * 100) > 100


# --- a budget of parts ----------------------------------------------------------------------------------------------

PARTS = BudgetSection(system=500, context=3992, history=2500, exchange=1200)


def test_each_part_keeps_to_its_own_budget() -> None:
    history = [AnsweredQuestion(f"Question {n}?", "word " * 300) for n in range(9)]
    passages = [passage(n, "word " * 500, score=1 - n / 10) for n in range(1, 9)]
    kept = fit(
        window=8192, max_tokens=2048, system="s", question="q" * 400, history=history, passages=passages, budget=PARTS
    )
    assert sum(estimate_tokens(one.text) for one in kept.passages) <= 3992
    assert sum(estimate_tokens(f"{one.question}{one.answer}") for one in kept.history) <= 2500
    assert kept.answer_tokens + estimate_tokens("q" * 400) <= 1200
    assert kept.passages == passages[: len(kept.passages)]
    assert kept.history == history[-len(kept.history) :]


def test_the_parts_of_isaac_sim_fill_its_window_exactly() -> None:
    profile = load_profile("isaac-sim")
    assert profile.budget == PARTS
    assert PARTS.total() == profile.model.context_window == 8192


def test_the_instructions_of_isaac_sim_stay_within_their_part() -> None:
    assert estimate_tokens(system_prompt(load_profile("isaac-sim"))) <= PARTS.system


def test_passages_with_the_lowest_scores_are_trimmed_first() -> None:
    assert [one.number for one in trim_passages(PASSAGES, 700)] == [2, 3]
    assert trim_passages(PASSAGES, 0) == []


def test_the_oldest_turns_are_trimmed_first() -> None:
    kept = trim_history(TURNS, 700)
    assert kept == TURNS[-len(kept) :]
    assert trim_history(TURNS, 0) == []
