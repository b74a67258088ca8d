"""The way to a Qdrant server: its address, its key, and the clients for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rag.errors import UsageError, host

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient


TIMEOUT: Final = 10  # seconds for one answer of a server
_KEY: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server. With `grpc_port` questions and points go over gRPC, otherwise over REST.

    Neither its address, which may hold a password, nor its key is in its `repr`.
    """

    url: str = field(repr=False)
    key: str | None = field(default=None, repr=False)
    grpc_port: int | None = None

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return host(self.url)

    @property
    def sends_key_openly(self) -> bool:
        """Whether the key travels over a network without encryption."""
        parts = urlsplit(self.url)
        return bool(self.key) and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")

    def asynchronous(self) -> AsyncQdrantClient:
        """A client for our own code. Connects to nothing. Raises `UsageError` for an address or a key that is none."""
        from qdrant_client import AsyncQdrantClient

        try:
            client = AsyncQdrantClient(**self._options())
        except ValueError as error:
            raise _no_address() from error
        if self.grpc_port is not None:
            from rag.private_apis import use_own_channels

            use_own_channels(client, self.key)
        return client

    def blocking(self) -> QdrantClient:
        """A client for LangChain's code, as `asynchronous`."""
        from qdrant_client import QdrantClient

        try:
            return QdrantClient(**self._options())
        except ValueError as error:
            raise _no_address() from error

    def _options(self) -> dict[str, Any]:
        """The key goes as a header: given as a key, the client warns on standard error where there is no TLS."""
        if self.key is not None and not _KEY.fullmatch(self.key):
            hint = "Copy the whole key, without spaces or line breaks."
            raise UsageError("QDRANT_API_KEY has a character that no key has.", code="qdrant_key", hint=hint)
        return {
            "url": self.url,
            "headers": {"api-key": self.key} if self.key else None,
            "https": self.key is not None,  # of an address that does not say
            "prefer_grpc": self.grpc_port is not None,
            "grpc_port": self.grpc_port or 6334,
            "timeout": TIMEOUT,
            "check_compatibility": False,  # it asks in a thread of its own and warns on standard error
        }


def _no_address() -> UsageError:
    """The client's own message may hold the address, and so a password: it is not repeated."""
    return UsageError("QDRANT_URL is not an address.", code="qdrant_url", hint="It looks like http://localhost:6333.")
