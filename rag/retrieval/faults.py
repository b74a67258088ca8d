"""The errors that every index can raise, said in one place."""

from __future__ import annotations

from rag.book import IndexInfo
from rag.errors import RetrievalError


def no_collection(collection: str) -> RetrievalError:
    """There is no such collection."""
    return RetrievalError(
        "no_index", f'There is no book in the collection "{collection}".', hint='Run "python run.py ingest PATH".'
    )


def mismatch(
    stored: IndexInfo, embedding_model: str, dimension: int, sparse_model: str, recipe: str = ""
) -> RetrievalError:
    """The collection was encoded by other models than those at hand, or by another recipe: its vectors mean something
    else.
    """
    asked = (embedding_model, dimension, sparse_model)
    how = f"by {_names(*encoders(stored)[:3])}, not by {_names(*asked)}"
    if asked == encoders(stored)[:3]:
        how = f'by the recipe "{stored.recipe}", not by "{recipe}"'
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{stored.collection}" was encoded {how}.',
        hint=f'Run "python run.py ingest PATH --collection {stored.collection}" with all of its sources to encode it '
        "again, or go back to the model it was made with.",
    )


def encoders(info: IndexInfo) -> tuple[str, int, str, str]:
    """What has to be equal for vectors to be comparable."""
    return info.embedding_model, info.dimension, info.sparse_model, info.recipe


def _names(embedding: str, dimension: int, sparse: str) -> str:
    return f"{embedding or 'an unknown model'} ({dimension} dimensions) and {sparse or 'an unknown sparse model'}"
