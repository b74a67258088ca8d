"""What providers say when they refuse, in words: the same refusal has as many wordings as there are servers.

A status alone does not tell a prompt that is too long from one that is malformed. The words are only recognised here:
they never pass on, since they may repeat keys, addresses or the question. Whose wording it is stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

_LONGEST: Final = 4000  # characters of an error that are read

_OVERFLOW: Final = re.compile(
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
            "tool choice requires",  # vLLM, started without its parser
            "tools? param requires",  # llama.cpp, started without its templates
            r"(?:tool|function) (?:calling|calls|use)\W{0,3}(?:is|are) not (?:supported|enabled)",  # Groq, SGLang
        )
    ),
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    "content_filter|content_policy_violation|content management policy|requires moderation|input was flagged",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(
    "insufficient_quota|exceeded your current quota|insufficient credits|requires more credits", re.IGNORECASE
)
_UNKNOWN_OPTION: Final = re.compile(
    "unsupported|unrecognized|not supported|unknown|not permitted|unexpected", re.IGNORECASE
)


def words_of(failure: BaseException) -> str:
    """What a provider said, as one text to recognise wordings in. Not to be shown, logged or stored."""
    body = getattr(failure, "body", None)
    if not isinstance(body, Mapping):
        return str(failure)[:_LONGEST]
    metadata = body.get("metadata")  # of OpenRouter: `raw` is what the provider behind it said
    inner = metadata.get("raw") if isinstance(metadata, Mapping) else None
    parts = [body.get("message"), body.get("code"), body.get("type"), body.get("param"), inner, _detail(body)]
    return " ".join(str(part)[:_LONGEST] for part in parts if part is not None)


def _detail(body: Mapping[str, Any]) -> str | None:
    """The reasons of a 422 as FastAPI writes them, without what was sent."""
    detail = body.get("detail")
    if not isinstance(detail, list):
        return str(detail) if detail is not None else None
    return " ".join(f"{one.get('loc')} {one.get('msg')}" for one in detail if isinstance(one, Mapping))


def too_long(words: str) -> bool:
    return _OVERFLOW.search(words) is not None


def filtered(words: str) -> bool:
    return _FILTERED.search(words) is not None


def no_credit(words: str) -> bool:
    return _NO_CREDIT.search(words) is not None


def named_option(words: str, sent: Collection[str]) -> str | None:
    """The option of a request that the endpoint does not know, of those sent; None where it is not about one."""
    if "tools" in sent and _NO_TOOLS.search(words):
        return "tools"
    if not _UNKNOWN_OPTION.search(words):
        return None
    # "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead": the one that is named first is meant.
    found = {name: match.start() for name in sent if (match := re.search(rf"\b{re.escape(name)}\b", words))}
    return min(found, key=lambda name: found[name]) if found else None
