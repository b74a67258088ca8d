"""`@file` in a question: the text of a file in its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from cli.terminal import counted, say
from rag.errors import UsageError

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
