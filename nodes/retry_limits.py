"""When a failed step is retried, and after how long. LangGraph's retry policy does the waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rag.errors import AskbookError


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits on retries, in seconds.

    If a service names a wait, the step waits exactly that long; it is not retried if the wait exceeds
    `longest_requested_wait`, which is as long as a user at a terminal will wait. Otherwise the wait doubles from
    `first` up to `longest`. `pace` multiplies every wait; tests use 0.
    """

    attempts: int = 3
    first: float = 0.5
    longest: float = 8.0
    longest_requested_wait: int = 30
    pace: float = 1.0

    def may_retry(self, failure: BaseException) -> bool:
        """Whether the failure is marked retryable and names no wait beyond `longest_requested_wait`."""
        if not isinstance(failure, AskbookError) or not failure.retryable:
            return False
        return failure.requested_wait is None or failure.requested_wait <= self.longest_requested_wait

    def tries_again(self, failure: BaseException, attempt: int) -> bool:
        """Whether a step is retried that failed in attempt number `attempt`, which counts from 1."""
        return attempt < self.attempts and self.may_retry(failure)

    def wait_before_retry(self, failure: BaseException, attempt: int) -> int | None:
        """The wait in seconds that a service named, after attempt number `attempt`, which counts from 1.

        None if the service named none or no attempt is left.
        """
        return (
            failure.requested_wait if isinstance(failure, AskbookError) and self.tries_again(failure, attempt) else None
        )


USUAL: Final = Patience()
