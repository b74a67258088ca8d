"""The table of failures: what an exception of any client means, wherever the service says it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import httpx2
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from rag.errors import AskbookError, OptionRefusedError
from rag.failures import Part, Service, duration, failure_of, seconds_in

REQUEST = httpx2.Request("POST", "https://api.example/v1/chat/completions")
MODEL = Service()
SENT = ("max_tokens", "max_completion_tokens", "temperature", "stream_options", "tools", "reasoning_content")


def refused(status: int, message: str = "sk-canary", headers: dict[str, str] | None = None, **body: Any) -> Exception:
    """What OpenAI's client raises for that status with an error object in the body."""
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    return openai.APIStatusError("sk-canary", response=response, body={"message": message, **body})


def with_body(status: int, body: Any) -> Exception:
    return openai.APIStatusError("sk-canary", response=httpx2.Response(status, request=REQUEST), body=body)


def in_stream(**body: Any) -> Exception:
    """What OpenAI's client raises for an error inside a stream that began with 200."""
    return openai.APIError("sk-canary", request=REQUEST, body={"message": "m", **body})


class ApiError(Exception):
    """As Cohere's SDK raises it."""

    def __init__(self, status_code: int, body: Any = None) -> None:
        super().__init__("co-canary")
        self.status_code, self.body, self.headers = status_code, body, {"retry-after": "7"}


class ClientError(Exception):
    """As google-genai raises it; langchain-google-genai raises an exception of its own from it."""

    def __init__(self, code: int, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.status, self.details = code, "x", {"error": {"message": message, **details}}


def wrapped(inner: Exception) -> Exception:
    outer: Exception = type("ChatGoogleGenerativeAIError", (Exception,), {})("Error calling the model")
    outer.__cause__ = inner
    return outer


def raised_while(inner: Exception, outer: Exception) -> Exception:
    try:
        raise outer from inner
    except Exception as error:
        return error


@pytest.mark.parametrize(
    ("status", "of_model", "of_search", "retryable"),
    [
        (301, "api_error redirected", "retrieval_error redirected", False),
        (400, "api_error bad_request", "retrieval_error bad_request", False),
        (401, "auth_error wrong_key", "auth_error wrong_key", False),
        (402, "api_error quota", "retrieval_error quota", False),
        (403, "auth_error forbidden", "auth_error forbidden", False),
        (404, "api_error model_not_found", "retrieval_error model_not_found", False),
        (405, "api_error unexpected_status", "retrieval_error unexpected_status", False),
        (408, "api_error timeout", "retrieval_error timeout", True),
        (409, "api_error conflict", "retrieval_error conflict", True),
        (413, "context_overflow too_large", "retrieval_error too_large", False),
        (422, "api_error bad_request", "retrieval_error bad_request", False),
        (429, "rate_limit rate_limit", "rate_limit rate_limit", True),
        (498, "auth_error wrong_key", "auth_error wrong_key", False),
        (500, "api_error server_error", "retrieval_error server_error", True),
        (501, "api_error unexpected_status", "retrieval_error unexpected_status", False),
        (529, "api_error server_error", "retrieval_error server_error", True),
    ],
)
def test_a_status_has_its_type_and_its_code(status: int, of_model: str, of_search: str, retryable: bool) -> None:
    parts: list[tuple[Part, str, str]] = [
        ("model", "", of_model), ("embedding", "embedding_", of_search), ("rerank", "rerank_", of_search)
    ]  # fmt: skip
    for part, prefix, expected in parts:
        for failure in (refused(status), ApiError(status)):
            error = failure_of(failure, Service("Cohere", "COHERE_API_KEY", part=part))
            error_type, code = expected.split()
            assert (error.error_type, error.code, error.retryable) == (error_type, prefix + code, retryable)
            assert str(status) in error.message or code == "quota"
            assert "canary" not in f"{error.info().model_dump_json()}{error!r}"


@pytest.mark.parametrize(
    ("failure", "code", "retryable"),
    [
        (TimeoutError(), "timeout", True),
        (ModelTimeoutError("sk-canary"), "timeout", True),
        (openai.APITimeoutError(REQUEST), "timeout", True),
        (httpx2.ReadTimeout("sk-canary"), "timeout", True),
        (httpx.ReadTimeout("co-canary"), "timeout", True),
        (ConnectionRefusedError(), "unreachable", True),
        (ModelConnectionError("sk-canary"), "unreachable", True),
        (openai.APIConnectionError(request=REQUEST), "unreachable", True),
        (httpx2.RemoteProtocolError("sk-canary"), "unreachable", True),
        (httpx.ConnectError("co-canary"), "unreachable", True),
        (httpx2.UnsupportedProtocol("sk-canary"), "unreachable", False),
        (ValueError("sk-canary"), "bad_response", False),
        (RecursionError("sk-canary"), "bad_response", False),
        (raised_while(httpx2.DecodingError("x"), openai.APIConnectionError(request=REQUEST)), "bad_response", False),
        (RuntimeError("sk-canary"), "failed", False),
    ],
)
def test_a_failure_without_a_status_is_told_by_its_class(failure: Exception, code: str, retryable: bool) -> None:
    error = failure_of(failure, MODEL)
    assert (error.error_type, error.code, error.retryable) == ("api_error", code, retryable)
    assert "canary" not in error.info().model_dump_json()
    assert failure_of(failure, Service(part="embedding")).error_type == "retrieval_error"


def test_an_error_of_ours_passes_unchanged_also_as_a_cause() -> None:
    ours = AskbookError("api_error", "code", "m")
    assert failure_of(ours, MODEL) is ours
    assert failure_of(raised_while(ours, openai.APIConnectionError(request=REQUEST)), MODEL) is ours


TOO_LONG = {
    "OpenAI": refused(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
    "LangChain": ContextOverflowError("long"),
    "OpenRouter, from behind": refused(400, "Provider error", metadata={"raw": '{"message":"prompt is too long: 9"}'}),
    "Groq": refused(400, "Please reduce the length of the messages or completion.", param="messages"),
    "vLLM": refused(400, "The decoder prompt (length 2136) is longer than the maximum model length of 2048."),
    "llama.cpp": refused(400, "request (4390 tokens) exceeds the available context size (4096 tokens)"),
    "llama.cpp, while it writes": refused(500, "Context size has been exceeded.", type="server_error", code=500),
    "Ollama": refused(400, "the input length exceeds the context length", type="api_error"),
    "Gemini": with_body(400, [{"error": {"code": 400, "message": "The input token count (99) exceeds the maximum"}}]),
    "Moonshot": refused(400, "Invalid request: Your request exceeded model token limit: 8192"),
    "TGI": refused(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097"),
    "LM Studio": refused(400, "The number of tokens to keep is greater than the context length. Try a larger one."),
    "in a stream": in_stream(code="context_length_exceeded"),
}


@pytest.mark.parametrize("failure", TOO_LONG.values(), ids=TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised_by_any_name(failure: Exception) -> None:
    error = failure_of(failure, MODEL, SENT)
    assert (error.error_type, error.code, error.retryable) == ("context_overflow", "context_length", False)
    assert not isinstance(error, OptionRefusedError)


@pytest.mark.parametrize(
    ("failure", "expected", "retryable"),
    [
        (refused(429, "You exceeded your current quota.", code="insufficient_quota"), "rate_limit quota", False),
        (refused(429, "You exceeded your current quota. Please retry in 53.2s."), "rate_limit rate_limit", True),
        (refused(429, "Request too large on tokens per min: Limit 10, Requested 20"), "context_overflow too_large", 0),
        (refused(400, "The response was filtered.", code="content_filter"), "invalid_input content_filter", False),
        (refused(403, "m requires moderation. Your input was flagged."), "invalid_input content_filter", False),
        (refused(400, "Failed to call a function.", code="tool_use_failed"), "api_error tool_use_failed", True),
        (refused(500, "error parsing tool call: raw='{'"), "api_error tool_use_failed", True),
        (refused(400, "Your credit balance is too low"), "api_error quota", False),
        (with_body(400, [{"error": {"message": "API key not valid."}}]), "auth_error wrong_key", False),
        (refused(400, "unknown parameter: foo"), "api_error bad_request", False),
        (refused(404, "The model `x` does not exist."), "api_error model_not_found", False),
        (wrapped(ClientError(429, "slow down")), "rate_limit rate_limit", True),
        (wrapped(ClientError(400, "The prompt is too long.")), "context_overflow context_length", False),
        (in_stream(code=429), "rate_limit rate_limit", True),
        (in_stream(type="invalid_request_error", code="rate_limit_exceeded"), "rate_limit rate_limit", True),
        (in_stream(code="tool_use_failed", status_code=400), "api_error tool_use_failed", True),
        (in_stream(code=401), "auth_error wrong_key", False),
        (in_stream(type="overloaded_error"), "api_error server_error", True),
        (in_stream(code="whatever"), "api_error server_error", True),
        (in_stream(code=["odd"]), "api_error server_error", True),
    ],
)
def test_what_the_status_does_not_tell_is_told_by_code_and_words(
    failure: Exception, expected: str, retryable: bool
) -> None:
    error = failure_of(failure, MODEL)
    assert (f"{error.error_type} {error.code}", error.retryable) == (expected, bool(retryable))


def test_what_was_sent_and_is_repeated_decides_nothing() -> None:
    detail = [{"loc": ["body", "messages"], "msg": "Field required", "input": "maximum context length, content_filter"}]
    assert failure_of(with_body(422, {"detail": detail}), MODEL).code == "bad_request"


@pytest.mark.parametrize(
    ("failure", "option"),
    [
        (refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), "max_tokens"),
        (refused(400, "Unsupported value: 'temperature' does not support 0.2 with this model."), "temperature"),
        (with_body(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "not permitted"}]}), "stream_options"),
        (refused(400, "property 'reasoning_content' is unsupported"), "reasoning_content"),
        (refused(400, "registry.ollama.ai/library/gemma:2b does not support tools"), "tools"),
        (refused(404, "No endpoints found that support tool use."), "tools"),
        (refused(400, '"auto" tool choice requires --enable-auto-tool-choice'), "tools"),
        (refused(500, "tools param requires --jinja flag", code=500), "tools"),
        (refused(400, "`tool calling` is not supported with this model"), "tools"),
        (refused(400, "Unknown field: logit_bias"), None),
        (refused(400, "temperature must be at most 1"), None),
        (refused(401, "unsupported parameter: temperature"), None),
    ],
)
def test_an_option_that_a_model_does_not_know_is_named(failure: Exception, option: str | None) -> None:
    error = failure_of(failure, MODEL, SENT)
    assert (error.option if isinstance(error, OptionRefusedError) else None) == option
    assert not isinstance(failure_of(failure, MODEL), OptionRefusedError)


GEMINI = [{"error": {"message": "busy", "details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "53s"}]}}]
OPENROUTER = {"message": "busy", "metadata": {"headers": {"X-RateLimit-Reset": "1741305600000"}}}


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (refused(429, "x", {"retry-after": "44.2"}), 45),
        (refused(429, "x", {"retry-after-ms": "1500", "retry-after": "60"}), 2),
        (refused(429, "try again in 9s", {"retry-after": "7"}), 7),
        (with_body(429, GEMINI), 53),
        (refused(429, "x", {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2.5s"}), 63),
        (refused(429, "x", {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "1m2.5s"}), 10),
        (refused(429, "Limit 6000. Please try again in 59.5s. Visit us."), 60),
        (refused(429, "Please try again in 7m12.5s."), 433),
        (refused(429, "Please try again in 850ms."), 1),
        (refused(429, "Please retry after 20 seconds. Contact us"), 20),
        (refused(429, "Rate limited: wait 2 minutes and 5 seconds"), 125),
        (refused(429, retry_after=31), 31),
        (with_body(429, OPENROUTER), 0),
        (wrapped(ClientError(429, "Please retry in 12s.")), 12),
        (ApiError(429), 7),
        (in_stream(code=429, message="Please try again in 3s."), 3),
        (refused(503, "Overloaded, try again in 4 s"), 4),
        (refused(429, "Please try again later."), 10),
        (refused(429, "x", {"retry-after": "soon"}), 10),
        (refused(429, "x", {"retry-after": "1e400"}), 10),
        (refused(429, "x", {"retry-after": "-5"}), 10),
    ],
)
def test_the_wait_is_the_one_that_the_service_names_wherever_it_does(failure: Exception, seconds: int) -> None:
    assert failure_of(failure, MODEL).info().retry_after == seconds


def test_a_wait_may_be_a_date() -> None:
    now = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)
    assert seconds_in({"retry-after": "Wed, 01 Jul 2026 12:00:30 GMT"}, now) == 30
    assert seconds_in({"retry-after": "Wed, 01 Jul 2026 11:00:00 GMT"}, now) == 0
    assert seconds_in({"x-ratelimit-reset": str(int(now.timestamp() * 1000) + 5000)}, now) == 5


@pytest.mark.parametrize("text", ["", "soon", "fortnight", "in a moment"])
def test_what_is_no_duration_has_no_seconds(text: str) -> None:
    assert duration(text) is None


@pytest.mark.parametrize(
    ("name", "value", "failure"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:1080", ValueError("Unknown scheme")),
        ("https_proxy", "proxy.example:no-port", httpx.InvalidURL("Invalid port")),
        ("HTTP_PROXY", "socks5://127.0.0.1:1080", ImportError("socksio")),
        ("SSL_CERT_FILE", "/no/such/file.pem", FileNotFoundError(2, "No such file")),
    ],
)
def test_a_client_that_could_not_be_made_names_the_variable(
    name: str, value: str, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    for part, error_type in (("model", "api_error"), ("embedding", "retrieval_error")):
        error = failure_of(failure, Service(part=part))  # type: ignore[arg-type]  # a literal
        assert (error.error_type, error.retryable, error.info().recoverable) == (error_type, False, False)
        assert name in error.message
        assert error.code.endswith("network")


def test_a_proxy_that_does_not_answer_is_named_in_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert "HTTPS_PROXY" in failure_of(ConnectionRefusedError(), MODEL).hint


def test_hints_name_what_configures_the_service() -> None:
    theirs = Service(key="GROQ_API_KEY", url="model.base_url of the profile", model="model.name of the profile")
    assert "GROQ_API_KEY" in failure_of(refused(401), theirs).hint
    assert "model.name of the profile" in failure_of(refused(404), theirs).hint
    assert failure_of(refused(404), MODEL, model="gpt-9").message == "The model's endpoint answered 404 for gpt-9."
    moved = refused(307, "x", {"location": "https://elsewhere.example/v1?key=sk-canary"})
    assert failure_of(moved, MODEL).message.endswith(
        "it redirects to elsewhere.example, and askbook follows no redirects."
    )
