"""The model that answers: LangChain's for its provider, an OpenAI-compatible endpoint, or the quoting answerer."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from rag.errors import UsageError
from rag.failures import Service
from rag.system.network import OPENAI, checked_address, checked_key
from rag.system.process import need_package

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.ports import Embedder, Quoter
    from rag.profiles.profile import Profile
    from rag.settings import Settings

OPENAI_KEY: Final = "OPENAI_API_KEY"
QUOTING: Final = "askbook-quoting"
CONNECT: Final = 10.0  # timeout of a connection in seconds


class _Provider(NamedTuple):
    """A package of LangChain, its chat model, the variable of its key, and how it is told not to retry."""

    package: str
    model: str
    key: str = ""
    attempts: Mapping[str, int] = {"max_retries": 0}


# By the names that `init_chat_model` has for them.
_PROVIDERS: Final = {
    "anthropic": _Provider("langchain_anthropic", "ChatAnthropic", "ANTHROPIC_API_KEY"),
    "google_genai": _Provider("langchain_google_genai", "ChatGoogleGenerativeAI", "GOOGLE_API_KEY", {"max_retries": 1}),
    "ollama": _Provider("langchain_ollama", "ChatOllama", attempts={}),
    "mistralai": _Provider("langchain_mistralai", "ChatMistralAI", "MISTRAL_API_KEY"),
    "groq": _Provider("langchain_groq", "ChatGroq", "GROQ_API_KEY"),
    "deepseek": _Provider("langchain_deepseek", "ChatDeepSeek", "DEEPSEEK_API_KEY"),
    "xai": _Provider("langchain_xai", "ChatXAI", "XAI_API_KEY"),
    "cohere": _Provider("langchain_cohere", "ChatCohere", "COHERE_API_KEY", {}),
    "bedrock_converse": _Provider("langchain_aws", "ChatBedrockConverse", attempts={}),
}


class AnswerSource(NamedTuple):
    """What answers, and its name: a model, or without one what quotes sentences of the book."""

    model: BaseChatModel | None
    name: str
    quoter: Quoter | None


class Endpoint(NamedTuple):
    """The address of a model, the variable with its key, and the key, None if that variable is not set."""

    base_url: str
    variable: str
    key: SecretStr | None


def endpoint_of(profile: Profile, settings: Settings) -> Endpoint:
    """The endpoint of a profile in this process. Raises `UsageError` for an invalid address.

    If `OPENAI_API_KEY` is set, `OPENAI_BASE_URL` overrides the profile's address. `OPENAI_API_KEY` is sent only to
    OpenAI or to `OPENAI_BASE_URL`, never to an address in a profile.
    """
    own = settings.openai_api_key
    if own is not None and settings.openai_base_url:
        return Endpoint(checked_address("OPENAI_BASE_URL", settings.openai_base_url), OPENAI_KEY, own)
    if profile.model.base_url and profile.model.api_key_env:
        variable = profile.model.api_key_env
        return Endpoint(profile.model.base_url, variable, settings.key(variable))
    return Endpoint(OPENAI, OPENAI_KEY, own)


def check_key(endpoint: Endpoint, profile: Profile) -> None:
    """Check the characters of a key, and for OpenAI's own endpoint its form.

    Raises `UsageError`, which does not show the key.
    """
    form = profile.model.openai_key
    if endpoint.key is None:
        return
    checked_key(endpoint.variable, endpoint.key)
    if urlsplit(endpoint.base_url).hostname != urlsplit(OPENAI).hostname:
        return
    key = endpoint.key.get_secret_value()
    if key.startswith(form.prefix) and len(key) >= form.min_length:
        return
    raise UsageError(
        f'{endpoint.variable} is not an OpenAI key: it must start with "{form.prefix}" and have at least '
        f"{form.min_length} characters.",
        code="key_form",
        hint="Copy the whole key, or set OPENAI_BASE_URL to the endpoint that it belongs to.",
    )


def provider_of(profile: Profile, settings: Settings) -> str:
    """The provider in a name such as "anthropic:claude-sonnet-4-5"; empty for a model of an endpoint.

    Where an address is set the name is the endpoint's own, whatever it looks like.
    """
    provider = profile.model.name.partition(":")[0]
    address = profile.model.base_url or (settings.openai_api_key and settings.openai_base_url)
    return provider if provider in _PROVIDERS and not address else ""


def provider_model(profile: Profile, settings: Settings) -> BaseChatModel:
    """The chat model of a provider's own package. Raises `UsageError` without the package or the key. Makes no call."""
    prefix, _, name = profile.model.name.partition(":")
    provider = _PROVIDERS[prefix]
    wanted = f"The model {profile.model.name}"
    need_package(provider.package, wanted)
    key = settings.key(provider.key) if provider.key else None
    if provider.key and key is None:
        message = f"{wanted} needs {provider.key}, which is not set."
        raise UsageError(message, code="missing_key", hint=f"Set {provider.key}.")
    keys = {"api_key": checked_key(provider.key, key)} if key is not None else {}
    model: BaseChatModel = getattr(import_module(provider.package), provider.model)(
        model=name, **provider.attempts, **keys
    )
    return model


def has_model(profile: Profile, settings: Settings) -> bool:
    """Whether a model writes the answers. Raises `UsageError` for an invalid address."""
    return bool(provider_of(profile, settings)) or endpoint_of(profile, settings).key is not None


def build_model(profile: Profile, settings: Settings, embedder: Embedder) -> AnswerSource:
    """What answers with a profile in this process. Makes no call.

    Raises `UsageError` for an invalid address or key, and for a provider's package that is not installed.
    """
    if provider_of(profile, settings):
        return AnswerSource(provider_model(profile, settings), profile.model.name, None)
    endpoint = endpoint_of(profile, settings)
    if endpoint.key is None:
        from rag.quoting.answerer import QuotingAnswerer

        return AnswerSource(None, QUOTING, QuotingAnswerer(embedder, profile.answer.refusal))
    check_key(endpoint, profile)
    return AnswerSource(_chat_model(endpoint, profile), profile.model.name, None)


async def close_model(model: BaseChatModel) -> None:
    """Close the connections of a model that `build_model` has built."""
    for client in (getattr(model, "root_client", None), getattr(model, "root_async_client", None)):
        closing = client.close() if client is not None else None
        if closing is not None:
            await closing


def service_of(variable: str) -> Service:
    """The endpoint whose key is in the variable, as messages name it; empty for a model that the caller brought."""
    if not variable:
        return Service("The chat model", "the key of the chat model", "its address", "its name")
    if variable == OPENAI_KEY:
        return Service()
    return Service(key=variable, url="model.base_url of the profile", model="model.name of the profile")


def is_openai(address: str) -> bool:
    """Whether the address is OpenAI's own, in any region."""
    host = urlsplit(address).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def call_options(model: BaseChatModel, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call as an endpoint knows them.

    `ChatOpenAI` sends `max_tokens` as `max_completion_tokens`, which Ollama silently ignores, so that its answers would
    be unlimited. What stands in `extra_body` is sent as it is.
    """
    address = getattr(model, "openai_api_base", None)
    if not address or is_openai(address) or "max_tokens" not in options:
        return dict(options)
    rest = {name: value for name, value in options.items() if name != "max_tokens"}
    return rest | {"extra_body": {**options.get("extra_body", {}), "max_tokens": options["max_tokens"]}}


def _chat_model(endpoint: Endpoint, profile: Profile) -> BaseChatModel:
    import warnings

    from openai import Timeout

    from rag.model.chat_model import EndpointChatModel
    from rag.system.transport import clients

    # OpenAI's library does not check the types of an answer, and pydantic warns of wrong ones with their values.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    seconds = profile.model.timeout_seconds
    timeout = Timeout(seconds, connect=min(seconds, CONNECT))  # without one the client waits for ever
    key = endpoint.key.get_secret_value() if endpoint.key else ""
    blocking, asynchronous = clients(endpoint.base_url, key, timeout, is_openai=is_openai(endpoint.base_url))
    return EndpointChatModel(
        model=profile.model.name,
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        timeout=timeout,
        http_client=blocking,
        http_async_client=asynchronous,
        max_retries=0,  # the graph's retry policy is the only one
        stream_usage=True,
        use_responses_api=False,
        stream_chunk_timeout=None,  # the node has an idle timeout
        openai_proxy="",  # not from OPENAI_PROXY; HTTPS_PROXY counts, as for every program
    )
