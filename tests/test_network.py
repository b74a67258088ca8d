"""What the environment says about the way to a service: its proxy, what needs none, and the certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.system.network import NetworkSettingError, certificates, faults, proxy_of
from rag.system.transport import MOST, ResponseTooLongError, clients
from tests.command_line import CommandLine
from tests.openai_server import OPENAI_KEY, Endpoint, answer, openai_server
from tests.wire import Reply, WireServer, flooding, listening

PROXY = "http://proxy.example:3128"
FAR = "https://api.example/v1"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with openai_server() as opened:
        yield opened


@pytest.mark.parametrize(
    ("environment", "address", "proxy"),
    [
        ({}, FAR, None),
        ({"HTTPS_PROXY": PROXY}, FAR, PROXY),
        ({"https_proxy": "proxy.example:3128"}, FAR, PROXY),
        ({"HTTP_PROXY": PROXY}, FAR, None),
        ({"ALL_PROXY": PROXY}, FAR, PROXY),
        ({"ALL_PROXY": "socks://x", "HTTPS_PROXY": PROXY}, FAR, PROXY),
        ({"ALL_PROXY": "socks://x", "NO_PROXY": "localhost,127.0.0.1"}, "http://127.0.0.1:11434/v1", None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": ".example"}, FAR, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, FAR, None),
    ],
)
def test_the_proxy_is_that_of_the_scheme_unless_the_host_is_excepted(
    environment: dict[str, str], address: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(address) == proxy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:1080/"), ("all_proxy", "ftp://127.0.0.1"), ("HTTPS_PROXY", "http://"),
        ("https_proxy", "http://proxy:none"), ("HTTPS_PROXY", "http://a b"),
    ],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable_without_its_value(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(NetworkSettingError, match=name) as caught:
        proxy_of(FAR)
    assert caught.value.hint
    assert [fault.message for fault in faults()] == [caught.value.message]


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_certificates_that_do_not_exist_are_named_by_their_variable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "none"))
    assert [fault.message for fault in faults()] == [f"{name} names a path that does not exist."]
    if name == "SSL_CERT_FILE":
        with pytest.raises(NetworkSettingError, match=name):
            certificates()


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"ALL_PROXY": "socks://127.0.0.1:1080"}, "ALL_PROXY"),
        ({"http_proxy": "http://proxy:none"}, "http_proxy"),
        ({"SSL_CERT_FILE": "/no/such/file.pem"}, "SSL_CERT_FILE"),
        ({"ALL_PROXY": "socks://127.0.0.1:1080", "NO_PROXY": "127.0.0.1"}, ""),
    ],
)
def test_a_turn_names_the_variable_in_its_error_and_doctor_has_a_line_for_it(
    environment: dict[str, str], named: str, tmp_path: Path, tiny_book: Path, endpoint: Endpoint
) -> None:
    run = CommandLine(tmp_path, tiny_book)
    keys = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": endpoint.address, "ASKBOOK_JUDGE": "none"}
    endpoint.script += [answer("A widget is a small part that turns a shaft [1].")] * 2
    done = run("ask", "What is a widget?", "--json", **keys, **environment)
    if not named:
        assert (done.code, done.data["status"]) == (0, "success")
        return
    error = done.data["error"]
    assert (done.code, error["error_type"], error["code"]) == (1, "api_error", "network")
    assert (named in error["message"], bool(error["hint"]), endpoint.requests) == (True, True, [])
    assert run("search", "widget", **keys, **environment).code == 0
    found = {check["name"]: check for check in run("doctor", "--json", **keys, **environment).data["checks"]}
    assert named in found["network"]["detail"]
    assert {"embedding", "model", "memory"} <= found.keys()


@pytest.mark.parametrize("command", [("search", "widget", "--collection", "book"), ("ingest", "https://127.0.0.1:9/x")])
def test_a_command_outside_a_turn_names_the_variable_too(
    command: tuple[str, ...], tmp_path: Path, tiny_book: Path
) -> None:
    run = CommandLine(tmp_path, tiny_book)
    done = run(*command, QDRANT_URL="http://127.0.0.1:9", SSL_CERT_FILE="/no/such/file.pem")
    assert (done.code, done.err.count("SSL_CERT_FILE"), done.err.count("\n")) == (2, 1, 1)


def test_a_server_that_needs_no_proxy_is_reached_where_the_proxy_cannot_be_used(
    tmp_path: Path, tiny_book: Path
) -> None:
    run = CommandLine(tmp_path, tiny_book)
    proxies = {"ALL_PROXY": "socks://127.0.0.1:1080", "NO_PROXY": "127.0.0.1"}
    done = run("search", "widget", QDRANT_URL="http://127.0.0.1:9", **proxies)
    assert (done.code, "does not answer" in done.err or "could not be reached" in done.err) == (1, True)


def test_a_response_without_an_end_is_stopped() -> None:
    with listening(WireServer()) as server:
        server.faults["/"] = flooding("x" * 2**20)
        blocking, _ = clients(server.address, "k", 10, is_openai=False)
        with pytest.raises(ResponseTooLongError, match=f"{MOST:,}"):
            blocking.get(server.address)


def test_a_key_that_a_response_repeats_is_blanked_out() -> None:
    with listening(WireServer()) as server:
        server.faults["/"] = Reply(body=f"The key {OPENAI_KEY} is wrong.")
        blocking, _ = clients(server.address, OPENAI_KEY, 10, is_openai=False)
        assert blocking.get(server.address).text == "The key *** is wrong."


def test_what_is_set_for_openai_is_sent_to_nobody_else(endpoint: Endpoint) -> None:
    for is_openai in (True, False):
        endpoint.script.append(answer("Yes."))
        blocking, _ = clients(endpoint.address, "ours", 10, is_openai=is_openai)
        headers = {"OpenAI-Organization": "canary", "x-company": "canary", "Authorization": "Bearer other"}
        blocking.post(f"{endpoint.address}/chat/completions", json={}, headers=headers)
    openai, other = (request.headers for request in endpoint.requests)
    assert (openai["openai-organization"], "canary" in str(other)) == ("canary", False)
    assert other["authorization"] == "Bearer ours"
