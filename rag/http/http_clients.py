"""HTTP clients of a Qdrant server: limits on a response, and no redirects.

A redirect could carry the question, the passages and the texts of a book to a host that the user did not name. httpx
and its successor httpx2, which the openai library uses, have the same interface; neither is imported here. All clients
of one library share the certificates that they trust: to read them takes longer than everything else in a client.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any, Final

WIRE_BYTES: Final = 64 * 2**20  # of a whole response, unpacked; an event takes about 300 bytes for a token
# Both libraries unpack these piece by piece. Others, or one inside another, could fill the memory from one piece.
_PACKINGS: Final = frozenset({"", "identity", "gzip", "deflate"})
_HEADERS: Final = {"accept-encoding": "gzip, deflate"}


class EndlessResponseError(ValueError):
    """A response of a service exceeded a limit of its client."""


class UnreadableResponseError(ValueError):
    """A response of a service is packed in a way that was not asked for, and that could exceed every limit."""


def client_options(library: Any, line: int | None = None, seconds: float | None = None) -> dict[str, Any]:
    """The options of a blocking client of `library`, httpx or httpx2.

    `line` is the most bytes in one line, and `seconds` the longest time from the status of a response to its end: a
    server that sends a byte now and then never exceeds the client's own timeout.
    """
    return _options(library, _limiting(library, line, seconds))


def async_client_options(library: Any, line: int | None = None, seconds: float | None = None) -> dict[str, Any]:
    """The options of an asynchronous client; otherwise like `client_options`."""
    limit = _limiting(library, line, seconds)

    async def hook(response: Any) -> None:
        limit(response)

    return _options(library, hook)


def _options(library: Any, hook: Callable[[Any], Any]) -> dict[str, Any]:
    trusted = _trusted(library, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return {"follow_redirects": False, "headers": _HEADERS, "event_hooks": {"response": [hook]}, "verify": trusted}


@cache
def _trusted(library: Any, _file: str | None, _folder: str | None) -> Any:
    """The library's own choice of certificates, which heeds these two variables."""
    return library.create_ssl_context()


def _limiting(library: Any, line: int | None, seconds: float | None) -> Callable[[Any], None]:
    class Limited(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]  # the bases are a parameter's
        """The unpacked body of a response. Reading raises `EndlessResponseError` and the library's `ReadTimeout`."""

        def __init__(self, inner: Any) -> None:
            self._inner = inner
            self._meter = _Meter(library, line, seconds)

        def __iter__(self) -> Iterator[bytes]:
            return map(self._meter.measured, self._inner.iter_bytes())

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._inner.aiter_bytes():
                yield self._meter.measured(part)

        def close(self) -> None:
            inner, self._inner = self._inner, None  # it refers back to the response, which would outlive its use
            inner.close()

        async def aclose(self) -> None:
            inner, self._inner = self._inner, None  # as above
            await inner.aclose()

    def limit(response: Any) -> None:
        response.stream = Limited(_unpacking(library, response))

    return limit


class _Meter:
    """The size of a response so far, and the time that it takes."""

    def __init__(self, library: Any, line: int | None, seconds: float | None) -> None:
        self._library = library
        self._line = line
        self._total = self._in_line = 0
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def measured(self, part: bytes) -> bytes:
        self._total += len(part)
        last = part.rfind(b"\n")
        self._in_line = len(part) - last - 1 if last >= 0 else self._in_line + len(part)
        for size, most, where in ((self._total, WIRE_BYTES, ""), (self._in_line, self._line, " in one line")):
            if most is not None and size > most:
                raise EndlessResponseError(f"more than {most:,} bytes{where}")
        if time.monotonic() > self._end:
            raise self._library.ReadTimeout("the response does not end")
        return part


def _unpacking(library: Any, response: Any) -> Any:
    """A copy of the response that unpacks its body, which `response` itself then need not do."""
    packing = response.headers.pop("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        raise UnreadableResponseError("an unknown content encoding")
    headers = {"content-encoding": packing} if packing else {}
    return library.Response(response.status_code, headers=headers, stream=response.stream, request=response.request)
