"""Hosted embedding models: Cohere's, and those of any endpoint with OpenAI's wire format.

Every call is billed, so texts are all that is sent. Clients have timeouts; retrying is up to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.embeddings import Embeddings

from rag.embedding.hosted_errors import Service, hosted_faults
from rag.embedding.known_models import HOSTED, KEYS, UNKNOWN_TOKENS, Provider, key_of
from rag.errors import RetrievalError, UsageError
from rag.http.http_clients import OPENAI, checked_address, checked_key
from rag.private_apis import limit_exchanges
from rag.system.process import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag.settings import Settings

InputType = Literal["search_document", "search_query"]
Wire = Callable[[list[str], InputType], Any]

BATCH: Final = 96  # texts of one request, Cohere's limit
PARALLEL: Final = 4  # requests at the same time during an ingestion
TIMEOUT = 10.0  # seconds for the connection, and for each read of the answer
LONGEST = 30.0  # seconds from the end of a request to the end of its answer
_UNIT: Final = re.compile(r"[^\W\d_]+|[\d_]|[^\w\s]")
_WORD: Final = re.compile(r"\s*\S+")
_WIDE: Final = 0x2E7F  # scripts beyond it take about one token per letter


class HostedEmbeddings(Embeddings):
    """An `rag.ports.Embedder` on a service, and a LangChain `Embeddings`. Thread-safe.

    `dimension` may be 0 until the first vector. A text longer than `max_tokens` is embedded in pieces, and its vector
    is their mean. Methods that embed return unit vectors, and raise `AskbookError` with a code that begins with
    "embedding_". `vouched` says that the caller brought the model, as the one that made the collection.
    """

    batch_size = BATCH

    def __init__(
        self,
        model: str,
        service: Service,
        connect: Callable[[str, Service], Wire],
        *,
        parallel: int = PARALLEL,
        vouched: bool = False,
    ) -> None:
        self.parallel = parallel
        self.vouched = vouched
        known = HOSTED.get(model)
        self.model_id = model
        self.service = service
        self.dimension = known.dimension if known else 0
        self.max_tokens = known.max_tokens if known else UNKNOWN_TOKENS
        self._connect = connect

    def count_tokens(self, text: str) -> int:
        """An upper bound of the model's tokens, whose tokenizer would have to be downloaded."""
        return most_tokens(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts, "search_document")

    def embed_query(self, text: str) -> list[float]:
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts, "search_query")

    def _embed(self, texts: Sequence[str], kind: InputType) -> list[list[float]]:
        texts_in_pieces = [pieces(text, self.max_tokens) for text in texts]
        flat = [piece for parts in texts_in_pieces for piece in parts]
        rows: list[NDArray[np.float64]] = []
        for begin in range(0, len(flat), BATCH):
            rows.extend(self._request(flat[begin : begin + BATCH], kind))
        vectors, start = [], 0
        for parts in texts_in_pieces:
            vectors.append(self._mean(rows[start : start + len(parts)], parts))
            start += len(parts)
        return vectors

    def _request(self, texts: list[str], kind: InputType) -> NDArray[np.float64]:
        """The answer to one request: a matrix with a row for each text."""
        import numpy as np

        with hosted_faults("embedding", self.service):
            rows = np.asarray(self._wire(texts, kind), dtype=np.float64)
            if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
                raise ValueError("it must be one vector for each text")
        width = rows.shape[1]
        if width != (self.dimension or width) or not width:
            sent = f"{self.service.place} sent vectors of {width} dimensions"
            hint = f"Check {self.service.model_variable} and {self.service.url_variable}."
            raise RetrievalError(
                "embedding_dimension", f"{sent} for {self.model_id}, which has {self.dimension}.", hint=hint
            )
        self.dimension = width
        return rows

    def _mean(self, rows: Sequence[NDArray[np.float64]], parts: Sequence[str]) -> list[float]:
        """The mean of the pieces' unit vectors, weighted by their tokens, as a unit vector."""
        import numpy as np

        with hosted_faults("embedding", self.service), np.errstate(all="ignore"):
            weights = np.array([[most_tokens(part)] for part in parts])
            mean = (weights * np.stack([_unit(row) for row in rows])).sum(axis=0)
            # A text of white space has no tokens, and opposite vectors have no mean: then the first one stands for all.
            vector: list[float] = _unit(mean if mean.any() else rows[0]).tolist()
        return vector

    @cached_property
    def _wire(self) -> Wire:
        """The client, whose library takes a second to load, so it is loaded for the first text only."""
        return self._connect(self.model_id, self.service)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vector with length 1. Raises ValueError if it has none, or one that no float can hold."""
    import numpy as np

    length = float(np.linalg.norm(vector))
    if not 0 < length < np.inf:
        raise ValueError("a vector without a length")
    return vector / length


def cohere_wire(model: str, service: Service) -> Wire:
    """langchain-cohere's embeddings with one request per call, without the nested retries of tenacity and the SDK."""
    from cohere import Client
    from langchain_cohere import CohereEmbeddings

    class Once(CohereEmbeddings):
        def embed(self, texts: list[str], *, input_type: Any = None) -> Any:
            # The SDK's own batching starts threads, and fails on an answer without billed units.
            answer = self.client.embed(
                texts=texts,
                model=self.model,
                input_type=input_type,
                truncate=self.truncate,
                embedding_types=self.embedding_types,
                batching=False,
                request_options={"max_retries": 0},
            )
            return answer.embeddings.float_

    key = service.key.get_secret_value()  # a SecretStr would be sent as asterisks
    client = Once.model_validate(
        {
            "model": model,
            "cohere_api_key": key,
            "base_url": service.base_url,
            "request_timeout": TIMEOUT,
            "truncate": "NONE",  # a text that is too long is an error, and not embedded in part
        }
    )
    client.client = Client(key, base_url=service.base_url, timeout=TIMEOUT, httpx_client=cohere_http_client())
    return lambda texts, kind: client.embed(texts, input_type=kind)


def cohere_http_client() -> Any:
    """An HTTP client for Cohere's SDK, whose own follows redirects and reads without a limit."""
    import httpx

    from rag.http.http_clients import client_options

    return limit_exchanges(httpx.Client(timeout=TIMEOUT, **client_options(httpx)), LONGEST)


def openai_wire(model: str, service: Service) -> Wire:
    """langchain-openai's embeddings, without its retries and its tokenizer, at `service.base_url` and nowhere else."""
    import httpx2
    from langchain_openai import OpenAIEmbeddings
    from openai import DefaultHttpxClient

    from rag.http.http_clients import client_options, print_no_answers

    print_no_answers()
    client = OpenAIEmbeddings(
        model=model,
        api_key=service.key,
        base_url=service.base_url,
        openai_api_type="openai",
        check_embedding_ctx_length=False,  # it would download a tokenizer
        chunk_size=BATCH,
        timeout=TIMEOUT,
        max_retries=0,
        http_client=limit_exchanges(DefaultHttpxClient(timeout=TIMEOUT, **client_options(httpx2)), LONGEST),
    )
    return lambda texts, _kind: client.embed_documents(texts)


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


def pieces(text: str, most: int) -> list[str]:
    """The text cut between words into pieces of at most `most` tokens. Joined, they are the whole text."""
    if most_tokens(text) <= most:
        return [text]
    found: list[str] = []
    room = 0
    for word in _WORD.findall(text):
        # A longer word is cut into slices of `most` characters, which fit: a token is at least one character.
        whole = most_tokens(word) <= most
        for begin in range(0, len(word), len(word) if whole else most):
            part = word if whole else word[begin : begin + most]
            cost = most_tokens(part)
            if begin or cost > room or not found:  # two slices of a word may take more tokens together
                found.append("")
                room = most
            found[-1] += part
            room -= cost
    return found


def service_of(provider: Provider, settings: Settings, *, needs: str, variable: str) -> Service:
    """The service of a hosted model. Its key is sent nowhere else.

    For the error of a missing key, `needs` says what needs it, and `variable` is the setting that chose the model.
    Raises `UsageError` for a missing key, a broken address or a missing library.
    """
    key, key_variable, url_variable = key_of(provider, settings), KEYS[provider], f"{provider.upper()}_BASE_URL"
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
