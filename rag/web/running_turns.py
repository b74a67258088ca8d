"""Turns in progress: how many each person may run, and the events of one turn on their way to a client."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from rag.errors import AskbookError
from rag.text.counting import counted
from rag.types import Event
from rag.web.api_keys import Person
from rag.web.hosting import Limits
from rag.web.http_requests import RequestRefusedError, error_response, person_of

T = TypeVar("T")
_END: Final = None
_PING_SECONDS: Final = 15  # between two comments that keep a silent connection open
FINISHING_SECONDS: Final = 30  # in which running turns may finish when the server stops; the others can be resumed
STOPPING_SECONDS: Final = 2.0  # in which a turn ends whose reader has gone


class Turns:
    """The turns that this process runs. Enforces each person's limits, and one turn at a time on a conversation."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._rate = RateLimitItemPerMinute(limits.turns_per_minute)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._busy: dict[str, asyncio.Event] = {}  # set when the turn on the conversation has ended
        self._running: Counter[str] = Counter()

    @asynccontextmanager
    async def begun(
        self, person: Person, thread: str | None, events: AsyncGenerator[Event, None]
    ) -> AsyncIterator[RunningTurn]:
        """Run a turn for the block; leaving it early stops the turn. Raises `RequestRefusedError`."""
        await self._admit(person, thread)
        if thread is not None:
            self._busy[thread] = asyncio.Event()
        self._running[person.name] += 1
        turn = RunningTurn(events)
        try:
            yield turn
        finally:
            try:
                await turn.stop()
            finally:
                self._running[person.name] -= 1
                if thread is not None:
                    self._busy.pop(thread).set()

    @property
    def running(self) -> int:
        return self._running.total()

    async def ended(self, thread: str) -> None:
        """Wait a moment for a turn that a reader has stopped. Raises `RequestRefusedError` 409 if it goes on."""
        if (running := self._busy.get(thread)) is None:
            return
        try:
            async with asyncio.timeout(STOPPING_SECONDS):
                await running.wait()
        except TimeoutError:
            raise _thread_busy() from None

    async def _admit(self, person: Person, thread: str | None) -> None:
        if thread is not None and thread in self._busy:
            raise _thread_busy()
        if self._running[person.name] >= self._limits.concurrent_turns:
            message = f"This key runs {counted(self._limits.concurrent_turns, 'turn')} already, as many as it may."
            raise RequestRefusedError(429, "too_many_turns", message, hint="Wait until one ends.", retry_after=1)
        if not await self._limiter.hit(self._rate, person.name):
            reset, _ = await self._limiter.get_window_stats(self._rate, person.name)
            raise RequestRefusedError(
                429,
                "too_many_requests",
                f"More than {counted(self._limits.turns_per_minute, 'question')} in a minute.",
                hint="Ask again later.",
                retry_after=max(1, round(reset - time.time())),
            )


def _thread_busy() -> RequestRefusedError:
    message = "A turn is already running on this conversation."
    return RequestRefusedError(409, "thread_busy", message, hint="Wait until it ends, or stop it.")


class RunningTurn:
    """A turn in a task of its own, so that its events can be read in any task. Iterate it once."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._queue: asyncio.Queue[Event | AskbookError | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self._queue.put_nowait(event)
        except AskbookError as error:
            self._queue.put_nowait(error)
        finally:
            self._queue.put_nowait(_END)

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        while (item := await self._queue.get()) is not None:
            if isinstance(item, AskbookError):
                raise item
            yield item
        await self._task  # raises what nobody expected

    async def stop(self) -> None:
        """Cancel the turn if it runs, and wait until it has stopped."""
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):  # an unexpected failure was raised to the reader
            await self._task


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work. It is cancelled, and `RequestRefusedError` raised, when the client closes the connection.

    The body of the request has been read.
    """
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise RequestRefusedError(499, "client_gone", "The client has closed the connection.")
    finally:
        working.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def turns_of(request: Request) -> Turns:
    turns: Turns = request.app.state.turns
    return turns


async def _begun(events: AsyncIterator[Event], begins: Callable[[Event], bool]) -> list[Event]:
    """The events up to the one that begins the answer or ends the turn."""
    early = []
    async for event in events:
        early.append(event)
        if event.response is not None or begins(event):
            break
    return early


async def streamed(
    request: Request,
    thread: str | None,
    events: AsyncGenerator[Event, None],
    begins: Callable[[Event], bool],
    sent: Callable[[Event], Iterable[ServerSentEvent]],
) -> Response:
    """A turn as server-sent events, which `sent` makes of its events. The first event that `begins` the answer opens
    the stream, so that an earlier failure has its HTTP status. Raises `RequestRefusedError`.
    """
    person = person_of(request)
    async with AsyncExitStack() as stack:
        reading = aiter(await stack.enter_async_context(turns_of(request).begun(person, thread, events)))
        early = await while_connected(request, _begun(reading, begins))
        if (last := early[-1].response) is not None and last.error is not None:
            return error_response(last.error, person.seen(last))
        turn = stack.pop_all()

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async with turn:
            for event in early:
                for message in sent(event):
                    yield message
            async for event in reading:
                for message in sent(event):
                    yield message

    headers, finishing = {"X-Accel-Buffering": "no"}, FINISHING_SECONDS - 1  # before the server cuts it
    return EventSourceResponse(messages(), ping=_PING_SECONDS, headers=headers, shutdown_grace_period=finishing)
