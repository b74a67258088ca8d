"""A vector that was made before is the one that the model would make now."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rag.embedding.local import PACKAGED_DIMENSION, OnnxEmbeddings
from rag.embedding.vector_cache import text_key
from rag.ports import TokenVectors
from tests.made_vectors import MadeVectors, stored_vectors, used


class Model:
    """Makes a vector of a text's length, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def make(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [[float(len(text))] * PACKAGED_DIMENSION for text in texts]


def test_a_text_is_embedded_once_for_every_list_worker_and_run(tmp_path: Path) -> None:
    model = Model()
    one, other = (MadeVectors(tmp_path / "vectors.sqlite") for _ in range(2))
    first = one.of(["a", "bc", "a"], model.make)
    assert first == [[1.0] * PACKAGED_DIMENSION, [2.0] * PACKAGED_DIMENSION, [1.0] * PACKAGED_DIMENSION]
    assert one.of(["a", "bc", "a"], model.make) == other.of(["a", "bc", "a"], model.make) == first
    assert other.of(["bc", "abc"], model.make) == [first[1], [3.0] * PACKAGED_DIMENSION]
    assert model.asked == [["a"], ["bc"], ["abc"]]
    one.close()
    other.close()


@pytest.mark.usefixtures("every_vector_is_made")
def test_the_stored_vectors_are_those_that_the_model_makes(tmp_path: Path) -> None:
    """Those of the questions about the translated books, from the file, rounded to 16 bits."""
    files = Path(__file__).parent.glob("data/languages/*/questions.jsonl")
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [json.loads(line)["questions"][0] for line in lines]
    stored = [vector for text in texts if (vector := stored_vectors().get(text_key(text)))]
    assert len(stored) == len(texts) > 20
    made = MadeVectors(None)
    assert made.of(texts, Model().make) == stored
    made.close()
    cosines = np.sum(np.array(stored) * np.array(OnnxEmbeddings().embed_documents(texts)), axis=1)
    assert cosines.min() > 0.9999


@pytest.mark.usefixtures("every_vector_is_made")
def test_what_was_stored_is_what_the_model_makes(tmp_path: Path) -> None:
    """The table is used twice: the first time it stores, the second time it reads."""
    model, texts = OnnxEmbeddings(), ["A widget has four teeth.", "", "Was kostet ein Kessel?"]
    expected = model.embed_documents(texts), model.embed_tokens(texts)
    for _ in range(2):
        with used(tmp_path / "vectors.sqlite"):
            assert np.allclose(model.embed_documents(texts), expected[0], atol=1e-6)
            for found, wanted in zip(model.embed_tokens(texts), expected[1], strict=True):
                assert np.allclose(found.vector, wanted.vector, atol=1e-6)
                assert np.allclose(found.tokens, wanted.tokens, atol=1e-5)
                assert found.spans == wanted.spans


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
    assert asked == [[""], ["ab"]]


def plain(found: list[TokenVectors]) -> list[tuple[list[float], list[list[float]], list[tuple[int, int]]]]:
    return [(one.vector, one.tokens.tolist(), one.spans) for one in found]
