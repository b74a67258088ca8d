"""A vector that was made before is the one that the model would make now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag.embedding.local import PACKAGED_DIMENSION, OnnxEmbeddings
from rag.ports import TokenVectors
from tests.made_vectors import MadeVectors, used


class Model:
    """Makes a vector of a text's length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def make(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [[float(len(text))] * PACKAGED_DIMENSION for text in texts]


def test_a_list_of_texts_is_made_once_for_every_worker_and_run(tmp_path: Path) -> None:
    model = Model()
    one, other = (MadeVectors(tmp_path / "vectors.sqlite") for _ in range(2))
    first = one.of(["a", "bc"], model.make)
    assert first == [[1.0] * PACKAGED_DIMENSION, [2.0] * PACKAGED_DIMENSION]
    assert one.of(["a", "bc"], model.make) == other.of(["a", "bc"], model.make) == first
    assert model.asked == [["a", "bc"]]
    one.close()
    other.close()


def test_another_list_is_made_again_even_of_the_same_texts() -> None:
    """Texts that share a run of the model may change the last digits of each other's vectors."""
    model = Model()
    made = MadeVectors(None)
    for texts in (["a", "bc"], ["a"], ["bc", "a"], ["abc"]):
        made.of(texts, model.make)
    made.close()
    assert len(model.asked) == 4


@pytest.mark.usefixtures("every_vector_is_made")
def test_what_was_stored_is_what_the_model_makes(tmp_path: Path) -> None:
    """The table is used twice: the first time it stores, the second time it reads."""
    model, texts = OnnxEmbeddings(), ["A widget has four teeth.", "", "Was kostet ein Kessel?"]
    expected = model.embed_documents(texts), model.embed_tokens(texts)
    for _ in range(2):
        with used(tmp_path / "vectors.sqlite"):
            assert model.embed_documents(texts) == expected[0]
            assert plain(model.embed_tokens(texts)) == plain(expected[1])


def test_the_vectors_of_tokens_are_made_once_too(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def make(texts: list[str]) -> list[TokenVectors]:
        asked.append(texts)
        rows = [np.full((len(text), PACKAGED_DIMENSION), len(text), np.float32) for text in texts]
        return [TokenVectors([1.0] * PACKAGED_DIMENSION, row, [(i, i + 1) for i in range(len(row))]) for row in rows]

    made = MadeVectors(tmp_path / "vectors.sqlite")
    first = plain(made.of_tokens(["", "ab"], make))
    assert plain(made.of_tokens(["", "ab"], make)) == first
    made.of(["", "ab"], lambda texts: [[0.0] * PACKAGED_DIMENSION for _ in texts])
    made.close()
    assert asked == [["", "ab"]]


def plain(found: list[TokenVectors]) -> list[tuple[list[float], list[list[float]], list[tuple[int, int]]]]:
    return [(one.vector, one.tokens.tolist(), one.spans) for one in found]
