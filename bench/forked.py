"""Processes that are forked from one that has imported everything."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(work: Callable[[], int]) -> int:
    """The id of a child that does `work` and exits with what it gives; it never goes on with what its parent does."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = work()
    except BaseException:  # whatever it is, the clean-up of the parent is not the child's to do
        traceback.print_exc()
    os._exit(min(code, 255))
