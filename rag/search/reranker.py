"""Rerank passages with a model that reads question and passage together: better than fusion, and billed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rag.book import Chunk
from rag.embedding.hosted import HostedConnection, cohere_client, connection_of
from rag.failures import failure_of
from rag.ports import Reranker

if TYPE_CHECKING:
    from langchain_cohere import CohereRerank

    from rag.book import Candidate
    from rag.settings import Settings

MODEL: Final = "rerank-v3.5"
MOST: Final = 50  # passages of one request: up to 100 are billed as one search, few good ones rank lower than 50


async def reranked(
    reranker: Reranker, question: str, candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], *, k: int
) -> list[Candidate]:
    """The candidates that reach the threshold in the reranker's order, the first `k` of them kept, then the others.

    Scores do not change. Raises `AskbookError` when the reranker fails.
    """
    # By text: one that is in the book twice is sent once and kept once.
    passed = {chunks[c.chunk_id].text: c for c in reversed(candidates) if c.outcome in ("kept", "beyond_k")}
    asked = [candidate for candidate in candidates if candidate in passed.values()]
    if len(asked) < 2:
        return list(candidates)
    asked, rest = asked[:MOST], asked[MOST:]
    order = await asyncio.to_thread(reranker.rerank, question, [chunks[c.chunk_id].embedded_text for c in asked])
    ordered = [asked[i] for i in order] + rest
    kept = [c._replace(outcome="kept" if rank < k else "beyond_k") for rank, c in enumerate(ordered)]
    others = [candidate for candidate in candidates if candidate not in passed.values()]
    return kept + [c._replace(outcome="duplicate") if c.outcome == "beyond_k" else c for c in others]


class CohereReranker:
    """A `rag.ports.Reranker` on Cohere, thread-safe. Raises `AskbookError` with a code that begins with "rerank_"."""

    model_id = MODEL

    def __init__(self, connection: HostedConnection) -> None:
        self.service = connection.service
        self._connection = connection

    def rerank(self, question: str, texts: Sequence[str]) -> list[int]:
        try:
            results = self._client.rerank(list(texts), question, top_n=len(texts))
            scores = {result["index"]: float(result["relevance_score"]) for result in results}
            whole = len(results) == len(texts) and sorted(scores) == list(range(len(texts)))
            if not whole or not all(map(math.isfinite, scores.values())):
                raise ValueError("it must be one score for each text")
            return sorted(scores, key=lambda place: -scores[place])
        except Exception as failure:
            raise failure_of(failure, self.service) from None

    @cached_property
    def _client(self) -> CohereRerank:
        """langchain-cohere's reranker, on a client with a timeout, which asks once."""
        from cohere import ClientV2
        from langchain_cohere import CohereRerank

        return CohereRerank(
            client=cohere_client(ClientV2, self._connection), model=MODEL, cohere_api_key=self._connection.key
        )


def build_reranker(settings: Settings) -> Reranker:
    """The reranker. Nothing is called. Raises `UsageError` if its key is not set."""
    return CohereReranker(
        connection_of("cohere", settings, needs="ASKBOOK_RERANK=cohere", variable="ASKBOOK_RERANK", part="rerank")
    )
