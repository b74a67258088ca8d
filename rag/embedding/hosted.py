"""Embedding models behind an address: Cohere's, and any that speaks OpenAI's wire format.

Each call is billed, so nothing is called but for a text that has to be embedded: not at construction, not to learn a
dimension. Clients do not retry and have timeouts; who calls decides whether to try again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.embeddings import Embeddings

from rag.embedding.hosted_errors import Service, hosted_faults
from rag.embedding.known_models import HOSTED, UNKNOWN_TOKENS
from rag.errors import RetrievalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Kind = Literal["search_document", "search_query"]
Wire = Callable[[list[str], Kind], Any]

BATCH: Final = 96  # texts of one request; Cohere takes no more
TIMEOUT = 10.0  # seconds for the connection, and for each read of the answer


class HostedEmbeddings(Embeddings):
    """An `rag.ports.Embedder` on a service, and a LangChain `Embeddings`. Thread-safe.

    `dimension` is 0 for a model that is not in `HOSTED`, until its first vector. A text that is longer than the model
    sees is embedded in pieces, and its vector is the mean of theirs: nothing is cut off. Every method that embeds
    raises `AskbookError` with a code that begins with "embedding_".
    """

    batch_size = BATCH

    def __init__(self, model: str, service: Service, connect: Callable[[str, Service], Wire]) -> None:
        known = HOSTED.get(model)
        self.model_id = model
        self.service = service
        self.dimension = known.dimension if known else 0
        self.max_tokens = known.max_tokens if known else UNKNOWN_TOKENS
        self._connect = connect
        self._wire: Wire | None = None
        self._guard = threading.Lock()

    def count_tokens(self, text: str) -> int:
        """At least as many tokens as the model counts; its own tokenizer would have to be downloaded."""
        return most_tokens(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts, "search_document")

    def embed_query(self, text: str) -> list[float]:
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts, "search_query")

    def _embed(self, texts: Sequence[str], kind: Kind) -> list[list[float]]:
        cut = [pieces(text, self.max_tokens) for text in texts]
        flat = [piece for parts in cut for piece in parts]
        rows: list[NDArray[np.float64]] = []
        for begin in range(0, len(flat), BATCH):
            rows.extend(self._request(flat[begin : begin + BATCH], kind))
        vectors, start = [], 0
        for parts in cut:
            vectors.append(self._direction(rows[start : start + len(parts)], parts))
            start += len(parts)
        return vectors

    def _request(self, texts: list[str], kind: Kind) -> NDArray[np.float64]:
        """One request: a row of the matrix for each text."""
        import numpy as np

        with hosted_faults("embedding", self.service):
            rows = np.asarray(self._connected()(texts, kind), dtype=np.float64)
            if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
                raise ValueError("not a vector of numbers for each text")
        width = rows.shape[1]
        if width != (self.dimension or width) or not width:
            raise RetrievalError(
                "embedding_dimension",
                f"{self.service.place} sent vectors of {width} numbers for {self.model_id}, which has "
                f"{self.dimension}.",
                hint=f"Check {self.service.model_variable} and {self.service.url_variable}.",
            )
        self.dimension = width
        return rows

    def _direction(self, rows: Sequence[NDArray[np.float64]], parts: Sequence[str]) -> list[float]:
        """The mean of the pieces' directions, each weighing as much as it is long, as a unit vector."""
        import numpy as np

        with hosted_faults("embedding", self.service):
            lengths = [float(np.linalg.norm(row)) for row in rows]
            if not all(lengths):
                raise ValueError("a vector without a direction")
            weights = [most_tokens(part) / length for part, length in zip(parts, lengths, strict=True)]
            mean = np.average(np.stack(rows), axis=0, weights=weights)
            vector: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return vector

    def _connected(self) -> Wire:
        # The client's library takes a second to load, so that waits for the first text.
        with self._guard:
            if self._wire is None:
                self._wire = self._connect(self.model_id, self.service)
            return self._wire


def cohere_wire(model: str, service: Service) -> Wire:
    """langchain-cohere's embeddings, one request a call and without its retries.

    They would be nested: three by tenacity for any exception, a wrong key too, and in each of them three by the SDK.
    """
    from langchain_cohere import CohereEmbeddings

    class Once(CohereEmbeddings):
        def embed(self, texts: list[str], *, input_type: Any = None) -> Any:
            # The SDK's batching has threads of its own, and trips over an answer without billed units.
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

    client = Once.model_validate(
        {
            "model": model,
            "cohere_api_key": service.key.get_secret_value(),  # of a SecretStr it would send the asterisks
            "base_url": service.base_url,
            "request_timeout": TIMEOUT,
            "truncate": "NONE",  # a text that is too long is an error instead of a vector of its beginning
        }
    )
    return lambda texts, kind: client.embed(texts, input_type=kind)


def openai_wire(model: str, service: Service) -> Wire:
    """langchain-openai's embeddings, without its retries and its tokenizer.

    The service has an address, so that no other variable can lead the key elsewhere.
    """
    from langchain_openai import OpenAIEmbeddings

    client = OpenAIEmbeddings(
        model=model,
        api_key=service.key,
        base_url=service.base_url,
        openai_api_type="openai",
        check_embedding_ctx_length=False,  # it would download a tokenizer
        chunk_size=BATCH,
        timeout=TIMEOUT,
        max_retries=0,
    )
    return lambda texts, _kind: client.embed_documents(texts)


_UNIT: Final = re.compile(r"[^\W\d_]+|[\d_]|[^\w\s]")
_WORD: Final = re.compile(r"\s*\S+")
_WIDE: Final = 0x2E7F  # beyond it stand the scripts that take about a token a letter


def most_tokens(text: str) -> int:
    """At least as many as a subword tokenizer makes of the text: three letters a token, two outside of ASCII.

    Digits, marks, and letters of scripts without spaces count one each. Of 2,112 pieces of 1,400 characters from three
    textbooks in Markdown, BERT's word pieces were 70 % of this in the middle and 97 % at most (see
    `bench/token_bound.py`). The estimate in `rag.prompt.budget` is right on average and too low for one piece in ten.
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
    """The text cut between words into pieces of at most `most` tokens; nothing is left out. One that fits is itself."""
    if most_tokens(text) <= most:
        return [text]
    found: list[str] = []
    room = 0
    for word in _WORD.findall(text):
        # A token is at least one character, so a slice of `most` characters always fits.
        whole = most_tokens(word) <= most
        for begin in range(0, len(word), len(word) if whole else most):
            part = word if whole else word[begin : begin + most]
            cost = most_tokens(part)
            if begin or cost > room or not found:  # two slices of one word may cost more together
                found.append("")
                room = most
            found[-1] += part
            room -= cost
    return found
