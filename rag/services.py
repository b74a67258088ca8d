"""The live objects of a process: built here once, passed on explicitly, and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import Final

from rag.disk import close_to_others
from rag.embedding import choice as embedding_choice
from rag.embedding.vector_cache import ShippedVectors, SqliteVectorCache
from rag.embedding.vectors import Bm25Encoder
from rag.index.catalog import list_collections, open_index
from rag.index.field_mapping import Layout, layout_of
from rag.index.server_client import Server
from rag.ingest.manual import VECTORS, index_manual
from rag.model.endpoint import build_model, close_model, endpoint_of
from rag.ports import ChunkIndex, Embedder, Parts, Reranker, SparseEncoder
from rag.profiles.profile import Profile, profile_of
from rag.profiles.schema import PromptSection
from rag.prompt.budget import check_system
from rag.prompt.prompts import system_prompt
from rag.search.rerank import build_reranker
from rag.search.retriever import Retriever
from rag.settings import Settings

MANUAL: Final = "manual"  # collection of askbook's own manual
BOOK: Final = "book"  # default collection of the user's book
QUOTED_FROM: Final = 12  # passages that the answerer without a model reads, if no other number is set

Progress = Callable[[int, int], None]


class LiveServices:
    """The implementation of `rag.ports.Services`. Use `open_services` to build one.

    `embedder` is the book's; `local_embedder` always runs in this process.
    """

    def __init__(
        self,
        settings: Settings,
        profile: str,
        embedder: Embedder,
        index: ChunkIndex,
        reranker: Reranker | None = None,
    ) -> None:
        self.settings = settings
        self.embedder = embedder
        self.reranker = reranker
        self.sparse: SparseEncoder = Bm25Encoder()
        self._index = index
        self._default_profile = profile
        self._parts: dict[str, Parts] = {}

    @property
    def index(self) -> ChunkIndex:
        """The index of the book."""
        return self._index

    @cached_property
    def local_embedder(self) -> Embedder:
        """The book's embedder if it runs in this process, else the local one."""
        if embedding_choice.is_local(self.embedder):
            return self.embedder
        return embedding_choice.build_embedder(embedding_choice.local(self.settings), self.settings)

    def parts(self, profile: str | None) -> Parts:
        """The parts of a profile, built on first use. Raises `UsageError` for an unknown name or a broken profile."""
        name = profile or self._default_profile
        if name not in self._parts:
            self._parts[name] = self._build(profile_of(self.settings, name).in_environment(self.settings))
        return self._parts[name]

    async def aclose(self) -> None:
        await self.index.aclose()
        for parts in self._parts.values():
            await close_model(parts.model)

    def _build(self, profile: Profile) -> Parts:
        check_system(system_prompt(profile), profile.name, profile.budget)
        endpoint = endpoint_of(profile, self.settings)
        # The quoting answerer embeds every sentence of the passages: dozens of texts per turn, too many for a service.
        embedder = self.embedder if endpoint.key else self.local_embedder
        model, model_name, quotes = build_model(profile, self.settings, embedder)
        tool_name = profile.tool.name if profile.tool else "retrieve"
        if quotes:  # it takes all text after "Question:" as the question, calls no tool, and reads more passages
            count = self.settings.agent_top_k or max(QUOTED_FROM, profile.retrieval.top_k)
            retrieval = profile.retrieval.model_copy(update={"top_k": count, "neighbours": 0})
            changes = {"prompt": PromptSection(), "retrieval": retrieval, "tool": None}
            profile = profile.model_copy(update=changes)
        owner = owner_of(self.index.collection, profile)
        return Parts(
            profile,
            model,
            model_name,
            quotes,
            Retriever(self.embedder, self.sparse, self.index, tool_name, self.reranker, owner),
            endpoint.variable,
            searched_with=self._searched_with(profile),
            collection=self.index.collection,
        )

    def _searched_with(self, profile: Profile) -> str:
        text = f"{self.embedder.model_id} {embedding_choice.place_of(self.embedder)}"
        if self.reranker is not None:
            text += f", reranked by {self.reranker.model_id} {embedding_choice.place_of(self.reranker)}"
        missing = embedding_choice.embedding_of(self.settings, profile, self.index.collection).missing
        return f"{text}; the profile's own model needs {missing}" if missing else text


def build_embedder(settings: Settings, profile: Profile | None = None, collection: str | None = None) -> Embedder:
    """The embedding model of a book, chosen by `rag.embedding.choice`. The manual always uses the local one.

    Makes no call. Raises `UsageError` if the model is missing or unusable.
    """
    if collection == MANUAL:
        choice = embedding_choice.local(settings)
    else:
        choice = embedding_choice.embedding_of(settings, profile, collection)
    return embedding_choice.build_embedder(choice, settings)


def vector_cache(settings: Settings) -> SqliteVectorCache:
    """The cache of computed vectors, in `home`."""
    return SqliteVectorCache(settings.home / "vectors.sqlite")


def collection_to_fill(settings: Settings, profile: Profile, given: str | None) -> str:
    """The collection to ingest into: the one that `choose_collection` searches afterwards."""
    own = profile.book.collection if settings.qdrant_url else None
    return given or settings.qdrant_collection_name or own or BOOK


def owner_of(collection: str, profile: Profile) -> str:
    """The name of the profile if the collection is its own, whose embedding model it decides; empty otherwise."""
    return profile.name if collection == profile.book.collection else ""


async def choose_collection(settings: Settings, profile: Profile, given: str | None) -> str:
    """The collection to search. The first of these that applies: the one given, QDRANT_COLLECTION_NAME, the profile's
    (only with a Qdrant server), `book` if it exists, the manual.
    """
    if given or settings.qdrant_collection_name:
        return given or settings.qdrant_collection_name or BOOK
    if profile.book.collection and settings.qdrant_url:
        return profile.book.collection
    known = await list_collections(home=settings.home, server=server_of(settings))
    return BOOK if BOOK in known else MANUAL


def collection_index(settings: Settings, collection: str, profile: Profile | None = None) -> ChunkIndex:
    """The index of one book, which need not exist. `profile` says how to read it if askbook did not create it.

    Raises `UsageError` for an invalid name.
    """
    server = server_of(settings)
    if server is None:  # only a server holds collections that other programs made
        return open_index(home=settings.home, collection=collection)
    layout = layout_of(profile.book) if profile else Layout()
    layout = replace(layout, embedding_model=embedding_choice.model_id_of(layout.embedding_model))
    return open_index(home=settings.home, collection=collection, server=server, layout=layout)


def server_of(settings: Settings) -> Server | None:
    """The Qdrant server of this process, or None if books are stored in `home`."""
    if not settings.qdrant_url:
        return None
    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    return Server(settings.qdrant_url, key, settings.qdrant_grpc_port)


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    profile: str = "default",
    collection: str | None = None,
    progress: Progress | None = None,
) -> AsyncIterator[LiveServices]:
    """The services from `build_services`, closed on exit."""
    services = await build_services(settings, profile=profile, collection=collection, progress=progress)
    try:
        yield services
    finally:
        await services.aclose()


async def build_services(
    settings: Settings,
    *,
    profile: str = "default",
    collection: str | None = None,
    progress: Progress | None = None,
) -> LiveServices:
    """Everything a turn needs. If the book is the manual, it is first indexed if it is new or has changed.

    `progress` is called with (done, total) chunks of that. The result is not bound to an event loop yet. Raises
    `UsageError` for a wrong configuration.
    """
    chosen = await asyncio.to_thread(profile_of, settings, profile)
    book = await choose_collection(settings, chosen, collection)
    services = await asyncio.to_thread(_build, settings, chosen, profile, book)
    if book == MANUAL:
        await _index_manual(settings, services, progress)
    return services


def _build(settings: Settings, chosen: Profile, profile: str, book: str) -> LiveServices:
    """The blocking part of `build_services`: it reads files and loads libraries."""
    close_to_others(settings.home)
    embedder, index = build_embedder(settings, chosen, book), collection_index(settings, book, chosen)
    reranker = None if settings.rerank == "off" else build_reranker(settings)
    services = LiveServices(settings, profile, embedder, index, reranker)
    services.parts(profile)
    return services


async def _index_manual(settings: Settings, services: LiveServices, progress: Progress | None) -> None:
    index = collection_index(settings, MANUAL)
    try:
        vectors = ShippedVectors(VECTORS, vector_cache(settings))
        await index_manual(index, services.embedder, services.sparse, vectors, progress)
    finally:
        await index.aclose()
