"""How long a step that failed waits before it is tried again. LangGraph's retry policy does the waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rag.errors import AskbookError


@dataclass(frozen=True, slots=True)
class Patience:
    """Times in seconds. A service that names a time to wait is left alone for exactly that; one that asks for more than
    `longest_told` is not tried again, since nobody sits in front of a terminal for that long. Where none is named, the
    wait doubles from `first` up to `longest`.

    `pace` is what every wait is multiplied with: tests go at a pace of 0.
    """

    attempts: int = 3
    first: float = 0.5
    longest: float = 8.0
    longest_told: int = 30
    pace: float = 1.0

    def may_retry(self, failure: BaseException) -> bool:
        """Only what the border called passing: a wrong key is not tried again, nor is anything after a shown part."""
        if not isinstance(failure, AskbookError) or not failure.retryable:
            return False
        return failure.told_to_wait is None or failure.told_to_wait <= self.longest_told

    def wait_told(self, failure: BaseException, attempt: int) -> int | None:
        """The seconds that are waited after the `attempt`-th attempt (from 1) because the service named them.

        None where it named none, and where there is no further attempt.
        """
        if not isinstance(failure, AskbookError) or not self.may_retry(failure) or attempt >= self.attempts:
            return None
        return failure.told_to_wait


USUAL: Final = Patience()
