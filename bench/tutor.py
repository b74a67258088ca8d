"""Time and memory of a question to `robotics-tutor`, with Cohere, Qdrant and the model as stand-ins on this machine.

    python -m bench.tutor

The design promises an answer in less than 10 seconds and about 200 MB. The stand-ins answer at once, so the services
and the network come on top of the time; memory is the largest resident set of the process that asks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.cohere_server import cohere_server
from tests.openai_server import OPENAI_KEY, answer, openai_server
from tests.qdrant_server import QdrantServer
from tests.wire import listening

ROOT: Final = Path(__file__).parent.parent
RUNS: Final = 5
QUESTION: Final = "What is a passage?"
MEGABYTE: Final = 1024 * (1024 if sys.platform == "darwin" else 1)  # ru_maxrss is in bytes on macOS


def measured(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and megabytes of one run. Raises `RuntimeError` when it fails."""
    began = time.perf_counter()
    command = [sys.executable, "run.py", *arguments, "--profile", "robotics-tutor"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with exit code {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / MEGABYTE


def main() -> None:
    """Ingest the manual, ask several times, and print minimum, median and maximum."""
    with (
        tempfile.TemporaryDirectory() as home,
        cohere_server() as cohere,
        listening(QdrantServer()) as qdrant,
        openai_server() as model,
    ):
        model.script += [answer("A passage is a part of a page [1].")] * RUNS
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "ASKBOOK_HOME": home,
            "QDRANT_URL": qdrant.address,
            "COHERE_API_KEY": "key",
            "COHERE_BASE_URL": cohere.address,
            "OPENAI_API_KEY": OPENAI_KEY,
            "OPENAI_BASE_URL": model.address,
        }
        measured(["ingest", "docs"], environment)
        runs = [measured(["ask", QUESTION], environment) for _ in range(RUNS)]
    for name, unit, values in zip(("time", "memory"), ("s", "MB"), zip(*runs, strict=True), strict=True):
        low, *_, high = ordered = sorted(values)
        print(f"{name:<8} {low:7.1f} {ordered[RUNS // 2]:7.1f} {high:7.1f} {unit}")


if __name__ == "__main__":
    main()
