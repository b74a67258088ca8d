"""The errors that every index can raise, said in one place."""

from __future__ import annotations

from rag.book import IndexInfo
from rag.errors import RetrievalError


def no_collection(collection: str) -> RetrievalError:
    """There is no such collection."""
    return RetrievalError(
        "no_index", f'There is no book in the collection "{collection}".', hint='Run "python run.py ingest PATH".'
    )


def mismatch(stored: IndexInfo, embedding_model: str, dimension: int, sparse_model: str) -> RetrievalError:
    """The collection was encoded by other models than those at hand: its vectors mean something else."""
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{stored.collection}" was encoded by {_names(*encoders(stored))}, not by '
        f"{_names(embedding_model, dimension, sparse_model)}.",
        hint=f'Run "python run.py ingest PATH --collection {stored.collection}" with all of its sources to encode it '
        "again, or go back to the model it was made with.",
    )


def encoders(info: IndexInfo) -> tuple[str, int, str]:
    """What has to be equal for vectors to be comparable."""
    return info.embedding_model, info.dimension, info.sparse_model


def _names(embedding: str, dimension: int, sparse: str) -> str:
    return f"{embedding or 'an unknown model'} ({dimension} dimensions) and {sparse or 'an unknown sparse model'}"
