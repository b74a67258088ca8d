"""Time from Enter to the first visible sign in the chat, on a pseudo-terminal.

    python -m bench.enter

Types questions into one chat and waits for the line of progress. Prints the median and the 95th percentile in
milliseconds, and both as ratios to the time in which the prompt shows a typed letter, comparable between machines.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from tests.terminal import Terminal

RUNS = 40
QUESTION = "Does askbook work offline?"
SIGN = "Searching the book"


def seconds_until(chat: Terminal, shown: bytes, keys: str) -> float:
    """The seconds from typing the keys until the program has written the bytes."""
    chat.settled()
    before = len(chat.raw)
    began = time.perf_counter()
    chat.type(keys)
    while shown not in chat.raw[before:]:
        chat.read(0.001)
    return time.perf_counter() - began


def measured(runs: int = RUNS) -> tuple[list[float], list[float]]:
    """Seconds of each letter and of each Enter."""
    letters, enters = [], []
    with tempfile.TemporaryDirectory() as folder, Terminal(home=Path(folder) / ".askbook") as chat:
        chat.enter(QUESTION)  # the first one warms up
        for _ in range(runs):
            chat.prompt()
            letters.append(seconds_until(chat, b"Q", "Q"))
            chat.type("\x15" + QUESTION)  # Ctrl-U
            chat.until(lambda text: text.endswith(QUESTION))
            enters.append(seconds_until(chat, SIGN.encode(), "\r"))
            chat.prompt()
    return letters, enters


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def main() -> None:
    letters, enters = measured()
    for name, percent in (("median", 50), ("95th percentile", 95)):
        letter, enter = percentile(letters, percent), percentile(enters, percent)
        print(f"{name:<16} Enter {enter * 1000:6.1f} ms   letter {letter * 1000:6.1f} ms   ratio {enter / letter:.2f}")


if __name__ == "__main__":
    main()
