"""The search of a turn is langchain-qdrant's: on a server and on the engine in the process."""

from __future__ import annotations

from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from langchain_qdrant.qdrant import QdrantVectorStore, RetrievalMode

from graph.agent import open_agent
from rag.settings import Settings
from tests.conftest import index_book
from tests.qdrant_server import QdrantServer
from tests.wire import listening

QUESTION = "How many teeth does a widget have?"


def _noted(store: QdrantVectorStore, calls: Any, name: str, usual: Any, *arguments: Any, **options: Any) -> Any:
    calls.append((name, store.retrieval_mode))
    return usual(store, *arguments, **options)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, RetrievalMode | None]]:
    """Which methods of which stores are called. They do what they always do."""
    calls: list[tuple[str, RetrievalMode | None]] = []
    for name in ("similarity_search_with_score", "get_by_ids", "add_texts"):
        usual = getattr(QdrantVectorStore, name)

        monkeypatch.setattr(QdrantVectorStore, name, partialmethod(_noted, calls, name, usual))
    return calls


@pytest.mark.parametrize("place", ["folder", "server"])
async def test_a_turn_searches_by_meaning_and_by_words_and_reads_passages_through_the_store(
    place: str, tmp_path: Path, tiny_source: Path, called: list[tuple[str, RetrievalMode]]
) -> None:
    with listening(QdrantServer()) as server:
        given = {"QDRANT_URL": server.address} if place == "server" else {}
        settings = Settings(ASKBOOK_HOME=tmp_path, **given)  # type: ignore[call-arg,arg-type]  # by variable
        await index_book(tiny_source, tmp_path, settings=settings)
        assert {name for name, _ in called} == {"add_texts"}
        called.clear()
        async with open_agent(settings, collection="book") as agent:
            response = await agent.ask(QUESTION)
    assert response.status == "success"
    modes = {mode for name, mode in called if name == "similarity_search_with_score"}
    assert modes == {RetrievalMode.DENSE, RetrievalMode.SPARSE}
    assert "get_by_ids" in {name for name, _ in called}
