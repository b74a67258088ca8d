"""Resident memory of a process that holds a conversation, with hosted models and with the packaged ones.

    python -m bench.resident [--turns 100]

Each kind runs in a process of its own. Hosted: embeddings, reranking, index and model are stand-ins on 127.0.0.1 that
speak the services' wire formats. Packaged: embedding model and index are in the process, and only the model is hosted;
or nothing is. Prints the resident set after the first turn, after the last, and the largest, in megabytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.table import Row, print_table

ROOT: Final = Path(__file__).parent.parent

KINDS: Final = ("hosted models", "packaged embedder, hosted model", "packaged, quoting")
MOMENTS: Final = ("after the first turn", "after the last turn", "largest")


def resident() -> float:
    """The megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def largest() -> float:
    """The most megabytes that this process had. `ru_maxrss` would count those of the process that started it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def converse(turns: int, profile: str) -> list[float]:
    """Megabytes at each of the `MOMENTS`."""
    from bench.questions import QUESTIONS
    from graph.agent import open_agent
    from rag.settings import Settings

    after: list[float] = []
    async with open_agent(Settings.from_env(), profile) as agent:
        for number in range(turns):
            response = await agent.ask(QUESTIONS[number % len(QUESTIONS)], thread_id="one")
            if response.error:
                raise RuntimeError(response.error.message)
            after.append(resident())
    return [after[0], after[-1], largest()]


def measured(environment: Mapping[str, str], turns: int, profile: str) -> list[float]:
    """The megabytes of one process. The book is ingested by another one before."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONPATH": str(ROOT)}
    whole = plain | dict(environment)
    source = [sys.executable, "run.py", "ingest", "docs", "--profile", profile]
    subprocess.run(source, cwd=ROOT, env=whole, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    command = [sys.executable, "-m", "bench.resident", "--child", profile, "--turns", str(turns)]
    done = subprocess.run(command, cwd=ROOT, env=whole, check=True, stdout=subprocess.PIPE)
    found: list[float] = json.loads(done.stdout)
    return found


def rows(turns: int) -> Iterator[Row]:
    # Not at the top: a measured process would hold the stand-ins' libraries too.
    from bench.model_server import KEY, model_server
    from tests.cohere_server import cohere_server
    from tests.qdrant_server import QdrantServer
    from tests.wire import listening

    with tempfile.TemporaryDirectory() as folder, model_server() as model:
        openai = {
            "ASKBOOK_JUDGE": "none",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": model.address,
            "OPENAI_MODEL": "answers",
        }
        with cohere_server() as cohere, listening(QdrantServer()) as qdrant:
            services = {
                "QDRANT_URL": qdrant.address,
                "COHERE_API_KEY": "key",
                "COHERE_BASE_URL": cohere.address,
                "ASKBOOK_HOME": f"{folder}/hosted",
            }
            found = [measured(openai | services, turns, "robotics-tutor")]
        found.append(measured(openai | {"ASKBOOK_HOME": f"{folder}/packaged"}, turns, "default"))
        found.append(measured({"ASKBOOK_HOME": f"{folder}/quoting"}, turns, "default"))
    for kind, values in zip(KINDS, found, strict=True):
        for moment, value in zip(MOMENTS, values, strict=True):
            yield Row(f"resident, {kind}, {moment}", "MB", [value]).against(found[0][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--child", default="", help="measure this process, which answers with this profile")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(asyncio.run(converse(options.turns, options.child))))
    else:
        print_table(rows(options.turns))


if __name__ == "__main__":
    main()
