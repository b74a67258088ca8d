"""The file `.env`: its values, and whether the user trusts it with keys and addresses."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rag.errors import UsageError
from rag.trust import is_trusted

FOUND: Final = Path(".env")  # the file in the folder where askbook is started, which may be a stranger's


class EnvFile(NamedTuple):
    """The values that a file sets, by variable; empty ones count as unset."""

    path: Path
    values: Mapping[str, str]
    trusted: bool


def read_env_file(path: Path | None) -> EnvFile:
    """Read the file; None and a missing file have no values.

    A file that the caller names is trusted; `FOUND` itself only if the user has trusted it. The text is read once, so
    that what was checked is what is used. Raises `UsageError` for a file that is not text.
    """
    if path is None or not path.is_file():
        return EnvFile(path or FOUND, {}, trusted=True)
    from dotenv import dotenv_values

    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", code="settings") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", code="settings") from error
    trusted = path is not FOUND or is_trusted(path, raw)
    # A stranger's `${NAME}` would copy a variable of the environment into a value.
    found = dotenv_values(stream=io.StringIO(text), interpolate=trusted)
    return EnvFile(path, {name.upper(): value for name, value in found.items() if value}, trusted)
