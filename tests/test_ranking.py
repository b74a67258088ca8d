from __future__ import annotations

import pytest

from rag.index.payload import CODE_WORDS, prose_words
from rag.search.ranking import BM25, ENOUGH, PROSE, fuse


def test_the_place_of_a_passage_is_a_weighted_sum_of_its_scores() -> None:
    expected = 0.5 + 0.4 * 0.7 + BM25 * 0.25 + PROSE * 0.5
    assert fuse([0.5, 0.7], [1.0, 0.4], 0.25, ENOUGH // 2) == pytest.approx(expected)


def test_a_clear_lead_in_one_search_beats_two_narrow_ones() -> None:
    clear, narrow = fuse([0.8], [1.0], 0.2, 50), fuse([0.5], [1.0], 0.3, 50)
    assert clear > narrow


def test_the_words_decide_between_passages_of_one_meaning() -> None:
    assert fuse([0.5], [1.0], 1.0, 50) > fuse([0.5], [1.0], 0.0, 50)


def test_a_command_alone_is_worth_as_much_as_enough_prose() -> None:
    command = prose_words("```sh\nsudo port install helix\n```", "MacPorts")
    assert fuse([0.5], [1.0], 0.5, command) == fuse([0.5], [1.0], 0.5, ENOUGH)


def test_of_two_equal_passages_the_one_with_more_prose_stands_first() -> None:
    assert fuse([0.5], [1.0], 0.5, 50) > fuse([0.5], [1.0], 0.5, 10)


def test_enough_prose_is_enough() -> None:
    assert fuse([0.5], [1.0], 0.5, ENOUGH) == fuse([0.5], [1.0], 0.5, 10 * ENOUGH)


def test_every_cosine_needs_a_weight() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        fuse([0.5, 0.4], [1.0], 0.0, 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A node is a process.", 3),  # one-letter words do not count
        ("Run it:\n\n```bash\nros2 run demo talker\n```\n\nThen wait.", 4 + CODE_WORDS),
        ("~~~\nnever closed at all", CODE_WORDS),
        ("```\none\n```\n\n```\ntwo\n```", CODE_WORDS),
        ("1. Docs: https://example.org/a/long/way\n2. More: https://example.org.\nRead them.", 2),
        ("See [the guide](https://example.org) first.", 4),
        ("word " * 50 + "https://example.org", 50),
        ("Größe und Länge", 3),
        ("", 0),
    ],
)
def test_addresses_are_no_prose_and_code_is_as_good_as_a_paragraph(text: str, words: int) -> None:
    assert prose_words(text) == words


@pytest.mark.parametrize("heading", ["References", "9. Further reading", "**Bibliography**", "see also"])
def test_a_list_of_other_works_is_no_prose(heading: str) -> None:
    assert prose_words("Tobin et al. Domain randomization for sim-to-real transfer.", heading) == 0


def test_a_heading_that_only_mentions_references_makes_no_list() -> None:
    assert prose_words("A reference borrows a value.", "References and borrowing") == 3
