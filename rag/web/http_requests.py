"""Reading a request: its person, its JSON body, the options of a turn; and failures in OpenAI's JSON form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse

from rag.conversation.turns import check_thread_id
from rag.errors import AskbookError, UsageError, told
from rag.search.retriever import parse_filter
from rag.types import ErrorInfo, ErrorType, Response
from rag.validation import allowed
from rag.web.api_keys import Person
from rag.web.hosting import Hosting

_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # half of a character, which no UTF-8 has


def hosting_of(request: Request) -> Hosting:
    hosting: Hosting = request.app.state.hosting
    return hosting


def person_of(request: Request) -> Person:
    """The person whom `AccessControl` has let in."""
    person: Person = request.state.person
    return person


def thread_of(request: Request) -> str:
    """The stored id of the conversation in the path. Raises `UsageError` for an invalid id."""
    return person_of(request).stored(check_thread_id(request.path_params["thread_id"]))


async def json_object(request: Request, *, required: bool = True) -> dict[str, Any]:
    """The body as a JSON object; empty for an empty body that is not required. Raises `RequestRefusedError`."""
    body = bytearray()
    async for part in request.stream():
        body += part
        check_size(len(body), hosting_of(request).limits.body_bytes)
    if not body and not required:
        return {}
    try:
        data = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestRefusedError(400, "invalid_json", "The body is not JSON in UTF-8.") from error
    if not isinstance(data, dict):
        raise RequestRefusedError(400, "invalid_json", "The body is not a JSON object.")
    if b"\\u" in body and _SURROGATE.search(json.dumps(data, ensure_ascii=False)):
        raise RequestRefusedError(400, "not_text", 'The body has half of a character, such as "\\ud800".')
    return data


def check_size(size: int, most: int) -> None:
    if size > most:
        raise RequestRefusedError(413, "body_too_large", f"The body has more than {most:,} bytes.")


def options_of(hosting: Hosting, given: Mapping[str, Any]) -> BaseModel:
    """The options of one turn, with a profile that is on offer. Raises `UsageError` for any other key or value."""
    try:
        context = hosting.context_type.model_validate(dict(given))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        message = f"{place}: this is not allowed; {allowed(problem, hosting.context_type)}."
        raise RequestRefusedError(400, "invalid_option", message) from error
    parse_filter(getattr(context, "filter", None))
    profile = hosting.offer.choose(getattr(context, "profile", None))
    return context.model_copy(update={"profile": profile})


def metadata_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The request's metadata, which the response repeats. Raises `UsageError` unless it is an object."""
    metadata = data.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise UsageError("metadata is not a JSON object.", code="invalid_option")
    return metadata


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
    "nothing_to_undo": 409,
    "other_turn": 409,
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
