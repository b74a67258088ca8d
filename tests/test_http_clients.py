"""The HTTP clients of services keep nothing of a response that nobody uses any more."""

from __future__ import annotations

import gc
import ssl
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certifi
import httpx
import httpx2
import pytest

from rag.http.http_clients import async_client_options, client_options
from tests.wire import WireServer, data, listening


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Only what nothing refers to is freed: circles of objects stay."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_response_is_freed_when_it_is_no_longer_used(library: Any) -> None:
    with (
        listening(WireServer(script=[data([1.0] * 100)])) as server,
        library.Client(**client_options(library)) as client,
    ):
        response = client.get(server.address)
        assert len(response.json()) == 100
        kept = weakref.ref(response)
        del response
    assert kept() is None


@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_a_response_of_an_asynchronous_client_is_freed_too(library: Any) -> None:
    with listening(WireServer(script=[data([1.0] * 100)])) as server:
        async with library.AsyncClient(**async_client_options(library)) as client:
            response = await client.get(server.address)
            assert len(response.json()) == 100
            kept = weakref.ref(response)
            del response
            assert kept() is None


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_all_clients_share_what_they_trust_until_the_environment_names_other_certificates(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = client_options(library)["verify"]
    assert (trusted.verify_mode, trusted.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert async_client_options(library)["verify"] is client_options(library, 10, 1.0)["verify"] is trusted
    own = tmp_path / "own.pem"
    own.write_bytes(Path(certifi.where()).read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    assert len(client_options(library)["verify"].get_ca_certs()) > len(trusted.get_ca_certs()) == 1
