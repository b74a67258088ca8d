"""The live objects of a process: built once here, passed on explicitly, closed in one place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import Final

from rag.embedding import choice as embedding_choice
from rag.embedding.sparse import Bm25Encoder
from rag.embedding.vector_cache import ShippedVectors, SqliteVectorCache
from rag.index.catalog import list_collections, open_index
from rag.index.field_mapping import Layout, layout_of
from rag.index.server_client import Server
from rag.ingest.manual import VECTORS, index_manual
from rag.model.endpoint import build_model, endpoint_of
from rag.ports import ChunkIndex, Embedder, Parts, Reranker, SparseEncoder
from rag.profiles.profile import Profile, profile_of
from rag.profiles.schema import PromptSection
from rag.search.rerank import build_reranker
from rag.search.retriever import Retriever
from rag.settings import Settings

MANUAL: Final = "manual"
BOOK: Final = "book"

Progress = Callable[[int, int], None]


class LiveServices:
    """What `rag.ports.Services` asks for, on the real libraries. Use `open_services`.

    `embedder` is the book's. `local_embedder` runs in this process, whatever the book's does.
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
        self._usual = profile
        self._parts: dict[str, Parts] = {}

    @property
    def index(self) -> ChunkIndex:
        """The book that is asked."""
        return self._index

    def parts(self, profile: str | None) -> Parts:
        """The parts of a profile, built when it is first asked for. Raises `UsageError` for an unknown name."""
        name = profile or self._usual
        if name not in self._parts:
            self._parts[name] = self._build(profile_of(self.settings, name).in_environment(self.settings))
        return self._parts[name]

    def _searched_with(self, profile: Profile) -> str:
        words = f"{self.embedder.model_id} {embedding_choice.place_of(self.embedder)}"
        if self.reranker is not None:
            words += f", reranked by {self.reranker.model_id} {embedding_choice.place_of(self.reranker)}"
        missing = embedding_choice.embedding_of(self.settings, profile, self.index.collection).missing
        return f"{words}; the profile's own model needs {missing}" if missing else words

    @cached_property
    def local_embedder(self) -> Embedder:
        if embedding_choice.is_local(self.embedder):
            return self.embedder
        return embedding_choice.build_embedder(embedding_choice.local(self.settings), self.settings)

    def _build(self, profile: Profile) -> Parts:
        endpoint = endpoint_of(profile, self.settings)
        # Whoever quotes compares each sentence of the passages: dozens of texts a turn.
        embedder = self.embedder if endpoint.key else self.local_embedder
        model, model_name, quotes = build_model(profile, self.settings, embedder)
        if quotes:  # it reads the question to the end of the prompt, needs no rules, and refuses by the best passages
            best_alone = profile.retrieval.model_copy(update={"neighbours": 0})
            profile = profile.model_copy(update={"prompt": PromptSection(), "retrieval": best_alone})
        tool_name = profile.tool.name if profile.tool else "retrieve"
        retriever = Retriever(self.embedder, self.sparse, self.index, tool_name=tool_name, reranker=self.reranker)
        words = self._searched_with(profile)
        return Parts(
            profile,
            model,
            model_name,
            quotes,
            retriever,
            endpoint.variable,
            searched_with=words,
            collection=self.index.collection,
        )

    async def aclose(self) -> None:
        await self.index.aclose()


def build_embedder(settings: Settings, profile: Profile | None = None, collection: str | None = None) -> Embedder:
    """The embedding model of a book: see `rag.embedding.choice`. The manual's is always inside this process.

    Nothing is called. Raises `UsageError` when the model is missing or not what it should be.
    """
    if collection == MANUAL:
        choice = embedding_choice.local(settings)
    else:
        choice = embedding_choice.embedding_of(settings, profile, collection)
    return embedding_choice.build_embedder(choice, settings)


def vector_cache(settings: Settings) -> SqliteVectorCache:
    """The vectors that were computed before."""
    return SqliteVectorCache(settings.home / "vectors.sqlite")


async def choose_collection(settings: Settings, profile: Profile, given: str | None) -> str:
    """The book to ask: the one given, else the environment's, else the profile's on its server, else `book` if there
    is one, else the manual.
    """
    if given or settings.qdrant_collection_name:
        return given or settings.qdrant_collection_name or BOOK
    if profile.book.collection and settings.qdrant_url:
        return profile.book.collection
    known = await list_collections(home=settings.home, server=server_of(settings))
    return BOOK if BOOK in known else MANUAL


def collection_index(settings: Settings, collection: str, profile: Profile | None = None) -> ChunkIndex:
    """The index of one book, whether it exists or not; `profile` says how to read it if somebody else made it.

    Raises `UsageError` for a name that cannot be one.
    """
    layout = layout_of(profile.book) if profile else Layout()
    layout = replace(layout, embedding_model=embedding_choice.model_id_of(layout.embedding_model))
    return open_index(home=settings.home, collection=collection, server=server_of(settings), layout=layout)


def server_of(settings: Settings) -> Server | None:
    """The Qdrant server of this process, None where books are in a folder."""
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
    """What `build_services` builds, closed at exit."""
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
    """Everything a turn needs. The manual is indexed first when it is the book and is not, or has changed.

    `progress` hears of that, as (done, total) chunks. What is built belongs to no event loop yet. Raises `UsageError`
    for what is configured wrongly.
    """
    chosen = await asyncio.to_thread(profile_of, settings, profile)
    book = await choose_collection(settings, chosen, collection)
    services = await asyncio.to_thread(_build, settings, chosen, profile, book)
    if book == MANUAL:
        await _index_manual(settings, services, progress)
    return services


def _build(settings: Settings, chosen: Profile, profile: str, book: str) -> LiveServices:
    """The part of opening that reads files and loads libraries: no work for an event loop."""
    embedder, index = build_embedder(settings, chosen, book), collection_index(settings, book, chosen)
    services = LiveServices(settings, profile, embedder, index, build_reranker(settings))
    services.parts(profile)
    return services


async def _index_manual(settings: Settings, services: LiveServices, progress: Progress | None) -> None:
    index = collection_index(settings, MANUAL)
    try:
        vectors = ShippedVectors(VECTORS, vector_cache(settings))
        await index_manual(index, services.embedder, services.sparse, vectors, progress)
    finally:
        await index.aclose()
