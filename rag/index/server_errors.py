"""What qdrant-client raises, over REST and over gRPC, as errors of ours.

Nothing of an address but its host and port gets into a message, and nothing of what the server or a proxy before it has
written: such a text may repeat a key.
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

# The HTTP status that means what a gRPC one does (google.rpc.Code); the rest are the server's failures.
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
_DIMENSIONS: Final = re.compile(r"expected dim: (\d{1,6}), got (\d{1,6})")


@contextmanager
def server_faults(collection: str, where: str) -> Iterator[None]:
    """Turn what the client raises in the block into `AskbookError`s; `where` is the server's host.

    They are raised from nothing: LangGraph logs what a node raises with its causes, and their texts may hold a key.
    """
    try:
        yield
    except AskbookError:
        raise
    except Exception as error:
        failure = _told(error, collection, where)
        if failure is None:
            raise  # a bug of ours
        raise failure from None


def _told(error: Exception, collection: str, where: str) -> AskbookError | None:
    """The error of ours that an exception of the client is; None for what the client does not raise."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return _answered(error, collection, where)
    if isinstance(error, QdrantException):  # a 429 that names a time, or one that is no number of seconds
        return _busy(where, getattr(error, "retry_after_s", None))
    if isinstance(error, ApiException | OSError):
        return _unanswered(getattr(error, "source", error), where)
    if any(one.__name__ == "RpcError" for one in type(error).__mro__):
        return _called(error, collection, where)
    if isinstance(error, ValueError) and is_missing(error):
        return no_collection(collection)
    # An answer in no form of Qdrant's, or an address that no request can be made of.
    of_the_answer = isinstance(error, ValueError | AssertionError | TypeError | LookupError | AttributeError)
    return _nonsense(where, error) if of_the_answer or type(error).__module__.startswith("httpx") else None


def is_missing(error: Exception) -> bool:
    """Whether the client says that there is no such collection: a 404 of Qdrant's, or local mode's `ValueError`.

    The 404 of something else, such as a proxy, is not Qdrant's: the collection may well exist.
    """
    if isinstance(error, ValueError):
        return str(error).startswith("Collection ") and str(error).endswith(" not found")
    return _status(error) == 404 and (_is_grpc(error) or bool(_said(error)))


def is_conflict(error: Exception) -> bool:
    """Whether the client says that a collection of that name exists already."""
    return _status(error) == 409 or (_status(error) in (400, None) and "already exists" in (_said(error) or str(error)))


def _status(error: Exception) -> int | None:
    """The HTTP status of an answer; None where there was none."""
    if _is_grpc(error):
        return _STATUS_OF.get(_grpc_code(error), 500)
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _is_grpc(error: Exception) -> bool:
    return callable(getattr(error, "code", None)) and callable(getattr(error, "details", None))


def _grpc_code(error: Any) -> str:
    return str(getattr(error.code(), "name", "UNKNOWN"))


def _said(error: Exception) -> str:
    """What Qdrant has written in an error of its form; empty for anything else. To look at, never to show."""
    try:
        if _is_grpc(error):
            return str(error.details() or "")  # type: ignore[attr-defined]  # gRPC's errors have it, RpcError has not
        return str(json.loads(error.content)["status"]["error"])  # type: ignore[attr-defined]  # as an answer has
    except (AttributeError, ValueError, KeyError, TypeError):
        return ""


def _called(error: Exception, collection: str, where: str) -> AskbookError:
    """A failed gRPC call. One without a connection says so as UNAVAILABLE; plain errors of gRPC have no code at all."""
    if not _is_grpc(error) or _grpc_code(error) == "UNAVAILABLE":
        return _unreachable(where, "gRPC")
    if _grpc_code(error) == "UNIMPLEMENTED":
        return _nonsense(where, error)
    if _grpc_code(error) == "RESOURCE_EXHAUSTED":
        return _busy(where, _seconds(error))
    return _answered(error, collection, where)


def _seconds(error: Any) -> int | None:
    """The time to wait that a busy server names beside its status."""
    named = [value for key, value in error.trailing_metadata() or () if key == "retry-after"]
    return int(named[0]) if named and str(named[0]).isdecimal() else None


def _answered(error: Exception, collection: str, where: str) -> AskbookError:
    status = _status(error) or 0
    if status in (401, 403):
        return AskbookError(
            "auth_error",
            "index_auth",
            f"The Qdrant server {where} refused the key ({status}).",
            hint="Check QDRANT_API_KEY, and that it may read this collection.",
        )
    if status == 404:
        return no_collection(collection) if is_missing(error) else _nonsense(where, error)
    if status == 429:
        return _busy(where, None)
    if status in (408, 504):
        return _late(where)
    if status >= 500:
        return RetrievalError(
            "index_server",
            f"The Qdrant server {where} failed ({status}).",
            hint="Try again; if it stays, look at the server's log.",
            retryable=True,
        )
    return _refused(error, status, collection, where)


def _refused(error: Exception, status: int, collection: str, where: str) -> RetrievalError:
    """A request that fails each time it is made. Only what can be told by a few known words is told."""
    if sizes := _DIMENSIONS.search(_said(error)):
        return RetrievalError(
            "embedding_mismatch",
            f'The collection "{collection}" holds vectors of {sizes[1]} dimensions, not of {sizes[2]}.',
            hint="Use the embedding model that the collection was made with, or another --collection.",
        )
    if status == 413:
        hint = "The server takes larger requests with a larger max_request_size_mb."
    elif "index required" in _said(error).lower():
        hint = "The server filters only by fields that have a payload index: ask without a filter, or have one made."
    else:
        hint = "Qdrant 1.19 or later is needed."
    return RetrievalError("index_request", f"The Qdrant server {where} refused the request ({status}).", hint=hint)


def _unanswered(source: Exception, where: str) -> RetrievalError:
    """A request that got no answer, or none that can be read."""
    from httpx import ConnectTimeout, DecodingError, TimeoutException, UnsupportedProtocol

    if isinstance(source, ValueError | DecodingError | UnsupportedProtocol):
        return _nonsense(where, source)
    if isinstance(source, TimeoutException) and not isinstance(source, ConnectTimeout):
        return _late(where)
    return _unreachable(where, type(source).__name__)


def _unreachable(where: str, what: str) -> RetrievalError:
    return RetrievalError(
        "index_unreachable",
        f"The Qdrant server {where} does not answer ({what}).",
        hint="Check QDRANT_URL and that the server runs.",
        retryable=True,
    )


def _late(where: str) -> RetrievalError:
    return RetrievalError(
        "index_timeout",
        f"The Qdrant server {where} did not answer within {TIMEOUT} seconds.",
        hint="Try again; if it stays, look at the server's load.",
        retryable=True,
    )


def _busy(where: str, seconds: int | None) -> AskbookError:
    return AskbookError(
        "rate_limit",
        "index_rate_limit",
        f"The Qdrant server {where} is busy (429).",
        hint="Wait a moment and try again.",
        retry_after=seconds if seconds is not None and seconds >= 0 else None,
        retryable=True,
    )


def _nonsense(where: str, error: Exception) -> RetrievalError:
    return RetrievalError(
        "index_response",
        f"The answer of {where} is not one of a Qdrant server ({type(error).__name__}).",
        hint="Check QDRANT_URL: it must be the address of a Qdrant server's REST port.",
    )
