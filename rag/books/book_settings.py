"""What the settings and a profile say of a book: its collection, its embedding model, and where its index is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rag.caller_parts import CallerParts
from rag.embedding.known_models import HOSTED, KEYS, MULTILINGUAL, PACKAGED, Provider, key_of
from rag.embedding.vector_cache import SqliteVectorCache
from rag.errors import UsageError
from rag.index.catalog import build_index, index_on, list_collections
from rag.index.server import Server
from rag.ports import ChunkIndex, Embedder, Reranker
from rag.profiles.profile import Profile
from rag.profiles.schema import BookSection
from rag.search.langchain_retriever import SeenChunkIndex
from rag.settings import Settings

if TYPE_CHECKING:
    from rag.ingest.book_sources import SourceMemory

MANUAL: Final = "manual"  # collection of askbook's own manual
BOOK: Final = "book"  # default collection of the user's book
COHERE_MODEL: Final = "embed-multilingual-v3.0"
# Names of the packaged model, in settings and in profiles of foreign collections.
_PACKAGED: Final = frozenset({"packaged", PACKAGED, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"})
_PREFIXES: Final[dict[str, Provider]] = {
    "cohere:": "cohere",
    "openai:": "openai",
    "embed-": "cohere",
    "text-embedding-": "openai",
}


class Embedding(NamedTuple):
    """The chosen model: a provider's, or one in this process. `missing` names the variable of a key that is needed."""

    model: str = PACKAGED
    provider: Provider | None = None
    folder: Path | None = None
    missing: str = ""


async def choose_collection(settings: Settings, profile: Profile, given: str | None) -> str:
    """The collection to search: the one given, else QDRANT_COLLECTION_NAME, the profile's (with a server), `book`,
    manual.
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


def embedding_of(settings: Settings, profile: Profile | None = None, collection: str | None = None) -> Embedding:
    """The embedding model of a collection, which for the manual is the local one. Nothing is loaded or called.

    The environment overrides the profile, whose model counts only for the profile's own collection. Raises `UsageError`
    for a model that askbook does not know.
    """
    if collection == MANUAL:
        return local_embedding(settings)
    if (named_or_folder := settings.embedding_model) is not None:
        name = str(named_or_folder)
        if not _is_name(named_or_folder):
            return Embedding(folder=named_or_folder)
        return Embedding(MULTILINGUAL) if name == MULTILINGUAL else _hosted(name) or Embedding()
    if settings.cohere_api_key and settings.cohere_model:
        return Embedding(settings.cohere_model, "cohere")
    usual = Embedding(COHERE_MODEL, "cohere") if settings.cohere_api_key else Embedding()
    own = profile.book.embedding_model if profile and collection and collection == profile.book.collection else None
    if own is None:
        return usual
    if own == MULTILINGUAL:
        return Embedding(MULTILINGUAL)
    named = _hosted(own)
    if named is None and own not in _PACKAGED:
        message = f'The book of the profile was encoded by "{own}", which askbook does not know.'
        hint = 'For another model of these providers, write "openai:NAME" or "cohere:NAME".'
        raise UsageError(message, code="embedding_model", hint=hint)
    if named is None or named.provider is None:
        return Embedding()
    return named if key_of(named.provider, settings) else usual._replace(missing=KEYS[named.provider])


def model_id_of(name: str) -> str:
    """The model id for a name in a profile, as an index records it; an unknown name is its own id."""
    if name in _PACKAGED:
        return PACKAGED
    hosted = _hosted(name)
    return hosted.model if hosted else name


def local_embedding(settings: Settings) -> Embedding:
    """The model inside this process, which is free: for the manual, and for the answerer that quotes."""
    folder = settings.embedding_model
    return Embedding(folder=folder) if folder and not _is_name(folder) else Embedding()


def is_local(embedder: Embedder) -> bool:
    """Whether the model runs in this process."""
    return getattr(embedder, "service", None) is None


def place_of(part: Embedder | Reranker) -> str:
    """Where the model runs, for messages."""
    service = getattr(part, "service", None)
    return f"at {service.place}" if service else "inside this process"


def build_embedder(
    settings: Settings, profile: Profile | None = None, collection: str | None = None, *, lazy: bool = False
) -> Embedder:
    """The embedding model of a book (see `embedding_of`). A hosted one is not called; a `lazy` one is loaded when used.

    Raises `UsageError` if a file, a key or an address is not usable. A key is sent only to its service's address.
    """
    choice = embedding_of(settings, profile, collection)
    if choice.model == MULTILINGUAL:
        from rag.embedding.multilingual import MultilingualEmbeddings

        return MultilingualEmbeddings()
    if choice.provider is None:
        from rag.embedding.local import OnnxEmbeddings

        return OnnxEmbeddings(choice.folder, lazy=lazy)
    from rag.embedding.hosted import build_hosted, connection_of

    by_default = choice.provider == "cohere" and not settings.embedding_model
    variable = "COHERE_MODEL" if by_default else "ASKBOOK_EMBEDDING_MODEL"
    needs = f"The embedding model {choice.model}"
    connection = connection_of(choice.provider, settings, needs=needs, variable=variable)
    return build_hosted(choice.provider, choice.model, connection)


def _is_name(value: Path) -> bool:
    """Whether the setting is the name of a model, not a folder."""
    return not value.is_dir() and (str(value) in (*_PACKAGED, MULTILINGUAL) or _hosted(str(value)) is not None)


def _hosted(name: str) -> Embedding | None:
    """The hosted model of that name, known or with a known prefix, such as `embed-` or `cohere:`; else None."""
    if name in HOSTED:
        return Embedding(name, HOSTED[name].provider)
    prefix = next((known for known in _PREFIXES if name.startswith(known)), None)
    if prefix is None:
        return None
    return Embedding(name.removeprefix(prefix) if prefix.endswith(":") else name, _PREFIXES[prefix])


def collection_index(
    settings: Settings, collection: str, profile: Profile | None = None, *, wait: float | None = None
) -> ChunkIndex:
    """The index of a book, which need not exist. `profile` says how to read it if askbook did not create it.

    A change of a folder waits `wait` seconds for another one. Raises `UsageError` for an invalid name.
    """
    server = server_of(settings)
    try:
        if server is None:  # only a server holds collections that other programs made
            return build_index(home=settings.home, collection=collection, wait=wait)
        return build_index(home=settings.home, collection=collection, server=server, layout=_section_of(profile))
    except UsageError as error:
        if error.code != "collection_name" or collection != settings.qdrant_collection_name:
            raise
        raise UsageError(f"QDRANT_COLLECTION_NAME: {error.message}", code=error.code, hint=error.hint) from None


def index_of(settings: Settings, book: str, profile: Profile, caller_parts: CallerParts) -> ChunkIndex:
    """The index of the book, on the client or behind the retriever that the caller brings."""
    if caller_parts.retriever is not None:
        return SeenChunkIndex(book)
    if caller_parts.qdrant_client is None:
        return collection_index(settings, book, profile)
    return index_on(caller_parts.qdrant_client, book, "the given client", _section_of(profile), owned=False)


def _section_of(profile: Profile | None) -> BookSection:
    """What the profile says of its book, with the id of the model that it names."""
    book = profile.book if profile else BookSection()
    return book.model_copy(update={"embedding_model": model_id_of(book.embedding_model or "")})


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
    from rag.ingest.book_sources import SourceMemory

    return SourceMemory(settings.home / "sources")
