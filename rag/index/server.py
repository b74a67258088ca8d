"""A Qdrant server: its address, its key, the client for it, and what the client's exceptions mean.

A message holds the host and port of the address, and no text from the server or a proxy, which may repeat a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rag.errors import AskbookError, RetrievalError, UsageError, host
from rag.index.index_errors import no_collection
from rag.system.network import certificates, fault_of, proxy_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

TIMEOUT: Final = 10  # seconds for one answer of the server
# `host:6333` without a scheme is an address, and a bare word is none.
_ADDRESS: Final = re.compile(r"[a-z]+://(?:[^/?#@]*@)?+[^/?#:@\s]|[^/?#\s]+:\d+(?:[/?#]|\Z)", re.IGNORECASE)
_KEY: Final = re.compile(r"[\x21-\x7e]+")
# The HTTP status for each gRPC status (google.rpc.Code); all others are 500, and 0 is no answer.
_GRPC: Final = {
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404, "DEADLINE_EXCEEDED": 408, "CANCELLED": 408, "ALREADY_EXISTS": 409, "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501, "UNAVAILABLE": 0,
}  # fmt: skip
# What Python and pydantic raise for an answer of another form.
_UNREADABLE: Final = (ValueError, AssertionError, TypeError, LookupError, AttributeError)
_DIMENSIONS: Final = re.compile(r"expected dim: (\d{1,6}), got (\d{1,6})")


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

    def client(self) -> QdrantClient:
        """A client. Connects to nothing. Raises `UsageError` for an invalid address, key or proxy.

        The message of the client itself is not shown: it may hold the address with a password.
        """
        from qdrant_client import QdrantClient

        hint = "Example: http://localhost:6333."
        if not _ADDRESS.match(self.url):
            raise UsageError("QDRANT_URL is not an address.", code="qdrant_url", hint=hint)
        if self.key is not None and not _KEY.fullmatch(self.key):
            hint = "Copy the whole key, without spaces or line breaks."
            raise UsageError("QDRANT_API_KEY contains a character that no key can have.", code="qdrant_key", hint=hint)
        try:
            return QdrantClient(
                url=self.url,
                headers={"api-key": self.key} if self.key else {},  # it warns about an `api_key` without TLS
                https=self.key is not None,  # for an address without a scheme
                prefer_grpc=self.grpc_port is not None,
                grpc_port=self.grpc_port or 6334,
                timeout=TIMEOUT,
                check_compatibility=False,  # the check starts a thread and warns on standard error
                verify=certificates(),
                # A proxy that cannot be used stops a client even where NO_PROXY excepts the address.
                trust_env=proxy_of(self.url) is not None,
            )
        except Exception as error:
            if wrong := fault_of([error]):
                raise wrong.usage_error() from None
            if not isinstance(error, ValueError | ImportError | OSError):
                raise
            message = f"QDRANT_URL cannot be used ({type(error).__name__})."
            raise UsageError(message, code="qdrant_url", hint=hint) from error


@contextmanager
def server_faults(collection: str, where: str) -> Iterator[None]:
    """Turn the client's exceptions in the block into `AskbookError`s without a cause, whose text may hold a key."""
    try:
        yield
    except AskbookError:
        raise
    except Exception as error:
        failure = _translated(error, collection, where)
        if failure is None:
            raise  # a bug of ours
        raise failure from None


def is_missing(error: Exception) -> bool:
    """Whether the collection does not exist: Qdrant's own 404, not that of a proxy, or the engine's own error."""
    if isinstance(error, AskbookError):
        return error.code == "no_index"
    if isinstance(error, ValueError):  # local mode
        return str(error).startswith("Collection ") and str(error).endswith(" not found")
    return _status(error) == 404 and (_is_grpc(error) or bool(_server_text(error)))


def _translated(error: Exception, collection: str, where: str) -> AskbookError | None:
    """Our error for an exception of the client; None for an exception that the client does not raise."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    if is_missing(error):
        return no_collection(collection)
    if isinstance(error, QdrantException):  # a 429 with a retry-after, which may not be a number of seconds
        return _answered(error, 429, collection, where)
    if isinstance(error, UnexpectedResponse) or (_is_grpc(error) and _status(error)):
        return _answered(error, _status(error) or 0, collection, where)
    if isinstance(error, ApiException | OSError):
        return _unanswered(getattr(error, "source", error), where)
    if any(kind.__name__ == "RpcError" for kind in type(error).__mro__):
        return _failed("index_unreachable", where, "gRPC")
    # The client failed to read an answer that is not Qdrant's, or to make a request of the address.
    unreadable = isinstance(error, _UNREADABLE) or type(error).__module__.startswith("httpx")
    return _failed("index_response", where, type(error).__name__) if unreadable else None


def _status(error: Any) -> int | None:
    """The HTTP status of the answer; None if there was no answer."""
    if _is_grpc(error):
        return _GRPC.get(str(getattr(error.code(), "name", "")), 500)
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _is_grpc(error: Exception) -> bool:
    return callable(getattr(error, "code", None)) and callable(getattr(error, "details", None))


def _server_text(error: Any) -> str:
    """Qdrant's own error text; empty for any other answer. For matching only, never to be shown."""
    try:
        return str(error.details() or "") if _is_grpc(error) else str(json.loads(error.content)["status"]["error"])
    except (AttributeError, ValueError, KeyError, TypeError):
        return ""


def _answered(error: Exception, status: int, collection: str, where: str) -> AskbookError:
    if status in (401, 403):
        hint = "Check QDRANT_API_KEY, and that it may read this collection."
        message = f"The Qdrant server {where} refused the key ({status})."
        return AskbookError("auth_error", "index_auth", message, hint=hint)
    if status == 429:
        wait = getattr(error, "retry_after_s", None)
        message, hint = f"The Qdrant server {where} is busy (429).", "Wait a moment and try again."
        wait = wait if isinstance(wait, int) and wait >= 0 else None
        return AskbookError("rate_limit", "index_rate_limit", message, hint=hint, retry_after=wait, retryable=True)
    if status in (404, 501):
        return _failed("index_response", where, type(error).__name__)
    if status in (408, 504) or status >= 500:
        return _failed("index_timeout" if status in (408, 504) else "index_server", where, str(status))
    if sizes := _DIMENSIONS.search(_server_text(error)):
        message = f'The collection "{collection}" holds vectors of {sizes[1]} dimensions, not of {sizes[2]}.'
        hint = "Use the embedding model that the collection was made with, or another --collection."
        return RetrievalError("embedding_mismatch", message, hint=hint)
    hint = "Qdrant 1.19 or later is needed."
    if status == 413:
        hint = "Raise max_request_size_mb of the server to allow larger requests."
    elif "index required" in _server_text(error).lower():
        hint = "The server filters only by fields that have a payload index: ask without a filter, or create an index."
    return RetrievalError("index_request", f"The Qdrant server {where} refused the request ({status}).", hint=hint)


def _unanswered(source: Any, where: str) -> RetrievalError:
    """A request without an answer, or with one that cannot be read."""
    from httpx import ConnectTimeout, DecodingError, TimeoutException, UnsupportedProtocol

    code = "index_unreachable"
    if isinstance(source, ValueError | DecodingError | UnsupportedProtocol):
        code = "index_response"
    elif isinstance(source, TimeoutException | TimeoutError) and not isinstance(source, ConnectTimeout):
        code = "index_timeout"
    return _failed(code, where, type(source).__name__)


# For each code: what happened, what to do, and whether the same call may succeed a moment later.
_FAILURES: Final = {
    "index_unreachable": (
        "The Qdrant server {where} does not answer ({what}).",
        "Check QDRANT_URL and that the server runs.",
        True,
    ),
    "index_timeout": (
        f"The Qdrant server {{where}} did not answer within {TIMEOUT} seconds.",
        "Try again; if it keeps failing, look at the server's load.",
        True,
    ),
    "index_server": (
        "The Qdrant server {where} failed ({what}).",
        "Try again; if it keeps failing, look at the server's log.",
        True,
    ),
    "index_response": (
        "The answer of {where} does not come from a Qdrant server ({what}).",
        "Check QDRANT_URL: it must be the address of a Qdrant server's REST port.",
        False,
    ),
}


def _failed(code: str, where: str, what: str) -> RetrievalError:
    message, hint, retryable = _FAILURES[code]
    return RetrievalError(code, message.format(where=where, what=what), hint=hint, retryable=retryable)
