"""What a caller brings besides a model: a retriever, embeddings, a Qdrant client, a checkpointer, a store."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_qdrant import QdrantVectorStore
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from pydantic import Field, SecretStr
from qdrant_client import QdrantClient

from graph.agent import open_agent
from graph.storage import thread_config
from nodes.archive import BLOCK, WINDOW, namespace_of
from rag.caller_parts import as_embedder
from rag.embedding.local import Bm25Encoder
from rag.errors import MemoryFailureError, UsageError
from rag.index.catalog import index_on
from rag.search.langchain_retriever import SeenChunkIndex, chunk_of, score_of
from rag.search.retriever import as_retriever, document_of
from rag.settings import Settings
from state import Context
from tests.command_line import QUESTION
from tests.fakes import AT_ONCE, FakeVectors, ScriptedModel, passage, tool_call
from tests.homes import copied
from tests.ingesting import ingest

ANSWER = "Every widget has exactly four teeth [1]."


@pytest.fixture(scope="module")
def _home(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tiny_book, tmp_path_factory.mktemp("parts") / "home")


@pytest.fixture
def settings(_home: Path) -> Settings:
    """Settings of a home with the tiny book and without conversations."""
    for file in _home.glob("memory.sqlite*"):
        file.unlink()
    return Settings(home=_home)


class ListRetriever(BaseRetriever):
    """Finds the same documents for every query, or raises; remembers the queries."""

    documents: list[Document] = Field(default_factory=list)
    failure: Exception | None = None
    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        self.asked.append(query)
        if self.failure is not None:
            raise self.failure
        return self.documents


TEETH = Document("Every widget has exactly four teeth.", metadata={"title": "Widgets", "url": "https://x.example/w"})
OTHER = Document("Bananas are yellow and grow in bunches.", metadata={"source": "fruit.txt"})


# --- a retriever -----------------------------------------------------------------------------------------------------


async def test_the_documents_of_a_retriever_are_cited(settings: Settings) -> None:
    model = ScriptedModel(script=[ANSWER])
    async with open_agent(settings, retriever=ListRetriever(documents=[TEETH, OTHER]), model=model) as agent:
        response = await agent.ask(QUESTION, thread_id="t")
        (citation,) = response.citations
        assert (citation.title, citation.url, citation.quote) == ("Widgets", "https://x.example/w", TEETH.page_content)
        assert (response.status, [chunk.title for chunk in response.retrieved_chunks]) == ("success", ["Widgets"])
        stored = await agent.last_retrieval("t")
        assert stored is not None
        assert [result.text for result in stored.results] == [TEETH.page_content]


async def test_the_score_of_a_document_counts_and_the_threshold_too(settings: Settings) -> None:
    scored = [Document("Far off.", metadata={"score": 0.1}), Document(TEETH.page_content, metadata={"score": 0.9})]
    async with open_agent(settings, retriever=ListRetriever(documents=scored)) as agent:
        response = await agent.ask(QUESTION)
        assert [chunk.score for chunk in response.retrieved_chunks] == [0.9]
        refused = await agent.ask(QUESTION, context=Context(score_threshold=0.95))
        assert (refused.status, refused.fallback_reason) == ("fallback", "no_passage")


async def test_a_document_with_half_a_character_or_an_impossible_page_is_cited_all_the_same(settings: Settings) -> None:
    odd = Document(f"{TEETH.page_content} \ud83d", metadata={"title": "W\udc00", "page": 2**70})
    async with open_agent(
        settings, retriever=ListRetriever(documents=[odd]), model=ScriptedModel(script=[ANSWER])
    ) as agent:
        response = await agent.ask(QUESTION, thread_id="t")
        (citation,) = response.citations
        assert (citation.title, citation.page_number, citation.quote) == ("W\ufffd", None, TEETH.page_content)
        assert (await agent.passages([citation.chunk_id]))[0]["text"] == f"{TEETH.page_content} \ufffd"


def test_a_score_may_be_of_numpy_and_a_page_is_no_negative_number() -> None:
    assert score_of({"score": np.float32(0.5)}) == 0.5
    assert chunk_of(Document("x", metadata={"page": -1, "chunk_index": True})).page_number is None


async def test_a_filter_applies_to_what_a_retriever_finds(settings: Settings) -> None:
    async with open_agent(settings, retriever=ListRetriever(documents=[TEETH])) as agent:
        found = await agent.ask(QUESTION, context=Context(filter="https://x.example/"))
        nothing = await agent.ask(QUESTION, context=Context(filter="title:Gadgets"))
    assert (found.status, nothing.fallback_reason) == ("success", "no_passage")


async def test_a_follow_up_is_also_searched_in_its_context(settings: Settings) -> None:
    retriever = ListRetriever(documents=[TEETH], asked=[])
    async with open_agent(settings, retriever=retriever, model=ScriptedModel(script=[ANSWER, ANSWER])) as agent:
        await agent.ask(QUESTION, thread_id="t")
        await agent.ask("And why?", thread_id="t")
    assert retriever.asked[:2] == [QUESTION, "And why?"]
    assert f"And why? {QUESTION}" in retriever.asked


async def test_the_failure_of_a_retriever_is_an_error_without_its_text(settings: Settings) -> None:
    retriever = ListRetriever(failure=RuntimeError("key-canary"))
    async with open_agent(settings, retriever=retriever, retries=AT_ONCE) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("retrieval_error", "retriever")
    assert "canary" not in response.model_dump_json()


@pytest.mark.parametrize("found", [None, 7, ["text"]])
async def test_a_retriever_that_returns_no_documents_is_an_error_of_the_retriever(
    settings: Settings, found: Any
) -> None:
    retriever = ListRetriever.model_construct(documents=found, failure=None, asked=[])
    async with open_agent(settings, retriever=retriever, retries=AT_ONCE) as agent:
        error = (await agent.ask(QUESTION)).error
    assert error is not None
    assert (error.code, "Documents" in error.message) == ("retriever", True)


def test_a_document_keeps_its_id_and_gets_a_stable_one_otherwise() -> None:
    assert chunk_of(Document("text", id="mine")).id == "mine"
    assert chunk_of(TEETH).id == chunk_of(TEETH).id != chunk_of(OTHER).id
    assert score_of({"score": True}) is not None
    assert score_of({"score": float("nan")}) is None


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://x.example/p", "https://x.example/p#nodes"),
        ("a.md", "a.md"),
        ("https://x.example/#/p", "https://x.example/#/p"),
    ],
)
def test_a_passage_that_comes_back_as_a_document_is_the_same_passage(url: str, link: str) -> None:
    found = passage(3, url=url, link=link, chapter="Chapter 2", page_number=7, chunk_index=4)
    assert chunk_of(document_of(found)).passage(3, found.score) == found


def test_a_link_to_another_page_gives_no_anchor() -> None:
    data = {"url": "https://x.example/p", "link": "https://x.example/other#nodes"}
    assert chunk_of(Document("Text.", metadata=data)).link == "https://x.example/p"


@pytest.mark.parametrize("form", ["[Source: Widgets](https://x.example/w)", "[Source: Widgets](https://x.example/w/)"])
async def test_the_address_of_a_page_cites_a_document_whose_address_has_an_anchor(
    settings: Settings, form: str
) -> None:
    document = Document(TEETH.page_content, metadata=TEETH.metadata | {"url": "https://x.example/w#teeth"})
    model = ScriptedModel(script=[f"Every widget has exactly four teeth {form}."] * 2)
    retriever = ListRetriever(documents=[document])
    async with open_agent(settings, "isaac-sim", retriever=retriever, model=model) as agent:
        (citation,) = (await agent.ask(QUESTION)).citations
        anchored = await agent.ask(QUESTION, context=Context(filter="https://x.example/w#teeth"))
    assert (citation.url, anchored.retrieval_count) == ("https://x.example/w#teeth", 1)


@pytest.mark.parametrize(
    ("metadata", "page"),
    [
        ({"url": "https://x.example/w#module.Widget.teeth"}, "https://x.example/w"),
        ({"url": "/docs/w#teeth", "anchor": "jaws"}, "/docs/w"),
        ({"url": "https://x.example/#/w"}, "https://x.example/#/w"),
        ({"source": "C#/notes #1.txt"}, "C#/notes #1.txt"),
        ({"source": "notes #1.txt"}, "notes #1.txt"),
    ],
)
def test_only_an_anchor_of_a_page_is_taken_off_its_address(metadata: dict[str, str], page: str) -> None:
    chunk = chunk_of(Document("text", metadata=metadata))
    whole = f"{page}#{metadata['anchor']}" if "anchor" in metadata else next(iter(metadata.values()))
    assert (chunk.url, chunk.link) == (page, whole)


async def test_a_retriever_s_index_is_neither_searched_nor_filled() -> None:
    index = SeenChunkIndex("book")
    assert (await index.info(), await index.entries(), await index.fetch(["none"])) == (None, [], [])
    with pytest.raises(UsageError):
        await index.search([[1.0]], lambda _: None, limit=1)


# --- our own search, as others see it --------------------------------------------------------------------------------


class Runs(AsyncCallbackHandler):
    """The runs that a tracer sees: kind, name, and what came out."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    async def on_retriever_start(self, serialized: Any, query: str, **_: Any) -> None:
        self.seen.append(("retriever", query))

    async def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self.seen.append(("documents", [document.metadata["title"] for document in documents]))

    async def on_tool_start(self, serialized: Any, input_str: str, **_: Any) -> None:
        self.seen.append(("tool", serialized["name"]))


async def test_traces_show_the_search_as_a_retriever_and_the_model_s_as_a_tool(settings: Settings) -> None:
    runs, model = Runs(), ScriptedModel(script=[[tool_call("teeth of widgets")], ANSWER])
    async with open_agent(settings, collection="book", model=model) as agent:
        question = {"messages": [{"role": "user", "content": QUESTION}]}
        await agent.graph.ainvoke(question, {**thread_config("t"), "callbacks": [runs]})
    kinds = [kind for kind, _ in runs.seen]
    assert kinds == ["retriever", "documents", "tool", "retriever", "documents"]
    assert runs.seen[0] == ("retriever", QUESTION)
    assert "Widgets" in runs.seen[1][1]
    assert (runs.seen[2], runs.seen[3]) == (("tool", "search_book"), ("retriever", "teeth of widgets"))


async def test_other_chains_can_use_the_search(settings: Settings) -> None:
    async with open_agent(settings, collection="book") as agent:
        retriever = as_retriever(agent.services.parts(None), top_k=1)
        (document,) = await retriever.ainvoke(QUESTION)
        assert isinstance(retriever, BaseRetriever)
        assert (document.metadata["title"], document.metadata["number"]) == ("Widgets", 1)
        assert 0 < document.metadata["score"] <= 1
        with pytest.raises(NotImplementedError):
            retriever.invoke(QUESTION)


# --- a vector store ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [InMemoryVectorStore, QdrantVectorStore])
async def test_a_vector_store_of_the_caller_is_searched_with_its_own_embeddings(settings: Settings, kind: type) -> None:
    """Of Qdrant's store the scores are taken; for others its embeddings compare the question with the documents."""
    embeddings = DeterministicFakeEmbedding(size=8)
    texts = ["Every widget has exactly four teeth.", "A gadget is painted green."]
    more = {"location": ":memory:", "collection_name": "theirs"} if kind is QdrantVectorStore else {}
    store = kind.from_texts(texts, embeddings, **more)  # type: ignore[attr-defined]  # of both classes
    async with open_agent(settings, retriever=store, model=ScriptedModel(script=[ANSWER])) as agent:
        response = await agent.ask("Every widget has exactly four teeth.", context=Context(score_threshold=0.9))
    assert (response.status, response.citations[0].text_preview) == ("success", texts[0])
    assert [round(chunk.score, 5) for chunk in response.retrieved_chunks] == [1.0]


# --- embeddings and a client of Qdrant -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
async def test_embeddings_and_a_client_of_the_caller_serve_the_book(settings: Settings, tiny_source: Path) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    client = QdrantClient(":memory:")
    await ingest(
        [tiny_source],
        index=index_on(client, "mine", "in this process"),
        embedder=as_embedder(embeddings),
        sparse=Bm25Encoder(),
        vectors=FakeVectors(),
    )
    given: Any = {"embeddings": embeddings, "qdrant_client": client, "model": ScriptedModel(script=[ANSWER])}
    async with open_agent(settings, collection="mine", **given) as agent:
        response = await agent.ask("Every widget has exactly four teeth.", context=Context(score_threshold=0))
        assert (response.status, agent.services.index.collection) == ("success", "mine")
    assert client.collection_exists("mine"), "the caller's client is still open"
    client.close()


async def test_embeddings_that_did_not_make_the_book_are_an_error(settings: Settings) -> None:
    async with open_agent(settings, collection="book", embeddings=DeterministicFakeEmbedding(size=8)) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "embedding_mismatch"


def test_embeddings_have_unit_vectors_and_a_name() -> None:
    embedder = as_embedder(DeterministicFakeEmbedding(size=8))
    vector = embedder.embed_query("text")
    assert sum(number * number for number in vector) == pytest.approx(1)
    assert embedder.model_id == "DeterministicFakeEmbedding"


@pytest.mark.parametrize("name", ["retriever", "embeddings", "qdrant_client", "checkpointer", "store"])
async def test_another_object_is_refused(settings: Settings, name: str) -> None:
    given: Any = {name: "not one"}
    with pytest.raises(UsageError, match=f"{name} must be"):
        async with open_agent(settings, **given):
            pass


# --- a checkpointer and a store --------------------------------------------------------------------------------------


@pytest.fixture
async def checkpointer(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "theirs.sqlite")) as saver:
        yield saver


@pytest.mark.parametrize("checkpointer", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["no store", "a store"])
async def test_every_method_of_an_agent_works_on_a_given_checkpointer(
    settings: Settings, checkpointer: Any, store: Any
) -> None:
    turns = WINDOW + BLOCK
    model = ScriptedModel(script=[ANSWER] * (turns + 1))
    async with open_agent(settings, collection="book", model=model, checkpointer=checkpointer, store=store) as agent:
        for _ in range(turns):
            assert (await agent.ask(QUESTION, thread_id="t")).status == "success"
        assert await agent.threads() == ["t"]
        assert (await agent.conversation("t"))["turn_count"] == turns
        assert await agent.undo("t") == QUESTION
        assert (await agent.retry("t")).turn_number == turns - 1
        assert (await agent.conversation("t"))["turn_count"] == turns - 1
        archived = await store.asearch(namespace_of("t")) if store else []
        assert bool(archived) == (store is not None)
        await agent.clear("t")
        assert await agent.threads() == []
        assert not (store and await store.asearch(namespace_of("t")))
    assert not (settings.home / "memory.sqlite").exists()


async def test_turns_on_a_given_checkpointer_queue(settings: Settings) -> None:
    model = ScriptedModel(script=[ANSWER] * 4)
    async with open_agent(settings, collection="book", model=model, checkpointer=InMemorySaver()) as agent:
        responses = await asyncio.gather(*(agent.ask(QUESTION, thread_id="t") for _ in range(4)))
    assert sorted(response.turn_number for response in responses) == [1, 2, 3, 4]


async def test_a_given_checkpointer_that_fails_is_a_memory_error(settings: Settings) -> None:
    class Broken(InMemorySaver):
        async def aput(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("password=canary")

    async with open_agent(settings, collection="book", checkpointer=Broken()) as agent:
        response = await agent.ask(QUESTION, thread_id="t")
        with pytest.raises(MemoryFailureError):
            await agent.graph.ainvoke({"messages": [{"role": "user", "content": QUESTION}]}, thread_config("t"))
    assert response.error is not None
    assert (response.error.error_type, response.error.code) == ("memory_error", "memory_unreachable")
    assert "canary" not in response.model_dump_json()


async def test_a_checkpointer_without_asynchronous_methods_is_refused(settings: Settings, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sync.sqlite", check_same_thread=False) as connection:
        with pytest.raises(UsageError, match="no asynchronous methods") as caught:
            async with open_agent(settings, checkpointer=SqliteSaver(connection)):
                pass
        assert "Async" in caught.value.hint
    connection.close()


async def test_a_given_store_holds_the_archive_of_our_memory(settings: Settings) -> None:
    store, turns = InMemoryStore(), WINDOW + BLOCK
    model = ScriptedModel(script=[ANSWER] * turns)
    async with open_agent(settings, collection="book", model=model, store=store) as agent:
        for _ in range(turns):
            await agent.ask(QUESTION, thread_id="t")
        assert await store.asearch(namespace_of("t"))
        assert (await agent.conversation("t"))["turn_count"] == turns
        await agent.clear("t")
        assert not await store.asearch(namespace_of("t"))
    assert (settings.home / "memory.sqlite").exists()


async def test_a_given_store_that_fails_is_a_memory_error(settings: Settings) -> None:
    class Broken(InMemoryStore):
        async def abatch(self, _ops: Any) -> Any:
            raise RuntimeError("password=canary")

    for checkpointer in (None, InMemorySaver()):
        async with open_agent(settings, collection="book", checkpointer=checkpointer, store=Broken()) as agent:
            assert (await agent.ask(QUESTION, thread_id="t")).status == "success"
            with pytest.raises(MemoryFailureError, match="The Broken that was given raised RuntimeError"):
                await agent.clear("t")


async def test_a_given_checkpointer_is_pruned_if_it_can_be(settings: Settings, database_url: SecretStr) -> None:
    async with AsyncPostgresSaver.from_conn_string(database_url.get_secret_value()) as checkpointer:
        await checkpointer.setup()
        model = ScriptedModel(script=[ANSWER] * 3)
        async with open_agent(settings, collection="book", model=model, checkpointer=checkpointer) as agent:
            for thread in ("t", "t", "u"):
                await agent.ask(QUESTION, thread_id=thread)
            assert await agent.memory.prune() > 8
            kept = [found async for found in checkpointer.alist(None)]
            assert sorted(found.config["configurable"]["thread_id"] for found in kept) == ["t", "u"]
            assert len((await agent.conversation("t"))["turns"]) == 2
            assert (await agent.ask("", thread_id="t")).turn_number == 3


async def test_a_given_checkpointer_that_cannot_be_pruned_is_left_alone(settings: Settings) -> None:
    model = ScriptedModel(script=[ANSWER])
    async with open_agent(settings, collection="book", model=model, checkpointer=InMemorySaver()) as agent:
        await agent.ask(QUESTION, thread_id="t")
        assert await agent.memory.prune() == 0
        assert len((await agent.conversation("t"))["turns"]) == 1
