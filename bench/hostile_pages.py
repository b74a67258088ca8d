"""Time of reading hostile pages with every generator, and the ratio for twice the page.

    python -m bench.hostile_pages

Prints the patterns whose larger page takes more than three times as long as the smaller one and more than 0.3 s.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rag.errors import UsageError
from rag.ingest.sites.detection import NAMES
from tests.hostile_pages import HOSTILE
from tests.test_hostile_pages import SIZE, seconds


def main() -> None:
    tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for pattern, made in HOSTILE.items():
            for generator in NAMES:
                try:
                    double = seconds(folder, made(2 * SIZE), generator)
                    single = seconds(folder, made(SIZE), generator) if double > 0.3 else double
                except UsageError:  # refused, which takes no time
                    continue
                tried += 1
                if double > 3 * single + 0.3:
                    print(f"{pattern} with {generator}: {single:.2f} s, {double:.2f} s for twice the page")
    print(f"{tried} pages read twice")


if __name__ == "__main__":
    main()
