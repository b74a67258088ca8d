"""What the settings and a profile say of a book: its collection, its embedding model, and where its index is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rag.caller_parts import Given
from rag.embedding import choice as embedding_choice
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import list_collections, open_index
from rag.index.field_mapping import Layout, layout_of
from rag.index.server_client import Server
from rag.ports import ChunkIndex, Embedder
from rag.profiles.profile import Profile
from rag.search.given_retriever import SeenPassages
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.ingest.source_memory import SourceMemory

MANUAL: Final = "manual"  # collection of askbook's own manual
BOOK: Final = "book"  # default collection of the user's book


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


def collection_to_fill(settings: Settings, profile: Profile, given: str | None) -> str:
    """The collection to ingest into: the one that `choose_collection` searches afterwards."""
    own = profile.book.collection if settings.qdrant_url else None
    return given or settings.qdrant_collection_name or own or BOOK


def owner_of(collection: str, profile: Profile) -> str:
    """The name of the profile if the collection is its own, whose embedding model it decides; empty otherwise."""
    return profile.name if collection == profile.book.collection else ""


def build_embedder(
    settings: Settings, profile: Profile | None = None, collection: str | None = None, *, lazy: bool = False
) -> Embedder:
    """The embedding model of a book, chosen by `rag.embedding.choice`. The manual always uses the local one.

    Makes no call. With `lazy`, the packaged model is loaded for its first vector only.

    Raises `UsageError` if the model is missing or unusable.
    """
    choice = embedding_of_book(settings, profile, collection)
    return embedding_choice.build_embedder(choice, settings, lazy=lazy)


def embedding_of_book(
    settings: Settings, profile: Profile | None, collection: str | None
) -> embedding_choice.Embedding:
    """The embedding model that `build_embedder` builds. Raises `UsageError` for one that askbook does not know."""
    if collection == MANUAL:
        return embedding_choice.local(settings)
    return embedding_choice.embedding_of(settings, profile, collection)


def collection_index(
    settings: Settings, collection: str, profile: Profile | None = None, *, wait: float | None = None
) -> ChunkIndex:
    """The index of one book, which need not exist. `profile` says how to read it if askbook did not create it.

    `wait` is how long, in seconds, a change of a folder waits for another change.

    Raises `UsageError` for an invalid name.
    """
    server = server_of(settings)
    if server is None:  # only a server holds collections that other programs made
        return open_index(home=settings.home, collection=collection, wait=wait)
    return open_index(home=settings.home, collection=collection, server=server, layout=_layout_of(profile))


def index_of(settings: Settings, book: str, profile: Profile, given: Given) -> ChunkIndex:
    """The index of the book, on the client or behind the retriever that the caller brings."""
    if given.retriever is not None:
        return SeenPassages(book)
    if given.qdrant_client is None:
        return collection_index(settings, book, profile)
    from rag.index.server import ServerIndex

    return ServerIndex(given.qdrant_client, book, address="the given client", layout=_layout_of(profile))


def _layout_of(profile: Profile | None) -> Layout:
    layout = layout_of(profile.book) if profile else Layout()
    return replace(layout, embedding_model=embedding_choice.model_id_of(layout.embedding_model))


def server_of(settings: Settings) -> Server | None:
    """The Qdrant server of this process, or None if books are stored in `home`."""
    if not settings.qdrant_url:
        return None
    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    return Server(settings.qdrant_url, key, settings.qdrant_grpc_port)


def vector_cache(settings: Settings) -> SqliteVectorCache:
    """The cache of computed vectors, in `home`."""
    return SqliteVectorCache(settings.home / "vectors.sqlite")


def source_memory(settings: Settings) -> SourceMemory:
    """What is remembered of the sources that were read, in `home`."""
    from rag.ingest.source_memory import SourceMemory

    return SourceMemory(settings.home / "sources")
