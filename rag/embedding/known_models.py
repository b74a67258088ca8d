"""The embedding models known by name: those inside this process, and those that services document."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

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
