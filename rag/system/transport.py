"""HTTP clients for OpenAI's library. They open nothing before a request, and follow no redirects.

A redirect could carry the question and the passages to a host that the user did not name.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, Final

import httpx2

from rag.system.network import certificates, done, proxy_of

MOST: Final = 64 * 2**20  # bytes of a response; an event takes about 300 for a token
_LIMITS: Final = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)  # those of OpenAI's library
_SECRET: Final = 20  # characters of a key; servers that need none are given words
_DONE: Final = re.compile(rb"(?m)^data: ?\[DONE\]")
_DONE_BYTES: Final = 16
# OpenAI's library adds headers of OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS. They are for OpenAI.
_FOR_ANYBODY: Final = frozenset({
    "host", "accept", "accept-encoding", "connection", "user-agent", "authorization", "content-type", "content-length",
    "transfer-encoding",
})  # fmt: skip


class ResponseTooLongError(ValueError):
    """A response exceeded the limit."""


def clients(address: str, key: str, timeout: Any, *, is_openai: bool) -> tuple[httpx2.Client, httpx2.AsyncClient]:
    """A blocking and an asynchronous client for an address, with one key.

    The proxy and the certificates of the environment are read at the first request, which raises `NetworkSettingError`
    for those that cannot be used. A key that a response repeats is blanked out, since texts of errors reach tracers.
    """
    options: dict[str, Any] = {
        "timeout": timeout,
        "headers": {"accept-encoding": "identity"},  # nothing is unpacked beyond the limit
        "follow_redirects": False,
    }
    service = _Service(address, key, is_openai=is_openai)
    return (
        httpx2.Client(transport=_Blocking(service), **options),
        httpx2.AsyncClient(transport=_Asynchronous(service), **options),
    )


class _Service:
    """What is done to every request to a service, and to every response."""

    def __init__(self, address: str, key: str, *, is_openai: bool) -> None:
        self._address = address
        self._key = key
        self._is_openai = is_openai

    def options(self) -> dict[str, Any]:
        """The arguments of a transport."""
        return {"proxy": proxy_of(self._address), "verify": certificates(), "limits": _LIMITS}

    def prepare(self, request: httpx2.Request) -> None:
        if self._is_openai:
            return
        for name in set(request.headers) - _FOR_ANYBODY:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {self._key}"

    def watched(self, response: httpx2.Response) -> httpx2.Response:
        secret = self._key.encode() if len(self._key) >= _SECRET else b""
        body = _Body(response.stream, secret)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=body, extensions=response.extensions
        )


class _Blocking(httpx2.BaseTransport):
    def __init__(self, service: _Service) -> None:
        self._service = service
        self._inner: httpx2.HTTPTransport | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._inner = self._inner or httpx2.HTTPTransport(**self._service.options())
        self._service.prepare(request)
        return self._service.watched(self._inner.handle_request(request))

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


class _Asynchronous(httpx2.AsyncBaseTransport):
    def __init__(self, service: _Service) -> None:
        self._service = service
        self._inner: httpx2.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._inner = self._inner or httpx2.AsyncHTTPTransport(**self._service.options())
        self._service.prepare(request)
        response = self._service.watched(await self._inner.handle_async_request(request))
        is_json = response.headers.get("content-type", "").startswith("application/json")
        if not is_json or response.status_code != 200 or b'"stream":true' not in request.content:
            return response
        body = await response.aread()  # "stream" was ignored
        await response.aclose()
        return httpx2.Response(200, content=_as_events(body), headers={"content-type": "text/event-stream"})

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def _as_events(body: bytes) -> bytes:
    """A completion that was not streamed as the stream of one chunk; anything else as one event."""
    with suppress(ValueError, TypeError, AttributeError, LookupError, RecursionError):
        completion = json.loads(body)
        for choice in completion["choices"]:
            choice["delta"] = message = choice.pop("message")
            for index, call in enumerate(message.get("tool_calls") or ()):
                call["index"] = index
        body = json.dumps(completion).encode()
    if (found := done.get()) is not None:
        found.append(True)
    return b"data: " + body.replace(b"\n", b" ") + b"\n\n"


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The body of a response. Reading raises `ResponseTooLongError` beyond `MOST` bytes."""

    def __init__(self, inner: Any, secret: bytes) -> None:
        self._inner = inner
        self._secret = secret
        self._read = 0
        self._end = b""  # the last bytes, in which the beginning of [DONE] may be

    def __iter__(self) -> Iterator[bytes]:
        return map(self._seen, self._inner)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            yield self._seen(part)

    def _seen(self, part: bytes) -> bytes:
        self._read += len(part)
        if self._read > MOST:
            raise ResponseTooLongError(f"more than {MOST:,} bytes")
        if (found := done.get()) is not None and _DONE.search(self._end + part):
            found.append(True)
        self._end = (self._end + part)[-_DONE_BYTES:]
        return part.replace(self._secret, b"***") if self._secret else part

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        await self._inner.aclose()
