"""The way to a Qdrant server: what its clients are given, and what is said of an address or a key that is none."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from typing import Any

import httpx
import pytest
from qdrant_client.http.exceptions import ResponseHandlingException

from rag.errors import AskbookError, UsageError
from rag.index.server_client import TIMEOUT, Server
from rag.index.server_errors import server_faults
from tests.wire import Reply, WireServer, dripping, dripping_headers, flooding, listening


async def test_a_key_over_a_plain_connection_brings_no_warning_onto_the_terminal() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client: Any = Server("http://qdrant.example:6333", "key").asynchronous()
        Server("http://qdrant.example:6333", "key").blocking().close()
    assert client._rest_headers["api-key"] == "key"
    assert client._timeout == TIMEOUT
    await client.close()


@pytest.mark.parametrize(
    ("url", "key", "uri"),
    [
        ("http://localhost:6333", None, "http://localhost:6333"),
        ("https://cluster.example", "key", "https://cluster.example:6333"),
        ("https://cluster.example:443/qdrant", "key", "https://cluster.example:443/qdrant"),
        ("cluster.example:6333", "key", "https://cluster.example:6333"),
        ("localhost:6333", None, "http://localhost:6333"),
        ("http://user:secret@localhost:6333", None, "http://localhost:6333"),
        ("http://[::1]:6333", None, "http://[::1]:6333"),
    ],
)
async def test_an_address_is_read_as_the_client_documents_it(url: str, key: str | None, uri: str) -> None:
    client: Any = Server(url, key).asynchronous()
    assert client.rest_uri == uri
    await client.close()


@pytest.mark.parametrize(
    ("url", "key", "openly"),
    [
        ("http://qdrant.example:6333", "key", True),
        ("http://qdrant.example:6333", None, False),
        ("https://qdrant.example:6333", "key", False),
        ("http://localhost:6333", "key", False),
        ("http://[::1]:6333", "key", False),
    ],
)
def test_a_key_that_travels_openly_is_known(url: str, key: str | None, openly: bool) -> None:
    assert Server(url, key).sends_key_openly is openly


NO_ADDRESSES = (
    "qdrant://host", "http://[x", "ftp://host:1", "http://host:nonsense", "foo", "http://", "http://?", "https://:6333",
    "http:///path", "http:/host", "http://user@", "two words:6333", ":6333",
)  # fmt: skip


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    for make in (Server(url).asynchronous, Server(url).blocking):
        with pytest.raises(UsageError, match=r"\AQDRANT_URL is not an address\.") as caught:
            make()
        assert caught.value.code == "qdrant_url"
        assert url not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "new\nline", "schlüssel", "", "\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        Server("http://localhost:6333", key).asynchronous()
    assert caught.value.code == "qdrant_key"
    assert not key or key not in caught.value.message + caught.value.hint


def test_neither_address_nor_key_is_in_the_repr() -> None:
    assert "secret" not in repr(Server("http://user:secret@host", "secret-key"))


def exceptions_of_httpx() -> list[type[Exception]]:
    found = [one for one in vars(httpx).values() if inspect.isclass(one) and issubclass(one, Exception)]
    assert len(found) > 20
    return found


@pytest.mark.parametrize("kind", exceptions_of_httpx(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("wrapped", [True, False])
def test_every_exception_of_the_http_library_becomes_one_of_ours(kind: type[Exception], *, wrapped: bool) -> None:
    bare = kind.__new__(kind)
    with pytest.raises(AskbookError) as caught, server_faults("book", "here"):
        raise ResponseHandlingException(bare) if wrapped else bare
    assert caught.value.code in ("index_unreachable", "index_timeout", "index_response")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("kind", ["asynchronous", "blocking"])
@pytest.mark.parametrize(
    ("endless", "code"),
    [(dripping(), "index_timeout"), (flooding(" " * 500_000), "index_response")],
    ids=["drips", "floods"],
)
async def test_an_answer_that_does_not_end_is_given_up(
    kind: str, endless: Reply, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.index.server_client.TIMEOUT", 0.2 if code == "index_timeout" else 30)
    with listening(WireServer()) as server:
        server.faults["/collections"] = endless
        client = getattr(Server(server.address), kind)()
        with pytest.raises(AskbookError) as caught, server_faults("book", "host.example"):
            await (asyncio.to_thread(client.get_collections) if kind == "blocking" else client.get_collections())
        assert caught.value.code == code
        closing = client.close()
        if closing is not None:
            await closing


async def test_headers_that_do_not_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.index.server_client.CALL", 0.2)
    with listening(WireServer()) as server:
        server.script.append(dripping_headers())
        client = Server(server.address).asynchronous()
        with pytest.raises(AskbookError) as caught, server_faults("book", "host.example"):
            await client.get_collections()
        assert caught.value.code == "index_timeout"
        await client.close()
