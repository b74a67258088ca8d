"""The command line's parser: every command with its options, as `--help` and the manual show them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, NoReturn

from rag.system.process import CHECKOUT, PACKAGE, program, version

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

# An option may precede the command or follow it. With a default, the command's parser would overwrite a value given
# before the command, so only the main parser sets the defaults.
_NO_DEFAULT: Final = argparse.SUPPRESS

# The commands by what they are for, in the order of `--help`.
GROUPS: Final = {
    "Ask": ("chat", "ask", "search", "passages"),
    "Books": ("ingest", "books"),
    "Stored": ("threads", "verify"),
    "Offer": ("serve", "mcp"),
    "Check": ("doctor", "eval", "trust"),
    "Shell": ("completion",),
}

_Arguments = Mapping[str, str]  # the help of each argument
_BOOK: Final[_Arguments] = {"name": "the book"}
_BOOKS: Final[Mapping[str, tuple[str, _Arguments]]] = {
    "list": ("list the books", {}),
    "show": ("show what is known of a book", _BOOK),
    "rename": ("give a book another name", {**_BOOK, "new": "its new name"}),
    "delete": ("delete a book", _BOOK),
}
_THREAD: Final[_Arguments] = {"id": "the conversation"}
_THREADS: Final[Mapping[str, tuple[str, _Arguments]]] = {
    "list": ("list the conversations, newest first", {}),
    "show": ("print a conversation", _THREAD),
    "export": ("print a conversation as Markdown, or with --json with every stored field", _THREAD),
    "delete": ("delete a conversation", _THREAD),
    "prune": ("delete old checkpoints of all conversations and free their space", {}),
}


class WrongUsageError(Exception):
    """Arguments that no command takes. The message is one line, without the usage text."""


class _Parser(argparse.ArgumentParser):
    """Raises `WrongUsageError` in place of leaving the program."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help. argparse ignores errors of writing; here a full disk is one."""
        target = file or sys.stdout
        target.write(self.format_help())
        sys.stdout.flush()

    def error(self, message: str) -> NoReturn:
        raise WrongUsageError(f'{self.prog}: {message}. See "{self.prog} --help".')


class _Version(argparse.Action):
    """Prints the name and the version and leaves the program, as --help does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"{PACKAGE} {version()}\n")
        sys.stdout.flush()
        parser.exit()


class _MainParser(_Parser):
    """Shows the commands by what they are for."""

    def format_help(self) -> str:
        return _overview(self)


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options, as `--help` and the manual show them. Parsing leaves it as it is."""
    return _built(program())


@cache
def _built(name: str) -> argparse.ArgumentParser:
    prog = "run.py" if name == CHECKOUT else name
    parser = _MainParser(prog=prog, description="Answers questions about a book, using only what the book says.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    chat = _command(commands, "chat", "chat with the book (the default)")
    for target in (parser, chat):
        _profile(target)
        _collection(target)
        target.add_argument("--thread", metavar="ID", default=_NO_DEFAULT, help="continue this conversation")
        target.add_argument(
            "-c", dest="newest", action="store_true", default=_NO_DEFAULT, help="continue the newest conversation"
        )
        _filter(target)
        _no_stream(target)
    parser.add_argument("--version", action=_Version, nargs=0, default=_NO_DEFAULT, help="print the version")
    parser.set_defaults(profile=None, collection=None, thread=None, newest=False, filter=None, no_stream=False)
    ask = _command(commands, "ask", "ask one question, then exit")
    ask.add_argument("question", metavar="QUESTION", help="the question, or - to read it from standard input")
    _profile(ask)
    ask.add_argument(
        "--thread", metavar="ID", default=_NO_DEFAULT, help="the conversation to continue, or the id of a new one"
    )
    _retrieval(ask, default="the profile's, or 12 without a model")
    ask.add_argument("--threshold", metavar="X", help="minimum score of a passage, 0 to 1 (default: the profile's)")
    _no_stream(ask)
    _common(ask)
    search = _command(commands, "search", "show the passages found for a query")
    search.add_argument("query", metavar="QUERY", help="what to search for")
    search.add_argument(
        "--history", metavar="FILE", type=_name, help="the conversation so far: a JSON list of {role, content}"
    )
    _retrieval(search)
    _common(search)
    _add_storage_commands(commands)
    completion = _command(commands, "completion", "print a script that completes commands in a shell")
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    completion.set_defaults(parser=parser)
    return parser


def _add_storage_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The commands on stored books and conversations, and those that serve and check them."""
    _add_ingest(commands)
    passages = _command(commands, "passages", "print stored passages in full")
    passages.add_argument(
        "ids", metavar="CHUNK_ID", type=_name, nargs="+", help="ids from search results and citations"
    )
    _common(passages)
    _add_actions(commands, "books", "list, show, rename or delete the books in the index", _BOOKS)
    _add_actions(commands, "threads", "list, show, export, delete or prune stored conversations", _THREADS)
    verify = _command(commands, "verify", "check a stored conversation against the current book")
    verify.add_argument("id", metavar="ID", help="the conversation")
    _common(verify, _CITED)
    _add_eval(commands)
    trust = _command(commands, "trust", "let a profile or .env that you have read use your keys")
    trust.add_argument("files", metavar="FILE", type=_name, nargs="+", help="the profile or .env, which you have read")
    trust.add_argument("--revoke", action="store_true", help="trust the file no longer")
    _add_servers(commands)
    doctor = _command(commands, "doctor", "check the configuration and suggest fixes")
    _profile(doctor)
    _common(doctor)


def _add_ingest(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The command `ingest`."""
    ingest = _command(commands, "ingest", "read a book into the index")
    ingest.add_argument(
        "sources", metavar="SOURCE", nargs="+", help="a folder, a file, or the address of a site or a git repository"
    )
    ingest.add_argument("--base-url", metavar="URL", help="address of the book's web site")
    ingest.add_argument("--generator", metavar="G", help="the site generator of the book (default: found by its files)")
    ingest.add_argument(
        "--include",
        metavar="PATTERN",
        action="append",
        default=[],
        help='read only these, such as "docs/**"; repeatable',
    )
    ingest.add_argument(
        "--exclude", metavar="PATTERN", action="append", default=[], help='leave these out, such as "*.txt"; repeatable'
    )
    ingest.add_argument("--rebuild", action="store_true", help="embed the whole book again with the current models")
    ingest.add_argument("--dry-run", action="store_true", help="report what would be done without doing it")
    _profile(ingest)
    _common(ingest, _FILLED)


def _add_servers(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The commands `serve` and `mcp`."""
    serve = _command(commands, "serve", "answer over HTTP: a web page, an endpoint, conversations")
    serve.add_argument("--host", metavar="H", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument(
        "--port", metavar="N", default="8000", help="port to listen on, 0 for a free one (default: 8000)"
    )
    _profile(serve)
    _collection(serve)
    mcp = _command(commands, "mcp", "offer the book to an assistant, as an MCP server")
    _profile(mcp)
    _collection(mcp)


def _add_eval(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The command `eval`."""
    evaluate = _command(commands, "eval", "ask the questions of a dataset and rate the answers")
    evaluate.add_argument(
        "dataset",
        metavar="DATASET",
        type=_name,
        help="a file of JSON Lines with questions; with --make, a book or its folder",
    )
    evaluate.add_argument("--make", metavar="N", help="print a dataset of N questions made from the book, to be edited")
    evaluate.add_argument("--report", metavar="FILE.html", type=_name, help="write a page with tables and plots")
    evaluate.add_argument(
        "--against", metavar="OTHER.json", type=_name, help="compare with a run that was printed with --json"
    )
    evaluate.add_argument("--fresh", action="store_true", help="do not go on with an unfinished run")
    _profile(evaluate)
    _common(evaluate)


def _add_actions(
    commands: argparse._SubParsersAction[_Parser], name: str, text: str, actions: Mapping[str, tuple[str, _Arguments]]
) -> None:
    """A command with actions, such as `threads show ID`: for each action its help and its arguments.

    Each action has a parser of its own, so that options may stand before its arguments too.
    """
    command = _command(commands, name, text)
    command.set_defaults(json=False)
    parsers = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    made = [(_command(parsers, action, about), arguments) for action, (about, arguments) in actions.items()]
    for parser, arguments in [(command, {}), *made]:
        for argument, about in arguments.items():
            parser.add_argument(argument, metavar=argument.upper(), help=about)
        parser.add_argument("--json", action="store_true", default=_NO_DEFAULT, help="print JSON")


def _command(commands: argparse._SubParsersAction[_Parser], name: str, text: str) -> _Parser:
    return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")


def _profile(parser: argparse.ArgumentParser) -> None:
    text = "the profile to use (default: ASKBOOK_PROFILE, else default)"
    parser.add_argument("--profile", metavar="P", type=_name, default=_NO_DEFAULT, help=text)


_OF_A_SERVER: Final = "else with QDRANT_URL the profile's"
_ASKED: Final = f"the book (default: QDRANT_COLLECTION_NAME, {_OF_A_SERVER}, else book if it exists, else manual)"
_FILLED: Final = f"the book to read into (default: QDRANT_COLLECTION_NAME, {_OF_A_SERVER}, else book)"
_CITED: Final = "the book to check against (default: the book of each turn)"


def _collection(parser: argparse.ArgumentParser, text: str = _ASKED) -> None:
    parser.add_argument("--collection", metavar="NAME", type=_name, default=_NO_DEFAULT, help=text)


def _name(text: str) -> str:
    """Rejects an empty name, as from an unset shell variable."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a name must not be empty")
    return text


def _no_stream(parser: argparse.ArgumentParser) -> None:
    text = "show an answer when it is complete, as in a pipe"
    parser.add_argument("--no-stream", action="store_true", default=_NO_DEFAULT, help=text)


def _retrieval(parser: argparse.ArgumentParser, default: str = "the profile's") -> None:
    parser.add_argument("-k", dest="top_k", metavar="N", help=f"number of passages, 1 to 20 (default: {default})")
    _filter(parser)


def _filter(parser: argparse.ArgumentParser) -> None:
    text = (
        "search only pages whose URL starts with this; with title:, heading:, file: or chapter: in front, pages where "
        "that field does"
    )
    parser.add_argument("--filter", metavar="PREFIX", default=_NO_DEFAULT, help=text)


def _common(parser: argparse.ArgumentParser, collection: str = _ASKED) -> None:
    _collection(parser, collection)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _overview(parser: argparse.ArgumentParser) -> str:
    """`--help` of the whole program, on one screen. A command that no group names stands at the end."""
    action = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    does = {one.dest: one.help or "" for one in action._choices_actions}
    known = [name for names in GROUPS.values() for name in names]
    groups = {**GROUPS, "Other": tuple(name for name in does if name not in known)}
    lines = [
        f"usage: {parser.prog} [COMMAND] [OPTION...]   (options: {parser.prog} COMMAND --help)",
        f"       {parser.prog} --version",
        f"{parser.description}",
        "",
    ]
    for group, names in groups.items():
        for place, name in enumerate(name for name in names if name in does):
            lines.append(f"{'' if place else group:<10}{name:<12}{does[name]}")
    own = ("help", "version")
    options = [
        option.option_strings[-1] for option in parser._actions if option.option_strings and option.dest not in own
    ]
    lines += [
        "",
        f"Options of the chat: {' '.join(options)}",
        "Examples:",
        f"  {parser.prog} ingest path/to/your/book --base-url https://example.org/docs",
        f'  {parser.prog} ask "How do I install it?"',
    ]
    return "\n".join(lines) + "\n"
