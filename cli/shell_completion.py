"""`run.py completion`: a script that completes commands, options and profiles in bash, zsh or fish."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cli.terminal import say
from rag.system.process import CHECKOUT, PACKAGE, program

_FILES: Final = ("--history", "--report", "--against")  # options that take the name of a file


@dataclass(frozen=True)
class _Words:
    """What follows a command: options with their help, those that take a value, and fixed words."""

    about: str
    options: dict[str, str]
    valued: frozenset[str]
    words: tuple[str, ...]


def completion(options: argparse.Namespace) -> int:
    """Print the script; a remark says how to load it."""
    from rag.profiles.profile import profile_folders, profile_names
    from rag.settings import Settings

    words = {name: _words(parser) for name, parser in _commands(options.parser).items()}
    profiles = profile_names(profile_folders(Settings.from_env()))
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print("\n".join(write(_words(options.parser), words, profiles)))
    if program() == CHECKOUT:
        say(f"The script completes the command {PACKAGE}, which the installed package has.")
    return 0


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}


def _words(parser: argparse.ArgumentParser) -> _Words:
    flags = [one for one in parser._actions if one.option_strings]
    fixed = [one for one in parser._actions if not one.option_strings and one.choices]
    return _Words(
        (parser.description or "").rstrip("."),
        {name: one.help or "" for one in flags for name in one.option_strings},
        frozenset(name for one in flags if one.nargs != 0 for name in one.option_strings),
        tuple(str(word) for one in fixed for word in one.choices or ()),
    )


def _with_values(commands: dict[str, _Words]) -> list[str]:
    """The options that take a value, without those whose values are known."""
    return sorted({name for one in commands.values() for name in one.valued} - {"--profile"})


def _bash(main: _Words, commands: dict[str, _Words], profiles: list[str]) -> Iterator[str]:
    yield f"# Completion of {PACKAGE} for bash: source <({PACKAGE} completion bash)"
    yield f"_{PACKAGE}() {{"
    yield '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command= word words='
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'    case "$word" in {"|".join(commands)}) command="$word"; break ;; esac'
    yield "  done"
    yield '  case "$previous" in'
    yield f"    --profile) words='{' '.join(profiles)}' ;;"
    yield f"    {'|'.join(_with_values(commands))}) COMPREPLY=(); return ;;"
    yield '    *) case "$command" in'
    for name, one in commands.items():
        yield f"      {name}) words='{' '.join((*one.words, *one.options))}' ;;"
    yield f"      *) words='{' '.join((*main.words, *main.options))}' ;;"
    yield "    esac ;;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield f"complete -o bashdefault -o default -F _{PACKAGE} {PACKAGE}"


def _zsh(main: _Words, commands: dict[str, _Words], profiles: list[str]) -> Iterator[str]:
    yield f"#compdef {PACKAGE}"
    yield f"# Completion of {PACKAGE} for zsh: source <({PACKAGE} completion zsh)"
    yield f"_{PACKAGE}() {{"
    yield "  local command word"
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f'    case "$word" in {"|".join(commands)}) command="$word"; break ;; esac'
    yield "  done"
    yield '  case "${words[CURRENT-1]}" in'
    yield f"    --profile) compadd -- {' '.join(profiles)}; return ;;"
    yield f"    {'|'.join(_with_values(commands))}) _files; return ;;"
    yield "  esac"
    yield '  case "$command" in'
    for name, one in commands.items():
        yield f"    {name}) compadd -- {' '.join((*one.words, *one.options))} && return ;;"
    yield f"    *) compadd -- {' '.join((*main.words, *main.options))} && return ;;"
    yield "  esac"
    yield "  _files"
    yield "}"
    yield f"compdef _{PACKAGE} {PACKAGE}"


def _fish(main: _Words, commands: dict[str, _Words], profiles: list[str]) -> Iterator[str]:
    yield f"# Completion of {PACKAGE} for fish: {PACKAGE} completion fish | source"
    anywhere = f"not __fish_seen_subcommand_from {' '.join(commands)}"
    for name, one in commands.items():
        yield f"complete -c {PACKAGE} -f -n {_quoted(anywhere)} -a {name} -d {_quoted(one.about)}"
    yield from _fish_options(main, anywhere, profiles)
    for name, one in commands.items():
        seen = f"__fish_seen_subcommand_from {name}"
        yield from (f"complete -c {PACKAGE} -f -n {_quoted(seen)} -a {word}" for word in one.words)
        yield from _fish_options(one, seen, profiles)


def _fish_options(one: _Words, condition: str, profiles: list[str]) -> Iterator[str]:
    for name, text in one.options.items():
        flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        takes = ""
        if name == "--profile":
            takes = f" -x -a {_quoted(' '.join(profiles))}"
        elif name in one.valued:
            takes = " -r" if name in _FILES else " -x"
        yield f"complete -c {PACKAGE} -n {_quoted(condition)} {flag}{takes} -d {_quoted(text)}"


def _quoted(text: str) -> str:
    """The text in the quotation marks of fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
