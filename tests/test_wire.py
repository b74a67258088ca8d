"""The scripted servers themselves: each fault reaches a client as what it is called."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.wire import (
    Reply,
    Request,
    WireServer,
    away,
    cut_off,
    data,
    dripping,
    dripping_headers,
    drops,
    empty,
    hangs,
    html,
    listening,
    malformed,
    nobody,
    refusal,
)


class Echo(WireServer):
    def answer(self, request: Request) -> Reply:
        return data({"echo": request.body})


@pytest.fixture
def server() -> Iterator[Echo]:
    with listening(Echo()) as opened:
        yield opened


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=0.2) as opened:
        yield opened


def test_a_server_keeps_what_it_was_asked(server: Echo, client: httpx.Client) -> None:
    assert client.put(f"{server.address}/points?wait=true", json={"a": 1}).json() == {"echo": {"a": 1}}
    (request,) = server.requests
    assert (request.method, request.path, request.query) == ("PUT", "/points", "wait=true")
    assert request.body == {"a": 1}
    assert request.headers["content-type"] == "application/json"


def test_the_script_comes_before_the_answer_and_a_fault_before_both(server: Echo, client: httpx.Client) -> None:
    server.script.append(refusal(429, retry_after="7"))
    server.faults["/bad"] = html(502)
    assert client.get(f"{server.address}/bad").status_code == 502
    assert client.get(f"{server.address}/good").headers["retry-after"] == "7"
    assert client.get(f"{server.address}/good").status_code == 200


@pytest.mark.parametrize(
    ("reply", "raised"),
    [
        (hangs(), httpx.ReadTimeout),
        (drops(), httpx.ReadError),
        (cut_off('{"a": '), httpx.RemoteProtocolError),
    ],
)
def test_a_connection_fails_as_the_reply_says(
    reply: Reply, raised: type[Exception], server: Echo, client: httpx.Client
) -> None:
    server.script.append(reply)
    with pytest.raises(raised):
        client.get(server.address)
    assert client.get(server.address).status_code == 200


@pytest.mark.parametrize("reply", [malformed(), empty(), html()])
def test_a_body_that_is_no_json_comes_with_status_200(reply: Reply, server: Echo, client: httpx.Client) -> None:
    server.script.append(reply)
    response = client.get(server.address)
    assert response.status_code == 200
    with pytest.raises(ValueError, match="Expecting"):
        response.json()


def test_a_body_that_drips_goes_on_and_on(server: Echo, client: httpx.Client) -> None:
    server.script.append(dripping())
    with client.stream("GET", server.address) as response:
        assert next(response.iter_bytes(3)) == b"   "


def test_headers_that_drip_go_on_and_never_end(server: Echo) -> None:
    server.script.append(dripping_headers())
    with socket.create_connection(("127.0.0.1", urlsplit(server.address).port or 0)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        came = b""
        while not came.endswith(b"x-drip: xxx"):
            came += connection.recv(1)
    assert came.startswith(b"HTTP/1.0 200 OK")
    assert b"\r\n\r\n" not in came


def test_a_connection_is_kept_where_the_server_says_so() -> None:
    with listening(Echo(keeps_alive=True)) as server, httpx.Client() as client:
        streams = [client.post(server.address, json=n).extensions["network_stream"] for n in range(2)]
        first, second = (stream.get_extra_info("client_addr") for stream in streams)
    assert first == second


def test_a_server_that_is_away_comes_back_to_its_address(server: Echo, client: httpx.Client) -> None:
    with away(server), pytest.raises(httpx.ConnectError):
        client.get(server.address)
    assert client.get(server.address).status_code == 200


def test_no_other_server_gets_the_address_of_one_that_is_away(server: Echo) -> None:
    """It would get requests of this test, and its own test would not have foreseen them."""
    with away(server), socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", urlsplit(server.address).port))


def test_where_nobody_listens_a_connection_is_refused(client: httpx.Client) -> None:
    with nobody() as address, pytest.raises(httpx.ConnectError):
        client.get(address)
