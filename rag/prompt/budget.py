"""Fits a prompt into the model's context window.

The system prompt and the question are always kept. If the rest is too long, whole turns are dropped first, oldest
first, then passages, lowest score first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from rag.errors import AskbookError, UsageError
from rag.profiles.schema import BudgetSection
from rag.types import AnsweredQuestion, Passage

# Four characters per token fit English and German text; code has fewer. With the margin, 99% of chunks have no more
# tokens than estimated, measured with o200k. Other alphabets take more tokens per letter, up to one in older
# vocabularies; scripts without spaces and emoji take about one token per character.
_CHARACTERS_PER_TOKEN: Final = 4.0
_MARGIN: Final = 1.3
_OTHER_ALPHABETS: Final = re.compile("[\u0370-\u2e7f]")  # Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, ...
_WIDE: Final = re.compile("[\u2e80-\U0010ffff]")
_OTHER_TOKENS: Final = 2 / 3  # per letter
_OVERHEAD: Final = 16  # tokens around a message or a passage: role, header, separators
_HISTORY_SHARE: Final = 0.3  # of the window; passages and the answer need the rest
_ANSWER: Final = 1024  # tokens of the answer if the profile sets no maximum
_LEAST_ANSWER: Final = 64


class Fitted(NamedTuple):
    """The history and passages of a prompt, and the tokens left for the answer."""

    history: list[AnsweredQuestion]
    passages: list[Passage]
    answer_tokens: int


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text`, without the model's tokenizer. At least 1.

    >>> estimate_tokens("a" * 400), estimate_tokens("я" * 400), estimate_tokens("字" * 400)
    (131, 347, 521)
    """
    if text.isascii():
        other = wide = 0
    else:
        other, wide = len(_OTHER_ALPHABETS.findall(text)), len(_WIDE.findall(text))
    latin = (len(text) - other - wide) / _CHARACTERS_PER_TOKEN
    return int((latin + other * _OTHER_TOKENS + wide) * _MARGIN) + 1


def fit(
    *,
    window: int,
    max_tokens: int | None,
    system: str,
    question: str,
    history: Sequence[AnsweredQuestion],
    passages: Sequence[Passage],
    budget: BudgetSection | None = None,
    enough: bool = False,
) -> Fitted:
    """The newest turns and best passages that fit into `window` tokens with the system prompt and the question.

    `budget` limits each part; without it, passages take all that is left. Raises `AskbookError` (`context_overflow`) if
    there is no room for an answer of 64 tokens and one passage. With `enough` no passage is required, because other
    passages are elsewhere in the prompt.
    """
    fixed = estimate_tokens(system) + estimate_tokens(question) + 4 * _OVERHEAD
    answer = min(max_tokens or _ANSWER, max(_LEAST_ANSWER, (window - fixed) // 2))
    if fitting := _fitting(passages, window - fixed - _LEAST_ANSWER):
        # shorten the answer rather than drop the best passage
        needed = passages_cost([max(fitting, key=_worth)])
        answer = min(answer, max(_LEAST_ANSWER, window - fixed - needed))
    if budget:
        answer = min(answer, max(_LEAST_ANSWER, budget.exchange - estimate_tokens(question)))
    room = window - fixed - answer
    kept = trim_passages(passages, min(room, budget.context) if budget else room)
    if room <= 0 or (passages and not kept and not enough):
        what = "The question is" if room <= 0 or fitting else "The passages are"
        message = f"{what} too long for the context window of {window:,} tokens."
        raise AskbookError("context_overflow", "question_too_large", message)
    room -= passages_cost(kept)
    return Fitted(trim_history(history, min(room, history_room(window, budget))), kept, answer)


def history_room(window: int, budget: BudgetSection | None) -> int:
    """The most tokens that earlier turns may take."""
    return budget.history if budget else int(window * _HISTORY_SHARE)


def history_cost(history: Sequence[AnsweredQuestion]) -> int:
    """Tokens that earlier turns take."""
    return sum(_cost(past.question, past.answer) for past in history)


def room_for_result(window: int, *texts: str) -> int:
    """Tokens for a tool result: half of what `texts`, the rest of the prompt, leave of the window."""
    return max(0, (window - sum(estimate_tokens(text) for text in texts) - 4 * _OVERHEAD) // 2)


def least_worth(passages: Sequence[Passage]) -> Passage:
    """The passage to drop first: the lowest score, and the later one of equals."""
    return min(passages, key=_worth)


def passages_cost(passages: Sequence[Passage]) -> int:
    """Tokens that passages take in a prompt, with their headers."""
    return sum(_cost(*_texts(passage)) for passage in passages)


def check_system(system: str, profile: str, budget: BudgetSection | None) -> None:
    """Raise `UsageError` if the system prompt exceeds its part of the budget: it is never cut, so it has to fit."""
    tokens = estimate_tokens(system)
    if budget and tokens > budget.system:
        message = f"The system prompt of the profile {profile} has about {tokens:,} tokens; budget.system allows"
        hint = "Shorten its instructions, or raise budget.system and lower another part of the budget."
        raise UsageError(f"{message} {budget.system:,}.", code="profile", hint=hint)


def _fitting(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """The passages of which each alone fits into `budget` tokens."""
    return [passage for passage in passages if passages_cost([passage]) <= budget]


def trim_passages(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """The passages that fit into `budget` tokens, dropping those that alone exceed it, then those of `least_worth`."""
    kept = _fitting(passages, budget)
    while kept and passages_cost(kept) > budget:
        kept.remove(least_worth(kept))
    return kept


def trim_history(history: Sequence[AnsweredQuestion], budget: int) -> list[AnsweredQuestion]:
    """The newest turns that fit into `budget` tokens; turns are never cut."""
    kept: list[AnsweredQuestion] = []
    for past in reversed(history):
        budget -= history_cost([past])
        if budget < 0:
            break
        kept.append(past)
    return kept[::-1]


def _cost(*texts: str) -> int:
    return sum(estimate_tokens(text) for text in texts) + _OVERHEAD


def _texts(passage: Passage) -> tuple[str, str]:
    return passage.text, passage.breadcrumb


def _worth(passage: Passage) -> tuple[float, int]:
    return passage.score, -passage.number
