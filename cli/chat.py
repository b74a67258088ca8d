"""`run.py chat`: the conversation in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import io
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

from cli.commands import COMMANDS, ChatSession, Leave
from cli.history import input_history
from cli.terminal import counted, opened, preload, printable, report, say
from cli.turn_view import TurnView
from rag.errors import AskbookError, UsageError
from rag.profiles.profile import profile_of
from rag.search.retriever import parse_filter
from rag.settings import Settings
from rag.types import Event


def chat(options: argparse.Namespace) -> int:
    """Chat until /quit, Ctrl-D or the end of the input. Exit code 0, or 1 if a turn failed and input is a pipe."""
    settings = Settings.from_env()
    profile_of(settings, options.profile)
    parse_filter(options.filter)  # reject an invalid filter before anything is loaded
    preload()
    return asyncio.run(_chat(options, settings))


async def _chat(options: argparse.Namespace, settings: Settings) -> int:
    async with opened(options, settings) as agent:
        session = ChatSession(agent, settings, options.profile or settings.profile, options.filter)
        default = agent.services.parts(session.profile).profile.memory.thread
        if options.thread is not None or options.newest or default:
            await session.resume(default if options.thread is None and not options.newest else options.thread)
        await greet(session)
        await _offer(session)
        persistent = agent.services.parts(session.profile).profile.memory.persistent
        async for line in _lines(settings, persistent=persistent):
            try:
                await _do(session, line.strip())
            except Leave:
                break
            except AskbookError as error:
                report(error)
    return 1 if session.failed and not sys.stdin.isatty() else 0


async def greet(session: ChatSession) -> None:
    """Print the book, the embedding model, what writes the answers, the filter and the conversation."""
    parts = session.agent.services.parts(session.profile)
    info = await session.book()
    say(f"{parts.profile.display_name or 'askbook'} · the book is {info}.")
    say(f"Passages are found with {parts.searched_with}.")
    if parts.quotes:
        say(
            "No model is set, so answers quote the book's own sentences. "
            f"Set {parts.key_variable} to have them written."
        )
    else:
        say(f"Answers are written by {parts.model_name}.")
    if session.where:
        say(f"Searching only pages that match the filter {printable(session.where)}")
    if session.resumed:
        say(f"Continuing conversation {session.thread_id} ({counted(session.resumed, 'turn')}).")
    say("Ask a question, or type /help.\n")


async def _lines(settings: Settings, *, persistent: bool) -> AsyncIterator[str]:
    """The lines of input, with history and editing on a terminal. The history is a file if conversations are kept."""
    if not sys.stdin.isatty():
        if isinstance(sys.stdin, io.TextIOWrapper):  # bytes that are not UTF-8 must not end the chat
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        while line := await asyncio.to_thread(sys.stdin.readline):
            yield line
        return
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    words = WordCompleter([f"/{name}" for name in COMMANDS], sentence=True)
    prompt: PromptSession[str] = PromptSession(
        "› ", history=input_history(settings.home, persistent=persistent), completer=words
    )
    while True:
        try:
            yield await prompt.prompt_async()
        except KeyboardInterrupt:
            say("(Ctrl-D leaves)")
        except EOFError:
            return


async def _offer(session: ChatSession) -> None:
    """Offer to finish a turn that was interrupted by Ctrl-C or by the end of the process."""
    question = await session.agent.unfinished(session.thread_id)
    if question is not None:
        session.offered = True
        say(f'The answer to "{printable(question)}" was interrupted. Finish it? [Y/n]')


async def _do(session: ChatSession, line: str) -> None:
    """Carry out a line of input: the reply to an offer, a command or a question."""
    offered, session.offered = session.offered, False
    if offered and line.lower() in ("", "y", "yes"):
        line = "/resume"
    elif not line or (offered and line.lower() in ("n", "no")):
        return
    word, _, rest = line.partition(" ")
    name = word.removeprefix("/") if word.startswith("/") else {"clear": "clear", "exit": "quit"}.get(line.lower())
    if name is None:
        await _answer(session, _asked(session, line))
    elif name == "retry":
        await _answer(session, await session.asked_again())
    elif name == "resume":
        await _answer(session, session.agent.resume(session.thread_id, context=session.context()))
    elif name in COMMANDS:
        await COMMANDS[name].run(session, rest.strip())
    else:
        raise UsageError(f"There is no command {word}.", hint="Type /help for a list.")


def _asked(session: ChatSession, question: str) -> AsyncIterator[Event]:
    return session.agent.stream(question, thread_id=session.thread_id, context=session.context())


async def _answer(session: ChatSession, events: AsyncIterator[Event]) -> None:
    """Show a turn as it happens. Ctrl-C stops the answer but not the program."""
    task = asyncio.ensure_future(_stream(session, events))
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        say("\nStopped. Type /resume to finish the answer or /retry to ask the question again.")
    finally:
        with suppress(NotImplementedError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)


async def _stream(session: ChatSession, events: AsyncIterator[Event]) -> None:
    view = TurnView()
    session.trace = None
    try:
        async for event in events:
            view.take(event)
            session.trace = event.data.get("trace", session.trace)
            if event.response is not None:
                session.last = event.response
                session.failed = session.failed or event.response.error is not None
    finally:
        view.close()
