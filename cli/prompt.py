"""The prompt of the chat: a line editor with history, completion, several lines and $EDITOR; plain lines in a pipe."""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from cli.history import input_history
from cli.session import ChatSession
from cli.terminal import say

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

SIGN: Final = "› "
_HINT: Final = "Alt-Enter: new line · Ctrl-X Ctrl-E: editor · @file: put in a file"


async def typed_lines(session: ChatSession, *, persistent: bool) -> AsyncIterator[str]:
    """What the user types, up to Ctrl-D or the end of the input. The history is a file if conversations are kept."""
    if not sys.stdin.isatty():
        if isinstance(sys.stdin, io.TextIOWrapper):  # bytes that are not UTF-8 must not end the chat
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        while line := await asyncio.to_thread(sys.stdin.readline):
            yield line
        return
    prompt = _editor(session, persistent=persistent)
    while True:
        try:
            yield await prompt.prompt_async()
        except KeyboardInterrupt:
            say("(Ctrl-D leaves)")
        except EOFError:
            return


def _editor(session: ChatSession, *, persistent: bool) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import FormattedText
    from prompt_toolkit.output import create_output

    from cli.completion import ChatCompleter

    def hint() -> FormattedText:
        done = get_app().is_done or session.last is not None  # what was entered stays on the screen without it
        return FormattedText([("fg:ansibrightblack", "" if done else _hint(shutil.get_terminal_size().columns))])

    return PromptSession(
        SIGN,
        history=input_history(session.settings.home, persistent=persistent),
        completer=ChatCompleter(session),
        complete_while_typing=Condition(lambda: completes_at_once(get_app().current_buffer.document.text)),
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=" " * len(SIGN),
        enable_open_in_editor=True,
        placeholder=hint,
        reserve_space_for_menu=6,
        output=None if sys.stdout.isatty() else create_output(stdout=sys.stderr),
    )


def _hint(width: int) -> str:
    """As much of the hint as fits beside the sign."""
    parts = _HINT.split(" · ")
    while parts and len(SIGN) + len(" · ".join(parts)) >= width:
        parts.pop()
    return " · ".join(parts)


def completes_at_once(text: str) -> bool:
    """Whether completions are shown without Tab: for a command, and for the name of a file behind `@`."""
    return text.startswith("/") or text.rpartition(" ")[2].startswith("@")


def _keys() -> KeyBindings:
    """Enter sends, also out of Ctrl-R; Alt-Enter, or Enter behind a backslash, begins a new line."""
    from prompt_toolkit import search
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("enter", filter=is_searching, eager=True)
    def _(event: KeyPressEvent) -> None:
        search.accept_search()
        event.app.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
