"""Break the product at random places, one at a time, and see whether the tests notice.

    python -m bench.mutants --seed 1 --count 20 tests/outside

Each mutant is one small change in a copy of the repository: a comparison turned round, a condition negated, a number
raised, a statement left out, a function that returns at once. A mutant dies when the tests fail.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
PRODUCT: Final = ("rag", "nodes", "graph", "cli", "askbook", "state.py", "run.py")
_TURNED: Final = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one file: the text between two offsets is replaced. `what` names the kind of change."""

    path: Path
    line: int
    begin: int
    end: int
    text: str
    what: str


def mutants(path: Path, source: str) -> Iterator[Mutant]:
    """Every mutant of a file. Strings, annotations and imports are left alone."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def change(node: ast.expr | ast.stmt, text: str, what: str) -> Mutant:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[last - 1] + column
        return Mutant(path, node.lineno, begin, end, text, what)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield change(node, f"({left} {_TURNED[type(node.ops[0])]} {right})", "comparison turned round")
        elif isinstance(node, ast.If | ast.IfExp):
            yield change(node.test, f"(not ({ast.unparse(node.test)}))", "condition negated")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield change(node, str(node.value + 1), "number raised")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            yield change(node, "pass", "statement left out")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 1:
            first = node.body[1] if isinstance(node.body[0], ast.Expr) else node.body[0]
            yield change(first, "return None", "function returns at once")


def chosen(seed: int, count: int) -> list[Mutant]:
    """`count` mutants, drawn over files in proportion to how many each has."""
    files = [path for top in PRODUCT for path in ([ROOT / top] if top.endswith(".py") else (ROOT / top).rglob("*.py"))]
    every = [mutant for path in sorted(files) for mutant in mutants(path.relative_to(ROOT), path.read_text("utf-8"))]
    return random.Random(seed).sample(every, count)


def dies(mutant: Mutant, arguments: list[str]) -> bool:
    """Whether the tests fail on a copy of the repository with this change."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "askbook"
        ignored = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__", ".askbook", ".mypy_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        if (shared := ROOT.parent / "shared").is_dir():
            (copy.parent / "shared").symlink_to(shared)
        file = copy / mutant.path
        source = file.read_bytes()
        file.write_bytes(source[: mutant.begin] + mutant.text.encode() + source[mutant.end :])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *arguments]
        return subprocess.run(command, cwd=copy, capture_output=True, check=False, timeout=1800).returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first N mutants of this seed")
    parser.add_argument("tests", nargs=argparse.REMAINDER, help="what pytest is asked to run")
    options = parser.parse_args()
    dead = 0
    drawn = chosen(options.seed, options.count)[options.skip :]
    for mutant in drawn:
        died = dies(mutant, options.tests)
        dead += died
        print(f"{'died' if died else 'LIVES':6} {mutant.path}:{mutant.line} {mutant.what}: {mutant.text}", flush=True)
    print(f"{dead} of {len(drawn)} died (seed {options.seed})")


if __name__ == "__main__":
    main()
