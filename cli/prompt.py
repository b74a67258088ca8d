"""The prompt of the chat: a line editor with history, completion, several lines and $EDITOR; plain lines in a pipe.

`@file` in a question stands for the text of the file.
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.session import ChatSession
from cli.terminal import say
from cli.threads import HISTORY
from rag.errors import UsageError
from rag.system.files import private_folder
from rag.text.counting import counted

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
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
    """Whether completions are shown without Tab: for a command, and for the name of a file after `@`."""
    return text.startswith("/") or text.rpartition(" ")[2].startswith("@")


def _keys() -> KeyBindings:
    """Enter sends, also out of Ctrl-R; Alt-Enter, or Enter after a backslash, begins a new line."""
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


def input_history(home: Path, *, persistent: bool) -> History:
    """The history in the file; in memory if conversations are not stored either."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    return FileHistory(str(history_file(home))) if persistent else InMemoryHistory()


def history_file(home: Path) -> Path:
    """The file, created if missing, readable only by its owner. Raises `UsageError` if it cannot be used."""
    private_folder(home)
    path = home / HISTORY
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.touch(mode=0o600)
        path.chmod(0o600)  # also a file that was there before
        path.open("rb").close()
    except OSError as error:
        message = f"{path}, the file with the typed lines, cannot be used: {error.strerror}."
        raise UsageError(message, code="history", hint="Move it away.") from error
    return path


_NAMED: Final = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')


def with_files(question: str, longest: int) -> str:
    """The question with each `@file` replaced by the text of the file. A name without a file stays as it is.

    Raises `UsageError` for a file that is not text, and if the question then has more than `longest` characters.
    """
    names: list[str] = []

    def text_of(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        path = Path(name).expanduser()
        if not path.is_file():
            if "/" in name or path.suffix:
                say(f"There is no file {name}, so @{name} is asked as it stands.")
            return found[0]
        text = _text(path)
        names.append(name)
        say(f"{name}: {counted(len(text.splitlines()), 'line')} put into the question.")
        return f"\n{text}\n" if "\n" in text else text

    whole = _NAMED.sub(text_of, question).strip()
    if names and len(whole) > longest:
        message = (
            f"With {' and '.join(names)} the question has {len(whole):,} characters; at most {longest:,} are allowed."
        )
        raise UsageError(message, code="question_too_long", hint="Put the part that matters into the question.")
    return whole


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text.", code="file") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", code="file") from error
