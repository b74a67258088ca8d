"""The border to the model: whatever a client raises becomes an `AskbookError` here.

The classes are told apart by LangChain's provider-neutral `Model*Error` family and by the HTTP status they carry, so
any OpenAI-compatible endpoint is covered. Texts of foreign exceptions never pass: they may hold keys or addresses.
"""

from __future__ import annotations

import math
from typing import Any, Final

from rag.errors import AskbookError
from rag.types import ErrorType

_CHECK_KEY: Final = "Check OPENAI_API_KEY, and that OPENAI_BASE_URL is the endpoint it belongs to."
_SHORTER: Final = "Ask for fewer passages (-k), or start a new conversation."

# status: type, code, whether the same request may succeed later, what to do
_BY_STATUS: Final[dict[int, tuple[ErrorType, str, bool, str]]] = {
    400: ("invalid_input", "bad_request", False, "The model's endpoint refused the request; check OPENAI_MODEL."),
    401: ("auth_error", "wrong_key", False, _CHECK_KEY),
    403: ("auth_error", "forbidden", False, _CHECK_KEY),
    404: ("api_error", "model_not_found", False, "Check OPENAI_MODEL and OPENAI_BASE_URL."),
    408: ("api_error", "timeout", True, ""),
    413: ("context_overflow", "too_large", False, _SHORTER),
    422: ("invalid_input", "bad_request", False, "The model's endpoint refused the request; check OPENAI_MODEL."),
    429: ("rate_limit", "rate_limit", True, ""),
}


def model_error(failure: BaseException) -> AskbookError:
    """The failure of a model call, in our terms. An `AskbookError` passes unchanged."""
    if isinstance(failure, AskbookError):
        return failure
    status = getattr(failure, "status_code", None)
    if _is_overflow(failure):
        return AskbookError(
            "context_overflow", "context_length", "The prompt is too long for the model.", hint=_SHORTER
        )
    if isinstance(status, int):
        error_type, code, retryable, hint = _BY_STATUS.get(status, ("api_error", "server_error", status >= 500, ""))
        return AskbookError(
            error_type,
            code,
            f"The model's endpoint answered {status}.",
            hint=hint,
            retry_after=retry_after(failure),
            retryable=retryable,
        )
    return _without_status(failure)


def _without_status(failure: BaseException) -> AskbookError:
    from langchain_core.exceptions import ModelConnectionError, ModelTimeoutError

    if isinstance(failure, ModelTimeoutError | TimeoutError) or _is_a(failure, "TimeoutException", "APITimeoutError"):
        return AskbookError("api_error", "timeout", "The model did not answer in time.", retryable=True)
    if isinstance(failure, ModelConnectionError | OSError) or _is_a(failure, "TransportError", "APIConnectionError"):
        hint = "Check the network, and OPENAI_BASE_URL if it is set."
        return AskbookError("api_error", "unreachable", "The model could not be reached.", hint=hint, retryable=True)
    if isinstance(failure, ValueError | TypeError | AssertionError):
        return AskbookError("api_error", "bad_response", "The model's endpoint sent something unreadable.")
    return AskbookError("api_error", "model", f"The model's client raised {type(failure).__name__}.")


def _is_a(failure: BaseException, *names: str) -> bool:
    """Whether it is of a class so named. A stream that breaks raises what the HTTP library does, whichever that is."""
    return any(one.__name__ in names for one in type(failure).__mro__)


def _is_overflow(failure: BaseException) -> bool:
    from langchain_core.exceptions import ContextOverflowError

    return isinstance(failure, ContextOverflowError) or getattr(failure, "code", None) == "context_length_exceeded"


def retry_after(failure: BaseException) -> float | None:
    """The seconds that a `Retry-After` header names, if it names seconds."""
    response: Any = getattr(failure, "response", failure)
    headers = getattr(response, "headers", None) or {}  # Cohere's exceptions carry them themselves
    value = headers.get("retry-after")
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
