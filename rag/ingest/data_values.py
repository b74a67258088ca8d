"""Values in YAML, TOML and JSON, as a book's front matter and its configuration have them.

Escapes can make lone surrogates, which have no UTF-8, and NUL characters, which mask code. Both become U+FFFD.
"""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from typing import Any, Final

import yaml

DEEPEST: Final = 300  # levels of lists and mappings in YAML
_FAST: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # PyYAML has it where it was built with libyaml


def unicode_text(text: str) -> str:
    """The text with U+FFFD for NUL characters and lone surrogates. Two surrogates that are one character are joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def unicode_values(value: Any) -> Any:
    """The value with `unicode_text` for every string in it. Raises RecursionError if it is nested too deeply."""
    if isinstance(value, str):
        return unicode_text(value)
    if isinstance(value, dict):
        return {unicode_values(key): unicode_values(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [unicode_values(one) for one in value]
    return value


class TextLoader(yaml.BaseLoader):
    """YAML with every value a string, a list or a mapping: `title: 2024` is a title."""

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        # Here, not in the loaded value: aliases can make that one endless.
        return unicode_text(str(super().construct_scalar(node)))


def from_yaml(text: str, loader: type[TextLoader] = TextLoader) -> Any:
    """Raises yaml.YAMLError, ValueError, and RecursionError if it is nested too deeply.

    The parser in C counts the levels, since PyYAML's own is slow, but refuses some escapes that PyYAML reads.
    """
    depth = 0
    with suppress(yaml.YAMLError):  # raised again by the loader
        for event in yaml.parse(text, Loader=_FAST):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise RecursionError
    return yaml.load(text, Loader=loader)


def from_json(text: str) -> Any:
    """Raises ValueError, and RecursionError if it is nested too deeply."""
    return unicode_values(json.loads(text))


def from_toml(text: str) -> dict[str, Any]:
    """Raises ValueError, and RecursionError if it is nested too deeply."""
    values: dict[str, Any] = unicode_values(tomllib.loads(text))
    return values
