"""Time of `run.py --help` and of the first answer of `run.py ask` in a new process.

    python -m bench.startup

Each command runs as a process of its own, after one run that is not counted. The ratio to an empty Python process is
comparable between machines.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 5
QUESTION = "How do I use my own book?"


def seconds(command: list[str], home: Path) -> float:
    """Wall time of one process, in seconds. Raises `CalledProcessError` when it fails."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment | {"ASKBOOK_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


def main() -> None:
    """Print minimum, median and maximum of each command, and its ratio to an empty process."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "run.py --help": ["run.py", "--help"],
        "run.py ask (first answer)": ["run.py", "ask", QUESTION],
    }
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        print(f"{'run.py ask, indexing the manual first':<38} {seconds(['run.py', 'ask', QUESTION], home):6.2f} s")
        base = None
        for name, command in commands.items():
            seconds(command, home)
            times = sorted(seconds(command, home) for _ in range(RUNS))
            median = statistics.median(times)
            base = base or median
            print(f"{name:<38} {times[0]:6.2f} {median:6.2f} {times[-1]:6.2f} s   x{median / base:.0f}")


if __name__ == "__main__":
    main()
