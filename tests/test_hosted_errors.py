"""The border to hosted models: every exception of their clients becomes one of ours, and its text stays behind."""

from __future__ import annotations

import cohere.errors
import httpx
import openai
import pytest
from cohere.core.api_error import ApiError
from cohere.core.parse_error import ParsingError
from pydantic import SecretStr

from rag.embedding.hosted_errors import Part, Service, hosted_error, hosted_faults
from rag.errors import AskbookError

SERVICE = Service(
    "Cohere", SecretStr("co-canary"), "http://user:pw-canary@host.example/x-canary", "A_KEY", "A_URL", "A_MODEL"
)
PARTS: tuple[Part, ...] = ("embedding", "rerank")


def classes(module: object, base: type[Exception]) -> list[type[Exception]]:
    members = [getattr(module, name) for name in dir(module)]
    # `type`, since `isinstance` would make the lazy objects of `openai` load all that it has.
    found = [one for one in members if issubclass(type(one), type) and issubclass(one, base)]
    assert found
    return found


def bare(kind: type[Exception]) -> Exception:
    """An exception of the class, whatever its constructor wants; one with a status has that of its class."""
    return kind.__new__(kind, "canary")


@pytest.mark.parametrize("kind", classes(cohere.errors, ApiError), ids=lambda kind: kind.__name__)
def test_every_error_of_cohere_is_told_by_its_status(kind: type[ApiError]) -> None:
    failure = kind(body={"message": "co-canary"}, headers={"retry-after": "7"})
    error = hosted_error(failure, "embedding", SERVICE)
    assert str(failure.status_code) in error.message
    assert not error.code.endswith(("_failed", "_response"))
    assert "canary" not in error.info().model_dump_json()


@pytest.mark.parametrize("kind", classes(httpx, httpx.HTTPError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_connection_has_a_type(kind: type[Exception]) -> None:
    error = hosted_error(bare(kind), "rerank", SERVICE)
    assert error.error_type == "retrieval_error"
    assert error.code in {"rerank_timeout", "rerank_unreachable", "rerank_request", "rerank_response"}
    assert error.retryable == (error.code in {"rerank_timeout", "rerank_unreachable"})


@pytest.mark.parametrize(
    "kind", [httpx.InvalidURL, httpx.CookieConflict, *classes(httpx, httpx.StreamError)], ids=lambda kind: kind.__name__
)
def test_every_other_error_of_the_http_library_is_a_failed_search(kind: type[Exception]) -> None:
    assert hosted_error(bare(kind), "embedding", SERVICE).error_type == "retrieval_error"


@pytest.mark.parametrize("kind", classes(openai, openai.OpenAIError), ids=lambda kind: kind.__name__)
def test_every_error_of_openai_has_a_type(kind: type[Exception]) -> None:
    error = hosted_error(bare(kind), "embedding", SERVICE)
    assert error.error_type in {"retrieval_error", "auth_error", "rate_limit"}
    assert "canary" not in error.info().model_dump_json()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("status", "error_type", "ending", "retryable"),
    [
        (400, "retrieval_error", "request", False),
        (401, "auth_error", "auth", False),
        (402, "retrieval_error", "request", False),
        (403, "auth_error", "auth", False),
        (404, "retrieval_error", "not_found", False),
        (408, "retrieval_error", "timeout", True),
        (409, "retrieval_error", "server", True),
        (413, "retrieval_error", "request", False),
        (422, "retrieval_error", "request", False),
        (429, "rate_limit", "rate_limit", True),
        (498, "auth_error", "auth", False),
        (500, "retrieval_error", "server", True),
        (501, "retrieval_error", "request", False),
        (503, "retrieval_error", "server", True),
        (504, "retrieval_error", "timeout", True),
    ],
)
def test_a_status_has_its_type(status: int, error_type: str, ending: str, retryable: bool, part: Part) -> None:
    error = hosted_error(ApiError(status_code=status, body="co-canary"), part, SERVICE)
    assert (error.error_type, error.code, error.retryable) == (error_type, f"{part}_{ending}", retryable)


@pytest.mark.parametrize(
    ("failure", "ending"),
    [
        (ApiError(status_code=200, body="co-canary"), "response"),
        (ParsingError(status_code=200, body="co-canary"), "response"),
        (TypeError("co-canary"), "response"),
        (AttributeError("co-canary"), "response"),
        (KeyError("co-canary"), "response"),
        (OverflowError("co-canary"), "response"),
        (RecursionError("co-canary"), "response"),
        (UnicodeEncodeError("ascii", "co-canary", 0, 1, "co-canary"), "request"),
        (TimeoutError("co-canary"), "timeout"),
        (ConnectionResetError("co-canary"), "unreachable"),
        (RuntimeError("co-canary"), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_a_failure_without_a_status_says_what_it_was_and_not_what_it_said(failure: Exception, ending: str) -> None:
    error = hosted_error(failure, "embedding", SERVICE)
    assert (error.error_type, error.code) == ("retrieval_error", f"embedding_{ending}")
    assert "canary" not in error.info().model_dump_json()


def test_a_message_names_the_host_and_a_hint_the_variables() -> None:
    error = hosted_error(ApiError(status_code=401), "embedding", SERVICE)
    assert error.message == "Embedding failed: Cohere (host.example) answered 401."
    assert error.hint == "Check A_KEY, and that it belongs to A_URL."


@pytest.mark.parametrize(("named", "seconds"), [({"retry-after": "7"}, 7), ({}, 10), (None, 10)])
def test_a_busy_service_names_its_seconds(named: dict[str, str] | None, seconds: int) -> None:
    error = hosted_error(ApiError(status_code=429, headers=named), "rerank", SERVICE)
    assert error.info().retry_after == seconds


def test_a_failure_keeps_no_foreign_exception_that_a_log_could_print() -> None:
    with pytest.raises(AskbookError) as caught, hosted_faults("embedding", SERVICE):
        raise ApiError(status_code=401, body="co-canary")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_error_of_ours_passes_unchanged() -> None:
    error = AskbookError("api_error", "code", "m")
    assert hosted_error(error, "embedding", SERVICE) is error
