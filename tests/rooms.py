"""The rooms of the product, and which room imports which, read from the import statements.

`python -m tests.rooms` prints the picture of the rooms; with `--write` it brings CONTRIBUTING.md up to date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("rag", "nodes", "graph", "cli", "askbook")
MODULES: Final = ("state", "run")
PAGE: Final = ROOT / "CONTRIBUTING.md"
BEGIN: Final = "<!-- rooms -->\n"
END: Final = "<!-- /rooms -->"

Arrows = Mapping[str, set[str]]


def product_files() -> list[Path]:
    """Every Python file of the product, relative to the repository."""
    found = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    return sorted(path.relative_to(ROOT) for path in [*found, *(ROOT / f"{name}.py" for name in MODULES)])


def module_of(path: Path) -> str:
    """The dotted name: `rag/index/edge.py` is `rag.index.edge`, `rag/index/__init__.py` is `rag.index`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement in a tree, the outer ones first. The expressions, nine tenths of the nodes, are not walked."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(tree, name, ()):
            yield inner
            yield from statements(inner)


@cache
def imported(source: str) -> tuple[tuple[int, str], ...]:
    """The line and the dotted name of every import, those inside functions and for type checking included."""
    found: list[tuple[int, str]] = []
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
    return tuple(found)


def file_arrows(sources: Mapping[str, str]) -> Arrows:
    """For each module, the modules among `sources` that it imports."""
    arrows: dict[str, set[str]] = {}
    for module, source in sources.items():
        names = {name for _, name in imported(source)}
        found = {name if name in sources else name.rpartition(".")[0] for name in names}
        arrows[module] = {name for name in found if name in sources and name != module}
    return arrows


def sources() -> dict[str, str]:
    """The text of every product file by its module's name."""
    return {module_of(path): (ROOT / path).read_text(encoding="utf-8") for path in product_files()}


def room_of(module: str) -> str:
    """A folder of `rag`, a file at the root of `rag`, or a top-level package or module."""
    top, *rest = module.split(".")
    return f"rag.{rest[0]}" if top == "rag" and rest else top


def room_arrows(arrows: Arrows) -> Arrows:
    """For each room, the other rooms that its files import."""
    rooms: dict[str, set[str]] = {}
    for module, others in arrows.items():
        room = room_of(module)
        rooms.setdefault(room, set()).update({room_of(other) for other in others} - {room})
    return rooms


def floors(rooms: Arrows) -> list[list[str]]:
    """The rooms from the bottom up: each imports only rooms of lower floors. Raises `graphlib.CycleError`."""
    floor: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        floor[room] = 1 + max((floor[other] for other in rooms.get(room, ())), default=0)
    return [sorted(room for room in floor if floor[room] == number) for number in range(1, max(floor.values()) + 1)]


def picture() -> str:
    """The rooms as text, the top floor first, each with the rooms that it imports."""
    rooms = {room: others for room, others in room_arrows(file_arrows(sources())).items() if room != "rag"}
    width = max(map(len, rooms))
    lines = []
    for floor in reversed(floors(rooms)):
        for room in floor:
            inside = sorted(other.removeprefix("rag.") for other in rooms[room] if other != "rag")
            lines.append(f"{room:<{width}}  <- {' '.join(inside)}".rstrip(" <-"))
    return "\n".join(lines)


def in_page(page: str) -> str:
    """CONTRIBUTING.md with its picture brought up to date."""
    before, _, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    assert ended, f"{PAGE.name} has no lines {BEGIN.strip()} and {END}"
    return f"{before}{BEGIN}```text\n{picture()}\n```\n{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(in_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(picture() + "\n")
