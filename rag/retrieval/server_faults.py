"""What qdrant-client raises, as errors of ours. Nothing of an address but its host and port gets into a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rag.errors import AskbookError, RetrievalError
from rag.retrieval.faults import no_collection

if TYPE_CHECKING:
    from qdrant_client.http.exceptions import UnexpectedResponse


def host(url: str) -> str:
    """Host and port of an address, without its credentials, path and query."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    try:
        return f"{parts.hostname or 'the server'}{f':{parts.port}' if parts.port else ''}"
    except ValueError:  # a port that is no number
        return parts.hostname or "the server"


@contextmanager
def server_faults(collection: str, where: str) -> Iterator[None]:
    """Turn what the client raises in the block into `AskbookError`s; `where` is the server's host."""
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except AskbookError:
        raise
    except ResourceExhaustedResponse as error:
        raise _busy(where, error.retry_after_s) from error
    except QdrantException as error:  # of these the client has one more: a Retry-After that is not a number of seconds
        raise _busy(where, None) from error
    except UnexpectedResponse as error:
        raise _answered(error, collection, where) from error
    except (ApiException, OSError) as error:
        source = getattr(error, "source", error)
        if isinstance(source, ValueError):  # an answer, but not in the form of one
            raise _nonsense(where, source) from error
        raise RetrievalError(
            "index_unreachable",
            f"The Qdrant server {where} does not answer ({type(source).__name__}).",
            hint="Check QDRANT_URL and that the server runs.",
            retryable=True,
        ) from error
    except ValueError as error:
        if is_missing(error):
            raise no_collection(collection) from error
        raise _nonsense(where, error) from error
    except (AssertionError, TypeError, KeyError, AttributeError) as error:
        raise _nonsense(where, error) from error


def is_missing(error: Exception) -> bool:
    """Whether the client says that there is no such collection: a 404, or local mode's `ValueError`."""
    if isinstance(error, ValueError):
        return str(error).startswith("Collection ") and str(error).endswith(" not found")
    return getattr(error, "status_code", None) == 404


def _answered(error: UnexpectedResponse, collection: str, where: str) -> AskbookError:
    status = error.status_code or 0
    if status in (401, 403):
        return AskbookError(
            "auth_error",
            "index_auth",
            f"The Qdrant server {where} refused the key ({status}).",
            hint="Check QDRANT_API_KEY.",
        )
    if status == 429:
        return _busy(where, None)
    if status == 404:
        return no_collection(collection)
    if status in (408, 502, 503, 504) or status >= 500:
        return RetrievalError(
            "index_server",
            f"The Qdrant server {where} failed ({status}).",
            hint="Try again; if it stays, look at the server's log.",
            retryable=True,
        )
    return RetrievalError(
        "index_request",
        f"The Qdrant server {where} refused the request ({status}: {_reason(error)}).",
        hint="Qdrant 1.19 or later is needed.",
    )


def _busy(where: str, seconds: int | None) -> AskbookError:
    return AskbookError(
        "rate_limit",
        "index_rate_limit",
        f"The Qdrant server {where} is busy (429).",
        hint="Wait a moment and try again.",
        retry_after=seconds,
        retryable=True,
    )


def _nonsense(where: str, error: Exception) -> RetrievalError:
    return RetrievalError(
        "index_response",
        f"The answer of {where} is not one of a Qdrant server ({type(error).__name__}).",
        hint="Check QDRANT_URL: it must be the address of a Qdrant server's REST port.",
    )


def _reason(error: UnexpectedResponse) -> str:
    """The server's own words for a refused request; they speak of vectors and filters, not of keys."""
    try:
        text = json.loads(error.content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        text = error.reason_phrase
    return " ".join(str(text).split())[:200]
