"""The live objects of a process: built here once, passed on explicitly, and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rag.books.book_settings import (
    BOOK,
    MANUAL,
    Embedding,
    build_embedder,
    choose_collection,
    collection_index,
    embedding_of,
    index_of,
    is_local,
    local_embedding,
    owner_of,
    place_of,
    vector_cache,
)
from rag.caller_parts import NO_CALLER_PARTS, CallerParts, as_embedder, profile_of_given
from rag.embedding.known_models import PACKAGED
from rag.embedding.local import Bm25Encoder
from rag.embedding.vector_cache import ShippedVectors
from rag.ingest.manual import VECTORS, index_manual, is_current
from rag.model.endpoint import AnswerSource, build_model, close_model, endpoint_of, provider_of
from rag.ports import ChunkIndex, Embedder, Judge, Parts, Reranker, Retriever, SparseEncoder
from rag.profiles.profile import Profile, profile_files, profile_of
from rag.prompt.prompts import check_system, system_prompt
from rag.search.langchain_retriever import LangChainRetriever, SeenChunkIndex
from rag.search.retriever import HybridRetriever
from rag.settings import Settings
from rag.system.files import Stamp, close_to_others, stamp
from rag.system.process import need

if TYPE_CHECKING:
    from rag.ingest.book_sources import IngestOptions
    from rag.ingest.chunk_vectors import OnProgress
    from rag.ingest.report import IngestProgress, IngestReport
    from rag.observing.runs import RunObserver

QUOTED_FROM: Final = 12  # passages that the answerer without a model reads, if no other number is set


class _CachedParts(NamedTuple):
    """The parts of a profile, its files, and their stamps when they were read."""

    parts: Parts
    files: tuple[Path, ...]
    stamps: list[Stamp | None]


@dataclass(eq=False, repr=False)
class LiveServices:
    """The implementation of `rag.ports.Services`, made by `open_services`. `profile` is the default one.

    The models of `shared_with`, services of another book, are used if they are the same, so that a process loads each
    model once.
    """

    settings: Settings
    profile: Profile
    embedder: Embedder
    index: ChunkIndex
    reranker: Reranker | None = None
    judge: Judge | None = None
    caller_parts: CallerParts = NO_CALLER_PARTS
    shared_with: LiveServices | None = None

    def __post_init__(self) -> None:
        self.sparse: SparseEncoder = Bm25Encoder()
        self._replaced: list[Parts] = []
        self._closed_later: list[ChunkIndex] = []  # a turn may still be searching them
        self._offered = self.settings.model_names
        name = self.profile.name
        files = profile_files(self.settings, name)
        self._parts = {
            name: _CachedParts(self._parts_of(self.profile.in_environment(self.settings)), files, [*map(stamp, files)])
        }

    @property
    def embedding(self) -> Embedding | None:
        """Which model the embedder is; None for one that the caller brought."""
        if self.caller_parts.embeddings is not None and self.index.collection != MANUAL:
            return None
        profile = profile_of(self.settings, self.profile.name)
        return embedding_of(self.settings, profile, self.index.collection)

    @cached_property
    def local_embedder(self) -> Embedder:
        """The book's embedder if it runs in this process, else the local one."""
        if is_local(self.embedder):
            return self.embedder
        if self.shared_with is not None:
            return self.shared_with.local_embedder
        return build_embedder(self.settings, collection=MANUAL)

    def parts(self, profile: str | None) -> Parts:
        """The parts of a profile, built again when a file of it has changed. Raises `UsageError` for a broken one."""
        name = profile or self.profile.name
        kept = self._parts.get(name)
        if kept is None or kept.stamps != [*map(stamp, kept.files)]:
            files = profile_files(self.settings, name)
            stamps = [*map(stamp, files)]  # before they are read: a change meanwhile is seen the next time
            parts = self._parts_of(profile_of(self.settings, name).in_environment(self.settings))
            self._replaced += [kept.parts] if kept else []  # a turn may still be using them
            self._parts[name] = kept = _CachedParts(parts, files, stamps)
        return kept.parts

    def offer_model(self, name: str) -> None:
        """Let runs choose this model too, besides those in ASKBOOK_MODELS."""
        self._offered = tuple(dict.fromkeys((*self._offered, name)))
        for key, kept in self._parts.items():
            self._parts[key] = kept._replace(parts=replace(kept.parts, models=self._offered))

    async def ingest(
        self,
        sources: Sequence[Path | str],
        options: IngestOptions,
        collection: str | None = None,
        watch: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Read sources into a book with these parts, as `graph.agent.Agent.ingest` describes it."""
        from rag.books.book_ingestion import begin_ingestion

        loop, current = asyncio.get_running_loop(), self.index.collection

        def told(progress: IngestProgress) -> None:
            if watch is not None:  # steps are told from worker threads too
                loop.call_soon_threadsafe(watch, progress)

        profile = await asyncio.to_thread(profile_of, self.settings, self.profile.name)
        ingestion = await asyncio.to_thread(
            begin_ingestion,
            self.settings,
            profile,
            sources,
            options,
            collection=collection or (None if current == MANUAL else current),
            caller_parts=self.caller_parts,
            watch=told,
        )
        try:
            report = await ingestion.run()
        finally:
            await ingestion.aclose()
        if current == MANUAL and collection is None and not options.dry_run:
            await self._switch_collection(profile, report.collection)
        return report

    async def _switch_collection(self, profile: Profile, collection: str) -> None:
        """Answer from another book from now on. Turns in progress keep the book that they began with."""
        fresh = await asyncio.to_thread(_load, self.settings, profile, collection, self.caller_parts)
        self._replaced += [kept.parts for kept in self._parts.values()]
        self._closed_later.append(self.index)
        self.embedder, self.index, self._parts = fresh.embedder, fresh.index, fresh._parts
        vars(self).pop("local_embedder", None)

    async def aclose(self) -> None:
        for index in self._closed_later:
            await index.aclose()
        if self.caller_parts.qdrant_client is None:
            await self.index.aclose()
        for parts in (*self._replaced, *(kept.parts for kept in self._parts.values())):
            if parts.model is not None and not parts.has_caller_model:
                await close_model(parts.model)

    def _parts_of(self, profile: Profile) -> Parts:
        check_system(system_prompt(profile), profile.name, profile.budget)
        if self.caller_parts.model is not None:
            profile = profile_of_given(profile, self.caller_parts.model)
            answerer, variable = AnswerSource(self.caller_parts.model, profile.model.name, None), ""
        elif provider_of(profile, self.settings):
            answerer, variable = build_model(profile, self.settings, self.embedder), ""
        else:
            endpoint = endpoint_of(profile, self.settings)
            # The answerer that quotes embeds every sentence of the passages: dozens of texts a turn, too many to pay.
            embedder = self.embedder if endpoint.key else self.local_embedder
            answerer, variable = build_model(profile, self.settings, embedder), endpoint.variable
        tool_name = profile.tool.name if profile.tool else "retrieve"
        if answerer.quoter is not None:
            profile = without_model(profile, self.settings)
        return Parts(
            profile,
            *answerer,
            self._searcher(profile, tool_name),
            variable,
            searched_with=self._searched_with(profile),
            collection=self.index.collection,
            judge=self.judge,
            models=self._offered,
            english_only=answerer.quoter is not None
            and self.settings.agent_score_threshold is None
            and (self.embedder.model_id, self.caller_parts.retriever) == (PACKAGED, None),
        )

    def _searcher(self, profile: Profile, tool_name: str) -> Retriever:
        if self.caller_parts.retriever is not None and isinstance(self.index, SeenChunkIndex):
            return LangChainRetriever(self.caller_parts.retriever, self.embedder, self.index, tool_name)
        owner = owner_of(self.index.collection, profile)
        return HybridRetriever(self.embedder, self.sparse, self.index, tool_name, self.reranker, owner)

    def _searched_with(self, profile: Profile) -> str:
        if self.caller_parts.retriever is not None:
            return f"{type(self.caller_parts.retriever).__name__}, the retriever that was given"
        text = f"{self.embedder.model_id} {place_of(self.embedder)}"
        if self.reranker is not None:
            text += f", reranked by {self.reranker.model_id} {place_of(self.reranker)}"
        missing = embedding_of(self.settings, profile, self.index.collection).missing
        return f"{text}; the profile's own model needs {missing}" if missing else text


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    profile: str = "default",
    collection: str | None = None,
    progress: OnProgress | None = None,
    caller_parts: CallerParts = NO_CALLER_PARTS,
) -> AsyncIterator[LiveServices]:
    """The services from `build_services`, closed on exit."""
    services = await build_services(
        settings, profile=profile, collection=collection, progress=progress, caller_parts=caller_parts
    )
    async with aclosing(services):
        yield services


async def build_services(
    settings: Settings,
    *,
    profile: str = "default",
    collection: str | None = None,
    progress: OnProgress | None = None,
    caller_parts: CallerParts = NO_CALLER_PARTS,
    shared_with: LiveServices | None = None,
) -> LiveServices:
    """Everything a turn needs. If the book is the manual, it is indexed if it is new or has changed.

    `progress` is called with (done, total) chunks of that. `shared_with` are services of another book, whose models are
    shared and which stay open longer. The result is not bound to an event loop. Raises `UsageError` for a wrong
    configuration.
    """
    if caller_parts != NO_CALLER_PARTS:
        caller_parts.check()
    chosen = await asyncio.to_thread(profile_of, settings, profile)
    if caller_parts.retriever is not None or caller_parts.qdrant_client is not None:
        book = collection or settings.qdrant_collection_name or chosen.book.collection or BOOK
        return await asyncio.to_thread(_load, settings, chosen, book, caller_parts)
    book = await choose_collection(settings, chosen, collection)
    services = await asyncio.to_thread(_load, settings, chosen, book, caller_parts, shared_with)
    if book == MANUAL:
        await _index_manual(settings, services, progress)
    return services


def without_model(profile: Profile, settings: Settings) -> Profile:
    """The profile as it is used without a model: the answerer that quotes calls no tool, and reads more passages."""
    count = settings.agent_top_k or max(QUOTED_FROM, profile.retrieval.top_k)
    retrieval = profile.retrieval.model_copy(update={"top_k": count, "neighbours": 0})
    return profile.model_copy(update={"retrieval": retrieval, "tool": None})


def _load(
    settings: Settings, profile: Profile, book: str, caller_parts: CallerParts, shared_with: LiveServices | None = None
) -> LiveServices:
    """The blocking part of `build_services`: it reads files and loads libraries."""
    close_to_others(settings.home)
    return LiveServices(
        settings,
        profile,
        _embedder_of(settings, profile, book, caller_parts, shared_with),
        index_of(settings, book, profile, caller_parts),
        shared_with.reranker if shared_with else _reranker_of(settings),
        shared_with.judge if shared_with else caller_parts.judge,
        caller_parts,
        shared_with,
    )


def _embedder_of(
    settings: Settings, profile: Profile, book: str, caller_parts: CallerParts, shared_with: LiveServices | None
) -> Embedder:
    """The book's embedder: the caller's, or one that the services beside it have already, if it is the same model."""
    given = caller_parts.embeddings or getattr(caller_parts.retriever, "embeddings", None)  # those of a vector store
    if given is not None and book != MANUAL:
        return as_embedder(given)
    if shared_with is not None:
        choice = embedding_of(settings, profile, book)
        if choice == shared_with.embedding:
            return shared_with.embedder
        if choice == local_embedding(settings):
            return shared_with.local_embedder
    return build_embedder(settings, profile, book)


def _reranker_of(settings: Settings) -> Reranker | None:
    if settings.rerank == "off":
        return None
    from rag.search.reranker import build_reranker

    return build_reranker(settings)


async def _index_manual(settings: Settings, services: LiveServices, progress: OnProgress | None) -> None:
    stamp = settings.home / "manual.sha256"
    if await is_current(services.index, services.embedder, services.sparse, stamp):
        return
    # Does not wait for the lock: a process that gets it after another one would index the manual again.
    async with aclosing(collection_index(settings, MANUAL, wait=0)) as index:
        vectors = ShippedVectors(VECTORS, vector_cache(settings))
        await index_manual(index, services.embedder, services.sparse, vectors, progress, stamp=stamp)


def observers_of(settings: Settings) -> list[RunObserver]:
    """The callback handlers of an agent. Raises `UsageError` when an extra is missing."""
    observers: list[RunObserver] = []
    if settings.log != "off":
        from rag.observing.run_log import RunLog

        observers.append(RunLog())
    if settings.traces == "otel":
        need("opentelemetry.sdk", "otel", "ASKBOOK_TRACES=otel")
        from rag.observing.run_spans import RunSpans

        observers.append(RunSpans())
    return observers


def start_outputs(settings: Settings) -> None:
    """Send lines and spans out of this process, for the commands. Raises `UsageError` when an extra is missing.

    A program that uses askbook as a library has outputs of its own.
    """
    if settings.log != "off":
        from rag.observing.run_log import start_log

        start_log(settings.log)
    if settings.traces == "otel":
        need("opentelemetry.sdk", "otel", "ASKBOOK_TRACES=otel")
        from rag.observing.run_spans import start_exporter

        start_exporter()
