"""Whether an ingestion fits the collection: its models, and the sources that a rebuild would lose."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rag.book import IndexEntry, IndexInfo
from rag.errors import UsageError
from rag.index.index_errors import rebuilding, way_back
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.system.program_name import program


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
    differences = [
        f"{what} {theirs} instead of {ours}"
        for what, theirs, ours in (
            ("embedding model", info.embedding_model, embedder.model_id),
            ("dimension", info.dimension, embedder.dimension or info.dimension),
            ("sparse model", info.sparse_model, sparse.model_id),
        )
        if theirs != ours
    ]
    if differences:
        paths = [str(source) for source in sources]
        other = " ".join(shlex.quote(path) for path in paths)
        raise UsageError(
            f"The collection {index.collection!r} was made with {', '.join(differences)}.",
            code="model_mismatch",
            hint=f'Run "{rebuilding(index.collection, paths, profile)}" to embed the whole book again, '
            f"{way_back(info.embedding_model)}, or ingest into another collection: "
            f"{program()} ingest {other} --collection NAME",
        )
