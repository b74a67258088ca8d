"""`run.py ingest`: reads a book into the index."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from pathlib import Path
from typing import Any

from cli.terminal import in_line, print_json, progress_bar, say
from rag.errors import UsageError
from rag.profiles.profile import Profile, profile_of
from rag.settings import Settings


def ingest(options: argparse.Namespace) -> int:
    """Exit code 0, 1 if a source failed (the others are ingested), or 2 for invalid input (nothing is written)."""
    settings = Settings.from_env()
    profile = profile_of(settings, options.profile)
    with progress_bar("Indexing") as progress:
        report = asyncio.run(_run(options, settings, profile, progress))
    if options.json:
        print_json(report.model_dump(mode="json"))
    else:
        _show(report, options)
    return 1 if report.failures else 0


async def _run(options: argparse.Namespace, settings: Settings, profile: Profile, progress: Any) -> Any:
    from rag.embedding.vectors import Bm25Encoder
    from rag.ingest.pipeline import ingest as run_ingestion
    from rag.services import MANUAL, build_embedder, collection_index, collection_to_fill, owner_of, vector_cache

    name = collection_to_fill(settings, profile, options.collection)
    if name == MANUAL:
        problem = f'The collection "{MANUAL}" is reserved for askbook\'s own manual.'
        raise UsageError(problem, code="collection", hint="Choose another --collection.")
    if "" in options.sources:  # `ingest "$BOOK"` without the variable would read the current folder
        raise UsageError("A source is empty.", code="source", hint="Give a folder or a file: ingest PATH.")
    index = collection_index(settings, name, profile)
    try:
        return await run_ingestion(
            [Path(source) for source in options.sources],
            base_url=options.base_url,
            index=index,
            embedder=build_embedder(settings, profile, name),
            sparse=Bm25Encoder(),
            vectors=vector_cache(settings),
            rebuild=options.rebuild,
            profile=owner_of(name, profile),
            dry_run=options.dry_run,
            progress=progress,
        )
    finally:
        await index.aclose()


def _show(report: Any, options: argparse.Namespace) -> None:
    dry_run = options.dry_run
    documents, chunks = report.documents, report.chunks
    for failure in report.failures:
        say(in_line(f"{failure.source}: {failure.reason}"))
    would = "would be " if dry_run else ""
    print(
        f"Pages: {documents.added} {would}added, {documents.changed} changed, {documents.unchanged} unchanged, "
        f"{documents.deleted} deleted, {documents.failed} failed."
    )
    has = "would have" if dry_run else "has"
    print(
        f'The book "{report.collection}" {has} {chunks.total} passages, embedded with {report.embedding_model} '
        f"({report.seconds:.1f} s)."
    )
    if not dry_run:
        given = (("--collection", options.collection), ("--profile", options.profile))
        same = "".join(f" {option} {shlex.quote(value)}" for option, value in given if value)
        print(f'To ask it a question, run: python run.py ask "What is this book about?"{same}')
