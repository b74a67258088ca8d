"""`--help` of the whole program: the commands by what they are for, on one screen."""

from __future__ import annotations

import argparse
from typing import Final

GROUPS: Final = {
    "Ask": ("chat", "ask", "search", "passages"),
    "Books": ("ingest", "books"),
    "Stored": ("threads", "verify"),
    "Offer": ("serve", "mcp"),
    "Check": ("doctor", "eval", "trust"),
    "Shell": ("completion",),
}


def overview(parser: argparse.ArgumentParser) -> str:
    """The text of `--help`. A command that no group names stands at the end."""
    action = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    does = {one.dest: one.help or "" for one in action._choices_actions}
    known = [name for names in GROUPS.values() for name in names]
    groups = {**GROUPS, "Other": tuple(name for name in does if name not in known)}
    lines = [
        f"usage: {parser.prog} [COMMAND] [OPTION...]   (options: {parser.prog} COMMAND --help)",
        f"{parser.description}",
        "",
    ]
    for group, names in groups.items():
        for place, name in enumerate(name for name in names if name in does):
            lines.append(f"{'' if place else group:<10}{name:<12}{does[name]}")
    options = [
        option.option_strings[-1] for option in parser._actions if option.option_strings and option.dest != "help"
    ]
    lines += [
        "",
        f"Options of the chat: {' '.join(options)}",
        "Examples:",
        f"  {parser.prog} ingest path/to/your/book --base-url https://example.org/docs",
        f'  {parser.prog} ask "How do I install it?"',
    ]
    return "\n".join(lines) + "\n"
