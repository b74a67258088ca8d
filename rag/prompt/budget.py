"""What fits into the model's window: the system prompt and the question always, passages and history as far as they go.

History gives way first, oldest turn first and whole turns only; then passages, lowest score first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from rag.errors import AskbookError
from rag.profiles.schema import BudgetSection
from rag.types import Exchange, Passage

# Four characters a token is right for English and German text but low for code; measured against o200k the margin
# covers 99% of chunks. Vocabularies cut other alphabets finer, older ones into single letters; scripts without spaces
# and pictures take about one token a sign.
_CHARACTERS_PER_TOKEN: Final = 4.0
_MARGIN: Final = 1.3
_OTHER_ALPHABETS: Final = re.compile("[\u0370-\u2e7f]")  # Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, ...
_WIDE: Final = re.compile("[\u2e80-\U0010ffff]")
_OTHER_TOKENS: Final = 2 / 3  # of a letter
_OVERHEAD: Final = 16  # tokens around a message or a passage: role, header, separators
_HISTORY_SHARE: Final = 0.3  # of the window, as the rest is needed for passages and answer
_ANSWER: Final = 1024  # room for the answer when the profile sets no maximum
_LEAST_ANSWER: Final = 64


class Fitted(NamedTuple):
    history: list[Exchange]
    passages: list[Passage]
    answer_tokens: int


def estimate_tokens(text: str) -> int:
    """A safe estimate of the tokens of `text` without its model's tokenizer: rather too many than too few."""
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
    history: Sequence[Exchange],
    passages: Sequence[Passage],
    budget: BudgetSection | None = None,
    enough: bool = False,
) -> Fitted:
    """The newest turns and best passages that fit into `window` tokens with the rest.

    `budget` gives each part its own most; without one, passages take what the rest leaves. Raises `AskbookError`
    (`context_overflow`) when system prompt and question leave no room for an answer of 64 tokens and one passage;
    `enough` says that passages stand elsewhere in the prompt, so that none of these is needed.
    """
    fixed = estimate_tokens(system) + estimate_tokens(question) + 4 * _OVERHEAD
    answer = min(max_tokens or _ANSWER, max(_LEAST_ANSWER, (window - fixed) // 2))
    if passages:  # a short answer from the best passage is worth more than a long one from none
        needed = _cost(*_texts(max(passages, key=_worth)))
        answer = min(answer, max(_LEAST_ANSWER, window - fixed - needed))
    if budget:
        answer = min(answer, max(_LEAST_ANSWER, budget.exchange - estimate_tokens(question)))
    room = window - fixed - answer
    kept = trim_passages(passages, min(room, budget.context) if budget else room)
    if room <= 0 or (passages and not kept and not enough):
        raise AskbookError(
            "context_overflow", "question_too_large", f"The question does not fit into {window:,} tokens."
        )
    room -= sum(_cost(*_texts(passage)) for passage in kept)
    return Fitted(trim_history(history, min(room, history_room(window, budget))), kept, answer)


def history_room(window: int, budget: BudgetSection | None) -> int:
    """Tokens that earlier turns take at most."""
    return budget.history if budget else int(window * _HISTORY_SHARE)


def history_cost(history: Sequence[Exchange]) -> int:
    """Tokens that earlier turns take."""
    return sum(_cost(exchange.question, exchange.answer) for exchange in history)


def room_for_result(window: int, *texts: str) -> int:
    """Tokens that the result of a search may take: half of what `texts`, the rest of the prompt, leave."""
    return max(0, (window - sum(estimate_tokens(text) for text in texts) - 4 * _OVERHEAD) // 2)


def least_worth(passages: Sequence[Passage]) -> Passage:
    """The passage that goes first: the lowest score, of equals the later."""
    return min(passages, key=_worth)


def trim_passages(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """Those that stay within `budget` tokens when the lowest scores go first; of equals the later goes."""
    kept = list(passages)
    while kept and sum(_cost(*_texts(passage)) for passage in kept) > budget:
        kept.remove(least_worth(kept))
    return kept


def trim_history(history: Sequence[Exchange], budget: int) -> list[Exchange]:
    """The newest turns that stay within `budget` tokens, whole turns only."""
    kept: list[Exchange] = []
    for exchange in reversed(history):
        budget -= history_cost([exchange])
        if budget < 0:
            break
        kept.append(exchange)
    return kept[::-1]


def _cost(*texts: str) -> int:
    return sum(estimate_tokens(text) for text in texts) + _OVERHEAD


def _texts(passage: Passage) -> tuple[str, str]:
    return passage.text, passage.breadcrumb


def _worth(passage: Passage) -> tuple[float, int]:
    return passage.score, -passage.number
