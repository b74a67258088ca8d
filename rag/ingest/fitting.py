"""Whether an ingestion fits the collection: its models, and the sources that a rebuild would lose."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rag.book import IndexEntry, IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.index.catalog import check_models
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.system.installation import program


def check_sources(collection: str, entries: Sequence[IndexEntry], sources: Sequence[str]) -> None:
    """Raise `UsageError` if the collection has other sources, whose chunks a rebuild would lose."""
    others = {entry.source for entry in entries} - set(sources)
    if others:
        named = ", ".join(sorted(others)) if all(others) else "points that another program made"
        message = f"The collection {collection!r} also holds {named}, which --rebuild would delete."
        hint = "Name all of its sources in one command, or ingest into another --collection."
        raise UsageError(message, code="rebuild", hint=hint)


def check_encoders(
    info: IndexInfo | None,
    index: ChunkIndex,
    embedder: Embedder,
    sparse: SparseEncoder,
    sources: Sequence[Path | str],
    profile: str,
) -> None:
    """Raise `UsageError` if other models encoded the collection: vectors of two models cannot be compared."""
    if info is None:
        return
    paths = [str(source) for source in sources]
    try:
        check_models(info, index.collection, embedder, sparse, profile, paths)
    except RetrievalError as error:
        other = f'run "{program()} ingest {shlex.join(paths)} --collection NAME" to fill another collection'
        hint = f"{error.hint.removesuffix('.')}, or {other}."
        raise UsageError(error.message, code="model_mismatch", hint=hint) from None
