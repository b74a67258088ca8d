"""A program that gives an argument of the wrong type gets a `UsageError` of one line, as for every wrong value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding as FakeEmbeddings

from graph.agent import open_agent
from rag.errors import UsageError
from rag.index.catalog import build_index
from rag.index.server import Server
from rag.settings import Settings
from tests.machine import ANSWER, Machine


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"collection": 3}, '"3" cannot be the name of a collection.'),
        ({"collection": b"book"}, "\"b'book'\" cannot be the name of a collection."),
        ({"collection": Path("book")}, '"book" cannot be the name of a collection.'),
        ({"profile": 3}, 'There is no profile "3".'),
        ({"model": "gpt"}, "model must be of the class BaseChatModel, not str."),
        ({"retries": 3}, "retries must be RetrySettings, not of the class int."),
    ],
    ids=str,
)
async def test_an_agent_names_the_argument(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_agent(Settings(home=tmp_path), **given):
            pass
    assert caught.value.message == said


def test_a_collection_on_a_server_is_text_too(tmp_path: Path) -> None:
    number: Any = 3
    with pytest.raises(UsageError, match=r'"3" cannot be the name of a collection\.'):
        build_index(home=tmp_path, collection=number, server=Server("http://127.0.0.1:1"))


@pytest.mark.parametrize("k", [True, "3", 2.5, 0, -1, [3]])
async def test_the_number_of_passages_of_a_search_is_whole(k: Any) -> None:
    with pytest.raises(UsageError, match="k must be a whole number from 1 on"):
        await Machine(ANSWER).agent.search("nodes", k=k)


async def test_a_filter_is_text() -> None:
    number: Any = 3
    with pytest.raises(UsageError, match=r"The filter must be text, unlike 3\."):
        await Machine(ANSWER).agent.search("nodes", filter=number)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sources": 3}, "sources must be a text or a list of texts, unlike 3."),
        ({"sources": [3]}, "sources must be a text or a list of texts, unlike [3]."),
        ({"sources": "docs", "include": 3}, "include must be a text or a list of texts, unlike 3."),
        ({"sources": "docs", "base_url": 3}, "base_url must be text, unlike 3."),
        ({"sources": "docs", "generator": ["hugo"]}, "generator must be text, unlike ['hugo']."),
        ({"sources": None}, "No source was given."),
    ],
    ids=str,
)
async def test_what_is_to_be_read_is_text(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    async with open_agent(Settings(home=tmp_path), embeddings=FakeEmbeddings(size=8)) as agent:
        with pytest.raises(UsageError) as caught:
            await agent.ingest(**given)
    assert caught.value.message == said


async def test_one_pattern_need_not_be_in_a_list(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text(f"# {name}\n\nWolves live in packs.")
    async with open_agent(Settings(home=tmp_path / "home"), embeddings=FakeEmbeddings(size=8)) as agent:
        report = await agent.ingest(tmp_path, include="*.md", collection="wolves")
    assert report.documents.added == 1


@pytest.mark.parametrize("ids", [3, "a-chunk", None])
async def test_ids_of_passages_are_a_list(ids: Any) -> None:
    with pytest.raises(UsageError, match="chunk_ids must be a list of ids, unlike"):
        await Machine(ANSWER).agent.passages(ids)
