"""Who may import whom, and that our top-level names are ours."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.rooms import PAGE, ROOT, file_arrows, floors, imported, in_page, product_files, room_arrows, room_of, sources

LAYERS = ("rag", "state", "nodes", "graph", "cli", "run", "askbook")  # each may import those before it, and itself
# The rooms of `rag` from the bottom up: a room may import rooms of the lines before its own, and no others.
STOREYS = (
    ("private_apis", "text", "types", "validation"),
    ("book", "errors", "evidence"),
    ("observing", "system"),
    ("failures",),
    ("settings",),
    ("profiles",),
    ("ports", "prompt"),
    ("answer", "embedding", "quoting"),
    ("caller_parts", "grounding", "index", "model"),
    ("conversation", "ingest", "search"),
    ("books", "evaluation", "web"),
    ("services",),
)
FORBIDDEN = {
    "rag": {"langgraph"},
    "state": {"rag.errors", "rag.ports", "rag.services", "rag.settings", "rag.profiles"},
    "nodes": {"rag.services", "rag.settings"},
}


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


@pytest.mark.parametrize("path", product_files(), ids=str)
def test_a_file_imports_only_what_is_below_it(path: Path) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_no_file_imports_itself_through_others() -> None:
    list(TopologicalSorter(file_arrows(sources())).static_order())


def test_no_room_imports_itself_through_others() -> None:
    assert floors(room_arrows(file_arrows(sources())))


def upward(sources: Mapping[str, str]) -> list[str]:
    """The imports of a file of `rag` that lead to a room of its own storey or of a higher one."""
    storey = {f"rag.{room}": number for number, rooms in enumerate(STOREYS) for room in rooms}
    return [
        f"{module} imports {other}"
        for module, others in file_arrows(sources).items()
        for other in others
        if module.startswith("rag.") and room_of(other) not in ("rag", room_of(module))
        if storey[room_of(other)] >= storey[room_of(module)]
    ]


def test_a_room_of_the_library_imports_only_rooms_of_lower_storeys() -> None:
    assert upward(sources()) == []


@pytest.mark.parametrize(
    "planted",
    [
        ("rag.answer.check", "from rag.ingest.plan import Plan"),
        ("rag.answer.check", "def f():\n    from rag.model.endpoint import endpoint_of"),
        ("rag.text.words", "from rag.observing.runs import Observers"),
        ("rag.index.catalog", "import rag.model.endpoint"),
    ],
    ids=str,
)
def test_a_planted_import_of_a_higher_room_is_found(planted: tuple[str, str]) -> None:
    module, source = planted
    assert len(upward(sources() | {module: f"{sources()[module]}\n{source}\n"})) == 1


@pytest.mark.parametrize(
    "planted",
    [
        {"rag.text.words": "from rag.answer.writer import AnswerWriter"},
        {"rag.types": "def f():\n    from rag.services import LiveServices"},
        {"rag.ports": "if TYPE_CHECKING:\n    from rag.search.retriever import Retriever"},
    ],
    ids=str,
)
def test_a_planted_circle_is_found(planted: dict[str, str]) -> None:
    changed = sources()
    for module, source in planted.items():
        changed[module] += f"\n{source}\n"
    with pytest.raises(CycleError):
        floors(room_arrows(file_arrows(changed)))


def test_the_picture_of_the_rooms_is_the_code_s() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == in_page(page), "run: python -m tests.rooms --write"


def public_types(source: str) -> list[str]:
    """The public classes of a file, and the names that it gives to types: `Events = AsyncGenerator[Event, None]`."""
    found = []
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = (
            [node.name] if isinstance(node, ast.ClassDef) else [one.id for one in targets if isinstance(one, ast.Name)]
        )
        found += [name for name in names if name[0] != "_" and not name.isupper()]
    return found


def test_no_two_public_types_have_one_name() -> None:
    names = Counter(name for source in sources().values() for name in public_types(source))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_files_of_the_library_have_one_name() -> None:
    names = Counter(path.stem for path in product_files() if path.parts[0] == "rag" and path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize(
    "path",
    [path for path in product_files() if path.name == "__init__.py" and path.parts[0] != "askbook"],  # it is lazy
    ids=str,
)
def test_the_file_of_a_package_holds_a_docstring_and_at_most_its_public_names(path: Path) -> None:
    docstring, *others = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    own = path.parent.as_posix().replace("/", ".")
    for one in others:
        exported = isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
        assert exported or (isinstance(one, ast.ImportFrom) and str(one.module).startswith(f"{own}.")), ast.unparse(one)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("rag/prompt/prompts.py", "import langgraph"),
        ("rag/prompt/prompts.py", "from langgraph.types import Command"),
        ("rag/prompt/prompts.py", "from state import AgentState"),
        ("rag/index/catalog.py", "import nodes.idle"),
        ("rag/prompt/prompts.py", "def f():\n    from graph.agent import Agent"),
        ("state.py", "from rag.errors import AskbookError"),
        ("state.py", "from rag import errors"),
        ("state.py", "import nodes.turn"),
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
        ("rag/prompt/prompts.py", "from rag.types import Passage"),
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
