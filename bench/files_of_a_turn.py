"""Files and functions of the product that one question enters.

    python -m bench.files_of_a_turn [--book FOLDER] [--list | --order]

Ingests a book into a temporary home in another process, then runs `run.py ask QUESTION` in this one and records each
named function and method that is called in any thread. Module bodies, class bodies, lambdas and comprehensions are not
counted. --order lists the files as the question enters them. Without --book the book is the two pages below. No model
and no server is used: the answer quotes the book.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Final

import run
from tests.rooms import ROOT, product_files

QUESTION: Final = "What is ROS 2?"
PAGES: Final = {
    "ros-2.md": "# ROS 2\n\nROS 2 is a set of software libraries and tools for building robot applications.\n",
    "nodes.md": "# Nodes\n\nA node is a process that does one task. Nodes exchange messages over topics.\n",
}
KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "PYTHONPATH")  # no key, address or profile of the caller


def entered(question: str) -> list[tuple[str, int, str]]:
    """File, line and name of every function that `run.py ask` calls, in the order of their first calls.

    Raises `RuntimeError` when the command fails.
    """
    called: dict[tuple[str, int, str], None] = {}

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function:
            called[code.co_filename, code.co_firstlineno, code.co_qualname] = None

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exit_code = run.main(["ask", question])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if exit_code:
        raise RuntimeError(f"run.py ask ended with exit code {exit_code}")
    return list(called)


def functions_by_file(called: list[tuple[str, int, str]]) -> Counter[str]:
    """How many of the functions each product file holds, by its path in the repository, in the order of `called`."""
    paths = {str(ROOT / path): path.as_posix() for path in product_files()}
    return Counter(paths[file] for file, _, _ in called if file in paths)


def write_pages(folder: Path) -> Path:
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def measure(book: Path | None, home: Path) -> Counter[str]:
    """Ingest the book in another process, which leaves the caches of this one empty, and ask it the question."""
    book = book.resolve() if book else write_pages(home / "pages")
    variables = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update(variables | {"ASKBOOK_HOME": str(home / "home")})
    with contextlib.chdir(home):  # away from a `.env`
        command = [sys.executable, str(ROOT / "run.py"), "ingest", str(book)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return functions_by_file(entered(QUESTION))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, metavar="FOLDER", help="ingest this book instead of the two pages")
    parser.add_argument("--list", action="store_true", help="print each file with its count of functions")
    parser.add_argument("--order", action="store_true", help="print the files in the order in which they are entered")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = measure(options.book, Path(folder))
    if options.list or options.order:
        for path, count in counts.items() if options.order else sorted(counts.items()):
            print(f"{count:5} {path}")
    print(f'"{QUESTION}" enters {len(counts)} files and {counts.total()} functions.')


if __name__ == "__main__":
    main()
