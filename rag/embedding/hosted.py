"""Embedding models of services: LangChain's embeddings as they are, behind our port.

Every call is billed, so texts are all that is sent, and clients ask once: retrying is up to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.embeddings import Embeddings

from rag.embedding.known_models import HOSTED, KEYS, UNKNOWN_TOKENS, Provider, key_of
from rag.errors import RetrievalError, UsageError, host
from rag.failures import Part, Service, failure_of
from rag.system.network import OPENAI, certificates, checked_address, checked_key, proxy_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from rag.settings import Settings

BATCH: Final = 96  # texts of one request, Cohere's limit
PARALLEL: Final = 4  # requests at the same time during an ingestion
TIMEOUT = 10.0  # seconds for the connection, and for each read of the answer
COHERE: Final = "https://api.cohere.com"
_UNIT: Final = re.compile(r"[^\W\d_]+|[\d_]|[^\w\s]")
_WIDE: Final = 0x2E7F  # scripts beyond it take about one token per letter


class HostedEmbeddings(Embeddings):
    """Any LangChain `Embeddings` as an `rag.ports.Embedder`, and itself one. Thread-safe if that is.

    `build` makes it for the first text, since its library takes a second to load. `dimension` may be 0 until then.
    Methods that embed return unit vectors, and raise `AskbookError` with a code that begins with "embedding_".
    `vouched` says that the caller brought the model, as the one that made the collection.
    """

    batch_size = BATCH

    def __init__(
        self,
        model: str,
        service: Service,
        build: Callable[[], Embeddings],
        *,
        parallel: int = PARALLEL,
        vouched: bool = False,
    ) -> None:
        known = HOSTED.get(model)
        self.model_id = model
        self.service = service
        self.dimension = known.dimension if known else 0
        self.max_tokens = known.max_tokens if known else UNKNOWN_TOKENS
        self.parallel = parallel
        self.vouched = vouched
        self._build = build

    @cached_property
    def embeddings(self) -> Embeddings:
        """LangChain's embeddings."""
        return self._build()

    def count_tokens(self, text: str) -> int:
        """An upper bound of the model's tokens, whose tokenizer would have to be downloaded."""
        return most_tokens(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._in_batches(texts, lambda batch: self.embeddings.embed_documents(batch))

    def embed_query(self, text: str) -> list[float]:
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return self._in_batches(texts, self._embed_queries)

    def _embed_queries(self, texts: list[str]) -> list[list[float]]:
        """The vectors of questions, from a known service in one request."""
        kind = type(self.embeddings).__name__
        together: Any = self.embeddings
        if kind == "CohereEmbeddings":
            vectors: list[list[float]] = together.embed(texts, input_type="search_query")
            return vectors
        return together.embed_documents(texts) if kind == "OpenAIEmbeddings" else [*map(together.embed_query, texts)]

    def _in_batches(self, texts: Sequence[str], embed: Callable[[list[str]], list[list[float]]]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for begin in range(0, len(texts), BATCH):
            batch = list(texts[begin : begin + BATCH])
            try:
                vectors += self._units(embed(batch), len(batch))
            except Exception as failure:
                raise failure_of(failure, self.service) from None
        return vectors

    def _units(self, vectors: Any, count: int) -> list[list[float]]:
        """The vectors with length 1. Raises ValueError if they are not one for each text."""
        import numpy as np

        rows = np.asarray(vectors, dtype=np.float64)
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(lengths).all() or not lengths.all():
            raise ValueError("it must be one vector for each text")
        width = rows.shape[1]
        if width != (self.dimension or width):
            message = f"{self.service.place} sent vectors of {width} dimensions for {self.model_id}, which has"
            hint = f"Check {self.service.model} and {self.service.url}."
            raise RetrievalError("embedding_dimension", f"{message} {self.dimension}.", hint=hint)
        self.dimension = width
        units: list[list[float]] = (rows / lengths).tolist()
        return units


class HostedConnection(NamedTuple):
    """A service with its address and key. The key is sent nowhere else."""

    service: Service
    address: str
    key: SecretStr


def connection_of(
    provider: Provider, settings: Settings, *, needs: str, variable: str, part: Part = "embedding"
) -> HostedConnection:
    """The connection to a service. For errors, `needs` says what needs it, and `variable` is the setting that chose it.

    Raises `UsageError` for a missing key or a broken address.
    """
    key, key_variable, url_variable = key_of(provider, settings), KEYS[provider], f"{provider.upper()}_BASE_URL"
    if key is None:
        hint = f"Set {key_variable}, or unset {variable}."
        raise UsageError(f"{needs} needs {key_variable}, which is not set.", code="missing_key", hint=hint)
    address = settings.cohere_base_url if provider == "cohere" else settings.openai_base_url
    if address:
        checked_address(url_variable, address)
    checked_key(key_variable, key)
    name = "Cohere" if provider == "cohere" else "the endpoint" if address else "OpenAI"
    used = address or (COHERE if provider == "cohere" else OPENAI)
    service = Service(f"{name} ({host(used)})", key_variable, url_variable, variable, part)
    return HostedConnection(service, used, key)


def build_hosted(provider: Provider, model: str, connection: HostedConnection) -> HostedEmbeddings:
    """The embedding model of a service. Nothing is called or loaded."""
    build = _cohere if provider == "cohere" else _openai
    return HostedEmbeddings(model, connection.service, partial(build, model, connection))


def _cohere(model: str, connection: HostedConnection) -> Embeddings:
    from cohere import Client
    from langchain_cohere import CohereEmbeddings

    # `model_construct` takes our client. The constructor would make two of its own, which ask three times and more.
    return CohereEmbeddings.model_construct(
        client=cohere_client(Client, connection), model=model, truncate="END", max_retries=1
    )


def cohere_client(kind: Callable[..., Any], connection: HostedConnection) -> Any:
    """A client of Cohere's SDK that asks once. The SDK repeats failed requests, and follows redirects to any host.

    It never sees a failed response: that is raised before.
    """
    import httpx

    def refuse(response: httpx.Response) -> None:
        if response.status_code >= 300:
            response.read()
            raise httpx.HTTPStatusError("refused", request=response.request, response=response)

    transport = httpx.HTTPTransport(proxy=proxy_of(connection.address), verify=certificates())
    client = httpx.Client(timeout=TIMEOUT, transport=transport, event_hooks={"response": [refuse]})
    return kind(connection.key.get_secret_value(), base_url=connection.address, timeout=TIMEOUT, httpx_client=client)


def _openai(model: str, connection: HostedConnection) -> Embeddings:
    from langchain_openai import OpenAIEmbeddings

    from rag.system.transport import clients

    own = connection.address == OPENAI
    blocking, asynchronous = clients(connection.address, connection.key.get_secret_value(), TIMEOUT, is_openai=own)
    return OpenAIEmbeddings(
        model=model,
        api_key=connection.key,
        base_url=connection.address,
        openai_api_type="openai",
        check_embedding_ctx_length=False,  # it would download a tokenizer
        chunk_size=BATCH,
        timeout=TIMEOUT,
        max_retries=0,
        http_client=blocking,
        http_async_client=asynchronous,
    )


def most_tokens(text: str) -> int:
    """An upper bound of the tokens that a subword tokenizer makes of the text.

    A word counts one token for every three letters, for every two if it is all capitals or not ASCII. Digits, marks,
    and letters of scripts without spaces count one each. BERT's word pieces were 70 % of this bound in the median and
    97 % at most (`bench/token_bound.py`). The estimate in `rag.prompt.prompts` is too low for one piece in ten.

    >>> most_tokens("A robot uses ROS 2.")  # 1 + 2 + 2 + 2 + 1 + 1
    9
    """
    total = 0
    for found in _UNIT.finditer(text):
        unit = found.group()
        if len(unit) == 1:
            total += 1
        elif unit.isascii():
            total += -(-len(unit) // (2 if unit.isupper() else 3))
        else:
            wide = sum(1 for letter in unit if ord(letter) > _WIDE)
            total += wide + -(-(len(unit) - wide) // 2)
    return total
