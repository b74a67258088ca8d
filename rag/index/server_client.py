"""A Qdrant server: its address, its key, and the clients for it."""

from __future__ import annotations

import asyncio
import inspect
import re
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from rag.errors import UsageError, host
from rag.http.http_clients import async_client_options, client_options
from rag.system.network import fault_of

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient
    from qdrant_client.async_client_base import AsyncQdrantBase

TIMEOUT: Final = 10  # seconds for one answer of the server
CALL: Final = 2 * TIMEOUT  # seconds for one call, its connection included
# `host:6333` without a scheme is an address, and a bare word is none.
_ADDRESS: Final = re.compile(r"[a-z]+://(?:[^/?#@]*@)?+[^/?#:@\s]|[^/?#\s]+:\d+(?:[/?#]|\Z)", re.IGNORECASE)
_KEY: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server, over gRPC with `grpc_port`, else REST. `repr` shows neither the key nor the address."""

    url: str = field(repr=False)
    key: str | None = field(default=None, repr=False)
    grpc_port: int | None = None

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return host(self.url)

    @property
    def sends_key_openly(self) -> bool:
        """Whether the key is sent over a network without encryption."""
        parts = urlsplit(self.url)
        return bool(self.key) and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")

    def asynchronous(self) -> AsyncQdrantClient:
        """A client for our own code. Connects to nothing. Raises `UsageError` for an invalid address or key.

        It is the remote half of an `AsyncQdrantClient`. The other half looks for texts to embed, and takes long to
        make.
        """
        import httpx
        from qdrant_client.async_qdrant_remote import AsyncQdrantRemote

        try:
            client = AsyncQdrantRemote(**self._options(async_client_options(httpx, seconds=TIMEOUT)))
        except (ValueError, ImportError) as error:
            raise _not_made(error) from error
        if self.grpc_port is not None:
            from rag.private_apis import use_own_channels

            use_own_channels(client, self.key)
        punctual: Any = PunctualClient(client)
        return cast("AsyncQdrantClient", punctual)

    def blocking(self) -> QdrantClient:
        """A blocking client for LangChain code; otherwise like `asynchronous`."""
        import httpx
        from qdrant_client import QdrantClient

        try:
            return QdrantClient(**self._options(client_options(httpx, seconds=TIMEOUT)))
        except (ValueError, ImportError) as error:
            raise _not_made(error) from error

    def _options(self, of_http: dict[str, Any]) -> dict[str, Any]:
        """The arguments of both clients. The key is a header: the client warns about an `api_key` without TLS."""
        if not _ADDRESS.match(self.url):
            raise _no_address()
        if self.key is not None and not _KEY.fullmatch(self.key):
            hint = "Copy the whole key, without spaces or line breaks."
            raise UsageError("QDRANT_API_KEY contains a character that no key can have.", code="qdrant_key", hint=hint)
        return {
            "url": self.url,
            "headers": of_http["headers"] | ({"api-key": self.key} if self.key else {}),
            "follow_redirects": of_http["follow_redirects"],
            "event_hooks": of_http["event_hooks"],
            "verify": of_http["verify"],
            "https": self.key is not None,  # for an address without a scheme
            "prefer_grpc": self.grpc_port is not None,
            "grpc_port": self.grpc_port or 6334,
            "timeout": TIMEOUT,
            "check_compatibility": False,  # the check starts a thread and warns on standard error
        }


class PunctualClient:
    """A client whose calls end after `CALL` seconds with `TimeoutError`. Its own timeout counts from byte to byte."""

    def __init__(self, client: AsyncQdrantBase) -> None:
        self._limited = client

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._limited, name)
        if not inspect.iscoroutinefunction(member):
            return member

        @wraps(member)
        async def call(*args: Any, **options: Any) -> Any:
            async with asyncio.timeout(CALL):
                return await member(*args, **options)

        return call


def _not_made(error: Exception) -> UsageError:
    """The error for a client that could not be made: because of the address, or of what the environment sets."""
    wrong = fault_of([error])
    return UsageError(wrong.message, code="network", hint=wrong.hint) if wrong else _no_address()


def _no_address() -> UsageError:
    """The error for an invalid address. The client's message is not shown: it may hold the address with a password."""
    return UsageError("QDRANT_URL is not an address.", code="qdrant_url", hint="Example: http://localhost:6333.")
