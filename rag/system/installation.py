"""How this program is installed: what the user types to start it, its optional libraries, and onnxruntime.

Imports next to nothing, since the command line and the build of the package need the names first.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any, Final

CHECKOUT: Final = "python run.py"
PACKAGE: Final = "askbook"


def program() -> str:
    """What the user types before a command: `python run.py` in a checkout, `askbook` where the package is installed.

    Modules of the installed package have names that begin with `askbook.`.
    """
    if sys.argv and sys.argv[0].endswith(f"{PACKAGE}/__main__.py"):
        return f"python -m {PACKAGE}"
    return PACKAGE if __name__.startswith(f"{PACKAGE}.") else CHECKOUT


def as_packaged(text: str) -> str:
    """A page of the manual as the package has it.

    >>> as_packaged("python run.py ingest PATH")
    'askbook ingest PATH'
    """
    return text.replace(CHECKOUT, PACKAGE)


def need(library: str, extra: str, wanted: str) -> None:
    """Raise `UsageError` unless the library is installed, which `pip install "askbook[EXTRA]"` does.

    `wanted` names the setting that needs it.
    """
    if not _is_installed(library):
        from rag.errors import UsageError

        hint = f'Install it: pip install "{PACKAGE}[{extra}]"'
        raise UsageError(f"{wanted} needs the extra {extra}, which is not installed.", code="missing_extra", hint=hint)


def onnx_runtime() -> Any:
    """Load onnxruntime with its telemetry turned off.

    The variable is read once, when the library is loaded. Without it the library writes a device id and a store of
    events to the user's cache folder, and knows an address to send them to. A value set by the user is kept.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package that would contain a module of this name
        return False
