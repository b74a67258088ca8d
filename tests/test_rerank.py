"""Passages in the order of a reranker: what it is shown, what it may change, how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from rag.book import SearchResult
from rag.errors import AskbookError, RetrievalError
from rag.ports import Reranker
from rag.search.reranker import MOST, build_reranker
from rag.settings import Settings
from rag.types import AnsweredQuestion
from tests.cohere_server import CohereServer, cohere_server, reshaped, says
from tests.fakes import FakeReranker
from tests.index_cases import INFO, make_point
from tests.toys import edge_index, toy_retriever
from tests.wire import Reply, html, malformed


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with cohere_server() as running:
        yield running


def cohere(server: CohereServer) -> Reranker:
    settings = Settings(cohere_api_key=SecretStr("co-canary"), cohere_base_url=server.address, rerank="cohere")
    reranker = build_reranker(settings)
    assert reranker is not None
    return reranker


async def search(
    folder: Path,
    reranker: Reranker,
    *names: str,
    k: int = 5,
    threshold: float = 0.0,
    history: list[AnsweredQuestion] | None = None,
) -> SearchResult:
    """A search for what lies north, in a book with a page for each name; the later the name, the lower the score."""
    index = edge_index(folder, "book")
    points = [make_point(name, [1, i / 10, 0, 0]) for i, name in enumerate(names)]
    await index.replace(INFO, add=points, remove=[])
    retriever = toy_retriever(index, reranker)
    return await retriever.retrieve("north", k=k, threshold=threshold, history=history or [])


def titles(found: SearchResult) -> list[str]:
    return [passage.title.removeprefix("Title of ") for passage in found.passages]


async def test_the_reranker_orders_and_the_cosine_stays_the_score(tmp_path: Path) -> None:
    found = await search(tmp_path, FakeReranker("second", "first"), "first", "second")
    assert titles(found) == ["second", "first"]
    assert [(p.number, p.score) for p in found.passages] == [(1, 0.995037), (2, 1.0)]


async def test_the_first_k_of_the_new_order_are_kept(tmp_path: Path) -> None:
    found = await search(tmp_path, FakeReranker("third", "first"), "first", "second", "third", k=2)
    assert titles(found) == ["third", "first"]
    assert [c.outcome for c in found.trace.candidates] == ["kept", "kept", "beyond_k"]


async def test_what_did_not_pass_the_threshold_is_not_shown_to_the_reranker(tmp_path: Path) -> None:
    reranker = FakeReranker("third")
    found = await search(tmp_path, reranker, "first", "second", "third", threshold=0.99)
    assert titles(found) == ["first", "second"]
    assert [len(texts) for _, texts in reranker.asked] == [2]


async def test_one_passage_needs_no_order(tmp_path: Path) -> None:
    reranker = FakeReranker()
    await search(tmp_path, reranker, "first", "second", threshold=0.999)
    assert reranker.asked == []


async def test_a_reranker_is_shown_a_bounded_number_of_passages_and_the_rest_stay_behind(tmp_path: Path) -> None:
    reranker = FakeReranker()
    names = [f"p{i:03}" for i in range(MOST + 5)]
    index = edge_index(tmp_path, "book")
    await index.replace(
        INFO, add=[make_point(name, [1, 0, 0, 0], terms=[i]) for i, name in enumerate(names)], remove=[]
    )
    retriever = toy_retriever(index, reranker)
    await retriever.retrieve("north " + " ".join(f"#{i}" for i in range(MOST + 5)), k=5, threshold=0.0)
    assert len(reranker.asked[0][1]) <= MOST


async def test_a_text_that_stands_in_the_book_twice_is_asked_for_once_and_kept_once(tmp_path: Path) -> None:
    reranker = FakeReranker("twice", "once")
    index = edge_index(tmp_path, "book")
    twice = [make_point(name, [1, i / 10, 0, 0], text="It is said twice.") for i, name in enumerate("ab", start=1)]
    await index.replace(INFO, add=[make_point("c", [1, 0, 0, 0], text="It is said once."), *twice], remove=[])
    found = await toy_retriever(index, reranker).retrieve("north", k=1, threshold=0.0)
    assert titles(found) == ["a"]
    assert len(reranker.asked[0][1]) == 2
    assert [c.outcome for c in found.trace.candidates] == ["kept", "beyond_k", "duplicate"]


async def test_a_follow_up_is_reranked_in_its_context(tmp_path: Path) -> None:
    reranker = FakeReranker()
    history = [AnsweredQuestion("Where, further up, does the river begin?", "In the hills.")]
    await search(tmp_path, reranker, "first", "second", history=history)
    question, _ = reranker.asked[0]
    assert "river" in question
    assert question.startswith("north")


async def test_a_reranker_that_fails_is_a_failed_search(tmp_path: Path) -> None:
    failure = RetrievalError("rerank_server_error", "Away.", retryable=True)
    with pytest.raises(RetrievalError) as caught:
        await search(tmp_path, FakeReranker(failure=failure), "first", "second")
    assert caught.value is failure


# --- Cohere's wire format -------------------------------------------------------------------------------------------


def test_cohere_is_asked_for_the_place_of_every_text(server: CohereServer) -> None:
    order = cohere(server).rerank("steel bracket", ["warm water", "a steel bracket", "steel"])
    assert order == [1, 2, 0]
    request = server.requests[0]
    assert (request.path, request.body["model"], request.body["top_n"]) == ("/v2/rerank", "rerank-v3.5", 3)
    assert request.headers["authorization"] == "Bearer co-canary"


def ranks(*places: object) -> Reply:
    return reshaped(results=[{"index": place, "relevance_score": 0.5} for place in places])


def scored(first: str, second: str) -> Reply:
    """Scores as they stand in JSON, where Python reads NaN and Infinity too."""
    results = f'[{{"index":0,"relevance_score":{first}}},{{"index":1,"relevance_score":{second}}}]'
    return Reply(body=f'{{"id":"1","results":{results},"meta":{{}}}}')


@pytest.mark.parametrize(
    "reply",
    [
        malformed(), html(), reshaped(), ranks(), ranks(0), ranks(0, 0), ranks(0, 7), ranks(0, 0, 1), ranks(-1, 0),
        ranks("x", 1), reshaped(results=3), scored("NaN", "0.5"), scored("0.5", "-Infinity"), scored("0.5", "1e400"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_order_of_the_texts_is_not_believed(server: CohereServer, reply: Reply) -> None:
    server.script.append(reply)
    with pytest.raises(AskbookError) as caught:
        cohere(server).rerank("steel", ["one", "another"])
    assert (caught.value.error_type, caught.value.code) == ("retrieval_error", "rerank_bad_response")


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_the_client_of_the_reranker_tries_once(server: CohereServer, status: int) -> None:
    server.faults["/"] = says(status, "co-canary")
    with pytest.raises(AskbookError) as caught:
        cohere(server).rerank("steel", ["one", "another"])
    assert len(server.requests) == 1
    assert "canary" not in f"{caught.value.message} {caught.value.hint} {caught.value!r}"
