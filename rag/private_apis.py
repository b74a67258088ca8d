"""What `rag` uses of the private parts of other libraries, why, and the upstream issue where one is known.

`tests/test_private_apis.py` fails when a library changes such a part.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any


def limit_exchanges(client: Any, seconds: float) -> Any:
    """Make a blocking client of httpx or httpx2 wait at most so long for an answer, its headers included. Returns it.

    The client's own timeout counts from byte to byte, and no hook is called before the headers are complete. There is
    no public way (encode/httpx#1450): the transport has no parameter for the network backend of its pool. This wraps
    `_network_backend`, so that the time from the last byte sent to every byte read has a limit.
    """
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _PunctualBackend(transport._pool._network_backend, seconds)
    return client


class _PunctualBackend:
    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    def connect_tcp(self, *args: Any, **options: Any) -> _PunctualStream:
        return _PunctualStream(self._inner.connect_tcp(*args, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _PunctualStream:
    """A connection. What is read must come within so many seconds after the last writing."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._end = time.monotonic() + self._seconds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            library: Any = import_module(type(self._inner).__module__.partition(".")[0])
            raise library.ReadTimeout("the answer does not end")
        data: bytes = self._inner.read(max_bytes, left if timeout is None else min(timeout, left))
        return data

    def start_tls(self, *args: Any, **options: Any) -> _PunctualStream:
        return _PunctualStream(self._inner.start_tls(*args, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
