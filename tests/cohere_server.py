"""A stand-in for Cohere on 127.0.0.1: it embeds by words and ranks by shared words, in Cohere's wire format.

Texts that share words get near vectors, so that a book embedded here can really be searched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.wire import Reply, Request, WireServer, data, listening

SHORT: Final = "embed-multilingual-light-v3.0"  # Cohere's SDK takes a millisecond for 300 numbers
DIMENSIONS: Final = {"embed-english-v3.0": 1024, "embed-multilingual-v3.0": 1024, "embed-v4.0": 1536, SHORT: 384}
LONGEST: Final = 96  # texts of one request
_META: Final = {"api_version": {"version": "1"}, "billed_units": {"input_tokens": 1}}
_WORD: Final = re.compile(r"\w+")


@dataclass
class CohereServer(WireServer):
    """`dimension` replaces the model's. `at` holds faults by the number of the request, from 1.

    `embedded` and `ranked` hold what was billed.
    """

    at: dict[int, Reply] = field(default_factory=dict)
    dimension: int | None = None
    embedded: list[tuple[str, str]] = field(default_factory=list)  # (input type, text)
    ranked: list[tuple[str, list[str]]] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        if len(self.requests) in self.at:
            return self.at[len(self.requests)]
        if request.path == "/v1/embed":
            return self._embed(request.body)
        if request.path == "/v2/rerank":
            return self._rerank(request.body)
        return says(404, "no such path")

    def _embed(self, body: dict[str, Any]) -> Reply:
        if len(body["texts"]) > LONGEST:
            return says(400, f"at most {LONGEST} texts")
        if body["truncate"] != "END" or body["embedding_types"] != ["float"]:
            return says(400, "this would refuse long texts, or answer in another form")
        self.embedded += [(body["input_type"], text) for text in body["texts"]]
        size = self.dimension or DIMENSIONS.get(body["model"], 7)
        vectors = [vector(text, size) for text in body["texts"]]
        answer = {"id": "1", "response_type": "embeddings_by_type", "embeddings": {"float": vectors}}
        return data(answer | {"texts": body["texts"], "meta": _META})

    def _rerank(self, body: dict[str, Any]) -> Reply:
        self.ranked.append((body["query"], body["documents"]))
        asked = set(_WORD.findall(body["query"].lower()))
        shares = [len(asked & set(_WORD.findall(text.lower()))) / (len(asked) or 1) for text in body["documents"]]
        order = sorted(range(len(shares)), key=lambda i: -shares[i])[: body["top_n"]]
        return data({"id": "1", "results": [{"index": i, "relevance_score": shares[i]} for i in order], "meta": _META})


def vector(text: str, size: int) -> list[float]:
    """A bag of words: each adds one to the dimension that its hash names."""
    values = [0.0] * size
    for word in _WORD.findall(text.lower()):
        values[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % size] += 1.0
    return values if any(values) else [1.0, *values[1:]]


def says(status: int, message: str, **headers: str) -> Reply:
    """A refusal in Cohere's form; it repeats what it was sent, as services do."""
    return data({"message": message}, status, **headers)


def reshaped(**fields: Any) -> Reply:
    """A 200 whose JSON is well-formed and something else."""
    return Reply(body=json.dumps({"id": "1", "meta": _META, **fields}))


@contextmanager
def cohere_server() -> Iterator[CohereServer]:
    """The stand-in, listening until the block ends."""
    with listening(CohereServer()) as server:
        yield server
