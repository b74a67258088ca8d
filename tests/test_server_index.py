"""The index on a Qdrant server: what is sent to it, what its failures become, and how a changed book is shown."""

from __future__ import annotations

import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]  # it has no types
import httpx
import pytest
import pytest_asyncio
from qdrant_client import models
from qdrant_client.common import client_exceptions
from qdrant_client.http import exceptions

from rag.book import SearchFilter
from rag.errors import AskbookError, RetrievalError, UsageError, host
from rag.index import qdrant_index
from rag.index.catalog import build_index, list_collections
from rag.index.qdrant_index import QdrantIndex
from rag.index.server import TIMEOUT, Server, server_faults
from rag.ports import ChunkIndex
from rag.profiles.schema import BookSection
from tests.index_cases import INFO, chunk_id, make_point, rankings, terms
from tests.qdrant_faults import CANARY, FAULTS
from tests.qdrant_grpc import listening_grpc
from tests.qdrant_server import QdrantServer, refused
from tests.wire import Reply, listening

NORTH, EAST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with listening(QdrantServer()) as running:
        yield running


def on(server: QdrantServer, collection: str = "book", **layout: Any) -> QdrantIndex:
    return build_index(home=Path(), collection=collection, server=Server(server.address), layout=BookSection(**layout))


@pytest_asyncio.fixture
async def index(server: QdrantServer) -> AsyncIterator[ChunkIndex]:
    """A book of three passages that point to different sides."""
    made = on(server)
    points = [make_point("n", NORTH), make_point("e", EAST), make_point("u", [0, 0, 1, 0], terms=[2])]
    await made.replace(INFO, add=points, remove=[])
    server.requests.clear()
    yield made
    await made.aclose()


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "hang"])
@pytest.mark.parametrize("path", ["/collections/book$", "/points/query"])
async def test_a_failure_has_its_code_and_repeats_nothing_of_the_servers_words(
    server: QdrantServer, index: ChunkIndex, name: str, path: str
) -> None:
    server.faults[path] = FAULTS[name].reply
    with pytest.raises(AskbookError) as caught:
        await rankings(index, [NORTH], limit=3)
    error = caught.value
    assert (error.error_type, error.code, error.retry_after) == (
        FAULTS[name].error_type,
        FAULTS[name].code,
        FAULTS[name].retry_after,
    )
    assert error.retryable is (FAULTS[name].tries > 1)
    for text in (error.message, error.hint):
        assert CANARY not in text
        assert "\n" not in text
    assert error.hint
    assert error.__cause__ is None


@pytest.mark.parametrize("module", [exceptions, client_exceptions, httpx])
def test_every_exception_of_the_client_and_of_its_http_library_becomes_one_of_ours(module: Any) -> None:
    own = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Exception)]
    for kind in own:
        bare = kind.__new__(kind)
        for raised in (bare, exceptions.ResponseHandlingException(bare)):
            with pytest.raises(AskbookError), server_faults("book", "here"):
                raise raised


def test_what_the_client_did_not_raise_passes_through() -> None:
    with pytest.raises(RuntimeError), server_faults("book", "here"):
        raise RuntimeError("a bug of ours")


@pytest.mark.parametrize(
    ("status", "code", "seconds"),
    [
        ("UNAUTHENTICATED", "index_auth", None),
        ("RESOURCE_EXHAUSTED", "index_rate_limit", 7),
        ("INVALID_ARGUMENT", "index_request", None),
        ("DEADLINE_EXCEEDED", "index_timeout", None),
        ("UNAVAILABLE", "index_unreachable", None),
        ("INTERNAL", "index_server", None),
    ],
)
async def test_over_grpc_a_failure_has_the_same_code_and_the_key_is_sent(
    status: str, code: str, seconds: int | None
) -> None:
    with listening_grpc() as called:
        server = Server("http://127.0.0.1:1", "key-4711", grpc_port=called.port)
        index = build_index(home=Path(), collection="book", server=server)
        called.fault = (grpc.StatusCode[status], f"said {CANARY}", (("retry-after", "7"),))
        with pytest.raises(AskbookError) as caught:
            await index.entries()
        await index.aclose()
    assert caught.value.code == code
    assert CANARY not in caught.value.message
    assert seconds is None or caught.value.retry_after == seconds
    assert called.metadata[0]["api-key"] == "key-4711"


@pytest.mark.parametrize(
    ("url", "key", "uri"),
    [
        ("http://localhost:6333", None, "http://localhost:6333"),
        ("https://cluster.example", "key", "https://cluster.example:6333"),
        ("https://cluster.example:443/qdrant", "key", "https://cluster.example:443/qdrant"),
        ("cluster.example:6333", "key", "https://cluster.example:6333"),
        ("http://user:secret@localhost:6333", None, "http://localhost:6333"),
    ],
)
def test_an_address_is_read_as_the_client_documents_it_and_a_key_brings_no_warning(
    url: str, key: str | None, uri: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client: Any = Server(url, key).client()
    assert client._client.rest_uri == uri
    assert client._client._timeout == TIMEOUT
    client.close()
    assert "secret" not in repr(Server(url, key)) + host(url)


@pytest.mark.parametrize("url", ["qdrant://host", "http://[x", "foo", "http://", "https://:6333", "two words:6333"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError, match=r"\AQDRANT_URL") as caught:
        Server(url).client()
    assert caught.value.code == "qdrant_url"
    assert url not in str(caught.value)


@pytest.mark.parametrize(("variable", "value"), [("ALL_PROXY", "socks://127.0.0.1:1"), ("SSL_CERT_FILE", "/none.pem")])
def test_a_proxy_or_a_certificate_that_cannot_be_used_is_one_line_that_names_the_variables(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError) as caught:
        Server("https://qdrant.example:6333").client()
    assert (variable in caught.value.message, bool(caught.value.hint), caught.value.code) == (True, True, "network")


@pytest.mark.parametrize("key", ["two words", "new\nline", "schlüssel", ""])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        Server("http://localhost:6333", key).client()
    assert caught.value.code == "qdrant_key"
    assert not key or key not in caught.value.message + caught.value.hint


async def test_a_search_sends_no_vectors_back_and_reads_few_texts(server: QdrantServer, index: ChunkIndex) -> None:
    where = SearchFilter(url_prefix="https://book.example/")
    found = await rankings(index, [NORTH, terms(2)], limit=1, where=where)
    assert [hits[0].chunk.id for hits in found] == [chunk_id("n"), chunk_id("u")]
    asked = server.bodies("/points/query")
    assert len(asked) == 4  # each for its best, and for the score of the other's best
    assert not any(body.get("with_vector") for body in asked)
    assert [body["with_payload"] for body in asked].count(["metadata.words"]) == 2
    first = next(body for body in asked if body["using"] == "dense")
    assert first["filter"]["must"] == [{"key": "metadata.url", "match": {"prefix": "https://book.example/"}}]


async def test_a_new_collection_has_idf_and_indexes_for_its_filters(server: QdrantServer, index: ChunkIndex) -> None:
    config = server.engine.get_collection("book").config
    assert config.params.sparse_vectors == {"sparse": models.SparseVectorParams(modifier=models.Modifier.IDF)}
    assert await index.info() == INFO.__class__(**{**vars_of(INFO), "chunks": 3})
    indexes = server.indexes[server.behind("book")]
    assert {name for name, schema in indexes.items() if schema["prefix"]} == {
        f"metadata.{name}" for name in ("url", "title", "heading", "source_file_path", "chapter")
    }


def vars_of(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


async def test_a_changed_book_is_a_new_collection_that_the_name_moves_to_in_one_step(
    server: QdrantServer, index: ChunkIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrant_index, "BATCH", 2)
    old = server.behind("book")
    points = [make_point("e", EAST, text="New."), *(make_point(f"p{i}") for i in range(4))]
    await index.replace(INFO, add=points, remove=[chunk_id("n"), chunk_id("never was")])
    new = server.behind("book")
    assert old != new
    assert [one.name for one in server.engine.get_collections().collections] == [new]
    assert server.paths("PUT").count(f"/collections/{new}/points") == 4  # two, two, one, and what stays
    (actions,) = (body["actions"] for body in server.bodies("/collections/aliases"))
    assert [list(action) for action in actions] == [["delete_alias"], ["create_alias"]]
    assert {entry.id for entry in await index.entries()} == {*map(chunk_id, ("e", "u", "p0", "p1", "p2", "p3"))}
    assert await list_collections(home=Path(), server=Server(server.address)) == ["book"]


@pytest.mark.parametrize("before", [1, 2, 3])
async def test_a_search_takes_all_from_one_state_though_the_name_moves(
    server: QdrantServer, index: ChunkIndex, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Another writer changes the book before a request of the search, and the old state is gone."""
    other, asked, usual = on(server), 0, server.answer
    points = [make_point(name, text="New.") for name in ("n", "e", "u")]

    def answer(request: Any) -> Reply:
        nonlocal asked
        if request.path.endswith("/points/query"):
            asked += 1
            if asked == before:
                other._replace(INFO, iter(points), set(), threading.Event())
        return usual(request)

    monkeypatch.setattr(server, "answer", answer)
    found = await index.search([NORTH, terms(2)], lambda matches: matches.read(range(len(matches.scores))), limit=1)
    await other.aclose()
    assert {chunk.text for chunk in found} == {"New."}


@pytest.mark.parametrize("step", ["/points$", "/collections/aliases", "/index"])
async def test_a_change_that_fails_leaves_the_book_as_it_was_and_the_next_one_sweeps(
    server: QdrantServer, index: ChunkIndex, step: str
) -> None:
    server.faults[step] = refused(500, "full")
    with pytest.raises(RetrievalError):
        await index.replace(INFO, add=[make_point("x")], remove=[])
    server.faults.clear()
    assert len(await index.entries()) == 3
    await index.replace(INFO, add=[make_point("x")], remove=[])
    assert [one.name for one in server.engine.get_collections().collections] == [server.behind("book")]
    assert len(await index.entries()) == 4


async def test_a_name_that_another_program_uses_is_not_written_to(server: QdrantServer) -> None:
    server.engine.create_collection(
        "theirs", vectors_config=models.VectorParams(size=4, distance=models.Distance.COSINE)
    )
    server.engine.update_collection_aliases(
        [models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name="theirs", alias_name="alias"))]
    )
    for name in ("theirs", "alias"):
        theirs = on(server, name)
        for change in (theirs.replace(INFO, add=[], remove=[]), theirs.drop(), theirs.rename("other")):
            with pytest.raises(UsageError, match="was not made by askbook"):
                await change
        await theirs.aclose()
    assert server.engine.collection_exists("theirs")


async def test_the_book_of_another_version_is_named_as_one_and_can_be_dropped(
    server: QdrantServer, index: ChunkIndex
) -> None:
    server.engine.update_collection(server.behind("book"), metadata={"askbook": {"complete": True, "model": "x"}})
    with pytest.raises(RetrievalError, match="another version of askbook wrote it") as caught:
        await index.info()
    assert caught.value.code == "index_broken"
    await index.drop()
    assert await index.info() is None


async def test_a_quantized_collection_is_scored_again_with_the_whole_vectors(server: QdrantServer) -> None:
    index = on(server, "small", quantization="scalar")
    await index.replace(INFO, add=[make_point("a", NORTH)], remove=[])
    assert list(server.quantization[server.behind("small")]) == ["scalar"]
    (hits,) = await rankings(index, [NORTH], limit=1)
    assert hits[0].score == 1.0
    assert server.bodies("/points/query")[-1]["params"]["quantization"] == {"rescore": True, "oversampling": 2.0}
    await index.aclose()
