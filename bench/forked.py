"""Fork processes from one that has imported everything."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(work: Callable[[], int]) -> int:
    """The process id of a child that calls `work`, exits with its result and never returns to the caller's code."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = work()
    except BaseException:  # any exception would run the parent's clean-up in the child
        traceback.print_exc()
    os._exit(min(code, 255))
