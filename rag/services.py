"""The live objects of a process: built once here, passed on explicitly, closed in one place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from rag.errors import RetrievalError
from rag.models import build_model, endpoint_of
from rag.ports import ChunkIndex, Embedder, Parts, SparseEncoder
from rag.profiles import Profile, profile_of
from rag.retrieval.clients import Server
from rag.retrieval.embeddings import OnnxEmbeddings
from rag.retrieval.index import list_collections, open_index
from rag.retrieval.layout import layout_of
from rag.retrieval.retriever import Retriever
from rag.retrieval.sparse import Bm25Encoder
from rag.retrieval.vectors import VectorCache
from rag.settings import Settings

MANUAL: Final = "manual"
BOOK: Final = "book"
DOCS: Final = Path(__file__).parent.parent / "docs"

Progress = Callable[[int, int], None]


class LiveServices:
    """What `rag.ports.Services` asks for, on the real libraries. Use `open_services`."""

    def __init__(self, settings: Settings, profile: str, embedder: Embedder, index: ChunkIndex) -> None:
        self.settings = settings
        self.embedder = embedder
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

    def _build(self, profile: Profile) -> Parts:
        model, model_name, quotes = build_model(profile, self.settings, self.embedder)
        tool_name = profile.tool.name if profile.tool else "retrieve"
        retriever = Retriever(self.embedder, self.sparse, self.index, tool_name=tool_name)
        variable = endpoint_of(profile, self.settings).variable
        return Parts(profile, model, model_name, quotes, retriever, variable)

    async def aclose(self) -> None:
        await self.index.aclose()


def build_embedder(settings: Settings) -> Embedder:
    """The embedding model of this process. Raises `UsageError` when it is missing or not what it should be."""
    return OnnxEmbeddings(settings.embedding_model)


def vector_cache(settings: Settings) -> VectorCache:
    """The vectors that were computed before."""
    return VectorCache(settings.home / "vectors.sqlite")


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
    layout = layout_of(profile.book) if profile else None
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
        await index_manual(settings, services.embedder, services.sparse, progress)
    return services


def _build(settings: Settings, chosen: Profile, profile: str, book: str) -> LiveServices:
    """The part of opening that reads files and loads libraries: no work for an event loop."""
    services = LiveServices(settings, profile, build_embedder(settings), collection_index(settings, book, chosen))
    services.parts(profile)
    return services


async def index_manual(
    settings: Settings, embedder: Embedder, sparse: SparseEncoder, progress: Progress | None = None
) -> None:
    """Bring the collection `manual` up to the pages of `docs/`; costs a few file reads when it is."""
    from rag.ingest.pipeline import ingest

    index = collection_index(settings, MANUAL)
    try:
        if not await _is_encoded_by(index, embedder, sparse):
            await index.drop()
        await ingest(
            [DOCS],
            index=index,
            embedder=embedder,
            sparse=sparse,
            vectors=vector_cache(settings),
            skip=("decisions",),
            alone=True,  # where the program moved to another folder, the pages of the old one must go
            progress=progress,
        )
    finally:
        await index.aclose()


async def _is_encoded_by(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder) -> bool:
    """Whether a collection, if there is one that can be read, was made with these models."""
    try:
        info = await index.info()
    except RetrievalError as error:
        if error.code != "index_broken":
            raise
        return False
    return info is None or (info.embedding_model, info.sparse_model) == (embedder.model_id, sparse.model_id)
