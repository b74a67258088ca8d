"""A question inside a conversation, and its rewrite, as the retriever searches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.book import SearchResult
from rag.ports import ChunkIndex
from rag.search.retriever import HybridRetriever
from rag.types import AnsweredQuestion
from tests.index_cases import make_point
from tests.toys import AXES, CountingIndex, fill, toy_retriever

HISTORY = [AnsweredQuestion("north", "It is cold.")]


@pytest.fixture
def index(tmp_path: Path) -> CountingIndex:
    return CountingIndex(tmp_path, "book")


@pytest.fixture
def retriever(index: ChunkIndex) -> HybridRetriever:
    return toy_retriever(index)


def texts(found: SearchResult) -> list[str]:
    return [query.text for query in found.trace.queries]


def weights(found: SearchResult) -> list[float]:
    return [query.weight for query in found.trace.queries]


async def test_a_follow_up_is_searched_in_its_contexts_in_the_same_request(
    retriever: HybridRetriever, index: CountingIndex
) -> None:
    await fill(index, make_point("n", AXES["north"]), make_point("e", AXES["east"]))
    found = await retriever.retrieve("and east?", k=5, threshold=0.0, history=HISTORY)
    assert texts(found) == ["and east?", "and east? north", "and east? It is cold."]
    assert found.trace.legs == ("dense", "sparse", "dense", "dense")
    assert index.asked == [(4, 100, None)]
    assert found.retrieval.query == "and east?"


async def test_a_follow_ups_score_is_the_cosine_of_the_weighted_sum_of_its_queries(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    await fill(index, make_point("n", AXES["north"]), make_point("e", AXES["east"]))
    found = await retriever.retrieve("and why?", k=5, threshold=0.0, history=HISTORY)
    raw, context, answer = weights(found)
    assert (raw, context) == (1.0, answer)
    # "and why?" and the answer name no direction, the first question names one
    expected = context / ((raw + answer) ** 2 + context**2) ** 0.5
    assert {p.title: p.score for p in found.passages}["Title of n"] == pytest.approx(expected, abs=1e-5)


async def test_a_change_of_subject_is_searched_as_if_there_were_no_conversation(
    retriever: HybridRetriever, index: ChunkIndex
) -> None:
    await fill(index, make_point("e", AXES["east"]), make_point("other", [0.1, 0.1, 0.1, 1]))
    talk = [AnsweredQuestion("north", "north up")]
    alone, inside = [(await retriever.retrieve("east", k=5, threshold=0.0, history=h)) for h in ([], talk)]
    assert weights(inside) == [1.0, 0.0, 0.0]
    assert inside.passages == alone.passages


async def test_a_rewrite_is_one_more_query_of_the_same_request(
    retriever: HybridRetriever, index: CountingIndex
) -> None:
    await fill(index, make_point("n", AXES["north"]), make_point("e", AXES["east"]))
    found = await retriever.retrieve("and why?", k=5, threshold=0.0, history=HISTORY, rewrite="and why north?")
    assert [query.kind for query in found.trace.queries] == ["question", "context", "context", "rewrite"]
    assert texts(found)[-1] == "and why north?"
    assert weights(found)[-1] > 0
    assert found.trace.legs == ("dense", "sparse", "dense", "dense", "dense")
    assert index.asked == [(5, 100, None)]
    assert found.retrieval.query == "and why?"


async def test_a_rewrite_about_something_else_changes_nothing(retriever: HybridRetriever, index: ChunkIndex) -> None:
    await fill(index, make_point("n", AXES["north"]), make_point("u", AXES["up"]))
    usual, misled = [
        await retriever.retrieve("north", k=5, threshold=0.0, history=HISTORY, rewrite=text) for text in ("", "up?")
    ]
    assert weights(misled) == [*weights(usual), 0.0]
    assert misled.passages == usual.passages


@pytest.mark.parametrize("rewrite", ["north", " north\n", " "])
async def test_a_rewrite_that_says_nothing_new_is_no_query(
    retriever: HybridRetriever, index: ChunkIndex, rewrite: str
) -> None:
    await fill(index, make_point("n", AXES["north"]))
    assert texts(await retriever.retrieve("north", k=5, threshold=0.0, rewrite=rewrite)) == ["north"]
