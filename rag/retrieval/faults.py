"""The errors that every index can raise, said in one place."""

from __future__ import annotations

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError


def no_collection(collection: str) -> RetrievalError:
    """There is no such collection."""
    return RetrievalError(
        "no_index", f'There is no book in the collection "{collection}".', hint='Run "python run.py ingest PATH".'
    )


def not_ours(collection: str) -> UsageError:
    """Somebody else's collection is read and never written: what made it would not know what we added."""
    return UsageError(
        f'The collection "{collection}" was not made by askbook, so nothing is written into it.',
        code="foreign_collection",
        hint="Ingest into another collection: --collection NAME.",
    )


def mismatch(stored: IndexInfo, embedding_model: str, dimension: int, sparse_model: str) -> RetrievalError:
    """The collection was encoded by other models than those at hand: its vectors mean something else."""
    if stored.foreign:
        return _foreign_mismatch(stored, embedding_model, dimension)
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{stored.collection}" was encoded by {_names(*encoders(stored))}, not by '
        f"{_names(embedding_model, dimension, sparse_model)}.",
        hint=f'Run "python run.py ingest PATH --collection {stored.collection}" with all of its sources to encode it '
        "again, or go back to the model it was made with.",
    )


def _foreign_mismatch(stored: IndexInfo, embedding_model: str, dimension: int) -> RetrievalError:
    name, size = stored.collection, stored.dimension
    if not stored.embedding_model:
        return RetrievalError(
            "embedding_unknown",
            f'The collection "{name}" does not say which model made its vectors of {size} dimensions.',
            hint='Name the model in the profile: [book] embedding_model = "..."; '
            f'"python run.py doctor --collection {name}" prints what to add.',
        )
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{name}" holds vectors of {size} dimensions, made by {stored.embedding_model} as the profile '
        f"says; questions are embedded by {embedding_model} ({dimension} dimensions).",
        hint=f"Use the embedding model {stored.embedding_model}, or correct embedding_model in the section [book] of "
        "the profile.",
    )


def encoders(info: IndexInfo) -> tuple[str, int, str]:
    """What has to be equal for vectors to be comparable."""
    return info.embedding_model, info.dimension, info.sparse_model


def _names(embedding: str, dimension: int, sparse: str) -> str:
    return f"{embedding or 'an unknown model'} ({dimension} dimensions) and {sparse or 'an unknown sparse model'}"
