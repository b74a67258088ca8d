"""A number with its noun."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`.

    >>> counted(1, "turn"), counted(2_000, "turn")
    ('1 turn', '2,000 turns')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
