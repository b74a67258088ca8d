"""The vectors of new chunks: which are missing, how texts are embedded in batches, and the points that they make."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag.book import Chunk, Point
from rag.embedding.vector_cache import text_key
from rag.errors import AskbookError
from rag.ingest.report import IngestReport
from rag.ports import Embedder, SparseEncoder, VectorCache

BATCH: Final = 256  # passages whose vectors are in memory at the same time
ATTEMPTS: Final = 8  # of one batch, after which the ingestion gives up; its vectors are cached
FIRST_ATTEMPTS: Final = 3  # the same, of a service that has embedded nothing yet and is not just busy
FIRST_WAIT: Final = 1.0  # seconds, doubled with every attempt, where the service names no wait
LONGEST_WAIT: Final = 60.0
LONGEST_REQUESTED_WAIT: Final = 300  # seconds; a service that asks for more has used up a quota
SAMPLE: Final = 8  # texts that a local model embeds, to see how fast this machine is
REQUEST: Final = 1.0  # seconds that a request to a service takes, roughly
_WORD: Final = "gear "

OnProgress = Callable[[int, int], None]
OnWait = Callable[[int], None]


class ChunkVectors:
    """Vectors of the chunks of one ingestion, kept in a cache.

    After `look_up`, `missing` has the places of the chunks to embed, once for equal texts, and `tokens` their sum.
    """

    def __init__(self, embedder: Embedder, sparse: SparseEncoder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._sparse = sparse
        self._cache = cache
        self.missing: list[int] = []
        self.tokens = 0

    def look_up(self, chunks: Sequence[Chunk]) -> None:
        """Find the chunks whose texts have no vector in the cache. Blocks."""
        self.tokens = 0
        self.missing = []
        seen: set[bytes] = set()
        for begin in range(0, len(chunks), BATCH):
            texts = {begin + i: one.embedded_text for i, one in enumerate(chunks[begin : begin + BATCH])}
            known = self._cache.get(self._embedder.model_id, list(dict.fromkeys(texts.values()))).keys()
            for place, text in texts.items():
                key = text_key(text)
                if text not in known and key not in seen:
                    self.missing.append(place)
                    seen.add(key)
                    self.tokens += self._embedder.count_tokens(text)

    async def compute(self, chunks: Sequence[Chunk], progress: OnProgress, waiting: OnWait) -> None:
        """Embed the missing texts, then unload a model in this process: writing the index needs the memory."""
        lengths = {place: len(chunks[place].text) for place in self.missing}
        batches = batches_of(lengths, self._embedder.batch_size)
        texts = ([chunks[place].embedded_text for place in batch] for batch in batches)
        await embed_batches(texts, len(self.missing), self._embedder, self._cache, progress, waiting)
        if self.missing and (unload := getattr(self._embedder, "unload", None)):
            await asyncio.to_thread(unload)

    def points(self, chunks: Sequence[Chunk]) -> Iterator[Point]:
        """The chunks with their vectors, read in batches. What the cache could not keep is embedded once more."""
        model, embedder = self._embedder.model_id, self._embedder
        for begin in range(0, len(chunks), BATCH):
            batch = chunks[begin : begin + BATCH]
            texts = list(dict.fromkeys(one.embedded_text for one in batch))
            vectors = dict(self._cache.get(model, texts))
            lost = [text for text in texts if text not in vectors]
            for place in range(0, len(lost), embedder.batch_size):
                some = lost[place : place + embedder.batch_size]
                vectors |= zip(some, embedder.embed_documents(some), strict=True)
            for one in batch:
                yield Point(one, vectors[one.embedded_text], self._sparse.encode_document(one.worded_text))

    def consumed(self, chunks: deque[Chunk]) -> Iterator[Point]:
        """The points of the chunks, which are taken away meanwhile."""
        while chunks:
            yield from self.points([chunks.popleft() for _ in range(min(BATCH, len(chunks)))])


@dataclass(slots=True)
class _Pace:
    """When the next request may begin: a service has one limit for all. `works` says that it has embedded something."""

    not_before: float = 0.0
    works: bool = False

    async def wait(self) -> None:
        rest = self.not_before - time.monotonic()
        while rest > 0:  # another request may have been asked to wait longer
            await asyncio.sleep(rest)
            rest = self.not_before - time.monotonic()

    def slow_down(self, seconds: float) -> None:
        self.not_before = max(self.not_before, time.monotonic() + seconds)


def calls_at_once(embedder: Embedder) -> int:
    """How many calls of the embedder may be under way at the same time."""
    return int(getattr(embedder, "parallel", 1))


def batches_of(lengths: Mapping[int, int], size: int) -> list[list[int]]:
    """The places of texts, whose `lengths` are given, in batches of like length: little of a batch is padding.

    Their order is random and the same every time: with the short ones first, the estimated time would be too low.
    """
    order = sorted(lengths, key=lambda place: (lengths[place], place))
    batches = [order[begin : begin + size] for begin in range(0, len(order), size)]
    random.Random(len(order)).shuffle(batches)
    return batches


async def embed_batches(
    batches: Iterable[list[str]],
    total: int,
    embedder: Embedder,
    vectors: VectorCache,
    progress: OnProgress,
    waiting: OnWait,
) -> None:
    """Embed batches of `total` texts into the cache, so that an interruption loses those under way at most.

    After a temporary failure, no request begins before the wait that the service asks for, or a growing one. Raises
    `AskbookError` when a batch has failed too often.
    """
    rest, limit, done, guard = iter(batches), _Pace(), 0, threading.Lock()

    def embed(batch: list[str]) -> None:
        embedded = dict(zip(batch, embedder.embed_documents(batch), strict=True))
        with guard:  # a cache is used by one thread at a time
            vectors.put(embedder.model_id, embedded)

    async def work() -> None:
        nonlocal done
        for batch in rest:
            await _patiently(embed, batch, limit, waiting)
            done += len(batch)
            progress(done, total)

    if not total:
        return
    progress(0, total)
    workers = [asyncio.create_task(work()) for _ in range(calls_at_once(embedder))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()  # a thread that embeds goes on to the end of its batch, and caches it
        await asyncio.gather(*workers, return_exceptions=True)


async def _patiently(embed: Callable[[list[str]], None], batch: list[str], limit: _Pace, waiting: OnWait) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        await limit.wait()
        try:
            await asyncio.to_thread(embed, batch)
        except AskbookError as error:
            most = ATTEMPTS if limit.works or error.error_type == "rate_limit" else FIRST_ATTEMPTS
            if attempt >= most or not error.retryable or (error.requested_wait or 0) > LONGEST_REQUESTED_WAIT:
                raise
            asked = error.requested_wait
            seconds = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) if asked is None else float(asked)
            limit.slow_down(seconds)
            waiting(round(seconds))
        else:
            limit.works = True
            return


def estimated_seconds(report: IngestReport, embedder: Embedder, *, is_local: bool) -> float:
    """The time that embedding would take, by a few made-up texts, or by the number of requests to a service."""
    if not report.embedded:
        return 0.0
    if not is_local:
        requests = -(-report.embedded // embedder.batch_size)
        return REQUEST * -(-requests // calls_at_once(embedder))
    length = min(embedder.max_tokens, max(1, report.tokens // report.embedded))
    texts = [_WORD * length + str(number) for number in range(SAMPLE)]
    embedder.embed_documents(texts[:1])  # loads the model
    began = time.monotonic()
    embedder.embed_documents(texts)
    return (time.monotonic() - began) / SAMPLE * report.embedded
