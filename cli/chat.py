"""`run.py chat`: the conversation in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import copy
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from cli.commands import COMMANDS, Leave
from cli.greeting import greet, is_first_run
from cli.prompt import typed_lines, with_files
from cli.session import ChatSession
from cli.terminal import opened, preload, printable, report, say
from cli.turn_view import DRAWING, TurnView
from rag.errors import AskbookError, UsageError
from rag.profiles.profile import profile_of
from rag.search.retriever import parse_filter
from rag.settings import Settings
from rag.types import Event

if TYPE_CHECKING:
    from graph.agent import Agent


def chat(options: argparse.Namespace) -> int:
    """Chat until /quit, Ctrl-D or the end of the input. Exit code 0, or 1 if a turn failed and input is a pipe."""
    if options.newest and options.thread is not None:
        raise UsageError("-c and --thread name two conversations; give one of them.", code="usage")
    settings = Settings.from_env()
    profile_of(settings, options.profile)
    parse_filter(options.filter)  # reject an invalid filter before anything is loaded
    preload(*DRAWING if sys.stdout.isatty() else ())
    with _ended_by_signals():
        return asyncio.run(_chat(options, settings))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal that ends the process end the chat in order, so that the terminal gets its cursor back."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Shelf:
    """Keeps the agent of the current book open, and replaces it."""

    def __init__(self, options: argparse.Namespace, settings: Settings) -> None:
        self._options, self._settings = options, settings
        self._open = AsyncExitStack()

    async def take(self, collection: str | None) -> Agent:
        """Open the agent for a book, and close the one before it. If that fails, the one before stays open."""
        options = copy.copy(self._options)
        options.collection = collection
        stack = AsyncExitStack()
        agent = await stack.enter_async_context(opened(options, self._settings))
        before, self._open = self._open, stack
        await before.aclose()
        return agent

    async def aclose(self) -> None:
        await self._open.aclose()


async def _chat(options: argparse.Namespace, settings: Settings) -> int:
    first = is_first_run(settings)
    async with aclosing(_Shelf(options, settings)) as shelf:
        agent = await shelf.take(options.collection)
        profile = options.profile or settings.profile
        session = ChatSession(agent, settings, profile, options.filter, reopen=shelf.take)
        default = agent.services.parts(session.profile).profile.memory.thread
        if options.thread is not None or options.newest or default:
            await session.resume(default if options.thread is None and not options.newest else options.thread)
        await greet(session, first=first, person=sys.stdin.isatty())
        await _offer(session)
        persistent = agent.services.parts(session.profile).profile.memory.persistent
        async for line in typed_lines(session, persistent=persistent):
            try:
                await _do(session, line.strip(), stream=not options.no_stream)
            except Leave:
                break
            except AskbookError as error:
                report(error)
    return 1 if session.failed and not sys.stdin.isatty() else 0


async def _offer(session: ChatSession) -> None:
    """Offer to finish a turn that was interrupted by Ctrl-C or by the end of the process."""
    question = await session.agent.unfinished(session.thread_id)
    if question is not None:
        session.offered = True
        say(f'The answer to "{printable(question)}" was interrupted. Finish it? [Y/n]')


async def _do(session: ChatSession, line: str, *, stream: bool = True) -> None:
    """Carry out a line of input: the reply to an offer, a command or a question."""
    offered, session.offered = session.offered, False
    if offered and line.lower() in ("", "y", "yes"):
        line = "/resume"
    elif not line or (offered and line.lower() in ("n", "no")):
        return
    word, _, rest = line.partition(" ")
    name = word.removeprefix("/") if word.startswith("/") else {"clear": "clear", "exit": "quit"}.get(line.lower())
    if name is None:
        events: AsyncIterator[Event] | None = _asked(session, line)
    elif name in COMMANDS:
        events = await COMMANDS[name].run(session, rest.strip())
    else:
        raise UsageError(f"There is no command {word}.", hint="Type /help for a list.")
    if events is not None:
        await _answer(session, events, stream=stream)


def _asked(session: ChatSession, line: str) -> AsyncIterator[Event]:
    """The events of a question. A person may put files into it; the lines of a pipe are asked as they stand."""
    if sys.stdin.isatty():
        longest = session.agent.services.parts(session.profile).profile.limits.max_question_characters
        line = with_files(line, longest)
    return session.agent.stream(line, thread_id=session.thread_id, context=session.context())


async def _answer(session: ChatSession, events: AsyncIterator[Event], *, stream: bool = True) -> None:
    """Show a turn as it happens. Ctrl-C stops the answer but not the program."""
    task = asyncio.ensure_future(_show(session, events, stream=stream))
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if (chat := asyncio.current_task()) is not None and chat.cancelling():  # the whole chat is ended
            raise
        say("\nStopped. Type /resume to finish the answer or /retry to ask the question again.")
    finally:
        with suppress(NotImplementedError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)


async def _show(session: ChatSession, events: AsyncIterator[Event], *, stream: bool) -> None:
    session.trace = None
    view = TurnView(stream=stream)
    try:
        async for event in events:
            trace: Any = event.data.get("trace", session.trace)
            session.trace = trace
            if event.response is not None:
                session.last = event.response
                session.failed = session.failed or event.response.error is not None
            view.take(event)
    finally:
        view.close()
