"""Turn the exceptions of hosted embedding and reranking clients into ours.

They are recognised by their status and the names of their classes, so the libraries need not be loaded. Their texts are
not passed on: they hold headers and bodies, in which a service may repeat a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from pydantic import SecretStr

from rag.errors import AskbookError, host
from rag.http.http_failures import redirection, retry_after, undecoded_body
from rag.types import ErrorType

Part = Literal["embedding", "rerank"]


@dataclass(frozen=True, slots=True)
class Service:
    """A hosted service: its address, if it is not the client's own, its key, and the variables that hints name."""

    name: str
    key: SecretStr
    base_url: str | None
    key_variable: str
    url_variable: str
    model_variable: str

    @property
    def place(self) -> str:
        """The service's name and host, for messages."""
        return f"{self.name} ({host(self.base_url)})" if self.base_url else self.name


class _HostedKind(NamedTuple):
    """The type of an error, the end of its code, whether the same request may succeed later, and a hint.

    {key}, {url} and {model} in a hint stand for the variables of the service.
    """

    error_type: ErrorType
    ending: str
    retryable: bool
    hint: str


_AGAIN: Final = "Try again; if it keeps failing, look at the status page of the service."
_NO_KEY: Final = _HostedKind("auth_error", "auth", False, "Check {key}, and that it belongs to {url}.")
_TIMEOUT: Final = _HostedKind("retrieval_error", "timeout", True, _AGAIN)
_SERVER: Final = _HostedKind("retrieval_error", "server", True, _AGAIN)
_REFUSED: Final = _HostedKind("retrieval_error", "request", False, "Check {model} and {url}.")

_REDIRECTED: Final = _HostedKind(
    "retrieval_error", "redirected", False, "Set {url} to the address that answers itself, if you trust it."
)

_BY_STATUS: Final = {
    401: _NO_KEY,
    403: _HostedKind("auth_error", "auth", False, "Check what {key} may do, and that it belongs to {url}."),
    404: _HostedKind("retrieval_error", "not_found", False, "Check {model} and {url}."),
    408: _TIMEOUT,
    409: _SERVER,
    429: _HostedKind("rate_limit", "rate_limit", True, "Wait a moment; if it keeps failing, check the quota of {key}."),
    498: _NO_KEY,
    501: _REFUSED,  # not implemented, which lasts
    504: _TIMEOUT,
}

# Names of classes, of any library, in the order in which they are tried; the message about the service {place}.
# An unexpected answer makes a client raise one of many built-in exceptions. "ApiError" and "ParsingError" are Cohere's,
# with a status of 200; "HTTPError" covers answers that httpx cannot decode, and loops of redirects.
_BY_CLASS: Final = (
    ({"TimeoutException", "APITimeoutError", "TimeoutError"}, _TIMEOUT, "{place} did not answer in time."),
    (
        {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError", "UnicodeEncodeError"},
        _HostedKind("retrieval_error", "request", False, "Look for stray characters in {key} and {url}."),
        "{place} cannot be called with this key and address.",
    ),
    (
        {"TransportError", "APIConnectionError", "StreamError", "OSError"},
        _HostedKind("retrieval_error", "unreachable", True, "Check the network, and {url} if it is set."),
        "the connection to {place} failed.",
    ),
    (
        {"ApiError", "ParsingError", "APIError", "HTTPError"}
        | {"ValueError", "TypeError", "AttributeError", "LookupError", "AssertionError"}
        | {"ArithmeticError", "RecursionError"},  # a number or a nesting beyond what Python can read
        _HostedKind("retrieval_error", "response", False, "Check {url}: it must be the address of such a service."),
        "{place} sent something unreadable.",
    ),
)
_FAILED: Final = _HostedKind("retrieval_error", "failed", False, "Try again; report it if it keeps failing.")
_FAILURES: Final[dict[Part, str]] = {"embedding": "Embedding failed", "rerank": "Reranking failed"}


@contextmanager
def hosted_faults(part: Part, service: Service) -> Iterator[None]:
    """Turn every exception of a client in the block into an `AskbookError` without a cause, which could show a key."""
    try:
        yield
    except Exception as failure:
        raise hosted_error(failure, part, service) from None


def hosted_error(failure: Exception, part: Part, service: Service) -> AskbookError:
    """Our error for the failure of a call, with a code such as "embedding_timeout". An `AskbookError` is unchanged."""
    if isinstance(failure, AskbookError):
        return failure
    status = getattr(failure, "status_code", None)
    if isinstance(status, int) and status >= 300:
        kind = _BY_STATUS.get(status, _SERVER if status >= 500 else _REFUSED)
        message = f"{service.place} answered {status}."
        if status < 400:
            kind, message = _REDIRECTED, f"{service.place} answered {status}: {redirection(failure)}."
    else:
        kind, message = _by_class(failure, service)
    return AskbookError(
        kind.error_type,
        f"{part}_{kind.ending}",
        f"{_FAILURES[part]}: {message}",
        hint=kind.hint.format(key=service.key_variable, url=service.url_variable, model=service.model_variable),
        retry_after=retry_after(failure),
        retryable=kind.retryable,
    )


def _by_class(failure: Exception, service: Service) -> tuple[_HostedKind, str]:
    names = {base.__name__ for base in type(undecoded_body(failure)).__mro__}
    for known, kind, message in _BY_CLASS:
        if names & known:
            return kind, message.format(place=service.place)
    return _FAILED, f"the client of {service.place} raised {type(failure).__name__}."
