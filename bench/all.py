"""All measurements of speed and memory in one table, with the JSON beside it.

    python -m bench.all [--quick] [--json FILE] [PART...]

The JSON goes to `.bench/all.json` unless `--json` names a file. The whole takes 12 minutes on two busy cores.

Parts: turns, memory, resident and start, which are measured if none is named; search, ingestion and claims, which print
in a form of their own. Ratios are within one run, so they can be compared between machines. `--quick` measures shorter
conversations: 106 turns instead of 1,006.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench import memory, resident, startup, turns
from bench.table import Row, print_table, write_json
from tests.rooms import ROOT

# Measurements with a form of their own, which are run and printed as they are.
PRINTED: Final = {
    "search": ["bench.search_time", "--home", "{home}"],
    "ingestion": ["bench.ingestion"],
    "claims": ["bench.grounding", "../shared/data/mtrag/clapnq"],
}


def turn_rows(*, quick: bool) -> Iterator[Row]:
    yield from turns.run(106 if quick else 1006, (100, 500, 1000))


def resident_rows(*, quick: bool) -> Iterator[Row]:
    yield from resident.rows(20 if quick else 100)


def memory_rows(*, quick: bool) -> Iterator[Row]:
    yield from memory.rows(100 if quick else 1000)


def start_rows(*, quick: bool) -> Iterator[Row]:
    yield from startup.rows(2 if quick else 5)


ROWS: Final[dict[str, Callable[..., Iterator[Row]]]] = {
    "turns": turn_rows,
    "memory": memory_rows,
    "resident": resident_rows,
    "start": start_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*ROWS, *PRINTED]))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", default=ROOT / ".bench" / "all.json")
    options = parser.parse_args()
    chosen = options.parts or [*ROWS]
    if unknown := set(chosen) - ROWS.keys() - PRINTED.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    rows = [row for name in chosen if name in ROWS for row in ROWS[name](quick=options.quick)]
    print_table(rows)
    if rows:
        write_json(options.json, rows)
        print(f"The same as JSON: {options.json}")
    for name in chosen:
        if name in PRINTED:
            print(f"\n{name}", flush=True)
            arguments = [part.format(home=ROOT / ".bench") for part in PRINTED[name]]
            subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
