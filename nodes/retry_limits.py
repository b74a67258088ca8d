"""When a failed step is retried, and after how long. LangGraph's retry policy does the waiting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from rag.errors import AskbookError


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits on retries, in seconds.

    If a service names a wait, the step waits exactly that long; it is not retried if the wait exceeds
    `longest_requested_wait`, which is as long as a user at a terminal will wait. Otherwise the wait doubles from
    `first` up to `longest`, and up to `JITTER` seconds are added by chance. `pace` multiplies every wait; tests use 0.
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
        """The wait after attempt number `attempt`, which counts from 1, in whole seconds.

        It is exactly the time that a service named, else the longest that chance can make it. None if no attempt is
        left.
        """
        if not isinstance(failure, AskbookError) or not self.tries_again(failure, attempt):
            return None
        if failure.requested_wait is not None:
            return failure.requested_wait
        interval = min(self.longest, self.first * 2.0 ** (attempt - 1))
        return math.ceil(interval * self.pace + (JITTER if self.pace > 0 else 0))


JITTER: Final = 1.0  # seconds; LangGraph adds a random number from 0 to 1 to an interval with jitter
USUAL: Final = Patience()
