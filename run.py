#!/usr/bin/env python3
"""The command line of askbook. Everything that costs time to import is imported by the command that needs it."""

from __future__ import annotations

import argparse
import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

# An option may stand before the command or after it. What the command does not name must not undo what stands before,
# so these have no default of their own; the main parser sets it.
_EARLIER: Final = argparse.SUPPRESS


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line and exit code 2, without the usage text in front of it."""

    def error(self, message: str) -> NoReturn:
        print(f'{self.prog}: {message}. See "{self.prog} --help".', file=sys.stderr)
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options, as `--help` and the manual show them."""
    parser = _Parser(prog="run.py", description="Ask a book, and trust the answer. Without a command: the chat.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    chat = _command(commands, "chat", "chat with the book (the default)")
    for one in (parser, chat):
        _profile(one)
        _collection(one)
        one.add_argument("--thread", metavar="ID", default=_EARLIER, help="go on with this conversation")
        one.add_argument(
            "-c", dest="newest", action="store_true", default=_EARLIER, help="go on with the newest conversation"
        )
        _filter(one)
    parser.set_defaults(profile=None, collection=None, thread=None, newest=False, filter=None)
    ask = _command(commands, "ask", "ask one question, then exit")
    ask.add_argument("question", metavar="QUESTION", help="the question, or - to read it from standard input")
    _profile(ask)
    ask.add_argument("--thread", metavar="ID", default=_EARLIER, help="the conversation that the question belongs to")
    _retrieval(ask)
    ask.add_argument("--threshold", metavar="X", help="least score of a passage, 0 to 1")
    _common(ask)
    search = _command(commands, "search", "show the passages that a question finds")
    search.add_argument("query", metavar="QUERY", help="what to search for")
    search.add_argument("--history", metavar="FILE", help="the conversation so far: a JSON list of {role, content}")
    _retrieval(search)
    _common(search)
    _keeping(commands)
    return parser


def _keeping(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The commands on what is stored: books and conversations."""
    ingest = _command(commands, "ingest", "read a book into the index")
    ingest.add_argument("sources", metavar="SOURCE", nargs="+", help="a folder or file of Markdown or MDX")
    ingest.add_argument("--base-url", metavar="URL", help="where the book's pages are on the web")
    ingest.add_argument("--rebuild", action="store_true", help="encode the whole book again, with the models in use")
    ingest.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    _profile(ingest)
    _common(ingest)
    passages = _command(commands, "passages", "print stored passages whole")
    passages.add_argument("ids", metavar="CHUNK_ID", nargs="+", help="ids as search and citations give them")
    _common(passages)
    threads = _command(commands, "threads", "list, show, export, delete or prune stored conversations")
    threads.add_argument("action", choices=["list", "show", "export", "delete", "prune"], help="what to do")
    threads.add_argument("id", metavar="ID", nargs="?", help="the conversation, for show, export and delete")
    threads.add_argument("--json", action="store_true", help="print JSON")
    verify = _command(commands, "verify", "check a stored conversation's citations against the book as it is now")
    verify.add_argument("id", metavar="ID", help="the conversation")
    _common(verify)
    doctor = _command(commands, "doctor", "check what is configured, and say what to do")
    _profile(doctor)
    _common(doctor)


def _command(commands: argparse._SubParsersAction[_Parser], name: str, does: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")


def _profile(parser: argparse.ArgumentParser) -> None:
    does = "the profile that answers (default: ASKBOOK_PROFILE or default)"
    parser.add_argument("--profile", metavar="P", default=_EARLIER, help=does)


def _collection(parser: argparse.ArgumentParser) -> None:
    does = "the book (default: book if there is one, else manual)"
    parser.add_argument("--collection", metavar="NAME", default=_EARLIER, help=does)


def _retrieval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-k", dest="top_k", metavar="N", help="how many passages, 1 to 20")
    _filter(parser)


def _filter(parser: argparse.ArgumentParser) -> None:
    does = "only pages whose url starts with this, or title:PREFIX"
    parser.add_argument("--filter", metavar="PREFIX", default=_EARLIER, help=does)


def _common(parser: argparse.ArgumentParser) -> None:
    _collection(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _chosen(name: str | None) -> Callable[[argparse.Namespace], int]:
    """The function that carries the command out; its module is imported only now."""
    if name in (None, "chat"):
        from cli.chat import chat as command
    elif name == "ask":
        from cli.ask import ask as command
    elif name in ("search", "passages"):
        from cli import search as searching

        command = getattr(searching, name)
    elif name == "ingest":
        from cli.ingest import ingest as command
    elif name == "threads":
        from cli.threads import threads as command
    elif name == "verify":
        from cli.verify import verify_thread as command
    else:
        from cli.doctor import doctor as command
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit code. No traceback leaves here."""
    options = build_parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a narrow locale costs a character its form, and nobody the answer
        sys.stdout.reconfigure(errors="replace")
    logging.basicConfig(handlers=[logging.NullHandler()])  # what a person should know is said in words
    try:
        code = _chosen(options.command)(options)
        if sys.stdout is not None:  # it is None where the caller has closed it
            sys.stdout.flush()  # what fails here would otherwise fail after the last line of this program
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone, which is its right
        _drop_output()
        return 0
    except Exception as error:
        from cli.terminal import report

        if _is_unwritten(error):
            _drop_output()
        return report(error)


def _is_unwritten(error: Exception) -> bool:
    """Whether standard output took no more: a full disk behind a redirection."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def _drop_output() -> None:
    """Lead standard output nowhere, so that what is left in its buffer cannot fail at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
