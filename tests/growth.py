"""How the work for a text grows with its length, by the processor time of this process and never by a clock.

Processes beside this one take no processor time of it. What disturbs a measurement all the same, such as a shared
cache, is rarely there at each of several tries: a quadratic step is.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Final

TRIES: Final = 5
LINEAR: Final = 14  # eight times the text takes 8 times the work if it is linear, and 64 times if it is quadratic


def processor_seconds(work: Callable[[], object]) -> float:
    """What the work takes of the processor. Garbage is not looked for: that goes through all objects of the tests."""
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        gc.enable()


def is_linear(work: Callable[[str], object], text: str) -> bool:
    """Whether the work for the text takes, in one of some tries, about eight times that for an eighth of it.

    What takes a few milliseconds needs no comparison.
    """
    for _ in range(TRIES):
        whole = processor_seconds(lambda: work(text))
        part = processor_seconds(lambda: work(text[: len(text) // 8]))
        if whole < LINEAR * part + 0.02:
            return True
    return False
