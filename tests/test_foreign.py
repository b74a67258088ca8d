"""Somebody else's collection, whole: nine payload schemas found in the wild, searched, asked and cited over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from graph.agent import open_agent
from rag.book import IndexInfo
from rag.books.book_settings import collection_index
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.errors import RetrievalError, UsageError
from rag.index.catalog import build_index
from rag.index.mapping_proposal import payload_section, propose
from rag.index.server import Server
from rag.profiles.schema import BookSection
from rag.search.retriever import HybridRetriever
from rag.settings import Settings, variables
from run import main
from tests import foreign
from tests.foreign import BROKEN, NUMBERS, PAGES
from tests.qdrant_server import QdrantServer
from tests.wire import listening

MODEL = "all-MiniLM-L6-v2-int8"
QUESTION = "What is a topic?"


@pytest.fixture(scope="module")
def server() -> Iterator[QdrantServer]:
    """The stand-in with a collection for each schema, encoded by the packaged model."""
    foreign.schema(1)
    embedder = OnnxEmbeddings()
    with listening(QdrantServer()) as running:
        for number in NUMBERS:
            foreign.make(running.engine, number, embedder.embed_documents)
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: QdrantServer) -> Path:
    """A home on that server, with nothing else in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("QDRANT_URL", server.address)
    (tmp_path / "profiles").mkdir()
    return tmp_path


def write_profile(home: Path, number: int, toml: str | None = None) -> Settings:
    """The profile `foreign` for a schema, with the mapping that is proposed for it, or another."""
    fields = propose([foreign.payload(number, i) for i in range(len(PAGES))])
    assert fields is not None
    section = [f'[book]\ncollection = "schema-{number}"\nembedding_model = "{MODEL}"', *payload_section(fields)]
    book = toml or "\n".join(section)
    (home / "profiles" / "foreign.toml").write_text(f'extends = "default"\n{book}\n', encoding="utf-8")
    return Settings.from_env(None)


@pytest.mark.parametrize("number", NUMBERS)
async def test_a_question_is_answered_from_somebody_elses_collection(home: Path, number: int) -> None:
    settings = write_profile(home, number)
    async with open_agent(settings, "foreign") as agent:
        response = await agent.ask(QUESTION)
        assert response.status == "success", response.error
        (citation, *_) = response.citations
        assert citation.chunk_id == str(foreign.point_id(number, 1))
        assert citation.quote == PAGES[1][1]
        assert citation.title
        (chunk,) = await agent.services.index.fetch([citation.chunk_id])
    assert chunk.text[citation.start : citation.end] == citation.quote
    assert chunk.sha256 == citation.chunk_sha256 == hashlib.sha256(PAGES[1][1].encode()).hexdigest()
    assert 0.3 < citation.score <= 1


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, {"title": "topics", "url": "https://textbook.example/docs/ros2/topics", "chunk_index": 1}),
        (2, {"title": "Topics", "url": "https://textbook.example/docs/ros2/topics", "chunk_index": 1}),
        (3, {"title": "Topics", "url": "https://textbook.example/docs/ros2/topics", "chunk_index": 1}),
        (4, {"title": "Topics", "heading": "What topics are", "chapter": "Chapter 2", "chunk_index": 1}),
        (5, {"title": "Chapter 2", "heading": "What topics are", "breadcrumb": "Book > Topics", "page_number": 11}),
        (6, {"title": "Topics", "heading": "What topics are", "chapter": "2", "page_number": 11}),
        (6, {"breadcrumb": "Topics > What topics are"}),
        (7, {"title": "topics", "url": "docs/ros2/topics.md", "source_file_path": "docs/ros2/topics.md"}),
        (8, {"title": "topics", "url": "https://textbook.example/docs/ros2/topics", "chunk_index": 1}),
        (9, {"title": "topics", "url": "docs/ros2/topics.md", "source_file_path": "docs/ros2/topics.md"}),
    ],
)
async def test_its_fields_become_those_of_a_passage(home: Path, number: int, expected: dict[str, Any]) -> None:
    settings = write_profile(home, number)
    async with open_agent(settings, "foreign") as agent:
        found = await agent.services.parts(None).retriever.retrieve(QUESTION, k=3, threshold=0.0)
    passage = next(one for one in found.passages if one.text == PAGES[1][1])
    assert {name: getattr(passage, name) for name in expected} == expected


def test_every_command_reads_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_profile(home, 4)
    monkeypatch.setenv("ASKBOOK_PROFILE", "foreign")
    assert main(["search", QUESTION, "-k", "1", "--filter", "https://textbook.example/docs/ros2/t", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["chunk_id"], result["url"]) == ("2", "https://textbook.example/docs/ros2/topics")
    assert main(["passages", "2", "no-id", "--json"]) == 2
    (passage,) = json.loads(capsys.readouterr().out)
    assert passage["text"] == PAGES[1][1]
    assert passage["sha256"] == hashlib.sha256(PAGES[1][1].encode()).hexdigest()
    assert main(["ask", QUESTION, "--thread", "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "success"
    assert main(["verify", "t", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)["citations"]
    assert {one["status"] for one in checked} == {"valid"}


def test_the_collection_of_the_environment_beats_the_profiles(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_profile(home, 4)
    monkeypatch.setenv("ASKBOOK_PROFILE", "foreign")
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "schema-1")
    assert main(["search", QUESTION, "-k", "1", "--json"]) == 1  # it keeps its text elsewhere than schema 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "payload_mapping"
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "schema-4")
    assert main(["search", QUESTION, "-k", "1", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_nothing_is_written_into_it(home: Path, server: QdrantServer, capsys: pytest.CaptureFixture[str]) -> None:
    book = home / "book.md"
    book.write_text("# Title\n\nA page of ours.\n", encoding="utf-8")
    server.requests.clear()
    for more in ([], ["--dry-run"]):
        assert main(["ingest", str(book), "--collection", "schema-4", *more]) == 2
        shown = capsys.readouterr()
        assert 'The collection "schema-4" was not made by askbook, so nothing is written into it.' in shown.err
        assert "--collection NAME" in shown.err
    assert {request.method for request in server.requests} <= {"GET", "POST"}
    assert not [path for path in server.paths("POST") if not path.endswith("/points/count")]


async def test_the_index_itself_refuses_to_write_and_to_drop_it(home: Path) -> None:
    index = collection_index(Settings.from_env(None), "schema-4")
    with pytest.raises(UsageError, match="not made by askbook"):
        await index.replace(IndexInfo("schema-4", MODEL, 384, "", 0), add=[], remove=["1"])
    with pytest.raises(UsageError, match="not made by askbook"):
        await index.drop()
    await index.aclose()


async def failure(settings: Settings) -> RetrievalError:
    async with open_agent(settings, "foreign") as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.error_type == "retrieval_error"
    return RetrievalError(response.error.code, response.error.message, hint=response.error.hint)


async def test_the_broken_one_is_diagnosed_in_words(home: Path) -> None:
    reads = foreign.schema(BROKEN)["payload_read"]
    book = f'[book]\ncollection = "schema-7"\nembedding_model = "{MODEL}"\n[book.payload]\ntext = "{reads[0]}"\n'
    error = await failure(write_profile(home, BROKEN, book))
    assert error.code == "payload_mapping"
    assert error.message == (
        'The points of the collection "schema-7" have no text in "content"; '
        'their fields are "end_pos", "source_file", "start_pos", "text", "timestamp".'
    )
    assert "run.py doctor --collection schema-7" in error.hint


async def test_without_a_mapping_it_is_said_where_a_text_was_looked_for(home: Path) -> None:
    book = f'[book]\ncollection = "schema-2"\nembedding_model = "{MODEL}"\n'
    assert '"page_content"' in (await failure(write_profile(home, 2, book))).message


async def test_without_its_model_nothing_is_embedded_and_it_is_said_what_to_write(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = write_profile(home, 2, '[book]\ncollection = "schema-2"\n[book.payload]\ntext = "text"\n')
    error = await failure(settings)
    assert error.code == "embedding_unknown"
    assert error.message.endswith("does not record which embedding model made its vectors of 384 dimensions.")
    assert 'embedding_model = "..."' in error.hint


class Wide:
    """An embedding model of some size that must not be called where it does not fit."""

    max_tokens = 100
    batch_size = 32

    def __init__(self, model_id: str, dimension: int) -> None:
        self.model_id, self.dimension = model_id, dimension
        self.calls = 0

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls += 1
        words = [text.lower().find(word) for word in ("node", "topic", "gazebo")]
        place = min(range(len(words)), key=lambda i: words[i] if words[i] >= 0 else len(text))
        return [1.0 if i == place else 0.001 for i in range(self.dimension)]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.mark.parametrize("number", NUMBERS)
def test_vectors_of_the_size_of_each_schema_are_searched(number: int) -> None:
    said = foreign.schema(number)
    model = Wide(str(said.get("model")), foreign.size(number))

    async def run(address: str, name: str) -> None:
        fields = propose([foreign.payload(number, 0)])
        assert fields is not None
        book = BookSection(collection=name, embedding_model=model.model_id)
        layout = book.model_copy(update={"payload": fields})
        index = build_index(home=Path(), collection=name, server=Server(address), layout=layout)
        found = await HybridRetriever(model, Bm25Encoder(), index).retrieve("topics", k=1, threshold=0.9)
        assert [one.text for one in found.passages] == [PAGES[1][1]]
        assert found.passages[0].score == pytest.approx(1.0, abs=1e-3)
        calls = model.calls
        other = Wide(model.model_id, model.dimension + 1)
        with pytest.raises(RetrievalError, match=f"{model.dimension} dimensions"):
            await HybridRetriever(other, Bm25Encoder(), index).retrieve("topics", k=1, threshold=0.0)
        assert model.calls == calls
        assert other.calls == 0
        await index.aclose()

    with listening(QdrantServer()) as running:
        asyncio.run(run(running.address, foreign.make(running.engine, number, model.embed_documents)))
