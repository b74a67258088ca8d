"""Choose the embedding model of a book: one inside this process, or a hosted one when a key is set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rag.embedding.known_models import HOSTED, MULTILINGUAL, PACKAGED, Provider
from rag.errors import UsageError
from rag.model.addresses import checked_address, checked_key
from rag.model.endpoint import OPENAI, OPENAI_KEY
from rag.system.process import need

if TYPE_CHECKING:
    from pydantic import SecretStr

    from rag.embedding.hosted_errors import Service
    from rag.ports import Embedder, Reranker
    from rag.profiles.profile import Profile
    from rag.settings import Settings

CHOICE: Final = "ASKBOOK_EMBEDDING_MODEL"
COHERE_KEY: Final = "COHERE_API_KEY"
COHERE_MODEL: Final = "embed-multilingual-v3.0"
# Names of the packaged model, in settings and in profiles of foreign collections.
_PACKAGED: Final = frozenset({"packaged", PACKAGED, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"})
_KEYS: Final[dict[Provider, str]] = {"cohere": COHERE_KEY, "openai": OPENAI_KEY}
_PREFIXES: Final[dict[str, Provider]] = {
    "cohere:": "cohere",
    "openai:": "openai",
    "embed-": "cohere",
    "text-embedding-": "openai",
}


class Embedding(NamedTuple):
    """The chosen model. Without a provider it runs in this process, from `folder`, or packaged if that is None.

    `missing` names the variable of the key that the profile's model needs, if that key is not set.
    """

    model: str = PACKAGED
    provider: Provider | None = None
    folder: Path | None = None
    missing: str = ""


def embedding_of(settings: Settings, profile: Profile | None = None, collection: str | None = None) -> Embedding:
    """The embedding model of a collection. Nothing is loaded or called.

    The environment overrides the profile, whose model counts only for the profile's own collection. Raises `UsageError`
    for a model of the profile that askbook does not know.
    """
    if settings.embedding_model is not None:
        return _of_environment(settings.embedding_model)
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
    return named if _key(settings, named.provider) else usual._replace(missing=_KEYS[named.provider])


def model_id_of(name: str) -> str:
    """The model id for a name in a profile, as an index records it; an unknown name is its own id."""
    if name in _PACKAGED:
        return PACKAGED
    hosted = _hosted(name)
    return hosted.model if hosted else name


def local(settings: Settings) -> Embedding:
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


def build_embedder(choice: Embedding, settings: Settings, *, lazy: bool = False) -> Embedder:
    """The chosen model; a hosted one is not called. With `lazy`, the packaged one is loaded for its first vector.

    Raises `UsageError` if a file, a key or an address is not usable. A key is sent only to its service, or to the
    address in the service's variable.
    """
    if choice.model == MULTILINGUAL:
        from rag.embedding.multilingual import MultilingualEmbeddings

        return MultilingualEmbeddings()
    if choice.provider is None:
        from rag.embedding.local import OnnxEmbeddings

        return OnnxEmbeddings(choice.folder, lazy=lazy)
    from rag.embedding.hosted import HostedEmbeddings, cohere_wire, openai_wire

    connect = cohere_wire if choice.provider == "cohere" else openai_wire
    variable = "COHERE_MODEL" if choice.provider == "cohere" and not settings.embedding_model else CHOICE
    service = service_of(choice.provider, settings, needs=f"The embedding model {choice.model}", variable=variable)
    return HostedEmbeddings(choice.model, service, connect)


def service_of(provider: Provider, settings: Settings, *, needs: str, variable: str) -> Service:
    """The service of a hosted model. Its key is sent nowhere else.

    For the error of a missing key, `needs` says what needs it, and `variable` is the setting that chose the model.
    Raises `UsageError` for a missing key, a broken address or a missing library.
    """
    from rag.embedding.hosted_errors import Service

    key, key_variable, url_variable = _key(settings, provider), _KEYS[provider], f"{provider.upper()}_BASE_URL"
    if key is None:
        hint = f"Set {key_variable}, or unset {variable}."
        raise UsageError(f"{needs} needs {key_variable}, which is not set.", code="missing_key", hint=hint)
    address = settings.cohere_base_url if provider == "cohere" else settings.openai_base_url
    if address:
        checked_address(url_variable, address)
    checked_key(key_variable, key)
    if provider == "cohere":
        need("langchain_cohere", "cohere", needs)
    name = "Cohere" if provider == "cohere" else "the endpoint" if address else "OpenAI"
    base_url = address if provider == "cohere" else address or OPENAI
    return Service(name, key, base_url, key_variable, url_variable, variable)


def _of_environment(value: Path) -> Embedding:
    if not _is_name(value):
        return Embedding(folder=value)
    return Embedding(MULTILINGUAL) if str(value) == MULTILINGUAL else _hosted(str(value)) or Embedding()


def _is_name(value: Path) -> bool:
    """Whether the setting is the name of a model, not a folder."""
    return not value.is_dir() and (str(value) in (*_PACKAGED, MULTILINGUAL) or _hosted(str(value)) is not None)


def _hosted(name: str) -> Embedding | None:
    """The hosted model of that name, None if there is none.

    A name that is not in `HOSTED` is recognised by its prefix, such as `embed-` or `cohere:`.
    """
    if name in HOSTED:
        return Embedding(name, HOSTED[name].provider)
    prefix = next((known for known in _PREFIXES if name.startswith(known)), None)
    if prefix is None:
        return None
    return Embedding(name.removeprefix(prefix) if prefix.endswith(":") else name, _PREFIXES[prefix])


def _key(settings: Settings, provider: Provider) -> SecretStr | None:
    return settings.cohere_api_key if provider == "cohere" else settings.openai_api_key
