"""A question is compared with a text token by token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rag.embedding.local import OnnxEmbeddings
from rag.ports import TokenEmbedder, TokenVectors
from rag.quoting.answerer import answers, features
from rag.quoting.blocks import NumberedPassage
from rag.quoting.relevance import HELD, read, term_matches, token_places
from rag.quoting.terms import terms

pytestmark = pytest.mark.usefixtures("every_vector_is_made")


def vectors(text: str, *rows: Sequence[float]) -> TokenVectors:
    """One token for each word of the text."""
    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    return TokenVectors([1.0, 0.0], np.array(rows, dtype=np.float32), spans)


QUESTION = vectors("hide the password", (1, 0), (0, 1), (0.6, 0.8))
TEXT = vectors("secret words", (0, 1), (0.6, 0.8))


def test_each_term_counts_by_its_best_match_in_a_text() -> None:
    places = token_places("hide the password", QUESTION, terms("hide the password"))
    assert places == [[0], [2]]
    one, other = term_matches(QUESTION, places, [vectors("one", (1, 0)), TEXT])
    assert one == pytest.approx([1.0, 0.6])
    assert other == pytest.approx([0.6, 1.0])


def test_a_term_that_the_question_does_not_have_as_written_counts_by_the_whole_question() -> None:
    assert token_places("about ROS 2", vectors("about ROS 2", (1, 0), (1, 0), (1, 0)), terms("about ROS 2")) == [[]]
    assert term_matches(QUESTION, [[]], [TEXT]) == [pytest.approx([(0.6 + 1.0 + 1.0) / 3])]


def test_without_tokens_nothing_matches() -> None:
    empty = TokenVectors([1.0, 0.0], np.zeros((0, 2), dtype=np.float32), [])
    assert term_matches(empty, [[0]], [TEXT]) == term_matches(QUESTION, [[0]], [empty]) == [[0.0]]
    assert term_matches(QUESTION, [[0]], [empty, TEXT]) == [[0.0], pytest.approx([0.6])]


def test_a_word_at_the_end_of_a_long_table_is_matched() -> None:
    rows = "\n".join(f"| `setting-{n}` | Turns feature {n} of the editor on or off |" for n in range(20))
    table = f"| Name | What it does |\n| --- | --- |\n{rows}\n| `ruler` | Draws a zigzag |"
    reading = read("What draws a zigzag?", [NumberedPassage(1, "Editor", table)], OnnxEmbeddings(threads=1))
    assert features(reading).weakest >= HELD


def test_the_vectors_of_tokens_are_those_of_the_text_as_written() -> None:
    model = OnnxEmbeddings(threads=1)
    assert isinstance(model, TokenEmbedder)
    texts = ["How do I hide a Café's password?", "x", ""]
    found = model.embed_tokens(texts)
    for text, each, vector in zip(texts, found, model.embed_documents(texts), strict=True):
        assert each.vector == pytest.approx(vector, abs=1e-6)
        assert len(each.tokens) == len(each.spans)
        assert np.linalg.norm(each.tokens, axis=1) == pytest.approx(1.0, abs=1e-5)
        assert "".join(text[a:b] for a, b in each.spans) == text.replace(" ", "")


def test_a_question_in_other_words_is_answered_and_one_about_something_else_is_refused() -> None:
    model = OnnxEmbeddings(threads=1)
    book = [
        NumberedPassage(
            1,
            "Options > Password",
            "You can ask for a password and hide the input: what is typed does not appear on the screen. "
            "Set `hide_input=True` in the option.",
        )
    ]
    paraphrased = read("How do I ask for a secret without the letters showing up on the screen?", book, model)
    beside = read("How do I ask for a date with the calendar showing up on the screen?", book, model)
    assert features(paraphrased).weakest > features(beside).weakest
    assert answers(paraphrased)
    assert not answers(beside)
