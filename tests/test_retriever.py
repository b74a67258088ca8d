"""From a question to passages, with a toy embedder whose cosines can be worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rag.book import SHOWN, IndexInfo, Point, SearchFilter, SearchQuery
from rag.errors import RetrievalError
from rag.index.qdrant_index import QdrantIndex
from rag.ports import ChunkIndex
from rag.search.retriever import HybridRetriever
from tests.index_cases import INFO, chunk_id, make_point
from tests.toys import AXES, CountingIndex, ToyEmbedder, ToySparse, edge_index, fill, toy_retriever


@pytest.fixture
def index(tmp_path: Path) -> CountingIndex:
    return CountingIndex(tmp_path, "book")


@pytest.fixture
def retriever(index: ChunkIndex) -> HybridRetriever:
    return toy_retriever(index)


async def test_passages_are_numbered_from_one_and_scored_by_cosine(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    await fill(index, make_point("same", AXES["north"]), make_point("half", [1, 1, 0, 0]))
    found = await retriever.retrieve("north", k=5, threshold=0.1)
    assert [(p.number, p.title, p.score) for p in found.passages] == [
        (1, "Title of same", 1.0),
        (2, "Title of half", 0.707107),
    ]
    assert found.passages[0].link == "https://book.example/same#installation"


async def test_fusion_orders_and_the_cosine_stays_the_score(retriever: HybridRetriever, index: ChunkIndex) -> None:
    dense_only = make_point("dense", AXES["north"], terms=[8])
    both = make_point("both", [4, 3, 0, 0], terms=[9])
    await fill(index, dense_only, both)
    found = await retriever.retrieve("north #9", k=5, threshold=0.0)
    assert [(p.title, p.score) for p in found.passages] == [("Title of both", 0.8), ("Title of dense", 1.0)]


async def test_what_does_not_reach_the_threshold_is_dropped(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index, make_point("same", AXES["north"]), make_point("words only", AXES["east"], terms=[9]))
    found = await retriever.retrieve("north #9", k=5, threshold=0.5)
    assert [p.title for p in found.passages] == ["Title of same"]
    assert {c.title: c.outcome for c in found.trace.candidates} == {
        "Title of same": "kept",
        "Title of words only": "below_threshold",
    }


async def test_many_passages_below_the_threshold_do_not_hide_one_that_reaches_it(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    """Prose ranks them higher, and passages are read in blocks."""
    prose = "They turn, and they stop, and then they turn again. " * 8
    others = [make_point(f"e{i}", AXES["east"], text=f"{prose}{i}") for i in range(SHOWN + 1)]
    await fill(index, make_point("weak", [1, 3, 0, 0], text="North."), *others)
    found = await retriever.retrieve("north", k=3, threshold=0.3)
    assert [p.title for p in found.passages] == ["Title of weak"]
    assert found.trace.candidates[0].outcome == "below_threshold"


async def test_a_score_equal_to_the_threshold_reaches_it(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index, make_point("half", [1, 1, 0, 0]))
    assert len((await retriever.retrieve("north", k=5, threshold=0.707107)).passages) == 1


async def test_a_negative_cosine_is_a_score_of_zero(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index, make_point("opposite", [-1, 0, 0, 0]))
    assert [p.score for p in (await retriever.retrieve("north", k=5, threshold=0.0)).passages] == [0.0]


async def test_at_most_k_passages_are_kept_and_the_rest_is_told(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index, *(make_point(f"p{i}", [1, i / 10, 0, 0]) for i in range(5)))
    found = await retriever.retrieve("north", k=2, threshold=0.0)
    assert [p.title for p in found.passages] == ["Title of p0", "Title of p1"]
    assert [c.outcome for c in found.trace.candidates] == ["kept", "kept", "beyond_k", "beyond_k", "beyond_k"]


async def test_neighbours_follow_the_best_passages_under_the_next_numbers(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    points = [make_point(f"p{i}", [1, i / 10, 0, 0]) for i in range(4)]
    one_page = [
        replace(one, chunk=replace(one.chunk, url="page", source_file_path="page.md", chunk_index=place))
        for one, place in zip(points, (7, 3, 5, 8), strict=True)
    ]
    await fill(index, *one_page)
    found = await retriever.retrieve("north", k=2, threshold=0.0, neighbours=2)
    assert [(p.number, p.chunk_index) for p in found.passages] == [(1, 7), (2, 3), (3, 8)]
    assert [c.outcome for c in found.trace.candidates] == ["kept", "kept", "beyond_k", "neighbour"]
    assert found.retrieval.results_count == 3


async def test_a_text_that_stands_twice_in_the_book_is_shown_once(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    twin = make_point("twin", [1, 0.1, 0, 0], text="The same words.")
    await fill(index, make_point("one", AXES["north"], text="The same words."), twin, make_point("two", [1, 1, 0, 0]))
    found = await retriever.retrieve("north", k=2, threshold=0.0)
    assert [p.title for p in found.passages] == ["Title of one", "Title of two"]
    assert [c.outcome for c in found.trace.candidates] == ["kept", "duplicate", "kept"]


async def test_the_record_counts_before_the_gate_and_averages_after_it(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    await fill(
        index, make_point("same", AXES["north"]), make_point("half", [1, 1, 0, 0]), make_point("e", AXES["east"])
    )
    record = (await retriever.retrieve("north", k=5, threshold=0.5)).retrieval
    assert (record.tool_name, record.query, record.filter_applied) == ("search_book", "north", None)
    assert (record.results_count, record.total_chunks_found) == (2, 3)
    assert record.avg_similarity == pytest.approx((1 + 0.707107) / 2)
    assert record.retrieval_time_ms > 0


async def test_nothing_found_is_a_result_and_no_error(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index)
    found = await retriever.retrieve("north", k=5, threshold=0.5)
    assert found.passages == []
    assert found.retrieval.avg_similarity == 0.0
    assert found.trace.candidates == ()


@pytest.mark.parametrize("question", ["north", "What is this book about?"])
async def test_the_filter_goes_to_the_index_and_into_the_record(
    question: str, retriever: HybridRetriever, index: CountingIndex
) -> None:
    await fill(index, make_point("a"), make_point("b"))
    where = SearchFilter(url_prefix="https://book.example/a")
    found = await retriever.retrieve(question, k=5, threshold=0.0, where=where)
    assert [p.url for p in found.passages] == ["https://book.example/a"]
    assert found.retrieval.filter_applied == "https://book.example/a"
    assert index.asked == [(2, 100, where)]


async def test_more_than_a_leg_is_deep_may_be_asked_for(retriever: HybridRetriever, index: CountingIndex) -> None:
    await fill(index, *(make_point(f"p{i}") for i in range(130)))
    assert len((await retriever.retrieve("north", k=120, threshold=0.0)).passages) == 120
    assert index.asked[0][1] == 120


async def test_the_trace_tells_the_scores_of_a_candidate_in_each_leg(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    await fill(index, make_point("dense", AXES["north"], terms=[8]), make_point("both", [1, 1, 0, 0], terms=[9]))
    trace = (await retriever.retrieve("north #9", k=5, threshold=0.2)).trace
    assert trace.queries == (SearchQuery("question", "north #9"),)
    assert trace.queries[0].weight == 1.0
    assert trace.legs == ("dense", "sparse")
    assert trace.threshold == 0.2
    scores = {c.chunk_id: c.scores for c in trace.candidates}
    assert scores[chunk_id("dense")] == (1.0, 0.0)
    assert scores[chunk_id("both")] == pytest.approx((0.707107, 0.693147), rel=1e-3)


async def test_the_score_by_words_is_known_of_a_passage_that_only_its_meaning_found(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    near = [make_point(f"near{i}", [1, i / 1000, 0, 0]) for i in range(100)]
    words = [make_point(f"words{i}", AXES["east"], terms=[9, 10]) for i in range(1, 90)]
    words.append(make_point("words0", [1, 0.12, 0, 0], terms=[9, 10]))
    await fill(index, *near[1:], *words, make_point("near0", AXES["north"], terms=[9]))
    trace = (await retriever.retrieve("north #9 #10", k=5, threshold=0.0)).trace
    scores = {c.chunk_id: c.scores[1] for c in trace.candidates}
    assert 0 < scores[chunk_id("near0")] < scores[chunk_id("words0")]


async def test_without_a_collection_the_error_says_how_to_make_one(retriever: HybridRetriever) -> None:
    with pytest.raises(RetrievalError) as caught:
        await retriever.retrieve("north", k=5, threshold=0.5)
    assert caught.value.code == "no_index"
    assert caught.value.message == 'There is no book in the collection "book".'
    assert caught.value.hint == 'Run "python run.py ingest PATH --collection book".'


@pytest.mark.parametrize(
    "other",
    [
        lambda info: replace(info, embedding_model="other"),
        lambda info: replace(info, dimension=3),
        lambda info: replace(info, sparse_model="other"),
    ],
)
async def test_a_collection_of_other_models_is_not_searched_and_the_error_says_what_to_do(
    retriever: HybridRetriever, index: CountingIndex, other: Callable[[IndexInfo], IndexInfo]
) -> None:
    await index.replace(other(INFO), add=[], remove=[])
    with pytest.raises(RetrievalError) as caught:
        await retriever.retrieve("north", k=5, threshold=0.5)
    assert caught.value.code == "embedding_mismatch"
    assert "toy-4 (4 dimensions)" in caught.value.message
    assert 'ingest PATH --collection book --rebuild"' in caught.value.hint
    assert not index.asked


DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "books" / "physical-ai"


async def test_a_real_book_answers_from_the_right_chapter(index: QdrantIndex) -> None:
    if not DATA.is_dir():
        pytest.skip("needs shared/data/books/physical-ai")
    from rag.embedding.local import Bm25Encoder, OnnxEmbeddings

    embedder, sparse = OnnxEmbeddings(), Bm25Encoder()
    info = IndexInfo("book", embedder.model_id, embedder.dimension, sparse.model_id, 0)
    points = []
    for page in sorted(DATA.glob("docs/*/index.md")):
        text = page.read_text("utf-8")[:900]
        point = make_point(page.parent.name, text=text)
        points.append(Point(point.chunk, embedder.embed_query(text), sparse.encode_document(text)))
    await index.replace(info, add=points, remove=[])
    retriever = HybridRetriever(embedder, sparse, index)
    found = await retriever.retrieve("What does a digital twin do?", k=3, threshold=0.2)
    assert "digital-twin" in found.passages[0].title
    assert all(0.2 <= passage.score <= 1 for passage in found.passages)
    assert json.loads(found.passages[0].model_dump_json())["number"] == 1


class BrokenEmbedder(ToyEmbedder):
    def embed_query(self, text: str) -> list[float]:
        raise RuntimeError("no vector")


async def test_a_question_that_cannot_be_embedded_is_a_failure_of_its_own(tmp_path: Path) -> None:
    index = edge_index(tmp_path, "toy")
    await fill(index, make_point("a"))
    with pytest.raises(RetrievalError, match=r"could not be embedded \(RuntimeError\)") as caught:
        await HybridRetriever(BrokenEmbedder(), ToySparse(), index).retrieve("north", k=5, threshold=0.0)
    assert caught.value.code == "embedding_failed"
