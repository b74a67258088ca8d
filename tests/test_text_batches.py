"""Many texts are embedded in batches of like length, several at a time, and no faster than the service allows."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest

from rag.errors import AskbookError
from rag.ingest import chunk_vectors
from rag.ingest.chunk_vectors import ATTEMPTS, batches_of, embed_batches
from tests.fakes import FakeEmbedder, FakeVectors


def limited(seconds: float | None = None) -> AskbookError:
    return AskbookError("rate_limit", "embedding_rate_limit", "busy", retry_after=seconds, retryable=True)


CLOCK = [0.0]  # seconds


@pytest.fixture(autouse=True)
def _waits_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still but for the waits, which are over at once."""
    sleep = asyncio.sleep

    async def waited(seconds: float) -> None:
        CLOCK[0] += seconds
        await sleep(0)

    monkeypatch.setattr(chunk_vectors, "time", SimpleNamespace(monotonic=lambda: CLOCK[0]))
    monkeypatch.setattr(asyncio, "sleep", waited)


class Busy(FakeEmbedder):
    """Fails at the calls with these numbers, from 0."""

    parallel = 1
    batch_size = 4

    def __init__(self, *failing: int, seconds: float | None = 0) -> None:
        super().__init__()
        self.calls = 0
        self.failing = failing
        self.seconds = seconds
        self.moments: list[float] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.moments.append(CLOCK[0])
        self.calls += 1
        if self.calls - 1 in self.failing:
            raise limited(self.seconds)
        return super().embed_documents(texts)


TEXTS = [f"{'word ' * (n % 7)}{n}" for n in range(20)]


def text_batches() -> list[list[str]]:
    lengths = {place: len(text) for place, text in enumerate(TEXTS)}
    return [[TEXTS[place] for place in batch] for batch in batches_of(lengths, 4)]


async def embed(embedder: FakeEmbedder, waits: list[int] | None = None) -> tuple[FakeVectors, list[tuple[int, int]]]:
    vectors, steps = FakeVectors(), list[tuple[int, int]]()
    waiting = waits.append if waits is not None else lambda _: None
    await embed_batches(
        text_batches(), len(TEXTS), embedder, vectors, lambda done, total: steps.append((done, total)), waiting
    )
    return vectors, steps


def test_a_batch_holds_texts_of_like_length_and_every_text_is_in_one() -> None:
    batches = text_batches()
    assert sorted(text for batch in batches for text in batch) == sorted(TEXTS)
    spans = sorted((min(map(len, batch)), max(map(len, batch))) for batch in batches)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert [len(batch) for batch in batches] == [4] * 5


async def test_all_texts_are_embedded_once_whatever_fails_for_a_while() -> None:
    waits: list[int] = []
    embedder = Busy(0, 2, 3)
    vectors, steps = await embed(embedder, waits)
    assert sorted(embedder.embedded) == sorted(TEXTS)
    assert len(vectors.kept) == len(TEXTS)
    assert (steps[0], steps[-1]) == ((0, 20), (20, 20))
    assert waits == [0, 0, 0]


async def test_the_wait_that_a_service_asks_for_is_kept() -> None:
    embedder = Busy(0, seconds=1)
    await embed(embedder)
    assert embedder.moments[1] - embedder.moments[0] == pytest.approx(1)


async def test_other_requests_wait_too() -> None:
    class Parallel(Busy):
        parallel = 3

    embedder = Parallel(0, seconds=1)
    await embed(embedder)
    assert all(later - embedder.moments[0] > 0.99 for later in embedder.moments[3:])


async def test_requests_are_under_way_at_the_same_time_where_the_embedder_allows_it() -> None:
    together = threading.Barrier(3)

    class Parallel(FakeEmbedder):
        parallel = 3

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if len(self.embedded) == 0:
                together.wait(10)  # breaks unless three calls are here at once
            return super().embed_documents(texts)

    await embed(Parallel())


@pytest.mark.parametrize(
    ("failing", "seconds", "calls"),
    [(range(100), 0, ATTEMPTS), (range(100), 301, 1)],
    ids=["fails for good", "asks for too long"],
)
async def test_patience_has_an_end(failing: range, seconds: float, calls: int) -> None:
    embedder = Busy(*failing, seconds=seconds)
    with pytest.raises(AskbookError, match="busy"):
        await embed(embedder)
    assert embedder.calls == calls


async def test_without_a_wait_of_the_service_s_own_the_waits_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_vectors, "FIRST_WAIT", 0.02)
    embedder = Busy(0, 1, 2, seconds=None)

    def unavailable(texts: list[str]) -> list[list[float]]:
        embedder.moments.append(CLOCK[0])
        if len(embedder.moments) < 4:
            raise limited()
        return [[1.0, 0.0] for _ in texts]

    embedder.embed_documents = unavailable  # type: ignore[method-assign]
    await embed(embedder)
    first, second, third = (b - a for a, b in zip(embedder.moments[:3], embedder.moments[1:4], strict=True))
    assert [first, second, third] == pytest.approx([0.02, 0.04, 0.08])


async def test_a_failure_that_lasts_is_not_tried_again() -> None:
    class Refused(FakeEmbedder):
        calls = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.calls += 1
            raise AskbookError("auth_error", "embedding_wrong_key", "no key")

    embedder = Refused()
    with pytest.raises(AskbookError, match="no key"):
        await embed(embedder)
    assert embedder.calls == 1
