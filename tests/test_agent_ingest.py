"""Books are read from Python as by the command: through the agent, with or without `async`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from graph.agent import open_agent
from graph.agent_sync import open_agent_sync
from rag.books.book_settings import collection_index
from rag.errors import RetrievalError, UsageError
from rag.ingest.report import STEPS, IngestProgress
from rag.settings import Settings, variables
from tests.command_line import QUESTION


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
    return Settings(home=tmp_path / "home")


async def test_an_agent_reads_a_book_tells_every_step_and_answers_from_it(
    settings: Settings, tiny_source: Path
) -> None:
    told: list[IngestProgress] = []
    async with open_agent(settings, collection="widgets") as agent:
        report = await agent.ingest(tiny_source, watch=told.append)
        assert (report.collection, report.documents.added, report.failures) == ("widgets", 2, [])
        assert list(dict.fromkeys(step.step for step in told)) == list(STEPS)
        assert all(step.done <= step.total for step in told)
        assert (await agent.ask(QUESTION)).status == "success"
        again = await agent.ingest([str(tiny_source)])
        assert (again.embedded, again.documents.unchanged) == (0, 2)
        other = await agent.ingest(tiny_source, collection="other", base_url="https://x.example")
        assert (other.collection, other.embedded) == ("other", 0)


async def test_an_agent_on_the_manual_answers_from_the_book_that_it_has_read(
    settings: Settings, tiny_source: Path
) -> None:
    async with open_agent(settings) as agent:
        planned = await agent.ingest(tiny_source, dry_run=True)
        assert (planned.documents.added, (await agent.book())["collection"]) == (2, "manual")
        await agent.ingest(tiny_source)
        assert await agent.book() == {"collection": "book", "passages": planned.chunks.total}
        assert (await agent.ask(QUESTION)).citations[0].source_file_path == "widgets.md"


async def test_what_cannot_be_read_is_wrong_usage_and_changes_nothing(
    settings: Settings, tiny_source: Path, tmp_path: Path
) -> None:
    async with open_agent(settings, collection="widgets") as agent:
        for sources, collection in (
            ([], None),
            ([""], None),
            ([tmp_path / "nothing"], None),
            ([tiny_source], "manual"),
        ):
            with pytest.raises(UsageError):
                await agent.ingest(sources, collection=collection)
        assert (await agent.book())["passages"] == 0
        await agent.ingest(tiny_source)  # nothing was left locked


class AsksTheLoop(DeterministicFakeEmbedding):
    """Embeddings that have the event loop of their caller do something before they answer."""

    loop: Any

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(60)
        return super().embed_documents(texts)


async def test_reading_does_not_block_the_event_loop(settings: Settings, tiny_source: Path) -> None:
    """Whoever blocks the loop while texts are embedded waits for himself."""
    embeddings = AsksTheLoop(size=16, loop=asyncio.get_running_loop())
    async with open_agent(settings, collection="widgets", embeddings=embeddings) as agent:
        assert (await agent.ingest(tiny_source)).embedded > 0


class OneVector(Embeddings):
    """Embeddings that name no model, and give each text the same vector."""

    def __init__(self, place: int) -> None:
        self.vector, self.texts = [float(n == place) for n in range(4)], 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return [self.vector for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vector


async def test_embeddings_without_a_name_never_get_the_vectors_of_others(settings: Settings, tiny_source: Path) -> None:
    for place in (0, 1):
        embeddings = OneVector(place)
        async with open_agent(settings, collection=f"book-{place}", embeddings=embeddings) as agent:
            report = await agent.ingest(tiny_source)
            assert report.embedded == embeddings.texts == report.chunks.total
            assert {found["score"] for found in (await agent.search(QUESTION))["results"]} == {1.0}
            assert (await agent.ingest(tiny_source)).embedded == 0


async def test_two_ingestions_of_one_agent_exclude_each_other(settings: Settings, tiny_source: Path) -> None:
    index = collection_index(settings, "widgets")
    async with open_agent(settings, collection="widgets") as agent, index.writing():
        with pytest.raises(RetrievalError, match="is being changed by process"):
            await agent.ingest(tiny_source)


def test_an_agent_without_async_reads_books_too(settings: Settings, tiny_source: Path) -> None:
    with open_agent_sync(settings, collection="widgets") as agent:
        report = agent.ingest(tiny_source, base_url="https://x.example/docs")
        assert report.documents.added == 2
        assert agent.ask(QUESTION).citations[0].url.startswith("https://x.example/docs/")
