"""The embedding models that are known by name: the packaged one, and what services document of theirs."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Provider = Literal["cohere", "openai"]

PACKAGED: Final = "all-MiniLM-L6-v2-int8"


class HostedModel(NamedTuple):
    """What the documentation of a service says of a model. `max_tokens` is the longest text, without its marks."""

    provider: Provider
    dimension: int
    max_tokens: int


# A service says of itself only what is asked and billed, so what it documents stands here.
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
UNKNOWN_TOKENS: Final = 510  # of a model that is not listed: what the smallest ones see
