"""The model that answers: an OpenAI-compatible endpoint if its key is set, otherwise the quoting answerer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from rag.errors import UsageError
from rag.http.http_clients import OPENAI, checked_address, checked_key

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.ports import Embedder, Quoter
    from rag.profiles.profile import Profile
    from rag.settings import Settings

OPENAI_KEY: Final = "OPENAI_API_KEY"
QUOTING: Final = "askbook-quoting"
CONNECT: Final = 10.0  # timeout of a connection in seconds


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


def build_model(profile: Profile, settings: Settings, embedder: Embedder) -> AnswerSource:
    """What answers with a profile in this process. Makes no call.

    Raises `UsageError` for an invalid address or key.
    """
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


def is_openai(endpoint: Endpoint) -> bool:
    """Whether the endpoint is OpenAI's own, in any region."""
    host = urlsplit(endpoint.base_url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def _chat_model(endpoint: Endpoint, profile: Profile) -> BaseChatModel:
    import httpx2
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient, Timeout

    from rag.http.http_clients import async_client_options, client_options, print_no_answers
    from rag.model.chat_model import EndpointChatModel, PlainCompletions
    from rag.model.received_answer import LINE_BYTES
    from rag.private_apis import without_openai_headers

    print_no_answers()
    own = is_openai(endpoint)
    seconds = profile.model.timeout_seconds
    timeout = Timeout(seconds, connect=min(seconds, CONNECT))  # without one the client waits for ever
    model = EndpointChatModel(
        key_variable=endpoint.variable,
        older_names=not own,
        model=profile.model.name,
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        timeout=timeout,
        http_client=DefaultHttpxClient(timeout=timeout, **client_options(httpx2, LINE_BYTES)),
        http_async_client=DefaultAsyncHttpxClient(timeout=timeout, **async_client_options(httpx2, LINE_BYTES)),
        max_retries=0,  # the graph's retry policy is the only one
        stream_usage=True,
        stream_chunk_timeout=None,  # the node has an idle timeout, and this one would make a task for each chunk
        openai_proxy="",  # not from OPENAI_PROXY; HTTPS_PROXY counts, as for every program
    )
    model.async_client = PlainCompletions(model.root_async_client)
    if not own:
        for client in (model.root_client, model.root_async_client):
            without_openai_headers(client)
    return model
