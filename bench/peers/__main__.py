"""Time, model calls and bytes of a conversation with askbook and with its peers, in one run.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r bench/peers/requirements.txt
    python -m bench.peers /tmp/peers/bin/python [--turns 106]

Everyone gets the same scripted model on 127.0.0.1 and the same passages for the same questions, without searching for
them. Each conversation runs in a process of its own, one after the other, and is stored in SQLite, except those of
LlamaIndex and of the bare client. The times are of whole turns, the model included. Ratios are to the bare client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.model_server import ModelServerClient, model_server
from bench.questions import QUESTIONS
from bench.table import Row, print_table
from bench.turns import prepared, turn
from tests.rooms import ROOT

PEERS: Final = ("bare-client", "create_agent", "agents-sdk", "llama-index")
TOP: Final = 5


async def askbook(home: Path, model: ModelServerClient, turns: int) -> tuple[dict[str, str], dict[str, Any]]:
    """The passages of each question as the peers get them, and askbook's own conversation."""
    from openai import AsyncOpenAI

    from bench.model_server import KEY

    client = AsyncOpenAI(base_url=model.address, api_key=KEY)
    async with prepared(home, model) as (agent, search):
        passages = {}
        for question in QUESTIONS:
            found = (await search.retrieve(question)).passages[:TOP]
            passages[question] = "\n\n".join(f"[{p.number}] Source: {p.title} ({p.url})\n{p.text}" for p in found)
        before = _bytes(home)
        model.calls()
        times = [await turn(agent, client, model, number, "one") for number in range(1, turns + 1)]
    await client.close()
    # Each turn was followed by one request of the bare client, which measures the model.
    calls = model.calls() / turns - 1
    stored = _bytes(home) - before
    return passages, {"turns": [(one.wall, one.processor) for one in times], "bytes": stored, "calls": calls}


def _bytes(home: Path) -> int:
    return sum(file.stat().st_size for file in home.glob("memory.sqlite*"))


def peer(python: str, name: str, model: ModelServerClient, passages: dict[str, str], turns: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "passages.json"
        file.write_text(json.dumps(passages), encoding="utf-8")
        place = Path(folder) / "memory"
        place.mkdir()
        model.calls()
        command = [python, "bench/peers/peer.py", name, model.address, str(file), str(turns), str(place)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "]." not in found["answer"]:
        raise RuntimeError(f"{name} answered {found['answer']!r}")
    return found | {"calls": model.calls() / turns}


def rows(found: dict[str, dict[str, Any]], turns: int) -> Iterator[Row]:
    spans = {"turns 2-6": slice(1, 6), f"turns {turns - 10}-{turns}": slice(turns - 11, turns)}
    for span, part in spans.items():
        for column, what in enumerate(("elapsed", "processor")):
            base = Row("", "", [one[column] for one in found["bare-client"]["turns"][part]]).median
            for name, one in found.items():
                yield Row(f"{name}: {what}, {span}", "ms", [time[column] for time in one["turns"][part]]).against(base)
    for name, one in found.items():
        yield Row(f"{name}: model calls per turn", "", [one["calls"]])
    for name, one in found.items():
        yield Row(f"{name}: stored after {turns} turns", "kB", [one["bytes"] / 1000])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter of the environment with the peers")
    parser.add_argument("--turns", type=int, default=106)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, model_server() as model:
        passages, ours = asyncio.run(askbook(Path(folder), model, options.turns))
        found = {name: peer(options.python, name, model, passages, options.turns) for name in PEERS}
    print_table(rows(found | {"askbook": ours}, options.turns))


if __name__ == "__main__":
    main()
