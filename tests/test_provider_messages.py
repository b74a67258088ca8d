"""The same refusal in the words of the servers that people use, each as that server writes it."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from rag.errors import OptionRefusedError
from rag.model.endpoint_errors import RequestInfo, model_error

REQUEST = httpx2.Request("POST", "https://api.example/v1/chat/completions")
SENT = ("max_tokens", "max_completion_tokens", "temperature", "stream_options", "tools")


def refused(status: int, message: str, **body: Any) -> openai.APIStatusError:
    response = httpx2.Response(status, request=REQUEST)
    kind = openai.InternalServerError if status >= 500 else openai.APIStatusError
    return kind(f"Error code: {status}", response=response, body={"message": message, **body})


def refused_option(failure: Exception, sent: tuple[str, ...]) -> str | None:
    error = model_error(failure, RequestInfo(options=frozenset(sent)))
    return error.option if isinstance(error, OptionRefusedError) else None


TOO_LONG = {
    "OpenAI": refused(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        code="context_length_exceeded",
    ),
    "OpenRouter": refused(
        400,
        "This endpoint's maximum context length is 8192 tokens. However, you requested about 9001 tokens "
        "(8001 of text input, 1000 in the output).",
        code=400,
    ),
    "OpenRouter, from behind": refused(
        400, "Provider returned error", code=400, metadata={"raw": '{"message":"prompt is too long: 9001 tokens"}'}
    ),
    "Groq": refused(
        400, "Please reduce the length of the messages or completion.", code="context_length_exceeded", param="messages"
    ),
    "vLLM": refused(
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        type="BadRequestError",
        code=400,
    ),
    "vLLM, its engine": refused(
        400, "The decoder prompt (length 2136) is longer than the maximum model length of 2048."
    ),
    "llama.cpp": refused(
        400,
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type="exceed_context_size_error",
        code=400,
    ),
    "llama.cpp, while it writes": refused(500, "Context size has been exceeded.", type="server_error", code=500),
    "Ollama": refused(400, "the input length exceeds the context length", type="api_error", code=None),
}


@pytest.mark.parametrize("failure", TOO_LONG.values(), ids=TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised_in_every_wording(failure: openai.APIStatusError) -> None:
    error = model_error(failure)
    assert (error.error_type, error.code, error.retryable) == ("context_overflow", "context_length", False)
    assert refused_option(failure, SENT) is None


NO_TOOLS = {
    "Ollama": refused(400, "registry.ollama.ai/library/gemma:2b does not support tools", type="api_error"),
    "OpenRouter": refused(404, "No endpoints found that support tool use. To learn more, visit the docs.", code=404),
    "vLLM": refused(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    "llama.cpp": refused(500, "tools param requires --jinja flag", type="server_error", code=500),
    "Groq": refused(400, "`tool calling` is not supported with this model", type="invalid_request_error"),
}


@pytest.mark.parametrize("failure", NO_TOOLS.values(), ids=NO_TOOLS)
def test_a_model_without_tools_is_recognised_where_tools_were_offered(failure: openai.APIStatusError) -> None:
    assert refused_option(failure, SENT) == "tools"
    assert refused_option(failure, ("temperature",)) is None


@pytest.mark.parametrize(
    ("failure", "option"),
    [
        (
            refused(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                code="unsupported_parameter",
                param="max_tokens",
            ),
            "max_tokens",
        ),
        (
            refused(
                400,
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is "
                "supported.",
                code="unsupported_value",
                param="temperature",
            ),
            "temperature",
        ),
        (
            refused(422, "", detail=[{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]),
            "stream_options",
        ),
        (refused(400, "Unrecognized request argument supplied: stream_options"), "stream_options"),
        (refused(400, "Unknown field: logit_bias"), None),
        (refused(400, "temperature must be at most 1"), None),
        (refused(401, "unsupported parameter: temperature"), None),
    ],
)
def test_an_option_that_a_model_does_not_know_is_named(failure: openai.APIStatusError, option: str | None) -> None:
    assert refused_option(failure, SENT) == option


@pytest.mark.parametrize(
    ("failure", "error_type", "code"),
    [
        (
            refused(429, "You exceeded your current quota, please check your plan.", code="insufficient_quota"),
            "rate_limit",
            "quota",
        ),
        (refused(402, "Insufficient credits. Add more.", code=402), "api_error", "quota"),
        (
            refused(400, "The response was filtered due to the content management policy.", code="content_filter"),
            "invalid_input",
            "content_filter",
        ),
        (
            refused(403, "openai/gpt-4o requires moderation. Your input was flagged for violence.", code=403),
            "invalid_input",
            "content_filter",
        ),
        (
            refused(413, "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 14810"),
            "context_overflow",
            "too_large",
        ),
        (refused(404, "The model `x` does not exist.", code="model_not_found"), "api_error", "model_not_found"),
        (refused(404, 'model "x" not found, try pulling it first', type="api_error"), "api_error", "model_not_found"),
    ],
)
def test_what_a_status_alone_does_not_tell_is_told_by_the_words(
    failure: openai.APIStatusError, error_type: str, code: str
) -> None:
    error = model_error(failure)
    assert (error.error_type, error.code, error.retryable) == (error_type, code, False)


@pytest.mark.parametrize(
    ("body", "error_type", "code", "retryable"),
    [
        ({"message": "m", "code": 429}, "rate_limit", "rate_limit", True),
        ({"message": "m", "code": "rate_limit_exceeded"}, "rate_limit", "rate_limit", True),
        ({"message": "m", "code": "insufficient_quota"}, "rate_limit", "quota", False),
        ({"message": "m", "code": 401}, "auth_error", "wrong_key", False),
        ({"message": "m", "status": 503}, "api_error", "server_error", True),
        ({"message": "m", "type": "overloaded_error"}, "api_error", "server_error", True),
        ({"message": "Provider disconnected", "code": "whatever"}, "api_error", "server_error", True),
        ({"message": "m", "code": ["odd"]}, "api_error", "server_error", True),
        ({"message": "maximum context length is 4096 tokens"}, "context_overflow", "context_length", False),
    ],
)
def test_an_error_in_a_stream_has_the_type_of_the_status_it_stands_for(
    body: dict[str, Any], error_type: str, code: str, retryable: bool
) -> None:
    error = model_error(openai.APIError("sk-canary", REQUEST, body=body))
    assert (error.error_type, error.code, error.retryable) == (error_type, code, retryable)
    assert "canary" not in error.message
