"""A question is compared with a text token by token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rag.embedding.local import OnnxEmbeddings
from rag.ports import TokenEmbedder, TokenVectors
from rag.prompt.passage_format import NumberedPassage
from rag.quoting.answerer import answers, features
from rag.quoting.late_interaction import matched, token_places
from rag.quoting.relevance import read
from rag.text.terms import terms

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


def test_each_token_counts_by_its_best_match_and_the_weakest_term_is_known() -> None:
    places = token_places("hide the password", QUESTION, terms("hide the password"))
    assert places == [[0], [2]]
    other, found = matched(QUESTION, places, [vectors("one", (1, 0)), TEXT])
    assert other.weakest == pytest.approx(0.6)  # "password"
    assert found.weakest == pytest.approx(0.6)  # "hide" and the second word
    assert found.mean == pytest.approx((0.6 + 1.0 + 1.0) / 3)


def test_a_term_that_the_question_does_not_have_as_written_has_no_place() -> None:
    assert token_places("about ROS 2", vectors("about ROS 2", (1, 0), (1, 0), (1, 0)), terms("about ROS 2")) == []


def test_without_terms_the_weakest_is_the_mean_and_without_tokens_all_is_0() -> None:
    [found] = matched(QUESTION, [], [TEXT])
    assert found.weakest == found.mean
    empty = TokenVectors([1.0, 0.0], np.zeros((0, 2), dtype=np.float32), [])
    assert matched(empty, [], [TEXT]) == matched(QUESTION, [[0]], [empty]) == [(0.0, 0.0)]
    assert matched(QUESTION, [], [empty, TEXT]) == [(0.0, 0.0), found]


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
            "p.md",
            "You can ask for a password and hide the input: what is typed does not appear on the screen. "
            "Set `hide_input=True` in the option.",
        )
    ]
    paraphrased = read("How do I ask for a secret without the letters showing up on the screen?", book, model)
    beside = read("How do I ask for a date with the calendar showing up on the screen?", book, model)
    assert features(paraphrased).weakest > features(beside).weakest
    assert answers(paraphrased)
    assert not answers(beside)
