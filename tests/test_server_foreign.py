"""What a collection on a server can be made of: vectors with and without names, of any distance, quantized, in rows."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pytest
from qdrant_client import models

from rag.book import IndexInfo, SearchFilter
from rag.errors import RetrievalError
from rag.index.catalog import build_index
from rag.index.collection_schema import FieldMap
from rag.index.langchain_store import as_vector_store
from rag.index.server import ServerIndex
from rag.index.server_client import Server
from rag.index.server_requests import FILTERS
from rag.profiles.schema import BookSection
from tests.foreign import fill
from tests.index_cases import INFO, make_point, rankings, terms
from tests.qdrant_server import QdrantServer
from tests.toys import AXES, LangChainEmbedder, ToySparse, toy_retriever
from tests.wire import listening

FLAT = FieldMap(text=("text",), title=("title",), url=("url",))
MODEL = INFO.embedding_model
D = models.Distance


def section(fields: FieldMap, model: str, vector: str | None = None, sparse: str | None = None) -> BookSection:
    return BookSection(payload=fields, embedding_model=model, vector=vector, sparse_vector=sparse)


def vectors(distance: models.Distance = D.COSINE, **more: Any) -> models.VectorParams:
    return models.VectorParams(size=4, distance=distance, **more)


def flat(name: str, **more: Any) -> dict[str, Any]:
    return {"text": f"The {name}.", "title": name, "url": f"https://book.example/{name}", **more}


@asynccontextmanager
async def opened(
    params: Any,
    points: Sequence[tuple[int | str, Any, Mapping[str, Any]]],
    layout: BookSection | None = None,
    sparse: Mapping[str, models.SparseVectorParams] | None = None,
) -> AsyncIterator[tuple[QdrantServer, ServerIndex]]:
    """Somebody else's collection on a stand-in, and the index on it."""
    with listening(QdrantServer()) as server:
        fill(server.engine, "theirs", points, params, sparse)
        layout = layout or section(FLAT, MODEL)
        index = build_index(home=Path(), collection="theirs", server=Server(server.address), layout=layout)
        assert isinstance(index, ServerIndex)
        yield server, index
        await index.aclose()


NORTH, EAST = AXES["north"], AXES["east"]
LONG = [3 * value for value in NORTH]
BETWEEN = [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("distance", [D.COSINE, D.DOT, D.EUCLID, D.MANHATTAN])
async def test_the_score_is_the_cosine_whatever_distance_the_collection_has(distance: models.Distance) -> None:
    points = [(1, EAST, flat("east")), (2, LONG, flat("long")), (3, BETWEEN, flat("between"))]
    async with opened(vectors(distance), points) as (_, index):
        found = await toy_retriever(index).retrieve("north", k=3, threshold=0.0)
    scores = {passage.title: passage.score for passage in found.passages}
    assert scores == pytest.approx({"long": 1.0, "between": 2 / math.sqrt(5), "east": 0.0}, abs=1e-6)


@pytest.mark.parametrize(("distance", "first"), [(D.DOT, "long"), (D.EUCLID, "between"), (D.MANHATTAN, "between")])
async def test_the_collections_own_distance_orders_its_ranking(distance: models.Distance, first: str) -> None:
    points = [(1, EAST, flat("east")), (2, LONG, flat("long")), (3, BETWEEN, flat("between"))]
    async with opened(vectors(distance), points) as (_, index):
        (hits,) = await rankings(index, [NORTH], limit=2)
    assert hits[0].chunk.title == first
    assert hits[0].score > hits[1].score


async def test_a_vector_with_a_name_and_a_sparse_one_are_searched_where_the_profile_names_them() -> None:
    sparse = models.SparseVector(indices=[7], values=[1.0])
    points = [(1, {"text-dense": NORTH, "bm25": sparse}, flat("north")), (2, {"text-dense": EAST}, flat("east"))]
    given = {"bm25": models.SparseVectorParams()}
    for layout, by_words in ((section(FLAT, MODEL), []), (section(FLAT, MODEL, None, "bm25"), ["north"])):
        async with opened({"text-dense": vectors()}, points, layout, given) as (_, index):
            dense, words = await rankings(index, [EAST, terms(7)], limit=1)
        assert [hit.chunk.title for hit in dense] == ["east"]
        assert [hit.chunk.title for hit in words] == by_words


async def test_a_vector_without_a_name_beside_a_sparse_one_is_read() -> None:
    sparse = models.SparseVector(indices=[7], values=[1.0])
    points = [(1, {"": NORTH, "bm25": sparse}, flat("north"))]
    layout = section(FLAT, MODEL, None, "bm25")
    async with opened(vectors(), points, layout, {"bm25": models.SparseVectorParams()}) as (_, index):
        found = await rankings(index, [NORTH, terms(7)], limit=1)
    assert [hits[0].scores for hits in found] == [(1.0, found[1][0].score)] * 2


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (section(FLAT, MODEL), 'has several vectors: "a", "b".'),
        (section(FLAT, MODEL, "c"), 'has no vector "c"; it has "a", "b".'),
        (section(FLAT, MODEL, "a", "bm25"), 'has no sparse vector "bm25"; it has none.'),
    ],
)
async def test_a_vector_that_cannot_be_told_is_asked_for_in_words(layout: BookSection, says: str) -> None:
    async with opened({"a": vectors(), "b": vectors()}, [], layout) as (_, index):
        with pytest.raises(RetrievalError) as caught:
            await index.info()
    assert caught.value.code == "index_vectors"
    assert says in caught.value.message
    assert "[book]" in caught.value.hint


async def test_a_named_one_of_several_vectors_is_searched() -> None:
    points = [(1, {"a": NORTH, "b": EAST}, flat("one")), (2, {"a": EAST, "b": NORTH}, flat("two"))]
    async with opened({"a": vectors(), "b": vectors()}, points, section(FLAT, MODEL, "b")) as (_, index):
        (hits,) = await rankings(index, [NORTH], limit=1)
    assert hits[0].chunk.title == "two"


async def test_a_collection_without_dense_vectors_cannot_be_a_book() -> None:
    async with opened({}, [], sparse={"bm25": models.SparseVectorParams()}) as (_, index):
        with pytest.raises(RetrievalError, match="has no dense vector"):
            await index.info()


async def test_of_a_point_with_several_vectors_the_nearest_gives_the_score() -> None:
    rows = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    points = [(1, [EAST, BETWEEN], flat("rows")), (2, [EAST, EAST], flat("east"))]
    async with opened(vectors(multivector_config=rows), points) as (_, index):
        found = await toy_retriever(index).retrieve("north", k=2, threshold=0.0)
    assert [passage.title for passage in found.passages] == ["rows", "east"]
    assert found.passages[0].score == pytest.approx(2 / math.sqrt(5), abs=1e-6)


async def test_a_quantized_collection_is_scored_again_with_the_whole_vectors() -> None:
    with listening(QdrantServer()) as server:
        kinds: tuple[Literal["scalar", "binary"], ...] = ("scalar", "binary")
        for kind in kinds:
            layout = BookSection(quantization=kind)
            index = build_index(home=Path(), collection=kind, server=Server(server.address), layout=layout)
            await index.replace(INFO, add=[make_point("a", NORTH)], remove=[])
            assert list(server.quantization[server.behind(kind)]) == [kind]
            server.requests.clear()
            (hits, _) = await rankings(index, [NORTH, terms(1)], limit=1)
            assert hits[0].score == 1.0
            dense, sparse = server.bodies("/query/batch")[0]["searches"]
            assert dense["params"]["quantization"] == {"rescore": True, "oversampling": 2.0}
            assert "params" not in sparse
            await index.aclose()


async def test_without_quantization_nothing_is_said_of_it() -> None:
    with listening(QdrantServer()) as server:
        index = build_index(home=Path(), collection="plain", server=Server(server.address))
        await index.replace(INFO, add=[make_point("a")], remove=[])
        await rankings(index, [NORTH], limit=1)
        assert server.quantization[server.behind("plain")] is None
        assert "params" not in server.bodies("/query/batch")[0]["searches"][0]
        await index.aclose()


async def test_vectors_that_may_not_be_read_are_an_error_and_not_a_score_of_zero() -> None:
    async with opened(vectors(), [(1, NORTH, flat("a"))]) as (server, index):
        usual = server.engine.query_batch_points

        def blind(name: str, requests: Any, **more: Any) -> Any:
            return usual(name, [one.model_copy(update={"with_vector": False}) for one in requests], **more)

        server.engine.query_batch_points = blind  # as if the key read no vectors
        with pytest.raises(RetrievalError) as caught:
            await rankings(index, [NORTH], limit=1)
    assert caught.value.code == "index_vectors"
    assert "came without vectors" in caught.value.message


async def test_a_point_without_a_dense_vector_that_words_find_has_no_score() -> None:
    sparse = models.SparseVector(indices=[7], values=[1.0])
    layout = section(FLAT, MODEL, None, "bm25")
    given = {"bm25": models.SparseVectorParams()}
    async with opened({"d": vectors()}, [(1, {"bm25": sparse}, flat("words"))], layout, given) as (_, index):
        found = await toy_retriever(index).retrieve("north #7", k=2, threshold=0.0)
        strict = await toy_retriever(index).retrieve("north #7", k=2, threshold=0.1)
    assert [(passage.title, passage.score) for passage in found.passages] == [("words", 0.0)]
    assert strict.passages == []


async def test_points_without_a_text_are_left_out_and_do_not_hide_the_others() -> None:
    points: list[tuple[int, Any, dict[str, Any]]] = [(i, NORTH, {"text": " "}) for i in range(30)]
    points.append((99, EAST, flat("east")))
    async with opened(vectors(), points) as (_, index):
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
    async with opened(vectors(), points, section(mapping, MODEL)) as (_, index):
        (hits,) = await rankings(index, [NORTH], limit=9, where=SearchFilter(url_prefix=prefix))
    assert {hit.chunk.title for hit in hits if hit.chunk.url.startswith(prefix)} == found
    assert {hit.chunk.title for hit in hits} == found


async def test_a_filter_on_a_field_that_no_point_has_is_refused() -> None:
    async with opened(vectors(), [(1, NORTH, flat("a"))], section(FieldMap(text=("text",)), MODEL)) as (_, index):
        with pytest.raises(RetrievalError) as caught:
            await rankings(index, [NORTH], limit=1, where=SearchFilter(url_prefix="https://"))
    assert caught.value.code == "index_filter"


def test_every_field_of_a_filter_has_its_row_in_the_table() -> None:
    assert {field.name for field in fields(SearchFilter)} == set(FILTERS)


async def test_langchain_code_reads_somebody_elses_collection() -> None:
    points = [(7, NORTH, flat("north", chunk_index=3)), (8, EAST, flat("east"))]
    async with opened(vectors(), points) as (_, index):
        store = as_vector_store(index, LangChainEmbedder(), ToySparse())
        (found,) = store.similarity_search("north", k=1)
    assert found.page_content == "The north."
    assert (found.metadata["title"], found.metadata["url"], found.metadata["_id"]) == (
        "north",
        "https://book.example/north",
        7,
    )


async def test_what_a_collection_says_of_itself_is_what_the_profile_says_of_it() -> None:
    async with opened(vectors(), [(1, NORTH, flat("a"))]) as (_, index):
        assert await index.info() == IndexInfo("theirs", MODEL, 4, "", 1, foreign=True)
