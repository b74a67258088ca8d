"""All measurements of speed, memory and the check of answers in one table, with the JSON beside it.

    python -m bench.all [--quick] [--json FILE] [--data FOLDER] [PART...]

Parts: turns, memory, resident, start, search, ingestion and claims; all of them if none is named. The JSON goes to
`.bench/all.json` unless `--json` names a file. Ratios are within one run, so they can be compared between machines. The
claims need the books of `--data`. `--quick` measures shorter conversations, of 106 turns instead of 1,006, and smaller
indexes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from bench import claims, grounding, ingestion, memory, resident, search_time, startup, turns
from bench.table import Row, print_table, write_json
from tests.rooms import ROOT

HOME: Final = ROOT / ".bench"
DATA: Final = ROOT.parent / "shared" / "data"


def turn_rows(*, quick: bool) -> Iterator[Row]:
    yield from turns.run(106 if quick else 1006, (100, 500, 1000))


def resident_rows(*, quick: bool) -> Iterator[Row]:
    yield from resident.rows(20 if quick else 100)


def memory_rows(*, quick: bool) -> Iterator[Row]:
    yield from memory.rows(100 if quick else 1000)


def start_rows(*, quick: bool) -> Iterator[Row]:
    yield from startup.rows(2 if quick else 5)


def search_rows(*, quick: bool) -> Iterator[Row]:
    yield from search_time.rows(HOME, (2_000,) if quick else (2_000, 20_000, 100_000))


def ingestion_rows(*, quick: bool) -> Iterator[Row]:
    yield from ingestion.rows(1_000 if quick else 5_000)


ROWS: Final[dict[str, Callable[..., Iterator[Row]]]] = {
    "turns": turn_rows,
    "memory": memory_rows,
    "resident": resident_rows,
    "start": start_rows,
    "search": search_rows,
    "ingestion": ingestion_rows,
}


def claim_rows(data: Path) -> Iterator[Row]:
    """The figures of labelled claims and of changed sentences; none without the folder of their books."""
    if (data / "books").is_dir():
        yield from claims.rows(data)
        yield from grounding.rows(data)
    else:
        print(f"There is no {data / 'books'}, so the claims were left out.", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*ROWS, "claims"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(names))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", default=HOME / "all.json")
    parser.add_argument("--data", type=Path, metavar="FOLDER", default=DATA)
    options = parser.parse_args()
    chosen = options.parts or names
    if unknown := set(chosen) - set(names):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for name in chosen:
        rows += claim_rows(options.data) if name == "claims" else ROWS[name](quick=options.quick)
    print_table(rows)
    write_json(options.json, rows)
    print(f"The same as JSON: {options.json}")


if __name__ == "__main__":
    main()
