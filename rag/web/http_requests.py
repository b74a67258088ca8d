"""Reading a request: its person, its JSON body within the limit, and the options of a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from rag.conversation.turns import check_thread_id
from rag.errors import UsageError
from rag.search.retriever import parse_filter
from rag.validation import allowed
from rag.web.api_keys import Person
from rag.web.hosting import Hosting
from rag.web.http_errors import RequestRefusedError

_DEEPEST: Final = 64  # levels of nesting in a body


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
