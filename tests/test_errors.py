"""Errors: the fixed sentences, and what a record of a failure holds."""

from __future__ import annotations

import pytest

from rag.errors import (
    USER_MESSAGES,
    AskbookError,
    InvalidQuestionError,
    MemoryFailureError,
    RetrievalError,
    UsageError,
    told,
)
from rag.types import ErrorType

SENTENCES: dict[ErrorType, str] = {
    "rate_limit": "The service is busy. Please wait {retry_after} seconds and try again.",
    "api_error": "There was a problem connecting to the AI service. Please try again.",
    "retrieval_error": "Could not search the book content. Please try again.",
    "auth_error": "Authentication failed. Please check your API keys.",
    "invalid_input": "Your question couldn't be processed. Please rephrase.",
    "context_overflow": "Your conversation is too long. Type 'clear' to start fresh.",
    "memory_error": "Your conversation could not be read or saved. Please try again.",
}


def test_the_sentences_are_the_announced_ones() -> None:
    assert USER_MESSAGES == SENTENCES


@pytest.mark.parametrize("error_type", SENTENCES)
def test_a_record_says_the_sentence_of_its_type(error_type: ErrorType) -> None:
    info = AskbookError(error_type, "code", "What happened.", retry_after=7).info()
    assert info.user_message == SENTENCES[error_type].format(retry_after=7)
    assert (info.error_type, info.code, info.message) == (error_type, "code", "What happened.")


@pytest.mark.parametrize(
    ("error_type", "recoverable"),
    [
        ("rate_limit", True),
        ("api_error", True),
        ("retrieval_error", True),
        ("memory_error", True),
        ("auth_error", False),
        ("invalid_input", False),
        ("context_overflow", False),
    ],
)
def test_a_record_says_whether_trying_again_can_help(error_type: ErrorType, recoverable: bool) -> None:
    assert AskbookError(error_type, "code", "m").info().recoverable is recoverable


@pytest.mark.parametrize(("named", "told"), [(None, 10), (0.2, 1), (3.0, 3), (3.1, 4), (0, 0), (1e25, 86400)])
def test_the_time_to_wait_is_in_whole_seconds_rounded_up(named: float | None, told: int) -> None:
    info = AskbookError("rate_limit", "rate_limit", "m", retry_after=named).info()
    assert info.retry_after == told
    assert f"wait {told} seconds" in info.user_message


def test_only_a_rate_limit_names_a_time_by_itself() -> None:
    assert AskbookError("api_error", "code", "m").info().retry_after is None


def test_nothing_is_retried_unless_it_is_said_to_pass() -> None:
    assert not AskbookError("api_error", "code", "m").retryable


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (UsageError("m"), "invalid_input"),
        (InvalidQuestionError("m"), "invalid_input"),
        (RetrievalError("c", "m"), "retrieval_error"),
        (MemoryFailureError("c", "m"), "memory_error"),
    ],
)
def test_a_class_of_errors_has_its_type(error: AskbookError, error_type: str) -> None:
    assert error.error_type == error_type
    assert str(error) == "m"


@pytest.mark.parametrize(
    ("error_type", "code", "in_chat", "sentence"),
    [
        ("api_error", "model_not_found", True, "There was a problem connecting to the AI service."),
        ("api_error", "unexpected_status", True, "There was a problem connecting to the AI service."),
        ("retrieval_error", "index_request", True, "Could not search the book content."),
        ("api_error", "redirected", True, "There was a problem connecting to the AI service."),
        ("retrieval_error", "rerank_model_not_found", True, "Could not search the book content."),
        ("api_error", "timeout", True, SENTENCES["api_error"]),
        ("rate_limit", "quota", True, "The service is busy."),
        ("retrieval_error", "no_index", False, "Could not search the book content."),
        ("context_overflow", "turn_limit", False, "Your conversation is too long."),
        ("context_overflow", "turn_limit", True, SENTENCES["context_overflow"]),
    ],
)
def test_a_sentence_gives_no_advice_that_does_not_help(
    error_type: ErrorType, code: str, in_chat: bool, sentence: str
) -> None:
    info = AskbookError(error_type, code, "What happened.").info()
    assert told(info, in_chat=in_chat) == sentence
    assert info.user_message == SENTENCES[error_type].format(retry_after=10)
    assert info.retry_after is None
