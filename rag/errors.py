"""Every failure that a user can meet: its type, its fixed sentence, what to do about it.

The product raises `AskbookError`. The part that calls a library turns its exceptions into one at a single border
(`rag.model.endpoint_errors` for the model, the index adapters for Qdrant), so nodes and commands know one family.
"""

from __future__ import annotations

import math
from typing import Final
from urllib.parse import urlsplit

from rag.types import ErrorInfo, ErrorType

# The sentences are part of the public surface: programs compare them, so they change only with a decision record.
USER_MESSAGES: Final[dict[ErrorType, str]] = {
    "rate_limit": "The service is busy. Please wait {retry_after} seconds and try again.",
    "api_error": "There was a problem connecting to the AI service. Please try again.",
    "retrieval_error": "Could not search the book content. Please try again.",
    "auth_error": "Authentication failed. Please check your API keys.",
    "invalid_input": "Your question couldn't be processed. Please rephrase.",
    "context_overflow": "Your conversation is too long. Type 'clear' to start fresh.",
    "memory_error": "Your conversation could not be read or saved. Please try again.",
}
_FINAL: Final = frozenset[ErrorType]({"auth_error", "invalid_input", "context_overflow"})
RATE_LIMIT_SECONDS: Final = 10  # what the user is told to wait when the provider names no time


class AskbookError(Exception):
    """A failure of a turn or of a command.

    `message` says what happened, with the value; `hint` says what to do. `code` is finer than `error_type` and stable.
    Both texts may be stored and shown, so they never hold a key or an address with credentials. `told_to_wait` is the
    time in whole seconds that a service named; `retry_after` is what the user is told of a rate limit in any case.
    `shown` says that a part of the answer had been shown and was withdrawn.
    """

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
        self.retry_after = math.ceil(retry_after) if retry_after is not None else None
        self.told_to_wait = self.retry_after
        if error_type == "rate_limit" and self.retry_after is None:
            self.retry_after = RATE_LIMIT_SECONDS

    def info(self) -> ErrorInfo:
        """The record that goes into the response."""
        return ErrorInfo(
            error_type=self.error_type,
            code=self.code,
            message=self.message,
            user_message=USER_MESSAGES[self.error_type].format(retry_after=self.retry_after),
            hint=self.hint,
            retry_after=self.retry_after,
            recoverable=self.error_type not in _FINAL,
        )


class OptionRefusedError(AskbookError):
    """A model that does not know an option of the request; without the option the same request may succeed."""

    option: str = ""


class UsageError(AskbookError):
    """Wrong usage or configuration: one line, exit code 2, nothing written."""

    def __init__(self, message: str, *, code: str = "usage", hint: str = "") -> None:
        super().__init__("invalid_input", code, message, hint=hint)


class InvalidQuestionError(UsageError):
    """A question that cannot be asked: empty, or longer than the profile allows."""


class RetrievalError(AskbookError):
    """The search itself failed, which is never the same as finding nothing."""

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__("retrieval_error", code, message, hint=hint, retryable=retryable)


class MemoryFailureError(AskbookError):
    """The conversation could not be read or saved."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__("memory_error", code, message, hint=hint)


def host(url: str) -> str:
    """Host and port of an address, without its credentials, path and query."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
    except ValueError:  # half a bracket
        return "the server"
    try:
        return f"{parts.hostname or 'the server'}{f':{parts.port}' if parts.port else ''}"
    except ValueError:  # a port that is no number
        return parts.hostname or "the server"
