"""One table of what failures of services mean: of the model, of the embedding service, and of the reranker.

Clients of every provider raise exceptions of their own, and servers say the same thing in different places: in the
class of the exception, the status, a code or the words of the body, or a header. `failure_of` looks in all of them.
Texts of services are matched here and not passed on, since they may repeat a key, an address or the question.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, NamedTuple

from rag.errors import AskbookError, OptionRefusedError, host
from rag.system.network import fault_of, proxies_in_use
from rag.types import ErrorType

Part = Literal["model", "embedding", "rerank"]


@dataclass(frozen=True, slots=True)
class Service:
    """A service as messages name it, and what configures its key, its address and its model, as hints name them."""

    place: str = "The model's endpoint"
    key: str = "OPENAI_API_KEY"
    url: str = "OPENAI_BASE_URL"
    model: str = "OPENAI_MODEL"
    part: Part = "model"


class FailureKind(NamedTuple):
    """A row: the type and code of an error, whether the same request may succeed later, and the key of its hint."""

    error_type: ErrorType
    code: str
    retryable: bool = False
    hint: str = ""


_WRONG_KEY: Final = FailureKind("auth_error", "wrong_key", hint="key")
_BAD_REQUEST: Final = FailureKind("api_error", "bad_request", hint="model")
_NO_CREDIT: Final = FailureKind("api_error", "quota", hint="credit")
_NO_MODEL: Final = FailureKind("api_error", "model_not_found", hint="name")
_LIMIT: Final = FailureKind("rate_limit", "rate_limit", retryable=True, hint="limits")
_QUOTA: Final = FailureKind("rate_limit", "quota", hint="credit")
_FORBIDDEN: Final = FailureKind("auth_error", "forbidden", hint="key")
_TOO_LARGE: Final = FailureKind("context_overflow", "too_large", hint="shorter")
_OVERFLOW: Final = FailureKind("context_overflow", "context_length", hint="shorter")
_FILTER: Final = FailureKind("invalid_input", "content_filter", hint="rephrase")
_GARBLED: Final = FailureKind("api_error", "tool_use_failed", retryable=True, hint="later")
_SERVER: Final = FailureKind("api_error", "server_error", retryable=True, hint="later")
_TIMEOUT: Final = FailureKind("api_error", "timeout", retryable=True, hint="later")
_CONFLICT: Final = FailureKind("api_error", "conflict", retryable=True, hint="later")
_UNREACHABLE: Final = FailureKind("api_error", "unreachable", retryable=True, hint="address")
_NO_ADDRESS: Final = FailureKind("api_error", "unreachable", hint="address")
_UNREADABLE: Final = FailureKind("api_error", "bad_response", hint="address")
_ENDLESS: Final = FailureKind("api_error", "endless_answer", hint="address")
_REDIRECTED: Final = FailureKind("api_error", "redirected", hint="redirect")
_UNEXPECTED: Final = FailureKind("api_error", "unexpected_status", hint="address")
_EMPTY: Final = FailureKind("api_error", "empty_answer")
_UNKNOWN: Final = FailureKind("api_error", "failed")

_BY_STATUS: Final = {
    400: _BAD_REQUEST,
    401: _WRONG_KEY,
    402: _NO_CREDIT,
    403: _FORBIDDEN,
    404: _NO_MODEL,
    408: _TIMEOUT,
    409: _CONFLICT,
    413: _TOO_LARGE,
    422: _BAD_REQUEST,
    429: _LIMIT,
    498: _WRONG_KEY,  # Cohere
    501: _UNEXPECTED,
    504: _TIMEOUT,
}
# Codes in the body of an error, also of one in a stream that began with status 200. Numbers there are statuses.
_BY_CODE: Final = {
    "tool_use_failed": _GARBLED,  # Groq, with status 400: the model's tool call could not be parsed
    "context_length_exceeded": _OVERFLOW,
    "content_filter": _FILTER,
    "content_policy_violation": _FILTER,
    "insufficient_quota": _QUOTA,
    "invalid_argument": _BAD_REQUEST,  # Gemini's, up to the next comment
    "resource_exhausted": _LIMIT,
    "unauthenticated": _WRONG_KEY,
    "permission_denied": _FORBIDDEN,
    "unavailable": _SERVER,
    "invalid_request_error": _BAD_REQUEST,  # OpenAI's and Anthropic's
    "invalid_api_key": _WRONG_KEY,
    "authentication_error": _WRONG_KEY,
    "permission_error": _FORBIDDEN,
    "permission_denied_error": _FORBIDDEN,
    "model_not_found": _NO_MODEL,
    "not_found_error": _NO_MODEL,
    "timeout": _TIMEOUT,
    "rate_limit_exceeded": _LIMIT,
    "rate_limit_error": _LIMIT,
    "rate_limit": _LIMIT,
    "server_error": _SERVER,
    "internal_server_error": _SERVER,
    "api_error": _SERVER,
    "overloaded_error": _SERVER,
    "service_unavailable": _SERVER,
}
# Wordings, tried in this order, with the statuses at which they mean it; None stands for an error without a status.
_BY_WORDS: Final[tuple[tuple[FailureKind, Collection[int | None], str], ...]] = (
    (
        _GARBLED,
        (None, 400, 422, 500),
        # Groq; vLLM and llama.cpp; Ollama
        "tool_use_failed|failed to call a function|(?:failed to parse|error parsing|could not parse) (?:the )?"
        "(?:tool|function)[ _]call",
    ),
    (
        _TOO_LARGE,
        (429,),
        "request too large",  # OpenAI: more than all tokens of a minute, so that no wait helps
    ),
    (
        _OVERFLOW,
        (None, 400, 403, 404, 422, 500, 503),
        # OpenAI, OpenRouter, vLLM, Groq, llama.cpp, Ollama, Anthropic, Gemini, Mistral, LiteLLM, TGI, Moonshot, Qwen
        "context[_ ](?:length|size|window)[_ ]?(?:has been |is )?exceed|exceed(?:s|ed|ing)?[_ ](?:the |your |its |this "
        "model's )?(?:available |maximum |max |model(?:'s)? |configured )*(?:context|input|length|number of (?:input )?"
        "tokens|tokens?[_ ]limit)|maximum (?:context|sequence|input|prompt) length|contextwindowexceeded|longer than "
        "the (?:maximum model|model's )|too long to fit into the model|(?:prompt|input|request|conversation|message)s? "
        "(?:is|are|was) too (?:long|large)|too large for model with|reduce (?:the length of )?(?:the |your )?"
        "(?:messages|prompt|input)|tokens? (?:count )?[\\W\\d]*exceeds?|greater than the context length|"
        "too many (?:input )?tokens|inputs\\W{1,3}(?:tokens \\+|must have less)|range of input length",
    ),
    (
        _FILTER,
        (None, 400, 403, 422),
        "content_filter|content_policy|content management policy|content (?:exists )?risk|requires moderation|"
        "input was flagged|(?:blocked|flagged|rejected) (?:by|for|due to) (?:our |the )?(?:safety|content|moderation)|"
        "data_inspection_failed|responsible ?ai",
    ),
    (_QUOTA, (429,), "insufficient_quota|exceeded your current quota|insufficient (?:credit|balance)"),
    (_NO_CREDIT, (400, 403), "insufficient (?:credit|balance|funds)|credit balance is too low|requires more credits"),
    (_WRONG_KEY, (400,), "api[ _]key (?:not valid|is invalid|not found)|invalid api[ _]key|api_key_invalid"),  # Gemini
)
# By the names of classes, so that no library needs to be imported for its exceptions. The first known base counts.
_CLASSES: Final[tuple[tuple[FailureKind, str], ...]] = (
    (_OVERFLOW, "ContextOverflowError"),
    (_WRONG_KEY, "ModelAuthenticationError"),
    (_FORBIDDEN, "ModelPermissionDeniedError"),
    (_BAD_REQUEST, "ModelInvalidRequestError"),
    (_NO_MODEL, "ModelNotFoundError"),
    (_LIMIT, "ModelRateLimitError"),
    (_SERVER, "ModelAPIError InternalServerError"),
    (_FILTER, "ContentFilterFinishReasonError OpenAIRefusalError OpenAIModerationError"),
    (_EMPTY, "LengthFinishReasonError"),
    (_ENDLESS, "ResponseTooLongError EndlessResponseError"),
    (_TIMEOUT, "ModelTimeoutError APITimeoutError TimeoutException TimeoutError"),
    (_NO_ADDRESS, "UnsupportedProtocol InvalidURL LocalProtocolError UnicodeEncodeError"),
    (_UNREADABLE, "DecodingError TooManyRedirects APIResponseValidationError OutputParserException"),
    (_UNREADABLE, "ParsingError ApiError"),  # Cohere's, with status 200
    (_UNREACHABLE, "ModelConnectionError APIConnectionError TransportError StreamError OSError"),
    # An answer of another form makes a client raise one of these.
    (_UNREADABLE, "ValueError TypeError AttributeError LookupError AssertionError ArithmeticError RecursionError"),
)
_BY_CLASS: Final = {name: kind for kind, names in _CLASSES for name in names.split()}
_MESSAGES: Final = {
    "context_length": "The prompt is too long for the model.",
    "content_filter": "The provider's content filter refused the question or the answer.",
    "tool_use_failed": "The model wrote a search that its endpoint could not read.",
    "quota": "{place} says that the account has no credit left.",
    "timeout": "{place} did not answer in time.",
    "unreachable": "{place} could not be reached.",
    "bad_response": "{place} sent something unreadable.",
    "empty_answer": "The model sent an empty answer.",
    "endless_answer": "{place} sent far more than an answer has and was stopped.",
    "server_error": "{place} reported a failure in the middle of its answer.",
}
# {key}, {url} and {model} stand for what configures the service, {network} for what else may be wrong on the way.
_HINTS: Final = {
    "key": "Check {key}, and that it belongs to {url}.",
    "credit": "Waiting does not help: check the account that {key} belongs to.",
    "name": "Check {model} and {url}.",
    "model": "Check {model}: the service refused the request, which is none of the question's.",
    "address": "Check {network}, and {url}.",
    "redirect": "Set {url} to the address that answers itself, if you trust it.",
    "later": "If it keeps failing, look at the status page of the service, or set another model in {model}.",
    "limits": "If it keeps happening, check the limits of the account that {key} belongs to.",
    "rephrase": "Ask in other words.",
    "shorter": "Ask for fewer passages (-k), or start a new conversation.",
}
_OF_SEARCH: Final = frozenset({"auth_error", "rate_limit"})  # types that a failure of embedder or reranker keeps
# OpenRouter rejects an unknown option with 404, llama.cpp with 500 or 501, others with 400 or 422.
_REFUSES_OPTIONS: Final = frozenset({400, 404, 422, 500, 501})


def failure_of(
    failure: BaseException, service: Service, options: Collection[str] = (), model: str = ""
) -> AskbookError:
    """The failure of a call as an `AskbookError`, without a cause; one that already is one is returned unchanged.

    `options` are the names of the options that were sent. If the service rejected one of them, the error is an
    `OptionRefusedError`. `model` is named for a model that does not exist.
    """
    chain = list(_chain(failure))
    if known := next((one for one in chain if isinstance(one, AskbookError)), None):
        return known
    if wrong := fault_of(chain) if _status(chain) is None else None:
        kind, message, hint = FailureKind("api_error", "network"), wrong.message, wrong.hint
    else:
        kind = _kind(chain)
        message, hint = _message(chain, kind, service, model), _hint(kind.hint, service)
    error_type, code = kind.error_type, kind.code
    if service.part != "model":
        error_type = error_type if error_type in _OF_SEARCH else "retrieval_error"
        code, message = f"{service.part}_{code}", f"{_PARTS[service.part]} failed: {message}"
    option = _rejected_option(chain, kind, options)
    error = OptionRefusedError if option else AskbookError
    found = error(error_type, code, message, hint=hint, retry_after=named_wait(chain), retryable=kind.retryable)
    if isinstance(found, OptionRefusedError):
        found.option = option or ""
    return found


_PARTS: Final = {"embedding": "Embedding", "rerank": "Reranking"}


def _chain(failure: BaseException) -> Iterator[BaseException]:
    """The failure and its causes, the outermost first. LangChain's clients wrap what their libraries raise."""
    one: BaseException | None = failure
    for _ in range(6):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _status(chain: Collection[BaseException]) -> int | None:
    """The HTTP status, or the one that the body of an error in a stream names; None if there is neither."""
    for failure in chain:
        for place in (failure, getattr(failure, "response", None)):
            for name in ("status_code", "code"):  # the second is google-genai's
                value = getattr(place, name, None)
                if isinstance(value, int) and 100 <= value < 600:
                    return value
    for word in _codes(chain):
        if word.isdecimal() and 400 <= int(word) < 600:
            return int(word)
    return None


def _kind(chain: Collection[BaseException]) -> FailureKind:
    status, said = _status(chain), words_of(chain)
    names = [base.__name__ for failure in chain for base in type(failure).__mro__]
    named = next((_BY_CLASS[name] for name in ("DecodingError", *names) if name in _BY_CLASS and name in names), None)
    if status is None and not said:
        return named or _UNKNOWN
    for kind, statuses, wording in _BY_WORDS:
        if status in statuses and re.search(wording, said, re.IGNORECASE):
            return _LIMIT if kind is _QUOTA and named_wait(chain) is not None else kind
    if named is _OVERFLOW and status not in (401, 413, 429):
        return _OVERFLOW
    if status is None:
        kinds = [_BY_CODE[code.lower()] for code in _codes(chain) if code.lower() in _BY_CODE]
        known = next((kind for kind in kinds if kind is not _BAD_REQUEST), kinds[0] if kinds else named)
        return known or (_SERVER if any(_body(one) for one in chain) else _UNKNOWN)
    if status < 400:
        return _REDIRECTED if status >= 300 else _UNREADABLE
    return _BY_STATUS.get(status) or (_SERVER if status >= 500 else _UNEXPECTED)


def _body(failure: BaseException) -> Any:
    """What the service sent: most clients have its JSON in `body`, google-genai in `details`, some only text."""
    for name in ("body", "details", "response_json", "error"):
        if value := getattr(failure, name, None):
            return value
    with suppress(Exception):  # httpx's own exception; a response that was not read, or is no JSON
        return failure.response.json()  # type: ignore[attr-defined]  # as above
    return None


# The keys whose values are of a service's own words. Others may repeat what it was sent.
_OWN: Final = frozenset({
    "error", "errors", "message", "msg", "code", "type", "status", "status_code", "reason", "detail", "details", "loc",
    "param", "metadata", "raw", "headers", "retryDelay", "retry_after", "retry_after_seconds", "innererror", "@type",
})  # fmt: skip
_LONGEST: Final = 4000  # characters of an error that are read


def _said(body: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The values in a body with their keys, in its order, as far as they are of the service's own words."""
    if depth > 8:
        return
    if isinstance(body, Mapping):
        for name, value in body.items():
            if name in _OWN or key == "headers":
                yield from _said(value, str(name), depth + 1)
    elif isinstance(body, list | tuple):
        for value in body[:20]:
            yield from _said(value, key, depth + 1)
    elif isinstance(body, str) and body.lstrip()[:1] in ("{", "["):  # OpenRouter's `raw` is the JSON of a provider
        with suppress(ValueError, RecursionError):
            yield from _said(json.loads(body), key, depth + 1)
            return
        yield key, body[:_LONGEST]
    elif body is not None and not isinstance(body, bool):
        yield key, str(body)[:_LONGEST]


def _pairs(chain: Collection[BaseException]) -> Iterator[tuple[str, str]]:
    for failure in chain:
        if (body := _body(failure)) is not None:
            yield from _said(body)


def _codes(chain: Collection[BaseException]) -> list[str]:
    return [value for key, value in _pairs(chain) if key in ("code", "status", "status_code", "type", "reason")]


def words_of(chain: Collection[BaseException]) -> str:
    """The words of a service's error. Must not be shown, logged or stored."""
    found = [value for _, value in _pairs(chain)]
    if not found:  # a client that has no body has the service's message as its own
        found = [str(one) for one in chain if not isinstance(one, OSError) and _status([one]) is not None]
        found += [str(one) for one in chain if type(one).__name__ in _WITH_WORDS]
    return " ".join(found)[:_LONGEST]


_WITH_WORDS: Final = frozenset({"ChatGoogleGenerativeAIError", "ResponseError", "APIError"})

_NO_TOOLS: Final = re.compile(
    # Ollama; OpenRouter, with status 404; vLLM, started without a tool parser; llama.cpp; Groq and SGLang
    "does not support tools|support tool use|tool choice requires|tools? param requires|"
    r"(?:tool|function) (?:calling|calls|use)\W{0,3}(?:is|are) not (?:supported|enabled)",
    re.IGNORECASE,
)
_UNKNOWN_OPTION: Final = re.compile(
    "unsupported|unrecognized|not supported|unknown|not permitted|unexpected|not allowed|invalid parameter",
    re.IGNORECASE,
)


def _rejected_option(chain: Collection[BaseException], kind: FailureKind, sent: Collection[str]) -> str | None:
    """The option, among those sent, that the service rejects; None if the error is about something else."""
    if _status(chain) not in _REFUSES_OPTIONS or kind in (_OVERFLOW, _GARBLED):
        return None
    said = words_of(chain)
    if "tools" in sent and _NO_TOOLS.search(said):
        return "tools"
    if not _UNKNOWN_OPTION.search(said):
        return None
    found = {name: match.start() for name in sent if (match := re.search(rf"\b{re.escape(name)}\b", said))}
    return min(found, key=lambda name: found[name]) if found else None


_UNITS: Final = {"ms": 0.001, "m": 60, "s": 1, "h": 3600, "d": 86_400}
_UNIT: Final = "milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d"
_AMOUNT: Final = rf"\d+(?:\.\d+)?\s*(?:{_UNIT})?(?![a-z])"
_WAIT: Final = re.compile(
    rf"(?:try again|retry|wait|available|reset(?:s|ting)?)(?:\s+your request)?(?:\s+(?:again|after|in|for|at least))*"
    rf"[:\s]+(?P<wait>{_AMOUNT}(?:(?:\s*,?\s*(?:and\s+)?)?{_AMOUNT})*)",
    re.IGNORECASE,
)


def named_wait(chain: Collection[BaseException], now: datetime | None = None) -> float | None:
    """The wait in seconds that the service names, 0 or more: in a header, else in its body; None if it names none."""
    now = now or datetime.now(UTC)
    for failure in chain:
        headers = getattr(getattr(failure, "response", failure), "headers", None)
        if headers and (seconds := seconds_in(headers, now)) is not None:
            return seconds
    pairs = list(_pairs(chain))
    named = {key.lower(): value for key, value in pairs}
    for key in ("retrydelay", "retry_after", "retry_after_seconds"):
        if key in named and (seconds := duration(named[key])) is not None:
            return seconds
    if (seconds := seconds_in(named, now)) is not None:  # OpenRouter repeats the headers of the provider
        return seconds
    found = _WAIT.search(words_of(chain))
    return duration(found["wait"]) if found else None


def seconds_in(headers: Mapping[str, str], now: datetime) -> float | None:
    """The wait in seconds from `now` that headers name, with their names in lower case; None if there is none.

    `Retry-After` holds seconds or a date (RFC 9110, section 10.2.3), OpenAI's `retry-after-ms` is more exact, and
    OpenRouter's `X-RateLimit-Reset` is a time in milliseconds since 1970.
    """
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return exact / 1000
    value = headers.get("retry-after")
    if value is not None:
        seconds = _number(value)
        if seconds is None:
            with suppress(ValueError):
                date = parsedate_to_datetime(value)
                date = date if date.tzinfo else date.replace(tzinfo=UTC)
                return max(0.0, (date - now).total_seconds())
        return seconds
    for what in ("requests", "tokens"):  # OpenAI's and Groq's: the time until all of the limit is there again
        if headers.get(f"x-ratelimit-remaining-{what}") == "0":
            return duration(headers.get(f"x-ratelimit-reset-{what}") or "")
    reset = _number(headers.get("x-ratelimit-reset"))
    if reset is not None and reset > _MILLISECONDS:
        return max(0.0, reset / 1000 - now.timestamp())
    return None


_MILLISECONDS: Final = 1e12  # since 1970; no wait is as long


def duration(text: str) -> float | None:
    """The seconds of a duration; a number without a unit is one of seconds.

    >>> duration("1m30.5s"), duration("2 minutes and 5 seconds"), duration("850ms"), duration("20"), duration("soon")
    (90.5, 125.0, 0.85, 20.0, None)
    """
    total = None
    for amount, unit in re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.lower()):
        name = "ms" if unit.startswith(("ms", "milli")) else unit[:1] or "s"
        if name not in _UNITS:
            break
        total = (total or 0.0) + float(amount) * _UNITS[name]
    return total if total is not None and total < math.inf else None


def _number(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def _message(chain: Collection[BaseException], kind: FailureKind, service: Service, model: str) -> str:
    status = _status(chain)
    if kind.code in ("context_length", "content_filter", "tool_use_failed", "quota"):
        return _MESSAGES[kind.code].format(place=service.place)
    if status is not None and kind is _REDIRECTED:
        return f"{service.place} answered {status}: {_redirection(chain)}."
    if status is None or status < 400:
        said = _MESSAGES.get(kind.code, f"The client of {{place}} raised {type(next(iter(chain))).__name__}.")
        return said.format(place=service.place)
    named = f" for {model}" if kind is _NO_MODEL and model else ""
    return f"{service.place} answered {status}{named}."


def _redirection(chain: Collection[BaseException]) -> str:
    """Where a redirect points, without path and query, and that it is not followed."""
    headers = [getattr(getattr(failure, "response", failure), "headers", None) or {} for failure in chain]
    location = next((found for one in headers if (found := one.get("location"))), "")
    place = f"to {host(location)}" if location.startswith(("http://", "https://", "//")) else "to another path"
    return f"it redirects {place}, and askbook follows no redirects"


def _hint(kind: str, service: Service) -> str:
    network = " and ".join(filter(None, ("the network", proxies_in_use())))
    return _HINTS.get(kind, "").format(key=service.key, url=service.url, model=service.model, network=network)
