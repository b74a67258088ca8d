"""The errors of askbook: their types, the fixed sentence of each type, and their classes.

Exceptions of other libraries are translated in one place per library, such as `rag.failures`.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar, Final
from urllib.parse import urlsplit

from rag.types import ErrorInfo, ErrorType

# Public interface: other programs compare these sentences, so they change only with a decision record.
USER_MESSAGES: Final[dict[ErrorType, str]] = {
    "rate_limit": "The service is busy. Please wait {retry_after} seconds and try again.",
    "api_error": "There was a problem connecting to the AI service. Please try again.",
    "retrieval_error": "Could not search the book content. Please try again.",
    "auth_error": "Authentication failed. Please check your API keys.",
    "invalid_input": "Your question couldn't be processed. Please rephrase.",
    "context_overflow": "Your conversation is too long. Type 'clear' to start fresh.",
    "memory_error": "Your conversation could not be read or saved. Please try again.",
}
_NOT_RECOVERABLE: Final = frozenset[ErrorType]({"auth_error", "invalid_input", "context_overflow"})
# Codes of failures that last until somebody changes the configuration or the book: trying again does not help.
_LASTING: Final = frozenset(
    {"no_index", "index_request", "embedding_mismatch", "embedding_unknown"}
    | {
        f"{part}{problem}"
        for part in ("", "embedding_", "rerank_")
        for problem in ("bad_request", "model_not_found", "redirected", "unexpected_status", "quota", "network")
    }
)
_TRY_AGAIN: Final = " Please try again."
_WAIT: Final = re.compile(r" Please wait \d+ seconds and try again\.$")
_CLEAR: Final = " Type 'clear' to start fresh."
RATE_LIMIT_SECONDS: Final = 10  # shown to the user when the provider names no time
LONGEST_WAIT: Final = 86_400  # seconds; a service that names a longer time, up to 1e308, is not waited for anyway


class AskbookError(Exception):
    """A failure of a turn or of a command.

    `message` says what happened, with the value; `hint` says what to do. Both may be stored and shown, so neither holds
    a key or an address with credentials. `code` is stable and finer than `error_type`. `requested_wait` is the time
    that a service named, in seconds rounded up, or None; `retry_after` is the same, except that a rate limit without a
    time has `RATE_LIMIT_SECONDS`, unless it lasts. `shown` says that a part of the answer was shown and then withdrawn.
    `exit_code` is that of a command that ends with it: something failed, such as the search of a missing book.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        error_type: ErrorType,
        code: str,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.error_type: ErrorType = error_type
        self.code = code
        self.message = message
        self.hint = hint
        self.retryable = retryable
        self.shown = False
        self.retry_after = math.ceil(min(retry_after, LONGEST_WAIT)) if retry_after is not None else None
        self.requested_wait = self.retry_after
        if error_type == "rate_limit" and self.retry_after is None and code not in _LASTING:
            self.retry_after = RATE_LIMIT_SECONDS

    def info(self) -> ErrorInfo:
        """The record that goes into the response."""
        return ErrorInfo(
            error_type=self.error_type,
            code=self.code,
            message=self.message,
            user_message=USER_MESSAGES[self.error_type].format(
                retry_after=RATE_LIMIT_SECONDS if self.retry_after is None else self.retry_after
            ),
            hint=self.hint,
            retry_after=self.retry_after,
            recoverable=self.error_type not in _NOT_RECOVERABLE and self.code not in _LASTING,
        )


class OptionRefusedError(AskbookError):
    """The model's endpoint rejected `option` of the request; without it the same request may succeed."""

    option: str = ""


class UsageError(AskbookError):
    """Wrong usage or configuration, such as an unknown profile. The command prints one line and writes nothing."""

    exit_code = 2

    def __init__(self, message: str, *, code: str = "usage", hint: str = "") -> None:
        super().__init__("invalid_input", code, message, hint=hint)


class SourceFailedError(UsageError):
    """A source that cannot be read, though what was asked for is right. `failures` has every source and the reason."""

    exit_code = 1
    failures: tuple[tuple[str, str], ...] = ()


class InvalidQuestionError(UsageError):
    """A rejected question: empty, longer than the profile allows, or not UTF-8 text."""


class RetrievalError(AskbookError):
    """The search itself failed. Finding nothing is not an error."""

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__("retrieval_error", code, message, hint=hint, retryable=retryable)


class MemoryFailureError(AskbookError):
    """The conversation could not be read or saved."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__("memory_error", code, message, hint=hint)


def unknown_book(name: str, hint: str = "The list of books has those that can be asked.") -> UsageError:
    """The error for a book that does not exist or that the caller may not see. Callers cannot tell these apart."""
    return UsageError(f'There is no book "{name[:100]}".', code="unknown_book", hint=hint)


def told(failure: ErrorInfo, *, in_chat: bool = False) -> str:
    """The `user_message` without advice that does not help here, such as to wait for a failure that lasts."""
    sentence = failure.user_message
    if failure.code in _LASTING:
        sentence = _WAIT.sub("", sentence).removesuffix(_TRY_AGAIN)
    return sentence if in_chat else sentence.removesuffix(_CLEAR)


def host(url: str) -> str:
    """Host and port of an address, without credentials, path and query; "the server" when it has no readable host."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
    except ValueError:  # an unclosed bracket
        return "the server"
    try:
        return f"{parts.hostname or 'the server'}{f':{parts.port}' if parts.port else ''}"
    except ValueError:  # the port is not a number
        return parts.hostname or "the server"
