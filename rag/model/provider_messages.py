"""Recognises the cause of a provider's error by its wording, which differs between servers.

The status alone does not distinguish a prompt that is too long from a malformed one. The wording is only matched here
and never passed on, because it may repeat keys, addresses or the question. A comment names the server of each wording.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

_LONGEST: Final = 4000  # characters of an error that are read

TOO_LONG: Final = re.compile(  # the prompt exceeds the context window
    "|".join(
        (
            "context_length_exceeded",  # OpenAI, Groq
            "maximum context length",  # OpenAI, OpenRouter, vLLM
            "exceeds? the context window",  # OpenAI
            "tokens exceed the configured limit",  # OpenAI
            "exceed_context_size",  # llama.cpp
            "exceeds the available context size",  # llama.cpp
            "context size has been exceeded",  # llama.cpp
            "exceed context window of",  # llama-cpp-python
            "longer than the maximum model length",  # vLLM
            "too long to fit into the model",  # vLLM
            "input length exceeds",  # Ollama
            "prompt is too long",  # Anthropic through a router
            "exceeds the maximum number of tokens",  # Gemini through a router
            "too large for model with",  # Mistral
            "contextwindowexceeded",  # LiteLLM
            "reduce the length of the messages",  # Groq
        )
    ),
    re.IGNORECASE,
)
_NO_TOOLS: Final = re.compile(
    "|".join(
        (
            "does not support tools",  # Ollama
            "support tool use",  # OpenRouter, with status 404
            "tool choice requires",  # vLLM, started without a tool parser
            "tools? param requires",  # llama.cpp, started without chat templates
            r"(?:tool|function) (?:calling|calls|use)\W{0,3}(?:is|are) not (?:supported|enabled)",  # Groq, SGLang
        )
    ),
    re.IGNORECASE,
)
FILTERED: Final = re.compile(  # a content filter rejected the request
    "content_filter|content_policy_violation|content management policy|requires moderation|input was flagged",
    re.IGNORECASE,
)
NO_CREDIT: Final = re.compile(
    "insufficient_quota|exceeded your current quota|insufficient credits|requires more credits", re.IGNORECASE
)
_UNKNOWN_OPTION: Final = re.compile(
    "unsupported|unrecognized|not supported|unknown|not permitted|unexpected", re.IGNORECASE
)


def words_of(failure: BaseException) -> str:
    """The text of a provider's error, for the expressions above. Must not be shown, logged or stored."""
    body = getattr(failure, "body", None)
    if not isinstance(body, Mapping):
        return str(failure)[:_LONGEST]
    metadata = body.get("metadata")  # OpenRouter puts the error of the provider behind it into `raw`
    inner = metadata.get("raw") if isinstance(metadata, Mapping) else None
    parts = [body.get("message"), body.get("code"), body.get("type"), body.get("param"), inner, _detail(body)]
    return " ".join(str(part)[:_LONGEST] for part in parts if part is not None)


def named_option(words: str, sent: Collection[str]) -> str | None:
    """The option, among those sent, that the endpoint rejects; None if the error is about something else.

    >>> named_option("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    ...              {"max_completion_tokens", "max_tokens", "temperature"})
    'max_tokens'
    """
    if "tools" in sent and _NO_TOOLS.search(words):
        return "tools"
    if not _UNKNOWN_OPTION.search(words):
        return None
    found = {name: match.start() for name in sent if (match := re.search(rf"\b{re.escape(name)}\b", words))}
    return min(found, key=lambda name: found[name]) if found else None


def _detail(body: Mapping[str, Any]) -> str | None:
    """The reasons for a status 422 in FastAPI's format, without the values that were sent."""
    detail = body.get("detail")
    if not isinstance(detail, list):
        return str(detail) if detail is not None else None
    return " ".join(f"{reason.get('loc')} {reason.get('msg')}" for reason in detail if isinstance(reason, Mapping))
