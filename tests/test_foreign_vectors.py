"""What somebody else's collection can be made of: vectors with and without names, of any distance, texts anywhere."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from rag.book import IndexInfo, SearchFilter
from rag.errors import RetrievalError
from rag.index.catalog import as_vector_store, build_index
from rag.index.collection_schema import FieldMap
from rag.index.qdrant_index import QdrantIndex
from rag.index.server import Server
from rag.profiles.schema import BookSection
from tests.foreign import fill
from tests.index_cases import INFO, rankings, terms
from tests.qdrant_server import QdrantServer
from tests.toys import AXES, LangChainEmbedder, ToySparse, toy_retriever
from tests.wire import listening

FLAT = FieldMap(text=("text",), title=("title",), url=("url",))
D = models.Distance
NORTH, EAST = AXES["north"], AXES["east"]
BETWEEN = [1.0, 0.5, 0.0, 0.0]
BM25 = {"bm25": models.SparseVectorParams()}
SEVEN = models.SparseVector(indices=[7], values=[1.0])


def section(fields: FieldMap = FLAT, **more: Any) -> BookSection:
    return BookSection(payload=fields, embedding_model=INFO.embedding_model, **more)


def vectors(distance: models.Distance = D.COSINE, **more: Any) -> models.VectorParams:
    return models.VectorParams(size=4, distance=distance, **more)


def flat(name: str) -> dict[str, Any]:
    return {"text": f"The {name}.", "title": name, "url": f"https://book.example/{name}"}


@asynccontextmanager
async def opened(
    params: Any,
    points: Sequence[tuple[int | str, Any, Mapping[str, Any]]],
    layout: BookSection | None = None,
    sparse: Mapping[str, models.SparseVectorParams] | None = None,
) -> AsyncIterator[QdrantIndex]:
    """Somebody else's collection on a stand-in."""
    with listening(QdrantServer()) as server:
        fill(server.engine, "theirs", points, params, sparse)
        layout = layout or section()
        index = build_index(home=Path(), collection="theirs", server=Server(server.address), layout=layout)
        yield index
        await index.aclose()


@pytest.mark.parametrize("distance", [D.COSINE, D.DOT, D.EUCLID, D.MANHATTAN])
async def test_the_score_is_the_cosine_whatever_distance_the_collection_has(distance: models.Distance) -> None:
    points = [(1, EAST, flat("east")), (2, [3.0, 0, 0, 0], flat("long")), (3, BETWEEN, flat("between"))]
    async with opened(vectors(distance), points) as index:
        found = await toy_retriever(index).retrieve("north", k=3, threshold=0.0)
        assert await index.info() == IndexInfo("theirs", INFO.embedding_model, 4, "", 3, foreign=True)
    scores = {passage.title: passage.score for passage in found.passages}
    assert scores == pytest.approx({"long": 1.0, "between": 2 / math.sqrt(5), "east": 0.0}, abs=1e-6)


@pytest.mark.parametrize(("named", "by_words"), [(None, []), ("bm25", ["north"])])
async def test_a_vector_with_a_name_and_a_sparse_one_are_searched_where_the_profile_names_them(
    named: str | None, by_words: list[str]
) -> None:
    points = [(1, {"text-dense": NORTH, "bm25": SEVEN}, flat("north")), (2, {"text-dense": EAST}, flat("east"))]
    async with opened({"text-dense": vectors()}, points, section(sparse_vector=named), BM25) as index:
        dense, words = await rankings(index, [EAST, terms(7)], limit=1)
    assert [hit.chunk.title for hit in dense] == ["east"]
    assert [hit.chunk.title for hit in words] == by_words


async def test_a_vector_without_a_name_beside_a_sparse_one_is_read_and_each_hit_has_both_scores() -> None:
    async with opened(
        vectors(), [(1, {"": NORTH, "bm25": SEVEN}, flat("n"))], section(sparse_vector="bm25"), BM25
    ) as index:
        found = await rankings(index, [NORTH, terms(7)], limit=1)
    assert [hits[0].scores for hits in found] == [(1.0, found[1][0].score)] * 2


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ({}, 'has several vectors: "a", "b".'),
        ({"vector": "c"}, 'has no vector "c"; it has "a", "b".'),
        ({"vector": "a", "sparse_vector": "bm25"}, 'has no sparse vector "bm25"; it has none.'),
    ],
)
async def test_a_vector_that_cannot_be_told_is_asked_for_in_words(layout: dict[str, Any], says: str) -> None:
    async with opened({"a": vectors(), "b": vectors()}, [], section(**layout)) as index:
        with pytest.raises(RetrievalError) as caught:
            await index.info()
    assert caught.value.code == "index_vectors"
    assert says in caught.value.message
    assert "[book]" in caught.value.hint


@pytest.mark.parametrize("rows", [False, True])
async def test_a_collection_without_one_dense_vector_a_point_cannot_be_a_book(*, rows: bool) -> None:
    several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    params: Any = vectors(multivector_config=several) if rows else {}
    async with opened(params, [], sparse=BM25) as index:
        with pytest.raises(RetrievalError, match="has no dense vector"):
            await index.info()


async def test_a_point_without_a_dense_vector_that_words_find_has_no_score() -> None:
    points = [(1, {"bm25": SEVEN}, flat("words"))]
    async with opened({"d": vectors()}, points, section(sparse_vector="bm25"), BM25) as index:
        found = await toy_retriever(index).retrieve("north #7", k=2, threshold=0.0)
    assert [(passage.title, passage.score) for passage in found.passages] == [("words", 0.0)]


async def test_points_without_a_text_are_left_out() -> None:
    points = [(1, NORTH, {"text": " "}), (99, EAST, flat("east"))]
    async with opened(vectors(), points) as index:
        (hits,) = await rankings(index, [NORTH], limit=2)
        assert await index.fetch(["1"]) == []
    assert [hit.chunk.id for hit in hits] == ["99"]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("https://book.example/a", {"plain"}),
        ("https://book.example/", {"plain", "nested"}),
        ("docs/", {"file"}),
        ("nothing", set()),
    ],
)
async def test_a_filter_reads_an_address_where_the_mapping_finds_it(prefix: str, found: set[str]) -> None:
    mapping = FieldMap(text=("text",), title=("title",), url=("url", "meta.link"), source_file_path=("meta.file",))
    meta = {"link": "https://book.example/b", "file": "docs/a.md"}
    points: list[tuple[int, Any, dict[str, Any]]] = [
        (1, NORTH, {"text": "A text.", "title": "plain", "url": "https://book.example/a", "meta": meta}),
        (2, NORTH, {"text": "B text.", "title": "nested", "meta": meta}),
        (3, NORTH, {"text": "C text.", "title": "file", "url": "", "meta": {"file": "docs/c.md"}}),
    ]
    async with opened(vectors(), points, section(mapping)) as index:
        (hits,) = await rankings(index, [NORTH], limit=9, where=SearchFilter(url_prefix=prefix))
    assert {hit.chunk.title for hit in hits} == found


async def test_a_filter_on_a_field_that_no_point_has_is_refused() -> None:
    async with opened(vectors(), [(1, NORTH, flat("a"))], section(FieldMap(text=("text",)))) as index:
        with pytest.raises(RetrievalError) as caught:
            await rankings(index, [NORTH], limit=1, where=SearchFilter(url_prefix="https://"))
    assert caught.value.code == "index_filter"


async def test_langchain_code_reads_the_texts_of_somebody_elses_collection() -> None:
    async with opened(vectors(), [(7, NORTH, flat("north")), (8, EAST, flat("east"))]) as index:
        (found,) = as_vector_store(index, LangChainEmbedder(), ToySparse()).similarity_search("north", k=1)
    assert (found.page_content, found.metadata["_id"]) == ("The north.", 7)
