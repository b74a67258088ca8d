"""What the clients of hosted embedding and reranking models raise, as errors of ours: their one border.

Classes are told apart by the status they carry and by their names, so that the clients' libraries need not be loaded
to say what they raised. No text of theirs passes: `str` of Cohere's `ApiError` holds the answer's headers and body, and
a service that refuses a key may repeat it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import SecretStr

from rag.errors import AskbookError
from rag.faults import retry_after
from rag.types import ErrorType

Part = Literal["embedding", "rerank"]


@dataclass(frozen=True, slots=True)
class Service:
    """A hosted service: where it is, its key, and the variables that a hint names. `base_url` is None for its own."""

    name: str
    key: SecretStr
    base_url: str | None
    key_variable: str
    url_variable: str
    model_variable: str

    @property
    def place(self) -> str:
        """The service as messages name it, without credentials."""
        from rag.retrieval.clients import host

        return f"{self.name} ({host(self.base_url)})" if self.base_url else self.name


_AGAIN: Final = "Try again; if it stays, look at the status page of the service."

# What a status means: error type, end of the code, whether it may pass, what to do. {key}, {url} and {model} are the
# variables of the service.
_BY_STATUS: Final[dict[int, tuple[ErrorType, str, bool, str]]] = {
    401: ("auth_error", "auth", False, "Check {key}, and that it belongs to {url}."),
    403: ("auth_error", "auth", False, "Check what {key} may do, and that it belongs to {url}."),
    404: ("retrieval_error", "not_found", False, "Check {model} and {url}."),
    408: ("retrieval_error", "timeout", True, _AGAIN),
    429: ("rate_limit", "rate_limit", True, "Wait a moment; if it stays, check the quota of {key}."),
    498: ("auth_error", "auth", False, "Check {key}, and that it belongs to {url}."),
    504: ("retrieval_error", "timeout", True, _AGAIN),
}
_FAILED: Final[tuple[ErrorType, str, bool, str]] = ("retrieval_error", "server", True, _AGAIN)
_REFUSED: Final[tuple[ErrorType, str, bool, str]] = ("retrieval_error", "request", False, "Check {model} and {url}.")


@contextmanager
def hosted_faults(part: Part, service: Service) -> Iterator[None]:
    """Turn whatever a client raises in the block into an `AskbookError`.

    The foreign exception is not kept as its cause: a log that prints causes would print the key that it may repeat.
    """
    try:
        yield
    except Exception as failure:
        raise hosted_error(failure, part, service) from None


def hosted_error(failure: Exception, part: Part, service: Service) -> AskbookError:
    """The failure of a call, in our terms. An `AskbookError` passes unchanged.

    Codes are the part and an ending, such as "embedding_timeout".
    """
    if isinstance(failure, AskbookError):
        return failure
    status = getattr(failure, "status_code", None)
    if isinstance(status, int) and status >= 300:
        kind, ending, passing, hint = _BY_STATUS.get(status, _FAILED if status >= 500 else _REFUSED)
        said = f"{service.place} answered {status}."
    else:
        kind, ending, passing, said, hint = _without_status(failure, service)
    return AskbookError(
        kind,
        f"{part}_{ending}",
        f"{_DOES[part]}: {said}",
        hint=hint.format(key=service.key_variable, url=service.url_variable, model=service.model_variable),
        retry_after=retry_after(failure),
        retryable=passing,
    )


_DOES: Final[dict[Part, str]] = {"embedding": "Embedding failed", "rerank": "Reranking failed"}


def _without_status(failure: Exception, service: Service) -> tuple[ErrorType, str, bool, str, str]:
    names = {one.__name__ for one in type(failure).__mro__}
    place = service.place
    if names & {"TimeoutException", "APITimeoutError", "TimeoutError"}:
        return "retrieval_error", "timeout", True, f"{place} did not answer in time.", _AGAIN
    if names & {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError", "UnicodeEncodeError"}:
        hint = "Look for stray characters in {key} and {url}."
        return "retrieval_error", "request", False, f"{place} cannot be asked with this key and address.", hint
    if names & {"TransportError", "APIConnectionError", "StreamError", "OSError"}:
        hint = "Check the network, and {url} if it is set."
        return "retrieval_error", "unreachable", True, f"the connection to {place} failed.", hint
    if names & _UNREADABLE:
        hint = "Check {url} if it is set: it must be the address of such a service."
        return "retrieval_error", "response", False, f"{place} sent something unreadable.", hint
    said = f"the client of {place} raised {type(failure).__name__}."
    return "retrieval_error", "failed", False, said, "Try again; report it if it stays."


# A client that meets an answer of another shape trips over it in its own way. "ApiError" and "ParsingError" are
# Cohere's, with a status of 200; "HTTPError" covers httpx's answers that cannot be decoded or lead round in circles.
_UNREADABLE: Final = frozenset(
    {"ApiError", "ParsingError", "APIError", "HTTPError"}
    | {"ValueError", "TypeError", "AttributeError", "LookupError", "AssertionError"}
)
