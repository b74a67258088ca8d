"""Time of `run.py --help` and of the first answer of `run.py ask` in a new process.

    python -m bench.startup

Each command runs as a process of its own, after one run that is not counted. Prints seconds elapsed and seconds of the
processor; the ratio to an empty Python process is comparable between machines. Then the processor's seconds of each
stage of a first answer, the median of as many processes.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.table import Row

ROOT = Path(__file__).parent.parent
RUNS = 5
QUESTION = "How do I use my own book?"


# What a process does for its first answer, stage by stage, in the order of `run.py ask`.
STAGES = """
import asyncio, sys, time

def told(name):
    print(f"{name}\\t{time.process_time()}", flush=True)

async def first(question):
    async with open_services(settings) as services:
        told("services: settings, index, model, manual")
        parts = services.parts(None)
        await parts.retriever.retrieve(question, k=5, threshold=0.2)
        told("first search")
    async with open_agent(settings) as agent:
        told("graph and memory")
        await agent.ask(question, thread_id="t")
        told("a turn, its search included")

told("interpreter")
import onnxruntime, tokenizers, numpy
told("libraries of the embedding model")
import langgraph.graph
told("LangGraph")
from graph.agent import open_agent
from rag.services import open_services
from rag.settings import Settings
told("askbook and other libraries")
from rag.embedding.local import OnnxEmbeddings
OnnxEmbeddings()
told("session of the embedding model")
settings = Settings()
asyncio.run(first(sys.argv[1]))
"""


def stages(home: Path) -> list[tuple[str, float]]:
    """The processor's seconds of each stage of one process."""
    done = subprocess.run(
        [sys.executable, "-c", STAGES, QUESTION],
        cwd=ROOT,
        env=_environment(home) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    ends = [0.0, *(float(end) for _, end in rows)]
    return [(name, end - begin) for (name, _), begin, end in zip(rows, ends, ends[1:], strict=False)]


def _environment(home: Path) -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"ASKBOOK_HOME": str(home)}


def seconds(command: list[str], home: Path) -> tuple[float, float]:
    """Seconds of one process: elapsed, and of the processor. Raises `CalledProcessError` when it fails."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=_environment(home),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(runs: int) -> Iterator[Row]:
    """The rows of `bench.all`: processor seconds of commands, and of the stages of a first answer."""
    commands = {"python -c pass": ["-c", "pass"], "run.py --help": ["run.py", "--help"]}
    commands["run.py ask, the first answer"] = ["run.py", "ask", QUESTION]
    with tempfile.TemporaryDirectory() as folder:
        home, base = Path(folder), 0.0
        seconds(commands["run.py ask, the first answer"], home)  # indexes the manual
        for name, command in commands.items():
            row = Row(f"start: {name}, processor", "s", [seconds(command, home)[1] for _ in range(runs)])
            base = base or row.median
            yield row.against(base)
        parts = [stages(home) for _ in range(runs)]
        for place, (name, _) in enumerate(parts[0]):
            yield Row(f"stage: {name}", "s", [one[place][1] for one in parts]).against(base)


def main() -> None:
    """Print minimum, median and maximum of each command, and its ratio to an empty process."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "run.py --help": ["run.py", "--help"],
        "run.py ask (first answer)": ["run.py", "ask", QUESTION],
    }
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        first = seconds(["run.py", "ask", QUESTION], home)
        print(f"{'':<38} elapsed: minimum, median, maximum    processor: median, ratio")
        print(f"{'run.py ask, indexing the manual first':<38} {first[0]:14.2f} {first[1]:26.2f} s")
        base = None
        for name, command in commands.items():
            seconds(command, home)
            times = [seconds(command, home) for _ in range(RUNS)]
            elapsed = sorted(one for one, _ in times)
            processor = statistics.median(two for _, two in times)
            base = base or processor
            middle = statistics.median(elapsed)
            print(
                f"{name:<38} {elapsed[0]:6.2f} {middle:6.2f} {elapsed[-1]:6.2f} "
                f"{processor:20.2f} s   x{processor / base:.0f}"
            )
        print("\nThe processor's seconds of a first answer, by stage")
        rows = [stages(home) for _ in range(RUNS)]
        for place, (name, _) in enumerate(rows[0]):
            print(f"  {name:<42} {statistics.median(row[place][1] for row in rows):6.3f}")


if __name__ == "__main__":
    main()
