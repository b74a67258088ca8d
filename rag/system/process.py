"""This process: Ctrl-C while it starts, how it was started, its version and libraries.

Imports next to nothing, since it protects the imports of everything else.
"""

from __future__ import annotations

# `signal` itself imports `enum`, which takes long enough to be interrupted.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # of `typing`, which takes long too
    from typing import Any

INTERRUPTED = 130  # exit code
CHECKOUT = "python run.py"
PACKAGE = "askbook"


def leave_on_interrupt() -> None:
    """Let Ctrl-C, unless it is ignored, end the program at once with exit code 130, until `raise_on_interrupt`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_signal: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def program() -> str:
    """What the user types before a command: `python run.py` in a checkout, `askbook` in the installed package."""
    if sys.argv and sys.argv[0].endswith(f"{PACKAGE}/__main__.py"):
        return f"python -m {PACKAGE}"
    return PACKAGE if __name__.startswith(f"{PACKAGE}.") else CHECKOUT


def version() -> str:
    """The version of the package, or of the checkout that this is."""
    if __name__.startswith(f"{PACKAGE}."):
        from importlib import metadata

        return metadata.version(PACKAGE)
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def as_packaged(text: str) -> str:
    """A page of the manual as the package has it.

    >>> as_packaged("python run.py ingest PATH")
    'askbook ingest PATH'
    """
    return text.replace(CHECKOUT, PACKAGE)


def install_command(extra: str) -> str:
    """What the user types to install an extra: of the package, or in the folder of a checkout of that."""
    return f'pip install "{PACKAGE if __name__.startswith(f"{PACKAGE}.") else "."}[{extra}]"'


def need(library: str, extra: str, wanted: str) -> None:
    """Raise `UsageError` unless the library is installed. `wanted` names what needs it, in words."""
    if not _is_installed(library):
        from rag.errors import UsageError

        hint = f"Install it: {install_command(extra)}"
        raise UsageError(f"{wanted} needs the extra {extra}, which is not installed.", code="missing_extra", hint=hint)


def need_package(library: str, wanted: str) -> None:
    """Raise `UsageError` unless a package is installed that is no extra. `wanted` names what needs it, in words."""
    if not _is_installed(library):
        from rag.errors import UsageError

        package = library.replace("_", "-")
        message = f"{wanted} needs the package {package}, which is not installed."
        raise UsageError(message, code="missing_extra", hint=f"Install it: pip install {package}")


def onnx_runtime() -> Any:
    """Load onnxruntime with its telemetry turned off, unless the user has set the variable.

    It reads the variable once. Without it, it writes a device id to the cache folder and knows an address to send to.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def _is_installed(library: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package that would contain a module of this name
        return False
