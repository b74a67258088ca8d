"""Turn the exceptions of qdrant-client, over REST and gRPC, into ours.

A message holds the host and port of the address, and no text from the server or a proxy, which may repeat a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rag.errors import AskbookError, RetrievalError
from rag.index.index_errors import no_collection
from rag.index.server_client import TIMEOUT

# The HTTP status for each gRPC status (google.rpc.Code); all others are 500.
_STATUS_OF: Final = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "DEADLINE_EXCEEDED": 408,
    "CANCELLED": 408,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
}
# What Python and pydantic raise for an answer of another form.
_UNREADABLE: Final = (
    ValueError, AssertionError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
_NOT_IMPLEMENTED: Final = 501  # of all failures of a server, the one that lasts
_DIMENSIONS: Final = re.compile(r"expected dim: (\d{1,6}), got (\d{1,6})")


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


def _translated(error: Exception, collection: str, where: str) -> AskbookError | None:
    """Our error for an exception of the client; None for an exception that the client does not raise."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return _answered(error, collection, where)
    if isinstance(error, QdrantException):  # a 429 with a retry-after, which may not be a number of seconds
        return _busy(where, getattr(error, "retry_after_s", None))
    if isinstance(error, ApiException | OSError):
        return _unanswered(getattr(error, "source", error), where)
    if any(kind.__name__ == "RpcError" for kind in type(error).__mro__):
        return _grpc_failure(error, collection, where)
    if isinstance(error, ValueError) and is_missing(error):
        return no_collection(collection)
    # The client failed to read an answer that is not Qdrant's, or to make a request of the address.
    unreadable = isinstance(error, _UNREADABLE)
    return _not_qdrant(where, error) if unreadable or type(error).__module__.startswith("httpx") else None


def is_missing(error: Exception) -> bool:
    """Whether the collection does not exist: Qdrant's own 404, not that of a proxy, or local mode's `ValueError`."""
    if isinstance(error, ValueError):
        return str(error).startswith("Collection ") and str(error).endswith(" not found")
    return _status(error) == 404 and (_is_grpc(error) or bool(_server_text(error)))


def is_forbidden(error: Exception) -> bool:
    """Whether the key may not do this, though it may do other things."""
    return _status(error) == 403


def is_conflict(error: Exception) -> bool:
    """Whether the exception means that a collection of that name exists already."""
    text = _server_text(error) or str(error)
    return _status(error) == 409 or (_status(error) in (400, None) and "already exists" in text)


def _status(error: Exception) -> int | None:
    """The HTTP status of the answer; None if there was no answer."""
    if _is_grpc(error):
        return _STATUS_OF.get(_grpc_code(error), 500)
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _is_grpc(error: Exception) -> bool:
    return callable(getattr(error, "code", None)) and callable(getattr(error, "details", None))


def _grpc_code(error: Any) -> str:
    return str(getattr(error.code(), "name", "UNKNOWN"))


def _server_text(error: Exception) -> str:
    """Qdrant's own error text; empty for any other answer. For matching only, never to be shown."""
    try:
        if _is_grpc(error):
            return str(error.details() or "")  # type: ignore[attr-defined]  # gRPC's errors have it, RpcError has not
        return str(json.loads(error.content)["status"]["error"])  # type: ignore[attr-defined]  # as an answer has
    except (AttributeError, ValueError, KeyError, TypeError):
        return ""


def _grpc_failure(error: Exception, collection: str, where: str) -> AskbookError:
    """A failed gRPC call. Without a connection it is UNAVAILABLE; plain errors of gRPC have no code."""
    if not _is_grpc(error) or _grpc_code(error) == "UNAVAILABLE":
        return _unreachable(where, "gRPC")
    if _grpc_code(error) == "UNIMPLEMENTED":
        return _not_qdrant(where, error)
    if _grpc_code(error) == "RESOURCE_EXHAUSTED":
        return _busy(where, _seconds(error))
    return _answered(error, collection, where)


def _seconds(error: Any) -> int | None:
    """The `retry-after` of a busy server, in seconds."""
    values = [value for key, value in error.trailing_metadata() or () if key == "retry-after"]
    return int(values[0]) if values and str(values[0]).isdecimal() else None


def _answered(error: Exception, collection: str, where: str) -> AskbookError:
    status = _status(error) or 0
    if status in (401, 403):
        hint = "Check QDRANT_API_KEY, and that it may read this collection."
        return AskbookError(
            "auth_error", "index_auth", f"The Qdrant server {where} refused the key ({status}).", hint=hint
        )
    if status == 404:
        return no_collection(collection) if is_missing(error) else _not_qdrant(where, error)
    if status == 429:
        return _busy(where, None)
    if status in (408, 504):
        return _timed_out(where)
    if status >= 500 and status != _NOT_IMPLEMENTED:
        hint = "Try again; if it keeps failing, look at the server's log."
        return RetrievalError(
            "index_server", f"The Qdrant server {where} failed ({status}).", hint=hint, retryable=True
        )
    return _refused(error, status, collection, where)


def _refused(error: Exception, status: int, collection: str, where: str) -> RetrievalError:
    """A request that the server rejects every time. A few known texts of the server get a hint of their own."""
    if sizes := _DIMENSIONS.search(_server_text(error)):
        message = f'The collection "{collection}" holds vectors of {sizes[1]} dimensions, not of {sizes[2]}.'
        hint = "Use the embedding model that the collection was made with, or another --collection."
        return RetrievalError("embedding_mismatch", message, hint=hint)
    if status == 413:
        hint = "Raise max_request_size_mb of the server to allow larger requests."
    elif "index required" in _server_text(error).lower():
        hint = "The server filters only by fields that have a payload index: ask without a filter, or create an index."
    else:
        hint = "Qdrant 1.19 or later is needed."
    return RetrievalError("index_request", f"The Qdrant server {where} refused the request ({status}).", hint=hint)


def _unanswered(source: Exception, where: str) -> RetrievalError:
    """A request without an answer, or with one that cannot be read."""
    from httpx import ConnectTimeout, DecodingError, TimeoutException, UnsupportedProtocol

    if isinstance(source, ValueError | DecodingError | UnsupportedProtocol):
        return _not_qdrant(where, source)
    if isinstance(source, TimeoutException | TimeoutError) and not isinstance(source, ConnectTimeout):
        return _timed_out(where)
    return _unreachable(where, type(source).__name__)


def _unreachable(where: str, what: str) -> RetrievalError:
    message = f"The Qdrant server {where} does not answer ({what})."
    hint = "Check QDRANT_URL and that the server runs."
    return RetrievalError("index_unreachable", message, hint=hint, retryable=True)


def _timed_out(where: str) -> RetrievalError:
    message = f"The Qdrant server {where} did not answer within {TIMEOUT} seconds."
    hint = "Try again; if it keeps failing, look at the server's load."
    return RetrievalError("index_timeout", message, hint=hint, retryable=True)


def _busy(where: str, seconds: int | None) -> AskbookError:
    return AskbookError(
        "rate_limit",
        "index_rate_limit",
        f"The Qdrant server {where} is busy (429).",
        hint="Wait a moment and try again.",
        retry_after=seconds if seconds is not None and seconds >= 0 else None,
        retryable=True,
    )


def _not_qdrant(where: str, error: Exception) -> RetrievalError:
    message = f"The answer of {where} does not come from a Qdrant server ({type(error).__name__})."
    hint = "Check QDRANT_URL: it must be the address of a Qdrant server's REST port."
    return RetrievalError("index_response", message, hint=hint)
