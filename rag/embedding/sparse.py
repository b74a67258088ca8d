"""BM25 term weights (Robertson and Zaragoza 2009), computed here and completed by the index.

A document's vector holds the saturated term frequencies, a query's a 1.0 for each term. The inverse document frequency
belongs to the collection, which changes with every ingestion, so Qdrant multiplies it in at search time.
"""

from __future__ import annotations

from typing import Any, Final

from rag.book import SparseVector
from rag.errors import UsageError

ENGINE: Final = "0.9"  # of qdrant-edge-py: its tokenizer and stop words decide which terms exist


class Bm25Encoder:
    """A `rag.ports.SparseEncoder` on Qdrant's own BM25: Snowball stems, stop words and tokenizer compiled in.

    `language` is one of Snowball's, in English and lower case. Raises `UsageError` for one it does not have.
    Thread-safe: encoding changes nothing.
    """

    def __init__(self, language: str = "english") -> None:
        import qdrant_edge

        try:
            self._engine = qdrant_edge.Bm25(qdrant_edge.Bm25Config(language=language))
        except ValueError as error:
            raise UsageError(
                f'There is no stemmer for the language "{language}".',
                code="sparse_language",
                hint="Use a Snowball language such as english, german or french.",
            ) from error
        self.model_id = f"qdrant-edge-bm25-{language}-{ENGINE}"

    def encode_document(self, text: str) -> SparseVector:
        """Weights of the text's terms, indices ascending; empty for a text of stop words only."""
        return _ordered(self._engine.embed_document(text))

    def encode_query(self, text: str) -> SparseVector:
        """A 1.0 for each term of the text, indices ascending; empty for a question of stop words only."""
        return _ordered(self._engine.embed_query(text))


def _ordered(vector: Any) -> SparseVector:
    # Two terms may share a hash: the index wants every one once, and the sum is what a document of both would get.
    weights: dict[int, float] = {}
    for index, value in zip(vector.indices, vector.values, strict=True):
        weights[index] = weights.get(index, 0.0) + value
    ordered = sorted(weights)
    return SparseVector(ordered, [weights[index] for index in ordered])
