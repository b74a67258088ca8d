"""What Tab completes in the chat: commands and what they take, and the name of a file after `@`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from cli.commands import COMMANDS
from cli.terminal import clipped, in_line
from rag.errors import AskbookError

if TYPE_CHECKING:
    from cli.session import ChatSession


class ChatCompleter(Completer):
    """Completes the line of a chat. Books and conversations are looked up when they are asked for."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The names of files; prompt_toolkit asks for all completions with `get_completions_async`."""
        word = document.text_before_cursor.rpartition(" ")[2]
        return self._paths.get_completions(Document(word.removeprefix("@")), complete_event)

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
            commands = [(f"/{one}", command.does) for one, command in COMMANDS.items()]
            for value, about in await self._choices(name[1:]) if space else commands:
                if value.startswith(begun):
                    yield Completion(value, -len(begun), display_meta=clipped(in_line(about), 60))

    async def _choices(self, name: str) -> list[tuple[str, str]]:
        """The values that a command takes, each with what it is; none if their list cannot be read."""
        command = COMMANDS.get(name)
        if command is not None and command.choices is not None:
            with suppress(AskbookError):
                return await command.choices(self._session)
        return []
