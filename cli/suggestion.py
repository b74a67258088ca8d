"""Questions that a book answers, to be suggested to a newcomer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rag.book import Chunk
from rag.ports import ChunkIndex, Embedder, SparseEncoder
from rag.quoting.english.heading_words import NO_VERBS
from rag.quoting.english.phrases import LEANING
from rag.system.files import write_private
from rag.types import REFUSAL

FILE: Final = "suggestions.json"
FALLBACK: Final = "What is this book about?"  # answered for every book
LOOKED_AT: Final = 300  # chunks whose headings may become the question, from all over the book
READ: Final = 60  # chunks whose text decides the language of a book
PROSE: Final = 200  # characters of a chunk that are enough for it
TRIED: Final = 6  # questions that are asked; each takes about a third of a second
PASSAGES: Final = 12
THRESHOLD: Final = 0.2
_HOW_TO: Final = re.compile(r"how to (?=(?P<verb>\w+))", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\A\d{1,3}(?:\.\d{1,3})*[.):]?\s+")
_PLAIN: Final = re.compile(r"[^\W\d_][\w ,'’?-]{8,70}")  # a heading of words, without code and markup


async def remembered(home: Path, index: ChunkIndex, embedder: Embedder | None, sparse: SparseEncoder) -> list[str]:
    """Two `suggestions` for the book in its present state, found once and kept in the home.

    Without an embedder they are `untried` ones.
    """
    info = await index.info()
    if info is None:
        return []
    state = [info.embedding_model, info.updated_at, info.chunks, info.recipe]
    path = home / FILE
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        entry = kept[index.collection]
    except (OSError, ValueError, KeyError, TypeError):
        kept, entry = {}, {}
    if isinstance(entry, dict) and entry.get("state") == state:
        return [question for question in entry["questions"] if isinstance(question, str)]
    most = 2
    questions = await (suggestions(index, embedder, sparse, most=most) if embedder else untried(index, most=most))
    write_private(path, json.dumps(kept | {index.collection: {"state": state, "questions": questions}}))
    return questions


async def suggested(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder) -> str:
    """One of the `suggestions`, or a question that every book answers. Raises what the index raises."""
    return next(iter(await suggestions(index, embedder, sparse, most=1)), FALLBACK)


async def suggestions(index: ChunkIndex, embedder: Embedder, sparse: SparseEncoder, *, most: int) -> list[str]:
    """Questions made of the book's headings, each of which the book answers from the passage below the heading.

    The answerer without a model has answered each of them; at most `TRIED` are tried. Raises what the index raises.
    """
    from rag.embedding.local import OnnxEmbeddings
    from rag.quoting.answerer import QuotingAnswerer
    from rag.search.retriever import HybridRetriever

    chunks = await _sample(index)
    local = embedder if isinstance(embedder, OnnxEmbeddings) else None  # a hosted model would bill every block
    answerer, retriever = QuotingAnswerer(local), HybridRetriever(embedder, sparse, index)
    answered: list[str] = []
    for question, chunk in list(_candidates(chunks))[:TRIED]:
        if len(answered) == most:
            break
        found = await retriever.retrieve(question, k=PASSAGES, threshold=THRESHOLD)
        wanted = next((p.number for p in found.passages if p.heading == chunk.heading and p.title == chunk.title), 0)
        # It computes, while others are served.
        answer = "".join(await asyncio.to_thread(answerer.quote, question, found.passages))
        if wanted and answer != REFUSAL and f"[{wanted}]" in answer:
            answered.append(question)
    return answered


async def untried(index: ChunkIndex, *, most: int) -> list[str]:
    """Questions made of headings with text below them, for a model that bills each trial."""
    chunks = [chunk for chunk in await _sample(index) if len(chunk.text) >= PROSE]
    return [question for question, _ in _candidates(chunks)][:most]


async def _sample(index: ChunkIndex) -> list[Chunk]:
    """Chunks from all over the book: ids are hashes, so the first ids belong to chunks of all pages."""
    ids = sorted(entry.id for entry in await index.entries())
    return await index.fetch(ids[:LOOKED_AT])


async def foreign_language(index: ChunkIndex) -> str:
    """The language of a book that is not in English: "German", "another language", or "" for English.

    Raises what the index raises.
    """
    from rag.quoting.vocabulary import is_foreign, language_of

    ids = sorted(entry.id for entry in await index.entries())
    texts = [chunk.text for chunk in await index.fetch(ids[:READ])]
    told = [text for text in texts if len(text) >= PROSE]
    if 2 * sum(map(is_foreign, told)) <= len(told):
        return ""
    return language_of("\n".join(text[:PROSE] for text in told)).capitalize() or "another language"


def _candidates(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Chunk]]:
    """The questions of `_questions`, one for each heading."""
    seen: set[str] = set()
    for question, chunk in _questions(chunks):
        if chunk.heading not in seen:
            seen.add(chunk.heading)
            yield question, chunk


def _lacks_verb(heading: str) -> bool:
    """Whether a heading such as "How to for Debian" makes no question."""
    found = _HOW_TO.match(heading)
    return found is not None and found["verb"].lower() in NO_VERBS


def _questions(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Chunk]]:
    """Questions and the chunks below them: of headings that ask, of "How to" headings, then of other short ones.

    The numbers of sections are no part of a question.
    """
    named = [(_NUMBER.sub("", chunk.heading), chunk) for chunk in chunks]
    plain = [
        one for one in named if _PLAIN.fullmatch(one[0]) and not LEANING.search(one[0]) and not _lacks_verb(one[0])
    ]
    asking = [one for one in plain if one[0].endswith("?")]
    showing = [one for one in plain if _HOW_TO.match(one[0])]
    short = [one for one in plain if 2 <= len(one[0].split()) <= 5]
    yield from asking[:3]
    for heading, chunk in showing[:2]:
        yield f"{_HOW_TO.sub('How do I ', heading, count=1)}?", chunk
    from rag.quoting.vocabulary import is_foreign

    # An English question would not suit a book in another language.
    foreign = is_foreign("\n".join(chunk.text for _, chunk in short))
    for heading, chunk in short:
        yield heading if foreign else f"What does the book say about {heading}?", chunk
