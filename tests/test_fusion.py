from __future__ import annotations

import math

import pytest

from rag.retrieval.fusion import BM25, LENGTH, LONGEST, SHORTEST, fuse, prose_words


def test_the_place_of_a_passage_is_a_weighted_sum_of_its_scores() -> None:
    expected = 0.5 + 0.4 * 0.7 + BM25 * 0.25 + LENGTH * math.log(100)
    assert fuse([0.5, 0.7], [1.0, 0.4], 0.25, 100) == pytest.approx(expected)


def test_a_clear_lead_in_one_search_beats_two_narrow_ones() -> None:
    clear, narrow = fuse([0.8], [1.0], 0.2, 50), fuse([0.5], [1.0], 0.3, 50)
    assert clear > narrow


def test_the_words_decide_between_passages_of_one_meaning() -> None:
    assert fuse([0.5], [1.0], 1.0, 50) > fuse([0.5], [1.0], 0.0, 50)


def test_of_two_equal_passages_the_longer_one_stands_first() -> None:
    assert fuse([0.5], [1.0], 0.5, 90) > fuse([0.5], [1.0], 0.5, 30)


@pytest.mark.parametrize(("one", "other"), [(0, SHORTEST), (LONGEST, 10 * LONGEST)])
def test_beyond_its_limits_length_does_not_count(one: int, other: int) -> None:
    assert fuse([0.5], [1.0], 0.5, one) == fuse([0.5], [1.0], 0.5, other)


def test_every_cosine_needs_a_weight() -> None:
    with pytest.raises(ValueError, match="argument"):
        fuse([0.5, 0.4], [1.0], 0.0, 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A node is a process.", 3),  # one-letter words do not count
        ("Run it:\n\n```bash\nros2 run demo talker\n```\n\nThen wait.", 4),
        ("~~~\nnever closed at all", 0),
        ("1. Docs: https://example.org/a/long/way\n2. More: https://example.org", 2),
        ("Größe und Länge", 3),
        ("", 0),
    ],
)
def test_prose_is_what_is_neither_code_nor_an_address(text: str, words: int) -> None:
    assert prose_words(text) == words
