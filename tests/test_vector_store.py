"""A book as a `QdrantVectorStore` for other LangChain code: on the engine in the process and in local mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from rag.errors import RetrievalError, UsageError
from rag.index.catalog import as_vector_store, index_on
from rag.index.qdrant_index import QdrantIndex
from tests.index_cases import INFO, chunk_id, make_point
from tests.toys import AXES, LangChainEmbedder, ToySparse, edge_index

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


@pytest_asyncio.fixture(params=["edge", "local"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[QdrantIndex]:
    local = request.param == "local"
    made = index_on(QdrantClient(location=":memory:"), "book", "here") if local else edge_index(tmp_path)
    points = [
        make_point("n", AXES["north"], terms=[1], text="The north is cold."),
        make_point("e", AXES["east"], terms=[2], text="The east is wide."),
        make_point("ne", [1, 1, 0, 0], terms=[2], text="Between the two."),
    ]
    await made.replace(INFO, add=points, remove=[])
    yield made
    await made.aclose()


@pytest.fixture
def store(index: QdrantIndex) -> QdrantVectorStore:
    return as_vector_store(index, LangChainEmbedder(), ToySparse())


def test_it_searches_with_both_rankings_fused(store: QdrantVectorStore) -> None:
    found = store.similarity_search_with_score("north #2", k=3)
    scores = {document.page_content: score for document, score in found}
    # Meaning puts the north first and the east last; the word is in the other two, which share their place.
    assert scores["Between the two."] > scores["The north is cold."]
    assert len(scores) == 3
    best, *_ = store.similarity_search("north", k=2)
    assert (best.metadata["url"], best.metadata["_id"]) == ("https://book.example/n", chunk_id("n"))


def test_it_filters(store: QdrantVectorStore) -> None:
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


async def test_it_gives_documents_by_id_diverse_ones_and_asynchronously(store: QdrantVectorStore) -> None:
    (document,) = store.get_by_ids([chunk_id("e")])
    assert (document.page_content, document.metadata["heading"]) == ("The east is wide.", "Installation")
    found = store.max_marginal_relevance_search("north", k=2, fetch_k=3, lambda_mult=0.5)
    assert [len(found), found[0].page_content] == [2, "The north is cold."]
    (east,) = await store.as_retriever(search_kwargs={"k": 1}).ainvoke("east")
    assert east.page_content == "The east is wide."


async def test_a_missing_collection_and_other_models_are_told_as_in_a_search(index: QdrantIndex) -> None:
    other = LangChainEmbedder()
    other.model_id = "other"
    with pytest.raises(RetrievalError) as caught:
        as_vector_store(index, other, ToySparse())
    assert caught.value.code == "embedding_mismatch"
    await index.drop()
    with pytest.raises(RetrievalError) as caught:
        as_vector_store(index, LangChainEmbedder(), ToySparse())
    assert caught.value.code == "no_index"


async def test_the_embedded_index_passes_langchains_validation_and_is_read_only(tmp_path: Path) -> None:
    index = edge_index(tmp_path)
    await index.replace(INFO, add=[make_point("a")], remove=[])
    client: Any = index.client
    store = QdrantVectorStore(client, "book", LangChainEmbedder(), vector_name="dense")
    assert len(store.similarity_search("north")) == 1
    for change in (lambda: store.add_texts(["north"]), lambda: store.delete([chunk_id("a")])):
        with pytest.raises(UsageError, match="read-only"):
            change()
