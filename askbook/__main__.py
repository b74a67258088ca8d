"""`python -m askbook` and the command `askbook`: the same program as `python run.py`."""

from __future__ import annotations

import sys

from rag.system.process import leave_on_interrupt

__all__ = ["main"]


def main() -> int:
    """Run one command of the command line and return its exit code."""
    leave_on_interrupt()
    from run import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
