"""One table for all measurements: minimum, median, maximum, and the ratio to something measured in the same run."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

_NAME: Final = 62  # columns


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, in which unit, and every value. `ratio` is the median divided by a base."""

    name: str
    unit: str
    values: Sequence[float]
    ratio: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def against(self, base: float) -> Row:
        """The row with the ratio of its median to `base`, which was measured in the same run."""
        return replace(self, ratio=self.median / base if base else None)

    def as_data(self) -> dict[str, Any]:
        spread = {"min": min(self.values), "median": self.median, "max": max(self.values), "n": len(self.values)}
        return {"name": self.name, "unit": self.unit} | spread | {"ratio": self.ratio}


def print_table(rows: Iterable[Row]) -> None:
    """Print the rows under their heads."""
    print(f"{'':<{_NAME}} {'minimum':>9} {'median':>9} {'maximum':>9}  {'':<4} {'ratio':>7}")
    for row in rows:
        numbers = " ".join(f"{value:9.2f}" for value in (min(row.values), row.median, max(row.values)))
        ratio = f"x{row.ratio:.2f}" if row.ratio is not None else ""
        print(f"{row.name:<{_NAME}} {numbers}  {row.unit:<4} {ratio:>7}")


def write_json(file: Path, rows: Iterable[Row]) -> None:
    """Write the rows as a JSON list."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([row.as_data() for row in rows], indent=1) + "\n", encoding="utf-8")
