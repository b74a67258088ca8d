"""Who may import whom, and that our top-level names are ours."""

from __future__ import annotations

import ast
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("rag", "state", "nodes", "graph", "cli", "run")  # each may import those before it, and itself
FORBIDDEN = {
    "rag": {"langgraph"},
    "state": {"rag.errors", "rag.ports", "rag.services", "rag.settings", "rag.profiles"},
    "nodes": {"rag.services", "rag.settings"},
}


def files() -> list[Path]:
    """Every file of the product, relative to the repository."""
    found = [path for layer in LAYERS for path in [ROOT / f"{layer}.py", *(ROOT / layer).rglob("*.py")]]
    return sorted(path.relative_to(ROOT) for path in found if path.is_file())


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and the dotted name of everything that a file imports, inside functions and for types too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for name in node.names:
                yield node.lineno, f"{node.module}.{name.name}"


def violations(path: Path, source: str) -> list[str]:
    """What a file imports against the rule, one line each."""
    layer = path.parts[0].removesuffix(".py")
    above = LAYERS[LAYERS.index(layer) + 1 :]
    found = []
    for line, name in imported(source):
        top = name.split(".")[0]
        ours_for_state = layer == "state" and top in LAYERS and not name.startswith("rag.types.")
        if top in above or ours_for_state or any(f"{name}.".startswith(f"{no}.") for no in FORBIDDEN.get(layer, ())):
            found.append(f"{path}:{line} imports {name}")
    return found


@pytest.mark.parametrize("path", files(), ids=str)
def test_a_file_imports_only_what_is_below_it(path: Path) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [path for path in files() if path.name == "__init__.py"], ids=str)
def test_the_file_of_a_package_holds_only_a_docstring(path: Path) -> None:
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    assert len(body) == 1
    assert ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rag/budget.py", "import langgraph"),
        ("rag/budget.py", "from langgraph.types import Command"),
        ("rag/budget.py", "from state import AgentState"),
        ("rag/retrieval/index.py", "import nodes.idle"),
        ("rag/budget.py", "def f():\n    from graph.agent import Agent"),
        ("state.py", "from rag.errors import AskbookError"),
        ("state.py", "from rag import errors"),
        ("state.py", "import nodes.run"),
        ("nodes/idle.py", "from rag.services import open_services"),
        ("nodes/idle.py", "from rag import settings"),
        ("nodes/idle.py", "import graph.build"),
        ("graph/build.py", "if TYPE_CHECKING:\n    from cli.chat import chat"),
        ("cli/ask.py", "import run"),
    ],
)
def test_the_rule_finds_a_violation_that_was_planted(path: str, source: str) -> None:
    assert len(violations(Path(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rag/budget.py", "from rag.types import Passage"),
        ("state.py", "from rag.types import Phase\nfrom langgraph.graph.message import add_messages"),
        ("nodes/idle.py", "from state import AgentState\nfrom rag.servicesque import x"),
        ("run.py", "from cli.chat import chat\nimport graph.agent"),
    ],
)
def test_the_rule_leaves_what_is_allowed_alone(path: str, source: str) -> None:
    assert violations(Path(path), source) == []


@pytest.mark.parametrize("name", LAYERS)
def test_our_top_level_names_are_our_files(name: str) -> None:
    module = importlib.import_module(name)
    places = [module.__file__] if module.__file__ else list(module.__path__)
    assert [Path(place).is_relative_to(ROOT) for place in places] == [True]


def test_every_package_of_the_product_is_named_for_the_installation() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packages = {path.parent.as_posix().replace("/", ".") for path in files() if path.name == "__init__.py"}
    modules = {path.stem for path in files() if len(path.parts) == 1}
    assert (set(listed["packages"]), set(listed["py-modules"])) == (packages, modules)
