"""A model as a second judge of an answer's sentences, for profiles that want one. It can only remove sentences.

It judges several sentences per call while the answer streams in. Each call is a LangGraph task with its own retries and
time limit, inside the node that writes the answer.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from langgraph.errors import NodeTimeoutError
from langgraph.func import task
from langgraph.types import RetryPolicy

from nodes.model_call import ModelRequest, Unseen, added, call_model, tokens_used
from rag.answer.judging import Claim, judging_prompt, read_verdicts
from rag.errors import AskbookError
from rag.ports import Parts
from rag.prompt.passage_format import new_boundary
from rag.retry import Patience
from rag.types import Opinion, Passage

log: Final = logging.getLogger("askbook")

TIMEOUT: Final = 30.0  # seconds for one attempt, while the user waits
ATTEMPTS: Final = 2
ENOUGH: Final = 4  # waiting sentences that are worth another call


class SecondOpinion:
    """Judges the sentences of one answer. `opinion` and `tokens` add up all calls.

    After a failure the model is not asked again for this answer, and the result of the check by code stands.
    """

    def __init__(self, parts: Parts, passages: Sequence[Passage], patience: Patience, answering: str) -> None:
        model = parts.profile.model
        cold = parts.profile if model.temperature is None else parts.profile.overridden(temperature=0.0)
        self._parts = replace(parts, profile=cold)
        self._passages = {passage.number: passage for passage in passages}
        self._patience = patience
        self._boundary = new_boundary()
        self.opinion = Opinion(model=model.judge or answering)
        self.tokens: Mapping[str, Any] = {}
        self.failure: str | None = None

    def worth_asking(self, waiting: int) -> bool:
        """Whether to ask now: at once for the first sentence, since the user waits for it; then for several."""
        return waiting >= (ENOUGH if self.opinion.calls else 1)

    async def verdicts(self, claims: Sequence[Claim]) -> dict[int, bool]:
        """Whether the model finds each claim supported, by position; empty without claims and when it fails."""
        if not claims or self.failure:
            return {}
        self.opinion.calls += 1
        try:
            verdict = await self._task(claims)
        except (AskbookError, NodeTimeoutError) as failure:
            self.failure = failure.code if isinstance(failure, AskbookError) else "timeout"
            log.warning("the judge failed: %s (%s)", self.opinion.model, self.failure)
            return {}
        self.tokens = added(self.tokens, verdict["tokens"])
        if verdict["verdicts"] is None:
            self.failure = "unreadable"
            log.warning("the judge failed: %s gave no verdict", self.opinion.model)
            return {}
        self.opinion.sentences += len(claims)
        told = {int(place): supported for place, supported in verdict["verdicts"].items()}
        self.opinion.removed += sum(not supported for supported in told.values())
        return told

    @property
    def notices(self) -> list[str]:
        if self.failure is None:
            return []
        return [f"{self.opinion.model} did not judge all sentences ({self.failure}); the check by code alone stands."]

    def _task(self, claims: Sequence[Claim]) -> Any:
        """The call as a task, named after its claims so that a resumed turn never gets the verdict on others."""
        patience = self._patience
        digest = hashlib.sha256(repr(claims).encode()).hexdigest()[:12]
        retry = RetryPolicy(
            initial_interval=patience.first * patience.pace,
            max_attempts=min(ATTEMPTS, patience.attempts),
            jitter=False,
            # No retry when the service asks to wait, since the user would wait as well.
            retry_on=lambda failure: (
                isinstance(failure, AskbookError) and failure.requested_wait is None and patience.may_retry(failure)
            ),
        )

        async def judge() -> dict[str, Any]:
            return await self._ask(claims)

        named: Any = task(name=f"judge {digest}", retry_policy=retry, timeout=TIMEOUT)
        return named(judge)()

    async def _ask(self, claims: Sequence[Claim]) -> dict[str, Any]:
        prompt = judging_prompt(claims, self._passages, self._boundary)
        length = self._parts.profile.model.max_tokens or 0
        message = await call_model(self._parts, ModelRequest(prompt, length, False, self.opinion.model), Unseen())
        verdicts = read_verdicts(message.text, len(claims))
        return {
            "verdicts": verdicts and {str(place): supported for place, supported in verdicts.items()},
            "tokens": tokens_used(self._parts, {}, prompt, message),
        }
