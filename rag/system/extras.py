"""Optional dependencies, which `pip install "askbook[NAME]"` installs."""

from __future__ import annotations

from importlib.util import find_spec

from rag.errors import UsageError
from rag.system.program_name import PACKAGE


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package that would contain a module of this name
        return False


def need(library: str, extra: str, wanted: str) -> None:
    """Raise `UsageError` unless the library is installed. `wanted` names the setting that needs it."""
    if not _is_installed(library):
        hint = f'Install it: pip install "{PACKAGE}[{extra}]"'
        raise UsageError(f"{wanted} needs the extra {extra}, which is not installed.", code="missing_extra", hint=hint)
