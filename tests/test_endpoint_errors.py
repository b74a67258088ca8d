"""The border to the model: every exception of a client becomes one of ours, and its text stays behind."""

from __future__ import annotations

import importlib
import re
from contextlib import suppress
from pathlib import Path

import httpx2
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from rag.errors import AskbookError
from rag.http.http_failures import retry_after
from rag.model.endpoint_errors import model_error
from tests.manual import raised_codes

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
        (301, "api_error", "redirected", False),
        (307, "api_error", "redirected", False),
        (400, "invalid_input", "bad_request", False),
        (401, "auth_error", "wrong_key", False),
        (403, "auth_error", "forbidden", False),
        (404, "api_error", "model_not_found", False),
        (408, "api_error", "timeout", True),
        (402, "api_error", "quota", False),
        (405, "api_error", "unexpected_status", False),
        (409, "api_error", "conflict", True),
        (413, "context_overflow", "too_large", False),
        (422, "invalid_input", "bad_request", False),
        (429, "rate_limit", "rate_limit", True),
        (500, "api_error", "server_error", True),
        (501, "api_error", "unexpected_status", False),
        (503, "api_error", "server_error", True),
        (529, "api_error", "server_error", True),
    ],
)
def test_a_status_has_its_type(status: int, error_type: str, code: str, retryable: bool) -> None:
    error = model_error(refused(status))
    assert (error.error_type, error.code, error.retryable) == (error_type, code, retryable)
    assert error.info().recoverable is retryable
    assert str(status) in error.message or code == "quota"


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


@pytest.mark.parametrize(("named", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("", None)])
def test_the_time_to_wait_is_read_from_its_header(named: str, seconds: float | None) -> None:
    assert retry_after(refused(429, **{"retry-after": named})) == seconds


def test_a_rate_limit_without_its_header_names_no_time() -> None:
    assert retry_after(refused(429)) is None
    assert model_error(refused(429)).info().retry_after == 10


@pytest.mark.parametrize("named", ["nan", "inf", "-5", "1e400"])
def test_a_time_that_is_none_is_not_believed(named: str) -> None:
    assert model_error(refused(429, **{"retry-after": named})).info().retry_after == 10


# --- every exception of the libraries -------------------------------------------------------------------------------

# Parts of the libraries that a chat completion does not use.
ELSEWHERE = ("openai.lib.", "openai.auth.", "openai._extras.", "langchain_openai.chatgpt_oauth", "httpx2.websockets.")
# Bases that nobody raises by themselves, and misuse of a client: a bug of ours, told as a failure of the client.
NAMELESS = {
    *("OpenAIError", "APIError", "APIStatusError", "HTTPError", "RequestError", "StreamError", "HTTPStatusError"),
    *("LangChainException", "TracerException", "ModelError", "HTTPXDeprecationWarning"),
    *("StreamAlreadyConsumed", "StreamConsumed", "StreamClosed", "ResponseNotRead", "RequestNotRead"),
    *("CookieConflict", "_AmbiguousModuleClientUsageError", "SubjectTokenProviderError"),
    *("WebSocketConnectionClosedError", "WebSocketQueueFullError"),
}


def exceptions_of(*packages: str) -> set[type[Exception]]:
    """Every exception class that the files of the packages define."""
    for package in packages:
        folder = Path(importlib.import_module(package).__path__[0])
        for file in folder.rglob("*.py"):
            if "_vendor" not in file.parts and re.search(
                r"^class \w+\((?:[^)]*[^)\w])?\w*(?:Error|Exception|Stream|Invalid)\b", file.read_text("utf-8"), re.M
            ):
                name = file.relative_to(folder.parent).with_suffix("").as_posix().replace("/", ".")
                with suppress(ImportError):  # it needs a library that is not there, so its exceptions are not either
                    importlib.import_module(name.removesuffix(".__init__"))
    return {
        one
        for one in all_subclasses(Exception)
        if one.__module__.split(".")[0] in packages and "_vendor" not in one.__module__
    }


def all_subclasses(base: type[Exception]) -> set[type[Exception]]:
    direct = set(base.__subclasses__())
    return direct.union(*(all_subclasses(one) for one in direct))


def raised_by(one: type[Exception]) -> Exception:
    """An instance as the library makes it; bare where its constructor wants what is of no interest here."""
    status = getattr(one, "status_code", None) or (500 if issubclass(one, openai.InternalServerError) else 400)
    if issubclass(one, openai.APIStatusError) and one is not openai.OAuthError:
        return one("sk-canary", response=httpx2.Response(status, request=REQUEST), body=None)
    try:
        return one("sk-canary")
    except (TypeError, ValueError, AttributeError):
        return one.__new__(one)


@pytest.mark.filterwarnings("ignore")
def test_every_exception_of_the_client_and_of_what_it_is_made_of_has_a_type_of_its_own() -> None:
    classes = exceptions_of("openai", "langchain_openai", "httpx", "httpx2")
    classes |= {one for one in exceptions_of("langchain_core") if one.__module__ == "langchain_core.exceptions"}
    assert len(classes) > 100
    for one in classes:
        error = model_error(raised_by(one))
        assert (error.error_type, error.code) in raised_codes("rag/model/endpoint_errors.py"), one
        assert "canary" not in error.info().model_dump_json(), one
        if error.code == "model":
            assert one.__name__ in NAMELESS or one.__module__.startswith(ELSEWHERE), one


def test_every_type_and_code_of_this_border_is_one_that_it_names() -> None:
    for status in range(400, 600):
        error = model_error(refused(status))
        assert (error.error_type, error.code) in raised_codes("rag/model/endpoint_errors.py")
