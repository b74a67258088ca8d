"""How this program is started and installed, for the commands that messages tell the user to run."""

from __future__ import annotations

import sys
from typing import Final

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
