"""Options for the HTTP clients of services: a response has a largest size, and no redirect is followed.

A redirect could carry the question, the passages and the texts of a book to a host that the user did not name. httpx
and its successor httpx2, which the openai library uses, have the same interface; neither is imported here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from rag.model.received_answer import WIRE_BYTES, EndlessResponseError, UnreadableResponseError

# Both libraries unpack these piece by piece. Others, or one inside another, could fill the memory from one piece.
_PACKINGS: Final = frozenset({"", "identity", "gzip", "deflate"})
_HEADERS: Final = {"accept-encoding": "gzip, deflate"}


def print_no_answers() -> None:
    """Keep pydantic from printing parts of an answer, which may repeat the key, to standard error.

    The openai library does not check the types of an answer, and pydantic warns of wrong ones with their values. A
    warning can only be turned off for the whole process.
    """
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)


def client_options(library: Any, line: int | None = None, seconds: float | None = None) -> dict[str, Any]:
    """The options of a blocking client of `library`, httpx or httpx2.

    `line` is the most bytes in one line, and `seconds` the longest time from the status of a response to its end: a
    server that sends a byte now and then never exceeds the client's own timeout.
    """
    hooks = {"response": [_hook(library, line, seconds)]}
    return {"follow_redirects": False, "headers": _HEADERS, "event_hooks": hooks}


def async_client_options(library: Any, line: int | None = None, seconds: float | None = None) -> dict[str, Any]:
    """The options of an asynchronous client; otherwise like `client_options`."""
    hooks = {"response": [_async_hook(library, line, seconds)]}
    return {"follow_redirects": False, "headers": _HEADERS, "event_hooks": hooks}


def _hook(library: Any, line: int | None, seconds: float | None) -> Any:

    class Limited(library.SyncByteStream):  # type: ignore[misc]  # the base is a parameter
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            size, late = _Size(line), _Late(library, seconds)
            for part in self._inner.iter_bytes():
                size.add(part)
                late.check()
                yield part

        def close(self) -> None:
            inner, self._inner = self._inner, None  # it refers back to the response, which would outlive its use
            if inner is not None:
                inner.close()

    def limit(response: Any) -> None:
        response.stream = Limited(_unpacking(library, response))

    return limit


def _async_hook(library: Any, line: int | None, seconds: float | None) -> Any:
    class Limited(library.AsyncByteStream):  # type: ignore[misc]  # the base is a parameter
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, late = _Size(line), _Late(library, seconds)
            async for part in self._inner.aiter_bytes():
                size.add(part)
                late.check()
                yield part

        async def aclose(self) -> None:
            inner, self._inner = self._inner, None  # as above
            if inner is not None:
                await inner.aclose()

    async def limit(response: Any) -> None:
        response.stream = Limited(_unpacking(library, response))

    return limit


class _Late:
    """The time that a response may take. Raises the library's `ReadTimeout`, as its own timeouts do."""

    def __init__(self, library: Any, seconds: float | None) -> None:
        self._library = library
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        if self._end is not None and time.monotonic() > self._end:
            raise self._library.ReadTimeout("the response does not end")


class _Size:
    """The size of a response so far. With `line`, a line may have only so many bytes, as in a stream of events."""

    def __init__(self, line: int | None) -> None:
        self._most_in_line = line
        self._total = 0
        self._in_line = 0

    def add(self, part: bytes) -> None:
        """Raises `EndlessResponseError` when the response is too large."""
        self._total += len(part)
        if self._total > WIRE_BYTES:
            raise EndlessResponseError(f"more than {WIRE_BYTES:,} bytes")
        last = part.rfind(b"\n")
        self._in_line = len(part) - last - 1 if last >= 0 else self._in_line + len(part)
        if self._most_in_line is not None and self._in_line > self._most_in_line:
            raise EndlessResponseError(f"more than {self._most_in_line:,} bytes in one line")


def _unpacking(library: Any, response: Any) -> Any:
    """A copy of the response that unpacks its body, which `response` itself then need not do."""
    packing = response.headers.pop("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        raise UnreadableResponseError("an unknown content encoding")
    headers = {"content-encoding": packing} if packing else {}
    return library.Response(response.status_code, headers=headers, stream=response.stream, request=response.request)
