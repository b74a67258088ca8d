"""Passages put in order by a model that reads question and passage together: better than fusion, and billed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rag.book import Chunk
from rag.embedding import hosted
from rag.embedding.choice import service_of
from rag.embedding.hosted_errors import Service, hosted_faults
from rag.ports import Reranker

if TYPE_CHECKING:
    from rag.settings import Settings
    from rag.types import Candidate


MODEL: Final = "rerank-v3.5"
MOST: Final = 50  # passages of one request; 100 are billed as one search, and few good ones stand beyond the fiftieth


async def reranked(
    reranker: Reranker | None,
    question: str,
    candidates: Sequence[Candidate],
    chunks: Mapping[str, Chunk],
    *,
    k: int,
) -> list[Candidate]:
    """The candidates with those that passed the gate in the reranker's order, the first `k` of them kept.

    `chunks` holds each candidate's, by id. Scores stay as they are. Without a reranker, and where fewer than two
    passed, nothing is asked and nothing changes. Raises `AskbookError` when the reranker fails.
    """
    # By text, so that one which stands in the book twice is asked for once, and kept once.
    passed = {chunks[one.chunk_id].text: one for one in reversed(candidates) if one.outcome in ("kept", "beyond_k")}
    asked = [one for one in candidates if one in passed.values()]
    if reranker is None or len(asked) < 2:
        return list(candidates)
    asked, rest = asked[:MOST], asked[MOST:]
    order = await asyncio.to_thread(reranker.rerank, question, [chunks[one.chunk_id].embedded_text for one in asked])
    ordered = [asked[i] for i in order] + rest
    kept = [replace(one, outcome="kept" if place < k else "beyond_k") for place, one in enumerate(ordered)]
    others = [one for one in candidates if one not in passed.values()]
    return kept + [replace(one, outcome="duplicate") if one.outcome == "beyond_k" else one for one in others]


class CohereReranker:
    """A `rag.ports.Reranker` on Cohere. Thread-safe; nothing is called at construction.

    Raises `AskbookError` with a code that begins with "rerank_".
    """

    def __init__(self, service: Service, model: str = MODEL) -> None:
        self.model_id = model
        self.service = service
        self._client: Any = None
        self._guard = threading.Lock()

    def rerank(self, question: str, texts: Sequence[str]) -> list[int]:
        with hosted_faults("rerank", self.service):
            results = self._connected().rerank(list(texts), question, top_n=len(texts))
            order = [one["index"] for one in sorted(results, key=lambda one: -float(one["relevance_score"]))]
            if sorted(order) != list(range(len(texts))):
                raise ValueError("not a place for each text")
        return order

    def _connected(self) -> Any:
        with self._guard:
            if self._client is None:
                self._client = _cohere_rerank(self.model_id, self.service)
            return self._client


def _cohere_rerank(model: str, service: Service) -> Any:
    """langchain-cohere's reranker on a client of our own, since it offers no timeout and its SDK retries twice."""
    from cohere import ClientV2
    from langchain_cohere import CohereRerank

    class Once(ClientV2):
        def rerank(self, **kwargs: Any) -> Any:
            return super().rerank(**kwargs, request_options={"max_retries": 0})

    # A base_url of None is Cohere's own; left out it would be that of a variable which is not among our settings.
    client = Once(service.key.get_secret_value(), base_url=service.base_url, timeout=hosted.TIMEOUT)
    return CohereRerank(client=client, model=model, cohere_api_key=service.key)


def build_reranker(settings: Settings) -> Reranker | None:
    """The reranker, None where it is off; it is not called. Raises `UsageError` without its key."""
    if settings.rerank == "off":
        return None
    return CohereReranker(service_of("cohere", settings, needs="ASKBOOK_RERANK=cohere", variable="ASKBOOK_RERANK"))
