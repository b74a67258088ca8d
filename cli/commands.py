"""The slash commands of the chat."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from cli.session import ChatSession
from cli.terminal import console, in_line, printable, say
from rag.errors import AskbookError, UsageError
from rag.profiles.profile import profile_folders, profile_names, profile_of
from rag.text.counting import counted
from rag.types import Citation, Event, Quote

Choices = Callable[[ChatSession], Awaitable[list[tuple[str, str]]]]
_LISTED: Final = 20  # conversations


_KEYS: Final = (
    "Ctrl-C stops an answer, Ctrl-D leaves, Ctrl-R searches what was typed, Tab completes.",
    "Alt-Enter, or a backslash before Enter, begins a new line; Ctrl-X Ctrl-E opens $EDITOR.",
    "@file in a question puts the text of the file there.",
)


class Leave(Exception):  # noqa: N818  # not an error
    """Raised by `/quit`."""


class Command(NamedTuple):
    """A command: what it does, the function, and the values that it takes, each with what it is.

    The function returns the events of a turn that is to be shown, or None.
    """

    does: str
    run: Callable[[ChatSession, str], Awaitable[AsyncIterator[Event] | None]]
    choices: Choices | None = None


async def _help(_session: ChatSession, _rest: str) -> None:
    _print_rows([(f"/{name}", command.does) for name, command in COMMANDS.items()])
    for line in _KEYS:
        console().print(line, markup=False)


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    """Print a table without lines. The last column is wrapped, the others only beyond half of the screen."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    half = console().width // 2
    for column in list(zip(*rows, strict=True))[:-1]:
        table.add_column(no_wrap=max(map(len, column)) <= half, max_width=half, overflow="fold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(in_line(cell)) for cell in row))
    console().print(table)


async def _sources(session: ChatSession, _rest: str) -> None:
    from cli.sources import print_full

    print_full(console(), await session.citations())


async def _show(session: ChatSession, rest: str) -> None:
    from rich.text import Text

    chosen = _chosen_source(await session.citations(), rest)
    chunks = await session.agent.services.index.fetch([chosen.chunk_id])
    if not chunks:
        raise UsageError("The passage is no longer in the index.")
    screen = console()
    text = Text(printable(chunks[0].text, "�"))  # same length, so the offsets of the quotes stay right
    for quote in sorted([Quote.of(chosen), *chosen.occurrences], key=lambda quote: -quote.start):
        if screen.color_system is not None:
            text.stylize("reverse", quote.start, quote.end)
        else:  # marks in place of colours, the last quote first, as they move what follows
            text = Text.assemble(text[: quote.start], "»", text[quote.start : quote.end], "«", text[quote.end :])
    screen.print(Text(in_line(chosen.breadcrumb or chosen.title), style="bold"))
    screen.print(text)


def _chosen_source(citations: list[Citation], rest: str) -> Citation:
    """The source with that number; without one source 1, or the first if there is no source 1."""
    known = {str(citation.marker): citation for citation in citations}
    if not rest:
        return known.get("1", citations[0])
    if (chosen := known.get(rest.strip("[]"))) is None:
        raise UsageError(f"There is no source {rest}.", hint=f"Sources: {', '.join(known)}.")
    return chosen


async def _cited(session: ChatSession) -> list[tuple[str, str]]:
    try:
        citations = await session.citations()
    except AskbookError:  # the command reports it
        return []
    return [(str(citation.marker), citation.breadcrumb or citation.title) for citation in citations]


async def _why(session: ChatSession, _rest: str) -> None:
    from cli.why import print_why

    threshold = session.agent.services.parts(session.profile).profile.retrieval.score_threshold
    print_why(console(), await session.answer(), session.trace, threshold, stored=session.last is None)


async def _retry(session: ChatSession, _rest: str) -> AsyncIterator[Event]:
    return await session.asked_again()


async def _resume(session: ChatSession, _rest: str) -> AsyncIterator[Event]:
    return session.agent.resume(session.thread_id, context=session.context())


async def _undo(session: ChatSession, _rest: str) -> None:
    say(f"Removed from the conversation: {printable(await session.take_back())}")


async def _clear(session: ChatSession, _rest: str) -> None:
    from cli.threads import delete

    await delete(session.agent.memory, session.settings.home, session.thread_id)
    session.last, session.trace = None, None
    say("The conversation was deleted.")


async def _threads(session: ChatSession, rest: str) -> None:
    from cli.threads import row, summaries

    if rest:
        if rest not in await session.agent.threads():
            raise UsageError(f"There is no conversation {rest}.", hint="Type /threads for a list.")
        await session.resume(rest)
        say(f"Continuing conversation {rest}.")
        return
    found = await summaries(session.agent.memory)
    for summary in found[:_LISTED]:
        mark = "*" if summary["thread_id"] == session.thread_id else " "
        if sys.stdout.isatty():
            _print_conversation(summary, mark)
        else:
            print(f" {mark}{row(summary)}")
    if not found:
        say("There are no stored conversations.")


def _print_conversation(summary: dict[str, Any], mark: str) -> None:
    """A conversation on two lines: its first question, then its id, time, size and books."""
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    screen.print(Text(f"{mark} {in_line(summary.get('first_question') or 'cannot be read')}", style="bold"))
    facts = [summary["thread_id"]]
    if "error" not in summary:
        when = summary["updated_at"][:16].replace("T", " ")
        facts += [when, counted(summary["turns"], "turn"), *summary["collections"]]
    screen.print(Padding(Text(" · ".join(map(in_line, facts)), style="dim"), (0, 0, 0, 2)))


async def _stored(session: ChatSession) -> list[tuple[str, str]]:
    from cli.threads import summaries

    found = (await summaries(session.agent.memory))[:_LISTED]
    return [(summary["thread_id"], summary.get("first_question") or "") for summary in found]


async def _book(session: ChatSession, rest: str) -> None:
    from cli.books import size
    from rag.books.stored_books import list_books

    found = await list_books(session.settings)
    if not rest:
        marked = [("*" if book.name == session.collection else " ", book) for book in found]
        _print_rows([(f"{mark}{book.name}", f"{book.title}, {size(book)}") for mark, book in marked])
        return
    if rest not in [book.name for book in found]:
        raise UsageError(f'There is no book "{rest}".', hint=f"Books: {', '.join(book.name for book in found)}.")
    if rest != session.collection:
        await session.switch_book(rest)
    say(f"The book is {await session.book()}. A new conversation begins.")


async def _books(session: ChatSession) -> list[tuple[str, str]]:
    from rag.books.stored_books import list_books

    return [(book.name, book.title) for book in await list_books(session.settings)]


async def _model(session: ChatSession, rest: str) -> None:
    from cli.greeting import answers_with

    if rest:
        session.choose_model(rest)
        say(f"Answers are written by {in_line(rest)} from now on.")
        return
    models = await _models(session)
    if not models:
        say(answers_with(session))
        return
    chosen = session.model or models[0][0]
    for name, about in models:
        print(f" {'*' if name == chosen else ' '}{in_line(name)}{f'  {about}' if about else ''}")


async def _models(session: ChatSession) -> list[tuple[str, str]]:
    """The models that can be chosen, the profile's own first; none without a key."""
    parts = session.agent.services.parts(session.profile)
    if parts.quotes:
        return []
    return [(parts.model_name, "of the profile"), *((name, "") for name in parts.models if name != parts.model_name)]


async def _profile(session: ChatSession, rest: str) -> None:
    if rest:
        before, chosen = profile_of(session.settings, session.profile), profile_of(session.settings, rest)
        session.profile, session.model = chosen.name, None
        if before.memory.persistent and not chosen.memory.persistent:
            say(f"This chat is still stored. Start with --profile {chosen.name} for one that is not.")
    rows = [(f"{'*' if name == session.profile else ' '}{name}", about) for name, about in await _profiles(session)]
    _print_rows(list(rows))


async def _profiles(session: ChatSession) -> list[tuple[str, str]]:
    names = profile_names(profile_folders(session.settings))
    return [(name, profile_of(session.settings, name).said()) for name in names]


async def _export(session: ChatSession, rest: str) -> None:
    if not rest:
        raise UsageError("/export needs the name of a file.")
    from cli.threads import as_markdown

    text = as_markdown(await session.agent.conversation(session.thread_id))
    say(f"Wrote {_write_new(rest, text)}.")


def _write_new(name: str, text: str) -> Path:
    path = Path(name).expanduser()
    try:
        private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(private, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} already exists.", hint="Choose another file name.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written.") from error
    return path


async def _quit(_session: ChatSession, _rest: str) -> None:
    raise Leave


COMMANDS: Final = {
    "help": Command("show this list", _help),
    "sources": Command("the sources of the last answer, with their quotes", _sources),
    "show": Command("[N]: source N in full, with its quotes marked", _show, _cited),
    "why": Command("how the last answer was found and checked", _why),
    "retry": Command("ask the last question again", _retry),
    "resume": Command("finish the interrupted answer", _resume),
    "undo": Command("remove the last turn", _undo),
    "clear": Command("delete this conversation", _clear),
    "threads": Command("[ID]: list the stored conversations, or go on with one", _threads, _stored),
    "book": Command("[NAME]: list the books, or switch to one", _book, _books),
    "model": Command("[NAME]: list the models, or switch to one", _model, _models),
    "profile": Command("[NAME]: list the profiles, or switch to one", _profile, _profiles),
    "export": Command("FILE: save this conversation as Markdown", _export),
    "quit": Command("leave the chat", _quit),
}
