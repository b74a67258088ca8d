"""The judge of the sentences of an answer that are neither quotations nor contradicted.

It judges several sentences a call while the answer goes on streaming. Each call has its own retry and time limit,
inside the node that writes the answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from nodes.model_call import DiscardingSink, ModelRequest, call_model, tokens_used
from nodes.turn import RetrySettings
from rag.answer.judge_prompt import Claim, JudgePrompt, evidence
from rag.errors import AskbookError
from rag.ports import Judge, Parts
from rag.prompt.passage_format import new_boundary
from rag.types import JudgeTotals, Passage, Tokens

log: Final = logging.getLogger("askbook")

TIMEOUT: Final = 30.0  # seconds for one attempt, while the user waits
ATTEMPTS: Final = 2
FIRST: Final = 2  # sentences of finished paragraphs that are worth the first call
ENOUGH: Final = 8  # sentences that are worth another call before the answer has ended

OnVerdicts = Callable[[Mapping[int, bool | None]], None]


class JudgeReply(NamedTuple):
    """The verdicts of one call by position, the tokens it used, and why it counts as failed."""

    verdicts: dict[int, bool]
    tokens: Tokens
    failure: str = ""


class AnswerJudge:
    """Judges the sentences of one answer. `opinion` and `tokens` add up all calls.

    `parts.judge` decides if there is one, else the chat model. After a failure no further call is made for this answer,
    and the result of the code check stands.
    """

    def __init__(self, parts: Parts, passages: Sequence[Passage], retries: RetrySettings, answering: str) -> None:
        model = parts.profile.model
        cold = parts.profile if model.temperature is None else parts.profile.overridden(temperature=0.0)
        self._parts = replace(parts, profile=cold)
        self._passages = {passage.number: evidence(passage) for passage in passages}
        self._retries = retries
        self._boundary = new_boundary()
        self._asking: list[asyncio.Task[None]] = []
        self.opinion = JudgeTotals(model=parts.judge.model_id if parts.judge else model.judge or answering)
        self.tokens = Tokens()
        self.failure: str | None = None

    @property
    def llm_calls(self) -> int:
        """How many calls of a language model were made; those of a judge at the port do not count."""
        return 0 if self._parts.judge else self.opinion.calls

    def worth_asking(self, waiting: int) -> bool:
        """Whether to start a call while the answer still streams. One runs at a time; the next takes the rest."""
        if self.failure:
            return waiting > 0  # nothing is asked, and the sentences need not wait any longer
        is_asking = any(not asking.done() for asking in self._asking)
        return not is_asking and waiting >= (ENOUGH if self.opinion.calls else FIRST)

    def ask(self, claims: Mapping[int, Claim], on_verdicts: OnVerdicts) -> None:
        """Start a call and return at once. `on_verdicts` gets the verdict on each claim by its key, or None."""
        if claims:
            self._asking.append(asyncio.create_task(self._run_call(claims, on_verdicts)))

    async def finish(self) -> None:
        """Wait for the calls that were started."""
        await asyncio.gather(*self._asking)

    def cancel(self) -> None:
        """Cancel the running calls. `on_verdicts` is not called for them."""
        for asking in self._asking:
            asking.cancel()

    @property
    def notices(self) -> list[str]:
        if self.failure is None:
            return []
        return [f"{self.opinion.model} did not judge all sentences ({self.failure}); the check by code alone stands."]

    async def _run_call(self, claims: Mapping[int, Claim], on_verdicts: OnVerdicts) -> None:
        verdicts = {} if self.failure else await self._verdicts(list(claims.values()))
        on_verdicts({key: verdicts.get(place) for place, key in enumerate(claims)})

    async def _verdicts(self, claims: Sequence[Claim]) -> dict[int, bool]:
        """Whether the judge finds each claim supported, by position; empty when it fails."""
        self.opinion.calls += 1
        began = time.monotonic()
        try:
            reply = await self._reply(claims)
        except (AskbookError, TimeoutError) as failure:
            return self._failed(failure.code if isinstance(failure, AskbookError) else "timeout")
        except Exception:  # a judge of the user's own may raise anything, and no turn fails because of a judge
            log.exception("the judge failed")
            return self._failed("judge")
        finally:
            self.opinion.milliseconds = round(self.opinion.milliseconds + (time.monotonic() - began) * 1000, 1)
        self.tokens += reply.tokens
        if reply.failure:
            return self._failed(reply.failure)
        self.opinion.sentences += len(claims)
        self.opinion.confirmed += sum(reply.verdicts.values())
        self.opinion.removed += sum(not supported for supported in reply.verdicts.values())
        return reply.verdicts

    def _failed(self, reason: str) -> dict[int, bool]:
        self.failure = self.failure or reason
        log.warning("the judge failed: %s (%s)", self.opinion.model, reason)
        return {}

    async def _reply(self, claims: Sequence[Claim]) -> JudgeReply:
        """One reply of the judge. After a temporary failure it is asked again, unless the service asks to wait, since
        the user would wait as well.
        """
        attempts_left = min(ATTEMPTS, self._retries.max_attempts)
        while True:
            attempts_left -= 1
            try:
                async with asyncio.timeout(TIMEOUT):
                    local = self._parts.judge
                    return await (self._ask_port(local, claims) if local else self._ask_model(claims))
            except AskbookError as failure:
                if not attempts_left or failure.requested_wait is not None or not self._retries.may_retry(failure):
                    raise
            await asyncio.sleep(self._retries.initial_interval * self._retries.time_scale)

    async def _ask_model(self, claims: Sequence[Claim]) -> JudgeReply:
        form = JudgePrompt(claims, self._passages, self._boundary)
        length = self._parts.profile.model.max_tokens or 0
        request = ModelRequest(form.prompt, length, False, self.opinion.model)
        message = await call_model(self._parts, request, JudgeReplySink(form))
        verdicts = form.read(message.text)
        failure = "unreadable" if verdicts is None else "" if verdicts else "unreliable"
        return JudgeReply(verdicts or {}, tokens_used(form.prompt, message), failure)

    async def _ask_port(self, local: Judge, claims: Sequence[Claim]) -> JudgeReply:
        pairs = [(one.whole, [self._passages[number].text for number in one.numbers]) for one in claims]
        found = await asyncio.to_thread(local.judge, pairs)
        verdicts = {place: verdict for place, (verdict, _) in enumerate(zip(found, claims, strict=False))}
        return JudgeReply({place: verdict for place, verdict in verdicts.items() if verdict is not None}, Tokens())


class JudgeReplySink(DiscardingSink):
    """Stops a reply that can no longer contain a verdict, since a small model may ramble while the user waits."""

    def __init__(self, form: JudgePrompt) -> None:
        self._form = form
        self._reply = ""

    async def feed(self, text: str) -> None:
        self._reply += text
        if self._form.is_too_long(self._reply):
            raise AskbookError("api_error", "unreadable", "The judge gave no verdict.")
