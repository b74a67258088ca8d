"""The index on a Qdrant server: what is sent, and what every failure of the client becomes. No server is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client.common import client_exceptions
from qdrant_client.http import exceptions

from rag.book import SearchFilter, SparseVector
from rag.errors import AskbookError, RetrievalError, host
from rag.index.catalog import build_index
from rag.index.server import ServerIndex
from rag.index.server_client import Server
from rag.index.server_errors import server_faults
from tests.index_cases import INFO, chunk_id, make_point, rankings, terms
from tests.qdrant_server import QdrantServer
from tests.wire import listening

NORTH = [1.0, 0.0, 0.0, 0.0]
Handler = Callable[[httpx.Request], httpx.Response]


def make_index(handler: Handler) -> ServerIndex:
    client = AsyncQdrantClient(
        url="https://qdrant.example:6333",
        api_key="secret-key",
        check_compatibility=False,
        transport=httpx.MockTransport(handler),
    )
    return ServerIndex(client, "book", address="qdrant.example:6333")


def answering(status: int, **options: Any) -> Handler:
    return lambda request: httpx.Response(status, **options)


def failing(error: Exception) -> Handler:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    return handler


def refusal(text: str) -> dict[str, Any]:
    return {"json": {"status": {"error": text}, "time": 0.0}}


async def failure(handler: Handler) -> AskbookError:
    index = make_index(handler)
    with pytest.raises(AskbookError) as caught:
        await rankings(index, [NORTH], limit=3)
    await index.aclose()
    for text in (caught.value.message, caught.value.hint):
        assert "secret" not in text
        assert "\n" not in text
    return caught.value


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_an_authentication_error_that_does_not_repeat_the_key(status: int) -> None:
    error = await failure(answering(status, text="Invalid API key secret-key"))
    assert (error.error_type, error.code, error.retryable) == ("auth_error", "index_auth", False)
    assert "QDRANT_API_KEY" in error.hint


@pytest.mark.parametrize(("headers", "seconds"), [({"retry-after": "7"}, 7), ({}, 10), ({"retry-after": "soon"}, 10)])
async def test_a_busy_server_is_a_rate_limit_with_the_time_it_asks_for(headers: dict[str, str], seconds: int) -> None:
    error = await failure(answering(429, headers=headers, **refusal("slow down")))
    assert (error.error_type, error.retry_after, error.retryable) == ("rate_limit", seconds, True)


async def test_a_collection_that_the_server_does_not_have_is_no_index() -> None:
    error = await failure(answering(404, **refusal("Not found: Collection `book` doesn't exist!")))
    assert error.code == "no_index"


async def test_a_collection_that_the_server_does_not_have_has_no_info() -> None:
    index = make_index(answering(404, **refusal("Not found: Collection `book` doesn't exist!")))
    assert await index.info() is None


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_failing_server_may_be_asked_again(status: int) -> None:
    error = await failure(answering(status, text="<html>"))
    assert (error.error_type, error.code, error.retryable) == ("retrieval_error", "index_server", True)


@pytest.mark.parametrize("status", [408, 504])
async def test_an_answer_that_is_late_is_told_apart_from_a_failure(status: int) -> None:
    error = await failure(answering(status))
    assert (error.error_type, error.code, error.retryable) == ("retrieval_error", "index_timeout", True)


@pytest.mark.parametrize("status", [400, 409, 413, 418, 422, 501])
async def test_a_refused_request_is_not_repeated_and_the_servers_words_are_not_shown(status: int) -> None:
    error = await failure(answering(status, **refusal("Wrong input: secret-key is no vector")))
    assert (error.error_type, error.code, error.retryable) == ("retrieval_error", "index_request", False)
    assert str(status) in error.message


async def test_a_vector_of_the_wrong_size_is_a_mismatch_with_both_sizes() -> None:
    error = await failure(answering(400, **refusal("Wrong input: Vector dimension error: expected dim: 4, got 3")))
    assert (error.code, error.retryable) == ("embedding_mismatch", False)
    assert error.message == 'The collection "book" holds vectors of 4 dimensions, not of 3.'


async def test_a_filter_that_a_strict_server_refuses_says_so() -> None:
    error = await failure(answering(400, **refusal('Bad request: Index required but not found for "url"')))
    assert "payload index" in error.hint


async def test_the_404_of_something_else_does_not_say_that_there_is_no_book() -> None:
    for answer in ({"text": "<html>404</html>"}, {"text": ""}, {"json": {"detail": "Not Found"}}):
        assert (await failure(answering(404, **answer))).code == "index_response"


@pytest.mark.parametrize("cause", [httpx.ReadTimeout("slow"), httpx.WriteTimeout("slow"), httpx.PoolTimeout("slow")])
async def test_a_server_that_is_silent_is_late(cause: Exception) -> None:
    error = await failure(failing(cause))
    assert (error.code, error.retryable) == ("index_timeout", True)
    assert "qdrant.example:6333 did not answer within 10 seconds" in error.message


@pytest.mark.parametrize(
    "cause", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), httpx.ReadError("reset")], ids=repr
)
async def test_a_server_that_does_not_answer_may_be_asked_again(cause: Exception) -> None:
    error = await failure(failing(cause))
    assert (error.error_type, error.code, error.retryable) == ("retrieval_error", "index_unreachable", True)
    assert "qdrant.example:6333" in error.message


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "<html>Welcome</html>"},
        {"text": "{"},
        {"text": "[" * 100_000},
        {"json": {"hello": "world"}},
        {"json": []},
        {"json": {"result": 3}},
    ],
    ids=lambda answer: str(answer)[:40],
)
async def test_an_answer_that_is_not_qdrants_is_told_apart_from_a_dead_server(answer: dict[str, Any]) -> None:
    error = await failure(answering(200, **answer))
    assert (error.error_type, error.code) == ("retrieval_error", "index_response")


@pytest.mark.parametrize("module", [exceptions, client_exceptions])
def test_every_exception_of_the_client_becomes_one_of_ours(module: Any) -> None:
    samples: dict[str, Exception] = {
        "UnexpectedResponse": exceptions.UnexpectedResponse(418, "Teapot", b"", httpx.Headers()),
        "ResponseHandlingException": exceptions.ResponseHandlingException(ValueError("x")),
        "ResourceExhaustedResponse": client_exceptions.ResourceExhaustedResponse("", 3),
    }
    own = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == module.__name__
    ]
    assert own
    for kind in own:
        sample = samples.get(kind.__name__) or kind("text")
        with pytest.raises(AskbookError), server_faults("book", "here"):
            raise sample


def test_what_the_client_did_not_raise_passes_through() -> None:
    with pytest.raises(RuntimeError), server_faults("book", "here"):
        raise RuntimeError("a bug of ours")
    ours = RetrievalError("index_locked", "held")
    with pytest.raises(RetrievalError) as caught, server_faults("book", "here"):
        raise ours
    assert caught.value is ours


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@qdrant.example:6333/path?key=secret", "qdrant.example:6333"),
        ("http://localhost:6333", "localhost:6333"),
        ("qdrant.example", "qdrant.example"),
        ("https://host:nonsense", "host"),
        ("", "the server"),
    ],
)
def test_a_message_shows_host_and_port_of_an_address_and_nothing_else(url: str, shown: str) -> None:
    assert host(url) == shown


async def test_a_search_is_one_query_whatever_the_number_of_legs() -> None:
    legs: list[list[float] | SparseVector] = [NORTH, terms(4, 9), terms(), NORTH]
    with listening(QdrantServer()) as server:
        index = build_index(home=Path(), collection="book", server=Server(server.address))
        await index.replace(INFO, add=[make_point("a")], remove=[])
        server.requests.clear()
        found = await rankings(index, legs, limit=2, where=SearchFilter(url_prefix="https://a"))
        await index.aclose()
        (request,) = [request for request in server.requests if "/points/query" in request.path]
    assert found == [[], [], [], []]
    dense, sparse, _ = request.body["searches"]
    assert dense["using"] == "dense"
    assert sparse["query"] == {"indices": [4, 9], "values": [1.0, 1.0]}
    assert not any(leg["with_vector"] for leg in request.body["searches"])
    assert all(
        leg["filter"]["must"] == [{"key": "metadata.url", "match": {"prefix": "https://a"}}]
        for leg in request.body["searches"]
    )


async def test_no_vector_is_sent_and_yet_every_passage_has_its_cosine_in_every_leg() -> None:
    """The vectors of a search were three megabytes of JSON, and fifty in memory."""
    east = [0.0, 1.0, 0.0, 0.0]
    points = [make_point("a"), make_point("b", [0.6, 0.8, 0.0, 0.0]), make_point("c", [0.0, 0.0, 1.0, 0.0])]
    with listening(QdrantServer()) as server:
        index = build_index(home=Path(), collection="book", server=Server(server.address))
        await index.replace(INFO, add=points, remove=[])
        server.requests.clear()
        found = await rankings(index, [NORTH, east], limit=1)
        await index.aclose()
        asked = [leg for body in server.bodies("/query/batch") for leg in body["searches"]]
    assert len(asked) == 4
    assert not any(leg.get("with_vector") for leg in asked)
    assert [hit.chunk for leg in found for hit in leg] == [points[0].chunk, points[1].chunk]
    assert [hit.scores for leg in found for hit in leg] == [pytest.approx((1.0, 0.0)), pytest.approx((0.6, 0.8))]


class Recorder:
    """A server that says yes to everything and remembers what it was asked."""

    def __init__(self, metadata: dict[str, Any] | None, count: int = 0) -> None:
        self.metadata = metadata
        self.count = count
        self.sent: list[tuple[str, str, Any]] = []
        self.made = metadata is not None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        version = re.match(r"/collections/book\.askbook-[0-9a-f]{32}", request.url.path)
        path = request.url.path.removeprefix(version[0] if version else "/collections/book")
        body: Any = json.loads(request.content) if request.content else None
        self.sent.append((request.method, path, body))
        result: Any = True
        if request.method == "PUT" and not path:
            self.metadata = body.get("metadata")
        elif path == "/aliases":
            result = {"aliases": []}
        elif path == "/collections":
            result = {"collections": [{"name": "book"}] if self.made else []}
        elif request.method == "GET" and not path and not self.made and not version:
            return httpx.Response(404, json={"status": {"error": "Not found"}, "time": 0.0})
        elif request.method == "GET" and not path:
            result = collection(self.metadata)
        elif path == "/points/count":
            result = {"count": self.count}
        elif path.startswith(("/points", "/index")):
            result = {"operation_id": 1, "status": "completed"}
        return httpx.Response(200, json={"result": result, "status": "ok", "time": 0.0})

    def of(self, method: str, path: str) -> list[Any]:
        return [body for verb, where, body in self.sent if (verb, where) == (method, path)]


def collection(metadata: dict[str, Any] | None) -> dict[str, Any]:
    hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
    optimizer = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0}
    config = {
        "params": {},
        "hnsw_config": hnsw,
        "optimizer_config": {**optimizer, "flush_interval_sec": 5},
        "metadata": metadata,
    }
    config["params"] = {"vectors": {"size": 4, "distance": "Cosine"}}
    return {"status": "green", "optimizer_status": "ok", "segments_count": 1, "config": config, "payload_schema": {}}


async def test_a_new_collection_has_idf_indexes_for_its_filters_and_the_names_of_its_models() -> None:
    server = Recorder(None)
    await make_index(server).replace(INFO, add=[make_point("a")], remove=[])
    (made,) = server.of("PUT", "")
    assert made["vectors"] == {"dense": {"size": 4, "distance": "Cosine"}}
    assert made["sparse_vectors"] == {"sparse": {"modifier": "idf"}}
    record = {"embedding_model": "toy-4", "dimension": 4, "sparse_model": "toy-bm25", "recipe": "", "generators": {}}
    about = {"title": "", "pages": 0, "updated_at": ""}
    (shown,) = server.of("POST", "/collections/aliases")
    own = {"state": shown["actions"][0]["create_alias"]["collection_name"]}
    assert made["metadata"] == {"askbook": record | about | own | {"complete": False}}
    assert server.of("PATCH", "")[-1] == {"metadata": {"askbook": record | about | own | {"complete": True}}}
    assert shown["actions"][0]["create_alias"]["alias_name"] == "book"
    indexes = {body["field_name"]: body["field_schema"] for body in server.of("PUT", "/index")}
    prefixes = {
        f"metadata.{name}": {"type": "keyword", "prefix": True}
        for name in ("url", "title", "heading", "source_file_path", "chapter")
    }
    assert indexes == prefixes | {"metadata.source": {"type": "keyword", "prefix": False}}


async def test_points_go_up_in_batches_before_others_are_deleted() -> None:
    record = {"embedding_model": "toy-4", "dimension": 4, "sparse_model": "toy-bm25"}
    server = Recorder({"askbook": record}, count=100_000)  # too many to copy for two
    points = (make_point(f"p{i}") for i in range(130))
    await make_index(server).replace(INFO, add=points, remove=[chunk_id("gone"), chunk_id("p1")])
    assert [len(body["points"]) for body in server.of("PUT", "/points")] == [64, 64, 2]
    assert server.of("POST", "/points/delete") == [{"points": [chunk_id("gone")]}]
    assert server.sent[-2][1] == "/points/delete"


async def test_a_server_too_old_to_keep_the_names_of_the_models_is_refused() -> None:
    class Old(Recorder):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            answer = super().__call__(request)
            self.metadata = None
            return answer

    with pytest.raises(RetrievalError) as caught:
        await make_index(Old(None)).replace(INFO, add=[], remove=[])
    assert caught.value.code == "index_request"
    assert "1.19" in caught.value.hint


async def test_points_are_added_deleted_and_read_by_id_through_the_vector_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langchain_qdrant import QdrantVectorStore

    called: list[str] = []

    def watch(name: str) -> None:
        real = getattr(QdrantVectorStore, name)

        def counted(self: Any, *args: Any, **options: Any) -> Any:
            called.append(name)
            return real(self, *args, **options)

        monkeypatch.setattr(QdrantVectorStore, name, counted)

    for name in ("add_texts", "delete", "get_by_ids"):
        watch(name)
    with listening(QdrantServer()) as server:
        index = build_index(home=Path(), collection="book", server=Server(server.address))
        await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
        await index.replace(INFO, add=[], remove=[chunk_id("b")])
        found = await index.fetch([chunk_id("a"), chunk_id("b")])
        await index.aclose()
    assert found == [make_point("a").chunk]
    assert called == ["add_texts", "delete", "get_by_ids"]
