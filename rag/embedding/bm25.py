"""The sparse encoder: BM25 term weights (Robertson and Zaragoza 2009).

A document's sparse vector holds its saturated term frequencies, a query's vector a 1.0 for each term. The inverse
document frequency changes with every ingestion, so Qdrant multiplies it in at search time.
"""

from __future__ import annotations

import re
from typing import Any, Final

from rag.book import SparseVector
from rag.errors import UsageError

_NAME: Final = re.compile(r"(?<![\w-])(?:[A-Za-z]\w*_\w+|--[a-z][\w-]*-\w+|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+)", re.ASCII)
_JOINTS: Final = re.compile(r"[\W_]+")
ENGINE: Final = "0.9"  # version of qdrant-edge-py, whose tokenizer and stop words define the terms


class Bm25Encoder:
    """A `rag.ports.SparseEncoder` on Qdrant's BM25, with its tokenizer, stop words and Snowball stemmers.

    The tokenizer cuts `UV_INDEX_URL` into words that half a book has, so such a name is a term of its own beside them.
    `language` is the English name of a Snowball language, in lower case. Raises `UsageError` for an unknown one.
    Thread-safe.
    """

    def __init__(self, language: str = "english") -> None:
        import qdrant_edge

        try:
            self._engine = qdrant_edge.Bm25(qdrant_edge.Bm25Config(language=language))
        except ValueError as error:
            message = f'There is no stemmer for the language "{language}".'
            hint = "Use a Snowball language such as english, german or french."
            raise UsageError(message, code="sparse_language", hint=hint) from error
        self.model_id = f"qdrant-edge-bm25-{language}-{ENGINE}"

    def encode_document(self, text: str) -> SparseVector:
        """The weights of the text's terms, indices ascending; empty for a text of stop words only."""
        return _ordered(self._engine.embed_document(_with_names(text)))

    def encode_query(self, text: str) -> SparseVector:
        """A 1.0 for each term of the text, indices ascending; empty for a question of stop words only."""
        return _ordered(self._engine.embed_query(_with_names(text)))


def _with_names(text: str) -> str:
    """The text, followed by its names of several words as one word each.

    >>> _with_names("Set `UV_INDEX_URL` or pass --index-url to std::io.")
    'Set `UV_INDEX_URL` or pass --index-url to std::io. UVINDEXURL indexurl stdio'
    """
    names = [_JOINTS.sub("", name) for name in _NAME.findall(text)]
    return " ".join([text, *names]) if names else text


def _ordered(vector: Any) -> SparseVector:
    # Two terms may have the same index, which the collection accepts only once; their weights add up.
    weights: dict[int, float] = {}
    for index, value in zip(vector.indices, vector.values, strict=True):
        weights[index] = weights.get(index, 0.0) + value
    ordered = sorted(weights)
    return SparseVector(ordered, [weights[index] for index in ordered])
