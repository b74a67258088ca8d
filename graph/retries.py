"""Patience as LangGraph's retry policies."""

from __future__ import annotations

from functools import partial

from langgraph.types import RetryPolicy

from rag.errors import AskbookError
from rag.patience import Patience


def retry_policies(patience: Patience) -> tuple[RetryPolicy, ...]:
    """One policy for each whole second that a service may name, then the one for failures that name none.

    A policy's interval is fixed when the graph is built and is no function of the exception; but a node may have
    several policies, and LangGraph goes by the first whose `retry_on` says yes. The attempts are counted over all.
    """
    told = tuple(
        RetryPolicy(
            initial_interval=seconds * patience.pace,
            max_interval=seconds * patience.pace,
            max_attempts=patience.attempts,
            jitter=False,  # the user was shown this number
            retry_on=partial(_names, patience, seconds),
        )
        for seconds in range(patience.longest_told + 1)
    )
    unnamed = RetryPolicy(
        initial_interval=patience.first * patience.pace,
        max_interval=patience.longest * patience.pace,
        max_attempts=patience.attempts,
        jitter=patience.pace > 0,
        retry_on=patience.may_retry,
    )
    return (*told, unnamed)


def _names(patience: Patience, seconds: int, failure: Exception) -> bool:
    return patience.may_retry(failure) and isinstance(failure, AskbookError) and failure.told_to_wait == seconds
