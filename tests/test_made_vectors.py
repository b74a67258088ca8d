"""A vector that was made before is the one that the model would make now."""

from __future__ import annotations

from pathlib import Path

from rag.embedding.local import PACKAGED_DIMENSION
from tests.made_vectors import MadeVectors


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
