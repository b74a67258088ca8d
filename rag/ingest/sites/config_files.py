"""Read a configuration file in YAML, TOML or JSON. One that cannot be read is empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rag.ingest.data_values import TextLoader, from_json, from_toml, from_yaml
from rag.ingest.source_files import read_inside


class TaglessLoader(TextLoader):
    """YAML with every value a string. Tags such as `!ENV` and `!!python/name:` are ignored and build no objects."""


def _untagged(loader: yaml.BaseLoader, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


TaglessLoader.add_multi_constructor("", _untagged)


def config_text(file: Path | None) -> str:
    """The text of a configuration file; empty where there is none."""
    return (read_inside(file.parent, file) or "") if file is not None else ""


def config_options(file: Path | None) -> dict[str, Any]:
    """The options in a configuration file. In YAML all values are strings, lists or mappings."""
    text = config_text(file)
    suffix = file.suffix if file is not None else ""
    try:
        if suffix == ".toml":
            return from_toml(text)
        loaded = from_json(text) if suffix == ".json" else from_yaml(text, TaglessLoader)
    except (ValueError, yaml.YAMLError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def as_text(value: object) -> str:
    """An option that is one line of text; empty for any other."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def is_true(value: object) -> bool:
    """Whether an option says yes."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "on"))


def is_false(value: object) -> bool:
    """Whether an option says no."""
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no", "off"))


def option(options: object, *names: str) -> Any:
    """The option at a path of names; None where there is none."""
    for name in names:
        options = options.get(name) if isinstance(options, dict) else None
    return options


def mapping(value: object) -> dict[str, Any]:
    """An option that is a mapping; empty for any other."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """The items of an option that is a list; one that is a single value is its only item."""
    return list(value) if isinstance(value, (list, tuple)) else [] if value in (None, "") else [value]


def strings(value: object) -> list[str]:
    """The texts in a list of options."""
    return [one for one in listed(value) if isinstance(one, str)]
