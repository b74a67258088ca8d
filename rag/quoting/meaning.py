"""Compare the blocks of the passages with the question by meaning: headings first, then the best blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rag.ports import Embedder, TokenEmbedder, TokenVectors
from rag.quoting.blocks import QuoteBlock
from rag.quoting.late_interaction import term_matches, token_places
from rag.text.terms import Term

EMBEDDED: Final = 14  # best blocks, which are embedded: about 15 ms each on one core
EMBEDDED_CHARACTERS: Final = 420  # of a block
# Weights in the score of a block, fitted like those of `rag.quoting.relevance`.
COSINE: Final = 1.8  # of the block and the question
HELD: Final = 0.8  # least match of a term that a block holds as a word
PATH: Final = 0.8  # cosine of the headings above the block and the question


def add_meaning(
    question: str,
    wanted: Sequence[Term],
    passages: Sequence[Sequence[QuoteBlock]],
    quotable: Sequence[QuoteBlock],
    embedder: Embedder,
) -> None:
    """Add to the scores the cosines of all headings, and of the best quotable blocks their own.

    With an embedder that gives the vectors of tokens, the terms are compared with the best blocks one by one.
    """
    tokens = embedder.embed_tokens([question])[0] if isinstance(embedder, TokenEmbedder) else None
    query = tokens.vector if tokens else embedder.embed_query(question)
    _add_paths(query, passages, embedder)
    candidates = sorted(quotable, key=lambda block: -block.score)[:EMBEDDED]
    texts = [f"{block.heading}\n{block.text[:EMBEDDED_CHARACTERS]}" for block in candidates]
    if tokens and isinstance(embedder, TokenEmbedder):
        _compare(candidates, embedder.embed_tokens(texts), tokens, wanted, token_places(question, tokens, wanted))
    else:
        for block, cosine in zip(candidates, _cosines(query, texts, embedder), strict=True):
            block.cosine = cosine
    for block in candidates:
        block.score += COSINE * block.cosine


def _add_paths(query: Sequence[float], passages: Sequence[Sequence[QuoteBlock]], embedder: Embedder) -> None:
    """Add the cosines of the headings to the scores of the blocks below them."""
    paths = {block: " ".join(block.path) for found in passages for block in found}
    texts = list(dict.fromkeys(paths.values()))
    cosine = dict(zip(texts, _cosines(query, texts, embedder), strict=True))
    for block, path in paths.items():
        block.score += PATH * cosine[path]


def _compare(
    candidates: Sequence[QuoteBlock],
    vectors: Sequence[TokenVectors],
    asked: TokenVectors,
    wanted: Sequence[Term],
    places: Sequence[Sequence[int]],
) -> None:
    """Set the cosines of the blocks, and how well each matches the term that it matches least.

    A term that a block holds is matched at least by `HELD`, also where it stands behind what is embedded.
    """
    for block, each, matches in zip(candidates, vectors, term_matches(asked, places, vectors), strict=True):
        block.cosine = _cosine(asked.vector, each.vector)
        keys = block.own | block.context
        least = (max(match, HELD) if term.within(keys) else match for term, match in zip(wanted, matches, strict=True))
        block.weakest = min(least, default=0.0)


def _cosines(query: Sequence[float], texts: list[str], embedder: Embedder) -> list[float]:
    """The cosine of the question's vector and that of each text. Vectors have length 1."""
    return [_cosine(query, vector) for vector in embedder.embed_documents(texts)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
