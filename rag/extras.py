"""Optional dependencies, which `pip install "askbook[NAME]"` installs."""

from __future__ import annotations

from importlib.util import find_spec

from rag.errors import UsageError
from rag.program import PACKAGE


def need(library: str, extra: str, wanted: str) -> None:
    """Raise `UsageError` unless the library is installed. `wanted` names the setting that needs it."""
    if find_spec(library) is None:
        hint = f'Install it: pip install "{PACKAGE}[{extra}]"'
        raise UsageError(f"{wanted} needs the extra {extra}, which is not installed.", code="missing_extra", hint=hint)
