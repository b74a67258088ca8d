"""The configuration of a Hugo site, which may be spread over several files: gohugo.io/configuration/introduction."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rag.ingest.generators.config_files import config_options
from rag.ingest.source_files import is_file

ENDINGS: Final = (".toml", ".yaml", ".yml", ".json")
WHOLE: Final = ("hugo", "config")  # the names of files with options of all sections
_FOLDERS: Final = ("config/_default", "config/production")  # a later one counts more
_SECTIONS: Final = ("languages", "permalinks", "module", "markup", "params")


def hugo_options(home: Path, config: Path | None) -> dict[str, Any]:
    """The options of the site in the folder `home`, with the names of the sections in lower case.

    Those of `config` come first. The files of the folder `config` add to them: `languages.toml` is the section
    `languages`.
    """
    found = _lower(config_options(config))
    if config is None:
        return found
    for folder in _FOLDERS:
        for name in (*WHOLE, *_SECTIONS):
            file = next((f for end in ENDINGS if is_file(f := home / folder / f"{name}{end}")), None)
            options = _lower(config_options(file)) if file is not None and file != config else {}
            _merge(found, options if name in WHOLE else {name: options} if options else {})
    return found


def _lower(options: dict[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in options.items()}


def _merge(options: dict[str, Any], others: dict[str, Any]) -> None:
    """Add other options. A section that both have is the sections together."""
    for name, value in others.items():
        old = options.get(name)
        options[name] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
