"""What `rag.private_apis` relies on is there, and does what it is used for: these fail when a library changes."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
import pytest

from rag.private_apis import limit_exchanges
from tests.wire import Reply, WireServer, dripping_headers, listening


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_headers_that_do_not_end_are_given_up(library: Any) -> None:
    with listening(WireServer(keeps_alive=True)) as server:
        server.script += [Reply(body="ok"), dripping_headers()]
        with limit_exchanges(library.Client(timeout=60, trust_env=False), 0.5) as client:
            assert client.get(server.address).text == "ok"
            with pytest.raises(library.ReadTimeout):
                client.get(server.address)
