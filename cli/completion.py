"""What Tab completes in the chat: commands and what they take, and the name of a file behind `@`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from cli.commands import COMMANDS
from cli.terminal import clipped, in_line
from rag.errors import AskbookError

if TYPE_CHECKING:
    from cli.session import ChatSession


class Choice(NamedTuple):
    """A value that a command takes, and its description."""

    value: str
    about: str = ""


class ChatCompleter(Completer):
    """Completes the line of a chat. Books and conversations are looked up when they are asked for."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The names of files; prompt_toolkit asks for all completions with `get_completions_async`."""
        word = document.text_before_cursor.rpartition(" ")[2]
        yield from self._files(word.removeprefix("@"), complete_event)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        name, space, rest = text.partition(" ")
        is_file = name == "/export" if text.startswith("/") else text.rpartition(" ")[2].startswith("@")
        if is_file:
            for path in self.get_completions(document, complete_event):
                yield path
        elif text.startswith("/"):
            begun = rest if space else name
            for choice in await self._choices(name[1:]) if space else _commands():
                if choice.value.startswith(begun):
                    yield _completion(choice, begun)

    async def _choices(self, name: str) -> list[Choice]:
        """The values that a command takes; none if their list cannot be read."""
        command = COMMANDS.get(name)
        if command is None or command.choices is None:
            return []
        with suppress(AskbookError):
            return [Choice(*pair) for pair in await command.choices(self._session)]
        return []

    def _files(self, begun: str, event: CompleteEvent) -> Iterator[Completion]:
        yield from self._paths.get_completions(Document(begun), event)


def _commands() -> list[Choice]:
    return [Choice(f"/{name}", command.does) for name, command in COMMANDS.items()]


def _completion(choice: Choice, begun: str) -> Completion:
    return Completion(choice.value, -len(begun), display_meta=clipped(in_line(choice.about), 60))
