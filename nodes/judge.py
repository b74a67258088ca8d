"""Asks the judge about the sentences of an answer, while the answer goes on.

Each call has its own retry and time limit, inside the node that writes the answer. A reply that cannot be read costs
the judge one of its chances in this conversation; with the last of them gone it is not asked again.
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
from rag.answer.judge import GIVEN_UP, Claim, JudgePrompt
from rag.errors import AskbookError
from rag.ports import Judge, Parts
from rag.prompt.passage_format import new_boundary
from rag.types import JudgeTotals, Passage, Tokens

log: Final = logging.getLogger("askbook")

TIMEOUT: Final = 30.0  # seconds for one attempt, while the user waits
ATTEMPTS: Final = 2
GONE: Final = (
    "The model's checks of its own answers could not be read, so answers in this conversation are checked by comparing "
    "words only. Another model, or model.judge in the profile, may do better."
)
FAILED: Final = "The model did not check all sentences of this answer, so for the others only words were compared."

_SCHEMA: Final = "response_format"  # an endpoint that refuses it is not asked with it again
_MAY_REFUSE_SCHEMA: Final = frozenset({"bad_request", "unexpected_status", "model_not_found"})

OnVerdicts = Callable[[Mapping[int, bool | None], bool], None]


class JudgeReply(NamedTuple):
    """The verdicts of one call by position, None for a reply that cannot be read, and the tokens it used."""

    verdicts: Mapping[int, bool | None] | None
    tokens: Tokens = Tokens()


class AnswerJudge:
    """Judges the sentences of one answer. `totals` and `tokens` add up all calls.

    `unreadable` counts the replies of the conversation that could not be read, those of earlier answers included. After
    a failure no further call is made for this answer.
    """

    def __init__(
        self, parts: Parts, passages: Sequence[Passage], retries: RetrySettings, answering: str, unreadable: int
    ) -> None:
        model = parts.profile.model
        cold = parts.profile if model.temperature is None else parts.profile.overridden(temperature=0.0)
        self._parts = replace(parts, profile=cold)
        self._passages = {passage.number: passage for passage in passages}
        self._retries = retries
        self._boundary = new_boundary()
        self._asking: list[asyncio.Task[None]] = []
        self._one_at_a_time = asyncio.Lock()
        self._failed = False
        self._before = self.unreadable = unreadable
        self.totals = JudgeTotals(model=parts.judge.model_id if parts.judge else model.judge or answering)
        self.tokens = Tokens()

    @property
    def llm_calls(self) -> int:
        """How many calls of a language model were made; those of a judge at the port do not count."""
        return 0 if self._parts.judge else self.totals.calls

    def ask(self, claims: Mapping[int, Claim], on_verdicts: OnVerdicts) -> None:
        """Start a call and return at once. `on_verdicts` gets the verdict on each claim by its key, or None, and
        whether the judge failed.
        """
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
        """What the reader is told, once in a conversation if the judge is given up."""
        if self._before < GIVEN_UP <= self.unreadable:
            return [GONE]
        return [FAILED] if self._failed else []

    async def _run_call(self, claims: Mapping[int, Claim], on_verdicts: OnVerdicts) -> None:
        async with self._one_at_a_time:
            found = None if self._failed else await self._verdicts(list(claims.values()))
            self._failed = found is None
        verdicts = found or {}
        on_verdicts({key: verdicts.get(place) for place, key in enumerate(claims)}, self._failed)

    async def _verdicts(self, claims: Sequence[Claim]) -> Mapping[int, bool | None] | None:
        """The verdict on each claim, by position; None when the judge fails."""
        for attempt in range(min(ATTEMPTS, self._retries.max_attempts)):
            if attempt:
                await asyncio.sleep(self._retries.initial_interval * self._retries.time_scale)
            began = time.monotonic()
            try:
                reply = await self._reply(claims)
            except TimeoutError:
                self.unreadable += 1
                log.warning("the judge %s did not reply in time", self.totals.model)
                return None
            except AskbookError as failure:
                if failure.code in ("unreadable", "empty_answer"):
                    reply = JudgeReply(None)
                elif failure.requested_wait is not None or not self._retries.may_retry(failure):
                    log.warning("the judge %s failed: %s", self.totals.model, failure.code)
                    return None
                else:
                    continue
            except Exception:  # a judge of the user's own may raise anything, and no turn fails because of a judge
                log.exception("the judge failed")
                return None
            finally:
                self.totals.calls += 1
                passed = (time.monotonic() - began) * 1000
                self.totals.milliseconds = round(self.totals.milliseconds + passed, 1)
            self.tokens += reply.tokens
            if reply.verdicts is not None:
                self._count(claims, reply.verdicts)
                return reply.verdicts
            self.unreadable += 1
            log.warning("a reply of the judge %s could not be read", self.totals.model)
            if self.unreadable >= GIVEN_UP:
                return None
        return None

    def _count(self, claims: Sequence[Claim], verdicts: Mapping[int, bool | None]) -> None:
        said = list(verdicts.values())
        self.totals.sentences += len(claims)
        self.totals.confirmed += said.count(True)
        self.totals.removed += said.count(False)

    async def _reply(self, claims: Sequence[Claim]) -> JudgeReply:
        async with asyncio.timeout(TIMEOUT):
            local = self._parts.judge
            return await (self._ask_port(local, claims) if local else self._ask_model(claims))

    async def _ask_model(self, claims: Sequence[Claim]) -> JudgeReply:
        form = JudgePrompt(claims, self._passages, self._boundary)
        length = self._parts.profile.model.max_tokens or 0
        known = self._parts.rejected_options
        takes_schema = not self._parts.has_caller_model and not known.rejects(self.totals.model, _SCHEMA)
        request = ModelRequest(form.prompt, length, False, self.totals.model, form.schema if takes_schema else None)
        try:
            message = await call_model(self._parts, request, JudgeReplySink(form))
        except AskbookError as failure:
            if not takes_schema or failure.code not in _MAY_REFUSE_SCHEMA:
                raise
            known.add(self.totals.model, _SCHEMA)
            message = await call_model(self._parts, request._replace(schema=None), JudgeReplySink(form))
        return JudgeReply(form.read(message.text), tokens_used(form.prompt, message))

    async def _ask_port(self, local: Judge, claims: Sequence[Claim]) -> JudgeReply:
        pairs = [(one.text, [self._passages[number].text for number in one.numbers]) for one in claims]
        return JudgeReply(dict(enumerate(await asyncio.to_thread(local.judge, pairs))))


class JudgeReplySink(DiscardingSink):
    """Stops a reply that can no longer contain a verdict, since a small model may ramble while the user waits."""

    def __init__(self, form: JudgePrompt) -> None:
        self._form = form
        self._reply = ""

    async def feed(self, text: str) -> None:
        self._reply += text
        if self._form.is_too_long(self._reply):
            raise AskbookError("api_error", "unreadable", "The judge gave no verdict.")
