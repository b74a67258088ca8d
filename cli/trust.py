"""`run.py trust`: allow a file of the current folder to decide where keys are sent."""

from __future__ import annotations

import argparse
import io
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cli.terminal import printable
from rag.errors import UsageError
from rag.settings import variables
from rag.system import trusted_files


def trust(options: argparse.Namespace) -> int:
    """Print what each file decides, so that a mistake is seen. Exit code 2 if a file cannot be read."""
    for name in options.files:
        path = Path(name)
        if options.revoke:
            was = trusted_files.revoke(path)
            print(printable(f"{path} is {'no longer' if was else 'not'} trusted."))
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", code="source") from error
        lines = [*_decides(path, content)]  # a file that is not text is refused before it is trusted
        trusted_files.trust(path, content)
        print(printable(f"{path} is trusted until it changes."))
        for line in lines:
            print(printable(f"  {line}"))
    return 0


def _decides(path: Path, content: bytes) -> Iterator[str]:
    """What a profile or a `.env` decides about keys and addresses, one line each, never a key."""
    try:
        text = content.decode("utf-8-sig")
        data = tomllib.loads(text) if path.suffix == ".toml" else None
    except ValueError as error:  # not UTF-8, or not TOML
        raise UsageError(f"{path} is neither a profile nor a file of variables.", code="source") from error
    if data is None:
        yield from _variables(text)
        return
    model = data.get("model")
    if isinstance(model, dict) and "base_url" in model:
        yield f"It sends {model.get('api_key_env', 'a key')} to {urlsplit(str(model['base_url'])).hostname}."


def _variables(text: str) -> Iterator[str]:
    from dotenv import dotenv_values

    found = {name.upper(): value for name, value in dotenv_values(stream=io.StringIO(text)).items() if value}
    for name, value in found.items():
        if name in variables() or name.endswith("_API_KEY"):
            host = urlsplit(value).hostname if name.endswith("_URL") else None
            yield f"It sets {name}{f' to the host {host}' if host else ''}."
