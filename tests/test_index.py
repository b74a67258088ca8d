"""Which index a configuration means, how a chunk is stored, and what other LangChain code sees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, QdrantClient, models

from rag.book import IndexInfo
from rag.errors import RetrievalError, UsageError
from rag.index.catalog import build_index, list_collections
from rag.index.edge import EdgeIndex
from rag.index.langchain_store import as_vector_store
from rag.index.points import from_payload, to_payload
from rag.index.server import ServerIndex
from rag.index.server_client import Server
from rag.ports import ChunkIndex
from tests.index_cases import INFO, chunk_id, make_chunk, make_point
from tests.toys import AXES, LangChainEmbedder, ToySparse

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


def local(collection: str = "book") -> ServerIndex:
    """An index on a client in local mode, with a blocking client that looks at the same collections."""
    client = AsyncQdrantClient(location=":memory:")

    def sync_client() -> QdrantClient:
        twin = QdrantClient(location=":memory:")
        inner: Any = twin._client
        theirs: Any = client._client
        inner.collections, inner.aliases = theirs.collections, theirs.aliases
        return twin

    return ServerIndex(client, collection, sync_client=sync_client)


@pytest.fixture(params=["edge", "server"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ChunkIndex]:
    made: ChunkIndex = EdgeIndex(tmp_path, "book") if request.param == "edge" else local()
    points = [
        make_point("n", AXES["north"], terms=[1], text="The north is cold."),
        make_point("e", AXES["east"], terms=[2], text="The east is wide."),
        make_point("ne", [1, 1, 0, 0], terms=[2], text="Between the two."),
    ]
    await made.replace(INFO, add=points, remove=[])
    yield made
    await made.aclose()


def test_the_payload_is_langchains_with_every_other_field_in_the_metadata() -> None:
    chunk = make_chunk("a")
    payload = to_payload(chunk)
    assert set(payload) == {"page_content", "metadata"}
    assert payload["page_content"] == chunk.text
    assert payload["metadata"]["url"] == chunk.url
    assert "text" not in payload["metadata"]
    assert json.loads(json.dumps(payload)) == payload
    assert from_payload(chunk.id, payload) == chunk


def test_a_point_of_another_writer_is_read_as_far_as_it_goes() -> None:
    chunk = from_payload("1", {"page_content": "text", "metadata": {"title": "T", "colour": "red"}})
    assert (chunk.title, chunk.url, chunk.chunk_index, chunk.chapter) == ("T", "", 0, None)
    assert len(chunk.sha256) == 64
    assert from_payload("1", {"page_content": "text", "metadata": None}).title == ""


@pytest.mark.parametrize("payload", [None, {}, {"page_content": None}, {"text": "elsewhere"}])
def test_a_point_without_a_text_is_an_error_and_not_an_empty_passage(payload: dict[str, Any] | None) -> None:
    with pytest.raises(ValueError, match="no text"):
        from_payload("1", payload)


def test_without_a_server_the_index_is_in_the_home_folder(tmp_path: Path) -> None:
    index = build_index(home=tmp_path, collection="book")
    assert isinstance(index, EdgeIndex)
    assert list(tmp_path.iterdir()) == []


async def test_with_a_server_the_index_is_there(tmp_path: Path) -> None:
    index = build_index(home=tmp_path, collection="book", server=Server("https://q.example:6333", "k"))
    assert isinstance(index, ServerIndex)
    await index.aclose()


@pytest.mark.parametrize("server", [None, Server("http://localhost:6333")])
def test_a_name_that_cannot_be_a_collections_is_refused(tmp_path: Path, server: Server | None) -> None:
    with pytest.raises(UsageError):
        build_index(home=tmp_path, collection="../x", server=server)


def test_an_address_that_is_none_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        build_index(home=tmp_path, collection="b", server=Server("qdrant://u:secret@[x"))
    assert "secret" not in caught.value.message


async def test_the_collections_of_a_home_are_listed_by_name(tmp_path: Path) -> None:
    assert await list_collections(home=tmp_path) == []
    for name in ("zoo", "book"):
        await EdgeIndex(tmp_path / "index", name).replace(INFO, add=[], remove=[])
    (tmp_path / "index" / "no collection").mkdir()
    (tmp_path / "index" / "file").touch()
    assert await list_collections(home=tmp_path) == ["book", "zoo"]


async def test_a_home_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index").mkdir()

    def denied(_folder: Path) -> None:  # permissions do not apply to root, who may run the tests
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(RetrievalError, match="cannot be read: Permission denied") as caught:
        await list_collections(home=tmp_path)
    assert caught.value.code == "index_files"


def test_opening_the_embedded_index_loads_no_client_of_a_server(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rag.index.catalog import build_index\n"
        f"build_index(home=Path({str(tmp_path)!r}), collection='b')\n"
        "heavy = {'qdrant_client', 'qdrant_edge', 'langchain_qdrant', 'onnxruntime', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)


def test_langchain_code_searches_the_collection(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    best, *_ = store.similarity_search("north", k=2)
    assert best.page_content == "The north is cold."
    assert best.metadata["url"] == "https://book.example/n"
    assert best.metadata["_id"] == chunk_id("n")


def test_langchain_code_gets_both_rankings_fused(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    found = store.similarity_search_with_score("north #2", k=3)
    scores = {document.page_content: score for document, score in found}
    # Meaning puts the north first and the east last; the word is in the other two, which share their place.
    assert scores["Between the two."] > scores["The north is cold."]
    assert set(scores) == {"The north is cold.", "The east is wide.", "Between the two."}


def test_langchain_code_may_filter(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    wanted: list[models.Condition] = [
        models.FieldCondition(key="metadata.url", match=models.MatchValue(value="https://book.example/e")),
        models.FieldCondition(key="metadata.url", match=models.MatchAny(any=["https://book.example/e", "x"])),
        models.FieldCondition(key="metadata.url", match=models.MatchPrefix(prefix="https://book.example/e")),
        models.HasIdCondition(has_id=[chunk_id("e")]),
        models.Filter(should=[models.HasIdCondition(has_id=[chunk_id("e")])]),
    ]
    for condition in wanted:
        found = store.similarity_search("north", k=3, filter=models.Filter(must=[condition]))
        assert [document.page_content for document in found] == ["The east is wide."]
    numbers = models.FieldCondition(key="metadata.chunk_index", range=models.Range(gte=3, lt=4))
    assert len(store.similarity_search("north", k=3, filter=models.Filter(must=[numbers]))) == 3
    assert store.similarity_search("north", k=3, filter=models.Filter(must_not=[numbers])) == []


def test_langchain_code_gets_documents_by_id(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    (document,) = store.get_by_ids([chunk_id("e")])
    assert document.page_content == "The east is wide."
    assert document.metadata["heading"] == "Installation"


def test_langchain_code_gets_diverse_documents(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    found = store.max_marginal_relevance_search("north", k=2, fetch_k=3, lambda_mult=0.5)
    assert found[0].page_content == "The north is cold."
    assert len(found) == 2


async def test_langchain_code_searches_asynchronously_too(index: ChunkIndex) -> None:
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    found = await store.as_retriever(search_kwargs={"k": 1}).ainvoke("east")
    assert [document.page_content for document in found] == ["The east is wide."]


async def test_langchain_code_gets_our_errors_for_a_missing_collection_and_for_other_models(index: ChunkIndex) -> None:
    other = LangChainEmbedder()
    other.model_id = "other"
    with pytest.raises(RetrievalError) as caught:
        as_vector_store(index, other, ToySparse())
    assert caught.value.code == "embedding_mismatch"
    await index.drop()
    with pytest.raises(RetrievalError) as caught:
        as_vector_store(index, LangChainEmbedder(), ToySparse())
    assert caught.value.code == "no_index"


async def test_langchain_code_cannot_write_around_an_ingestion_into_the_embedded_index(tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path, "book")
    await index.replace(INFO, add=[make_point("a")], remove=[])
    store = as_vector_store(index, LangChainEmbedder(), ToySparse())
    with pytest.raises(UsageError, match="read-only"):
        store.add_texts(["north"])
    with pytest.raises(UsageError, match="read-only"):
        store.delete([chunk_id("a")])


async def test_langchains_own_validation_accepts_the_embedded_index(tmp_path: Path) -> None:
    from langchain_qdrant import QdrantVectorStore

    from rag.index.langchain_store import EdgeClient

    index = EdgeIndex(tmp_path, "book")
    await index.replace(INFO, add=[make_point("a")], remove=[])
    client: Any = EdgeClient(index)
    store = QdrantVectorStore(client, "book", LangChainEmbedder(), vector_name="dense")
    assert len(store.similarity_search("north")) == 1
    assert client.collection_exists("book")
    assert not client.collection_exists("other")


async def test_info_of_another_size_is_a_mismatch(tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path, "book")
    wide: IndexInfo = replace(INFO, dimension=8)
    await index.replace(wide, add=[], remove=[])
    with pytest.raises(RetrievalError, match="8 dimensions"):
        as_vector_store(index, LangChainEmbedder(), ToySparse())
