"""The border to the model: every exception of a client becomes one of ours, and its text stays behind."""

from __future__ import annotations

import httpx2
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from rag.errors import AskbookError
from rag.faults import model_error, retry_after

REQUEST = httpx2.Request("POST", "https://api.example/v1/chat/completions")


def refused(status: int, *, code: str | None = None, **headers: str) -> openai.APIStatusError:
    """The exception that the client raises for an answer with that status."""
    body = {"message": "sk-canary", "code": code}
    return openai.APIStatusError(
        "sk-canary", response=httpx2.Response(status, headers=headers, request=REQUEST), body=body
    )


@pytest.mark.parametrize(
    ("status", "error_type", "code", "retryable"),
    [
        (400, "invalid_input", "bad_request", False),
        (401, "auth_error", "wrong_key", False),
        (403, "auth_error", "forbidden", False),
        (404, "api_error", "model_not_found", False),
        (408, "api_error", "timeout", True),
        (409, "api_error", "server_error", False),
        (413, "context_overflow", "too_large", False),
        (422, "invalid_input", "bad_request", False),
        (429, "rate_limit", "rate_limit", True),
        (500, "api_error", "server_error", True),
        (503, "api_error", "server_error", True),
        (529, "api_error", "server_error", True),
    ],
)
def test_a_status_has_its_type(status: int, error_type: str, code: str, retryable: bool) -> None:
    error = model_error(refused(status))
    assert (error.error_type, error.code, error.retryable) == (error_type, code, retryable)
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("failure", "code", "retryable"),
    [
        (TimeoutError(), "timeout", True),
        (ModelTimeoutError("sk-canary"), "timeout", True),
        (openai.APITimeoutError(REQUEST), "timeout", True),
        (ConnectionRefusedError(), "unreachable", True),
        (ModelConnectionError("sk-canary"), "unreachable", True),
        (openai.APIConnectionError(request=REQUEST), "unreachable", True),
        (httpx2.RemoteProtocolError("sk-canary"), "unreachable", True),
        (httpx2.ReadTimeout("sk-canary"), "timeout", True),
        (httpx2.ConnectError("sk-canary"), "unreachable", True),
        (ValueError("sk-canary"), "bad_response", False),
        (RuntimeError("sk-canary"), "model", False),
    ],
)
def test_a_failure_without_a_status_is_an_api_error(failure: Exception, code: str, retryable: bool) -> None:
    error = model_error(failure)
    assert (error.error_type, error.code, error.retryable) == ("api_error", code, retryable)


@pytest.mark.parametrize("failure", [ContextOverflowError("long"), refused(400, code="context_length_exceeded")])
def test_a_prompt_that_is_too_long_is_an_overflow(failure: Exception) -> None:
    error = model_error(failure)
    assert (error.error_type, error.code) == ("context_overflow", "context_length")


@pytest.mark.parametrize("failure", [refused(401), refused(500), RuntimeError("sk-canary"), ValueError("sk-canary")])
def test_the_text_of_a_foreign_exception_is_not_passed_on(failure: Exception) -> None:
    assert "canary" not in model_error(failure).info().model_dump_json()


def test_an_error_of_ours_passes_unchanged() -> None:
    error = AskbookError("api_error", "code", "m")
    assert model_error(error) is error


@pytest.mark.parametrize(("named", "seconds"), [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", None)])
def test_the_time_to_wait_is_read_from_its_header(named: str, seconds: float | None) -> None:
    assert retry_after(refused(429, **{"retry-after": named})) == seconds


def test_a_rate_limit_without_its_header_names_no_time() -> None:
    assert retry_after(refused(429)) is None
    assert model_error(refused(429)).info().retry_after == 10


@pytest.mark.parametrize("named", ["nan", "inf", "-5", "1e400"])
def test_a_time_that_is_none_is_not_believed(named: str) -> None:
    assert model_error(refused(429, **{"retry-after": named})).info().retry_after == 10


def test_every_exception_of_the_client_has_a_type() -> None:
    names = [getattr(openai, name) for name in openai.__all__ if name.endswith("Error")]
    classes = [value for value in names if isinstance(value, type) and issubclass(value, Exception)]
    for one in classes:
        bare = one.__new__(one)
        assert model_error(bare).error_type in ("api_error", "auth_error", "rate_limit", "invalid_input"), one
