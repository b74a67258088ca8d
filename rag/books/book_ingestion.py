"""Begin an ingestion with the settings and the parts of a process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rag.books.book_settings import (
    MANUAL,
    build_embedder,
    collection_to_fill,
    index_of,
    owner_of,
    source_memory,
    vector_cache,
)
from rag.caller_parts import NO_CALLER_PARTS, CallerParts, as_embedder, own_name_of
from rag.embedding.local import Bm25Encoder
from rag.embedding.vector_cache import PassingVectors
from rag.errors import UsageError
from rag.ingest.book_sources import IngestOptions
from rag.ingest.ingestion import Ingestion
from rag.ingest.report import IngestProgress
from rag.profiles.profile import Profile
from rag.settings import Settings


def begin_ingestion(
    settings: Settings,
    profile: Profile,
    sources: Sequence[Path | str],
    options: IngestOptions,
    *,
    collection: str | None = None,
    caller_parts: CallerParts = NO_CALLER_PARTS,
    watch: Callable[[IngestProgress], None] | None = None,
) -> Ingestion:
    """An ingestion into a collection, by default the one that `run.py ingest` reads into. Nothing is read yet.

    Blocks while the embedding model is loaded. The caller closes the ingestion, which closes its index. Raises
    `UsageError` for a name that is not allowed, a caller with a retriever of its own, and a missing key or model.
    """
    if caller_parts.retriever is not None:
        raise UsageError("A retriever that was given has its own index, which askbook does not fill.", code="given")
    name = collection_to_fill(settings, profile, collection)
    if name == MANUAL:
        problem = f'The collection "{MANUAL}" is reserved for askbook\'s own manual.'
        raise UsageError(problem, code="collection", hint="Choose another collection.")
    if any(not str(source).strip() for source in sources):  # it would read the current folder
        raise UsageError("A source is empty.", code="source", hint="Give a folder, a file or an address.")
    embedder = (
        as_embedder(caller_parts.embeddings)
        if caller_parts.embeddings
        else build_embedder(settings, profile, name, lazy=True)
    )
    nameless = caller_parts.embeddings and not own_name_of(caller_parts.embeddings)
    return Ingestion(
        sources,
        replace(options, profile=owner_of(name, profile)),
        index=index_of(settings, name, profile, caller_parts),
        embedder=embedder,
        sparse=Bm25Encoder(),
        vectors=PassingVectors() if nameless else vector_cache(settings),
        watch=watch,
        memory=source_memory(settings),
        closes_index=caller_parts.qdrant_client is None,
    )
