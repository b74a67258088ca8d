#!/usr/bin/env python3
"""Entry point of the command line: runs one command and reports its exceptions. Commands do their own slow imports."""

from __future__ import annotations

# First, so that a Ctrl-C during the slow imports below ends the program without a traceback
from rag.system.process import INTERRUPTED, leave_on_interrupt, raise_on_interrupt

if __name__ == "__main__":
    leave_on_interrupt()

import argparse
import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

from cli.parser import WrongUsageError, build_parser

# The file of `cli` and the function of each command for which they are not the command's own name.
_ELSEWHERE: Final = {
    "passages": ("search", "passages"),
    "verify": ("verify", "verify_thread"),
    "eval": ("eval", "evaluate"),
    "mcp": ("serve", "mcp"),
    "completion": ("shell_completion", "completion"),
}


def _load_command(name: str) -> Callable[[argparse.Namespace], int]:
    """The function of the command, whose file is imported now. It returns the exit code."""
    file, function = _ELSEWHERE.get(name, (name, name))
    package = build_parser.__module__.rpartition(".")[0]  # `cli`, which is `askbook.cli` when it is installed
    command: Callable[[argparse.Namespace], int] = getattr(import_module(f"{package}.{file}"), function)
    return command


def _open_streams() -> None:
    """Put the null device in the place of a standard stream that the caller has closed.

    Otherwise the next file that is opened gets its number, and what a library prints goes into that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue  # the descriptor is open; only Python's stream object is missing
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Exceptions are reported without a traceback."""
    _open_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # replace characters that the terminal cannot encode
        sys.stdout.reconfigure(errors="replace")
    logging.basicConfig(handlers=[logging.NullHandler()])  # commands print their own messages
    options = argparse.Namespace()
    try:
        build_parser().parse_args(arguments, options)
        raise_on_interrupt()
        code = _load_command(options.command or "chat")(options)
        sys.stdout.flush()  # report a write error here rather than at exit
        return code
    except WrongUsageError as wrong:
        return _refused(wrong, getattr(options, "command", None), sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # for example `run.py ... | head`
        _drop_output()
        return 0
    except Exception as error:
        from cli.terminal import report

        if _is_write_error(error):
            _drop_output()
        return report(error, as_json=getattr(options, "json", False))


def _refused(wrong: WrongUsageError, command: str | None, arguments: Sequence[str]) -> int:
    """Report arguments that the parser refused, with --json also as JSON; of `ask` that is a response."""
    if "--json" not in arguments:
        print(wrong, file=sys.stderr)
        return 2
    from cli.ask import print_failed
    from cli.terminal import report
    from rag.errors import UsageError

    error = UsageError(str(wrong))
    return print_failed(error) if command == "ask" else report(error, as_json=True)


def _is_write_error(error: Exception) -> bool:
    """Whether the error may come from standard output, such as a full disk behind a redirection."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def _drop_output() -> None:
    """Redirect standard output to the null device, so that flushing its buffer at exit cannot fail."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
    os.close(null_device)


if __name__ == "__main__":
    sys.exit(main())
