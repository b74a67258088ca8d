"""Failures over HTTP: OpenAI's JSON form of an error, with the status that fits."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import JSONResponse

from rag.errors import AskbookError, UsageError, told
from rag.types import ErrorInfo, ErrorType, Response

_STATUS_OF_TYPE: Final[dict[ErrorType, int]] = {
    "rate_limit": 429,
    "api_error": 502,
    "auth_error": 502,  # the operator's key was rejected by a service; the caller's own key is checked before
    "retrieval_error": 503,
    "memory_error": 503,
    "invalid_input": 400,
    "context_overflow": 413,
}
_STATUS_OF_CODE: Final = {
    "thread_busy": 409,
    "unknown_thread": 404,
    "unknown_profile": 404,
    "unknown_book": 404,
    "nothing_to_retry": 409,
    "question_too_long": 413,
}
_OPENAI_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class RequestRefusedError(UsageError):
    """A request that never became a turn."""

    def __init__(self, status: int, code: str, message: str, *, hint: str = "", retry_after: int | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status
        self.retry_after = retry_after


def status_of(failure: ErrorInfo) -> int:
    """The HTTP status for a failure."""
    return _STATUS_OF_CODE.get(failure.code, _STATUS_OF_TYPE[failure.error_type])


def error_response(failure: AskbookError | ErrorInfo, answer: Response | None = None) -> JSONResponse:
    """The failure in OpenAI's form. `answer` is the response of a failed turn, for the key `askbook`."""
    info = failure.info() if isinstance(failure, AskbookError) else failure
    status = failure.status if isinstance(failure, RequestRefusedError) else status_of(info)
    headers: dict[str, str] = {}
    if info.retry_after is not None and status in (429, 503):
        headers["Retry-After"] = str(info.retry_after)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body: dict[str, Any] = {"error": error_body(info, status)}
    if answer is not None:
        body["askbook"] = answer.model_dump(mode="json")
    return JSONResponse(body, status, headers)


def error_body(info: ErrorInfo, status: int) -> dict[str, Any]:
    """The object under `error`: what an OpenAI client reads, and the hint."""
    parts = [told(info)] if info.error_type != "invalid_input" else []  # there the message alone says what is wrong
    message = " ".join(filter(None, (*parts, info.message, info.hint)))
    kind = _OPENAI_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"message": message, "type": kind, "param": None, "code": info.code, "hint": info.hint}
