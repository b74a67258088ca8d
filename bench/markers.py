"""CPU time to read a megabyte of unfinished citation markers.

    python -m bench.markers

Prints milliseconds for the parser alone, and for the whole answer writer, fed at once and in pieces of 4 KB.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.text.markup import parse

MEGABYTE = 1_000_000
UNITS = ("[1, ", "[", "[1] ", "[a](", "<a ", "【1†", "`")


def cost(work: Callable[[], object]) -> float:
    """The shortest CPU time of three runs, in milliseconds."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1000)
    return min(times)


def write(text: str, step: int) -> AnswerWriter:
    writer = AnswerWriter([], AnswerOptions("No."))
    for begin in range(0, len(text), step):
        writer.feed(text[begin : begin + step])
    writer.close()
    return writer


def main() -> None:
    print(f"{'unit':10} {'parser':>8} {'writer':>8} {'by 4 KB':>8}")
    for unit in UNITS:
        text = unit * (MEGABYTE // len(unit))
        times = [cost(partial(parse, text)), cost(partial(write, text, len(text))), cost(partial(write, text, 4096))]
        print(f"{unit!r:10} " + " ".join(f"{milliseconds:8.0f}" for milliseconds in times))


if __name__ == "__main__":
    main()
