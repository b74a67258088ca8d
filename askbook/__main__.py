"""`python -m askbook` and the command `askbook`: the same program as `python run.py`."""

from __future__ import annotations

import sys

from run import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
