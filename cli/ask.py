"""`run.py ask`: one question, one answer, then exit."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final

from cli.terminal import number, opened, preload, print_json, printable, report, say, say_failure, say_remarks, waiting
from cli.turn_view import DRAWING, TurnView
from rag.conversation.turns import check_question, check_thread_id, failed_response
from rag.errors import AskbookError
from rag.profiles.profile import profile_of
from rag.search.retriever import parse_filter
from rag.settings import Settings
from rag.types import Response

if TYPE_CHECKING:
    from graph.agent import Agent
    from state import Context


_PIPE_LIMIT: Final = 1_000_000  # bytes read from standard input, far more than a question may have


def ask(options: argparse.Namespace) -> int:
    """Ask one question and print the answer. Returns 0 for an answer or a refusal, 1 for a failed turn, 2 for invalid
    input; invalid input is not stored.
    """
    profile = options.profile or "default"  # for the error response, if the settings cannot be read
    try:
        settings = Settings.from_env()
        profile = options.profile or settings.profile
        response = _check_and_ask(options, settings)
    except AskbookError as error:
        return print_failed(error, profile, options.thread) if options.json else report(error)
    if options.json:
        print_json(response.model_dump(mode="json"))
    elif not sys.stdout.isatty():  # a terminal has shown it already, while it streamed
        _show(response)
    return exit_code(response)


def print_failed(error: AskbookError, profile: str = "default", thread: str | None = None) -> int:
    """Print the response to a question that was not asked, as JSON, and return the exit code."""
    print_json(failed_response(error, profile=profile, thread_id=thread).model_dump(mode="json"))
    return error.exit_code


def _check_and_ask(options: argparse.Namespace, settings: Settings) -> Response:
    """The response. Raises `UsageError` for invalid options or an invalid question, before anything slow is loaded.

    `Agent.stream` and IDLE check the question again, for programs that call the agent or run the graph.
    """
    profile = profile_of(settings, options.profile)
    overrides = {
        "top_k": number(options.top_k, "-k", 1, 20, whole=True),
        "score_threshold": number(options.threshold, "--threshold", 0, 1, whole=False),
        "filter": options.filter,
    }
    parse_filter(options.filter)  # reject an invalid filter before anything is loaded
    question = options.question
    if question == "-":  # UTF-8 in any locale; other bytes become lone surrogates, which `check_question` rejects
        question = sys.stdin.buffer.read(_PIPE_LIMIT).decode("utf-8-sig", "surrogateescape")
    check_question(question, profile.limits.max_question_characters)
    if options.thread is not None:
        check_thread_id(options.thread)
    preload(*(DRAWING if sys.stdout.isatty() and not options.json else ()))
    return asyncio.run(_open_and_ask(options, settings, question, overrides))


async def _open_and_ask(
    options: argparse.Namespace, settings: Settings, question: str, overrides: dict[str, float | str | None]
) -> Response:
    """Ask an agent that is opened for this question. Raises `RetrievalError` if its book does not exist."""
    async with opened(options, settings) as agent:
        from rag.books.book_settings import owner_of
        from rag.index.catalog import require_book
        from state import Context

        parts, index = agent.services.parts(None), agent.services.index
        await require_book(index, owner_of(index.collection, parts.profile))
        if parts.quotes and parts.profile.model.api_key_env:
            say(f"{parts.key_variable} is not set, so the answer quotes the book's own sentences.")
        context = Context.model_validate(overrides)
        if options.json or not sys.stdout.isatty():
            return await _read_response(agent, question, options.thread, context)
        with closing(TurnView(stream=not options.no_stream, hints=False)) as view:
            return await _read_response(agent, question, options.thread, context, view)


async def _read_response(
    agent: Agent, question: str, thread: str | None, context: Context, view: TurnView | None = None
) -> Response:
    """Run the turn and return its response. Without a view, each wait is printed as one status line."""
    async for event in agent.stream(question, thread_id=thread, context=context):
        if view is not None:
            view.take(event)
        elif event.type == "waiting":
            say(waiting(event.data))
        if event.response is not None:
            return event.response
    raise AssertionError("the stream ended without a response")


def _show(response: Response) -> None:
    if response.error is None:
        # Flushed, so that the answer precedes the remarks when both streams go into one pipe.
        print(printable(response.content), flush=True)
        say_remarks(response)
        return
    say_failure(response.error)


def exit_code(response: Response) -> int:
    """1 for a failed turn, else 0. Invalid input never gets a turn: `ask` rejects it with exit code 2."""
    return 0 if response.error is None else 1
