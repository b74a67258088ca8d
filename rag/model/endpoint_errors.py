"""Translates exceptions of model calls into `AskbookError`, with a hint and the wait that a service asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rag.errors import AskbookError, OptionRefusedError
from rag.http.http_failures import redirection, retry_after, undecoded_body
from rag.model.provider_messages import FILTERED, NO_CREDIT, TOO_LONG, named_option, words_of
from rag.types import ErrorType

_OPENAI_KEY: Final = "OPENAI_API_KEY"


class RequestInfo(NamedTuple):
    """A request: the model, the variable with its endpoint's key, and the names of the options that were sent.

    `variable` is empty for a chat model that the caller brought.
    """

    model: str = ""
    variable: str = _OPENAI_KEY
    options: frozenset[str] = frozenset()


class _ModelKind(NamedTuple):
    """The type and code of an error, whether the same request may succeed later, and the key of its hint."""

    error_type: ErrorType
    code: str
    retryable: bool = False
    hint: str = ""


_BAD_REQUEST: Final = _ModelKind("invalid_input", "bad_request", hint="model")
_BY_STATUS: Final[dict[int, _ModelKind]] = {
    400: _BAD_REQUEST,
    401: _ModelKind("auth_error", "wrong_key", hint="key"),
    402: _ModelKind("api_error", "quota", hint="credit"),
    403: _ModelKind("auth_error", "forbidden", hint="key"),
    404: _ModelKind("api_error", "model_not_found", hint="name"),
    408: _ModelKind("api_error", "timeout", retryable=True, hint="later"),
    409: _ModelKind("api_error", "conflict", retryable=True, hint="later"),
    413: _ModelKind("context_overflow", "too_large", hint="shorter"),
    422: _BAD_REQUEST,
    429: _ModelKind("rate_limit", "rate_limit", retryable=True, hint="limits"),
}
_SERVER: Final = _ModelKind("api_error", "server_error", retryable=True, hint="later")
_NOT_IMPLEMENTED: Final = 501  # of all failures of a server, the one that lasts
_REDIRECTED: Final = _ModelKind("api_error", "redirected", hint="redirect")
_OTHER_STATUS: Final = _ModelKind("api_error", "unexpected_status", hint="address")
_OVERFLOW: Final = _ModelKind("context_overflow", "context_length", hint="shorter")
_FILTER: Final = _ModelKind("invalid_input", "content_filter", hint="rephrase")
_QUOTA: Final = _ModelKind("rate_limit", "quota", hint="credit")
_TIMEOUT: Final = _ModelKind("api_error", "timeout", retryable=True, hint="later")
_UNREACHABLE: Final = _ModelKind("api_error", "unreachable", retryable=True, hint="address")
_UNREADABLE: Final = _ModelKind("api_error", "bad_response", hint="address")

# Error codes in a stream that began with status 200, and the status that each stands for.
_STATUS_OF_CODE: Final = {
    "invalid_request_error": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "insufficient_quota": 429,
    "permission_error": 403,
    "permission_denied_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "timeout": 408,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "rate_limit": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "tool_use_failed": 500,  # Groq could not parse the model's tool call; a retry may succeed
    "overloaded_error": 503,
    "service_unavailable": 503,
}

# By class name, so that the libraries, such as a client's HTTP library, need not be imported.
_BY_CLASS: Final[dict[str, _ModelKind]] = {
    "ContextOverflowError": _OVERFLOW,
    "ModelAuthenticationError": _BY_STATUS[401],
    "ModelPermissionDeniedError": _BY_STATUS[403],
    "ModelInvalidRequestError": _BAD_REQUEST,
    "ModelNotFoundError": _BY_STATUS[404],
    "ModelRateLimitError": _BY_STATUS[429],
    "ModelAPIError": _SERVER,
    "ModelTimeoutError": _TIMEOUT,
    "ModelConnectionError": _UNREACHABLE,
    "ContentFilterFinishReasonError": _FILTER,
    "OpenAIRefusalError": _FILTER,
    "OpenAIModerationError": _FILTER,
    "LengthFinishReasonError": _ModelKind("api_error", "empty_answer"),
    "APIResponseValidationError": _UNREADABLE,
    "APITimeoutError": _TIMEOUT,
    "APIConnectionError": _UNREACHABLE,
    "InternalServerError": _SERVER,
    "TimeoutException": _TIMEOUT,  # of httpx, and of its successor httpx2
    "UnsupportedProtocol": _ModelKind("api_error", "unreachable", hint="address"),
    "InvalidURL": _ModelKind("api_error", "unreachable", hint="address"),
    "LocalProtocolError": _ModelKind("api_error", "unreachable", hint="address"),
    "TransportError": _UNREACHABLE,
    "DecodingError": _UNREADABLE,
    "TooManyRedirects": _UNREADABLE,
    "OutputParserException": _UNREADABLE,
    "EndlessResponseError": _ModelKind("api_error", "endless_answer", hint="address"),
    "TimeoutError": _TIMEOUT,
    "OSError": _UNREACHABLE,
    "ValueError": _UNREADABLE,
    "TypeError": _UNREADABLE,
    "AssertionError": _UNREADABLE,
}
_MESSAGES: Final = {
    "context_length": "The prompt is too long for the model.",
    "content_filter": "The provider's content filter refused the question or the answer.",
    "quota": "The account at the model's endpoint has no credit left.",
}
_MESSAGES_WITHOUT_STATUS: Final = {
    "timeout": "The model did not answer in time.",
    "unreachable": "The model could not be reached.",
    "bad_response": "The model's endpoint sent something unreadable.",
    "empty_answer": "The model sent an empty answer.",
    "endless_answer": "The model's endpoint sent far more than an answer has and was stopped.",
    "server_error": "The model's endpoint reported a failure in the middle of its answer.",
}
# OpenRouter rejects an unknown option with 404, llama.cpp with 500 or 501, others with 400 or 422.
_REFUSES_OPTIONS: Final = frozenset({400, 404, 422, 500, 501})
_UNKNOWN: Final = _ModelKind("api_error", "model")
# {key}, {address} and {name} stand for the variables, or for the keys of the profile, that configure the endpoint.
_HINTS: Final = {
    "key": "Check {key}, and that {address} is the endpoint it belongs to.",
    "credit": "Waiting does not help: check the account that {key} belongs to.",
    "name": "Check {name} and {address}.",
    "model": "The model's endpoint refused the request; check {name}.",
    "address": "Check the network, and {address}{if_set}.",
    "redirect": "Set {address} to the address that answers itself, if you trust it.",
    "later": "If it keeps failing, look at the status page of the endpoint, or set another model in {name}.",
    "limits": "If it keeps happening, check the limits of the account that {key} belongs to.",
    "rephrase": "Ask in other words.",
    "shorter": "Ask for fewer passages (-k), or start a new conversation.",
}
# For a chat model that the caller brought and configures.
_HINTS_FOR_GIVEN: Final = _HINTS | {
    "key": "Check the key of the chat model, and that it belongs to its address.",
    "model": "The model's endpoint refused the request; check the name and the options of the chat model.",
    "address": "Check the network, and the address of the chat model.",
    "redirect": "Give the chat model the address that answers itself, if you trust it.",
    "later": "If it keeps failing, look at the status page of the endpoint, or give another chat model.",
}


def model_error(failure: BaseException, asked: RequestInfo | None = None) -> AskbookError:
    """The failure of a model call as an `AskbookError`; one that already is one is returned unchanged.

    If the endpoint rejected one of the options in `asked`, it is an `OptionRefusedError`.
    """
    if isinstance(failure, AskbookError):
        return failure
    asked = asked or RequestInfo()
    status = _status(failure)
    kind = _kind(failure, status)
    option = None
    if status in _REFUSES_OPTIONS and kind.error_type != "context_overflow":
        option = named_option(words_of(failure), asked.options)
    error = (OptionRefusedError if option else AskbookError)(
        kind.error_type,
        kind.code,
        _message(failure, kind, status, asked),
        hint=_hint(kind.hint, asked),
        retry_after=retry_after(failure),
        retryable=kind.retryable,
    )
    if isinstance(error, OptionRefusedError):
        error.option = option or ""
    return error


def _status(failure: BaseException) -> int | None:
    """The HTTP status, or for an error in a stream the status that its code stands for; None if there is neither."""
    response = getattr(failure, "response", None)
    status = getattr(failure, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int):
        return status
    body = getattr(failure, "body", None)
    if not isinstance(body, Mapping):
        code = getattr(failure, "code", None)  # of google-genai
        return code if isinstance(code, int) and 400 <= code < 600 else None
    for name in ("status", "status_code", "code", "type"):
        value = body.get(name)
        if str(value).isdecimal() and 400 <= int(str(value)) < 600:
            return int(str(value))
        if isinstance(value, str) and value in _STATUS_OF_CODE:
            return _STATUS_OF_CODE[value]
    return None


def _kind(failure: BaseException, status: int | None) -> _ModelKind:
    kinds = type(undecoded_body(failure)).__mro__
    named = next((_BY_CLASS[cls.__name__] for cls in kinds if cls.__name__ in _BY_CLASS), None)
    if status is None and not getattr(failure, "body", None):
        return named or _UNKNOWN
    words = words_of(failure)
    if status not in (401, 413, 429) and (named is _OVERFLOW or TOO_LONG.search(words)):
        return _OVERFLOW
    if status in (None, 400, 403, 422) and FILTERED.search(words):
        return _FILTER
    if status == 429 and NO_CREDIT.search(words):
        return _QUOTA
    if status is None:
        return named or _SERVER
    if status < 300:
        return _UNREADABLE
    if status < 400:
        return _REDIRECTED
    return _BY_STATUS.get(status) or (_SERVER if status >= 500 and status != _NOT_IMPLEMENTED else _OTHER_STATUS)


def _message(failure: BaseException, kind: _ModelKind, status: int | None, asked: RequestInfo) -> str:
    if kind.code in _MESSAGES:
        return _MESSAGES[kind.code]
    if status is not None and kind is _REDIRECTED:
        return f"The model's endpoint answered {status}: {redirection(failure)}."
    if status is None or status < 400:
        return _MESSAGES_WITHOUT_STATUS.get(kind.code, f"The model's client raised {type(failure).__name__}.")
    model = f" for {asked.model}" if kind.code == "model_not_found" and asked.model else ""
    return f"The model's endpoint answered {status}{model}."


def _hint(kind: str, asked: RequestInfo) -> str:
    """What to do, with the names of what configures the endpoint."""
    if not asked.variable:
        key, address, name = "the key of the chat model", "its address", "the name of the chat model"
        return _HINTS_FOR_GIVEN.get(kind, "").format(key=key, address=address, name=name)
    own = asked.variable == _OPENAI_KEY
    address = "OPENAI_BASE_URL" if own else "model.base_url of the profile"
    name = "OPENAI_MODEL" if own else "model.name of the profile"
    if_set = " if it is set" if own else ""
    return _HINTS.get(kind, "").format(key=asked.variable, address=address, name=name, if_set=if_set)
