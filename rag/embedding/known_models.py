"""The embedding models known by name: those inside this process, and those of services, with the keys they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from pydantic import SecretStr

    from rag.settings import Settings

Provider = Literal["cohere", "openai"]

PACKAGED: Final = "all-MiniLM-L6-v2-int8"
MULTILINGUAL: Final = "multilingual-e5-small"  # inside this process, with the extra of its name


class HostedModel(NamedTuple):
    """A model as its service documents it. `max_tokens` is the longest text, without special tokens."""

    provider: Provider
    dimension: int
    max_tokens: int


# From the services' documentation: asking a service is billed.
HOSTED: Final = {
    "embed-v4.0": HostedModel("cohere", 1536, 128_000),
    "embed-multilingual-v3.0": HostedModel("cohere", 1024, 510),
    "embed-english-v3.0": HostedModel("cohere", 1024, 510),
    "embed-multilingual-light-v3.0": HostedModel("cohere", 384, 510),
    "embed-english-light-v3.0": HostedModel("cohere", 384, 510),
    "text-embedding-3-small": HostedModel("openai", 1536, 8_000),
    "text-embedding-3-large": HostedModel("openai", 3072, 8_000),
    "text-embedding-ada-002": HostedModel("openai", 1536, 8_000),
}
UNKNOWN_TOKENS: Final = 510  # `max_tokens` of a model that is not listed, as of the smallest ones
KEYS: Final[dict[Provider, str]] = {"cohere": "COHERE_API_KEY", "openai": "OPENAI_API_KEY"}


def key_of(provider: Provider, settings: Settings) -> SecretStr | None:
    """The key of a provider, None if it is not set."""
    return settings.cohere_api_key if provider == "cohere" else settings.openai_api_key
