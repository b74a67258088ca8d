"""The package as a stranger has it: the wheel, installed outside the repository, beside modules of the same names."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from build_backend.backend import rewritten
from rag.errors import UsageError
from rag.system.process import need
from tests.fork_server import ForkServer
from tests.homes import copied
from tests.manual import DOCS, examples
from tests.package import ROOT, Package, Stranger, build, project
from tests.rooms import product_files

ASKS = {
    "fastapi_app": """
from fastapi.testclient import TestClient
with TestClient(app) as client:
    answers = [client.post("/ask", params={"question": QUESTION, "thread": "t"}).json() for _ in range(2)]
""",
    "flask_app": """
client = app.test_client()
answers = [client.post("/ask", json={"question": QUESTION, "thread": "t"}).get_json() for _ in range(2)]
""",
}
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SAYS = """
print([(answer["status"], answer["turn_number"], answer["citations"][0]["title"]) for answer in answers])
"""


@pytest.fixture(scope="module")
def server(package: Package) -> Iterator[ForkServer]:
    """Has imported the installed package, in an environment without the repository."""
    opened = ForkServer(str(package.python), package=True)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def stranger(
    package: Package, server: ForkServer, tiny_book: Path, tmp_path_factory: pytest.TempPathFactory
) -> Stranger:
    """A project that has a `state.py` and a `graph` of its own, and a book."""
    made = project(package, tmp_path_factory.mktemp("stranger"), server)
    copied(tiny_book, made.folder / "home")
    return made


def test_the_wheel_holds_every_file_of_the_product_under_one_name(package: Package) -> None:
    names = package.names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"askbook"}
    sources = [path for path in product_files() if path.parts[0] != "askbook"]
    data = [
        path.relative_to(ROOT) for folder in ("profiles", "docs", "rag/data") for path in (ROOT / folder).glob("*.*")
    ]
    assert {f"askbook/{path.as_posix()}" for path in [*sources, *data]} <= names
    assert {"askbook/__init__.py", "askbook/__main__.py", "askbook/py.typed"} <= names
    assert not [name for name in names if "/tests/" in name or "/decisions/" in name or "__pycache__" in name]


def test_the_wheel_from_an_archive_of_the_source_is_the_same(package: Package, tmp_path: Path) -> None:
    archive = build(tmp_path / "archive", "--sdist")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    wheel = build(tmp_path / "wheel", "--wheel", source=tmp_path / archive.name.removesuffix(".tar.gz"))
    assert Package(wheel, package.python).names == package.names


def test_the_command_asks_the_manual(stranger: Stranger) -> None:
    done = stranger.run("ask", "What is a passage?", "--collection", "manual")
    assert (done.returncode, "Another word for passage" in done.stdout) == (0, True), done.stderr


def test_the_manual_in_the_package_names_its_command(stranger: Stranger) -> None:
    found = stranger.forked(
        stranger.command, "search", "How do I ask from a script?", "--collection", "manual", "--json"
    )
    assert 'askbook ask \\"What is a passage?\\"' in found.stdout
    assert "run.py" not in found.stdout


@pytest.mark.parametrize(
    ("module", "said"), [("", "askbook"), ("askbook", "python -m askbook")], ids=["command", "module"]
)
def test_messages_name_the_program_as_it_was_started(stranger: Stranger, module: str, said: str) -> None:
    run = partial(stranger.run, module=module) if module else partial(stranger.forked, stranger.command)
    unknown = run("threads", "show", "nobody")
    assert (unknown.returncode, f'See "{said} threads list"' in unknown.stderr) == (2, True)
    assert run("--help").stdout.startswith(f"usage: {said} [")
    assert run("--version").stdout == f"askbook {_PROJECT['version']}\n"


def test_doctor_finds_everything_in_the_package(stranger: Stranger) -> None:
    done = stranger.forked(stranger.command, "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[:2] for line in done.stdout.splitlines() if line[0] != " "] == [
        ["ok", part] for part in ("profile", "embedding", "book", "model", "memory")
    ]


def test_a_program_uses_the_package_beside_its_own_modules(stranger: Stranger) -> None:
    done = stranger.forked(stranger.folder / "mine.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Answer: A widget is a small part")


def test_a_stranger_runs_the_tests_of_the_page_about_testing(stranger: Stranger) -> None:
    folder = stranger.folder / "tests"
    folder.mkdir()
    for number, block in enumerate(examples(DOCS / "testing.md")):
        (folder / f"test_{number}.py").write_text(block)
    options = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", "."]
    (program := stranger.folder / "run_tests.py").write_text("import sys, pytest\n\nsys.exit(pytest.main())\n")
    done = stranger.forked(program, *options, "tests")
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_importing_the_package_loads_nothing(stranger: Stranger) -> None:
    heavy = "('lang', 'pydantic', 'askbook.')"
    code = f"import askbook, sys; dir(askbook); print([name for name in sys.modules if name.startswith({heavy})])"
    assert stranger.python_run([str(stranger.package.python), "-c", code]).stdout == "[]\n"


def test_every_name_of_the_package_can_be_loaded_and_another_cannot() -> None:
    import askbook

    assert all(getattr(askbook, name) for name in askbook.__all__)
    assert dir(askbook) == askbook.__all__ == sorted(askbook.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = askbook.other


def test_only_imports_of_ours_are_rewritten() -> None:
    source = '''"""from rag.types import Phase"""
from rag.types import Phase  # from state import x
from ragged import rag
if TYPE_CHECKING:
    from state import AgentState
x = "from rag import errors"
'''
    assert (
        rewritten(source)
        == '''"""from rag.types import Phase"""
from askbook.rag.types import Phase  # from state import x
from ragged import rag
if TYPE_CHECKING:
    from askbook.state import AgentState
x = "from rag import errors"
'''
    )


def test_an_import_that_cannot_be_rewritten_fails_the_build() -> None:
    with pytest.raises(ValueError, match="line 2"):
        rewritten("import re\nimport rag.types\n")


def test_a_setting_without_its_extra_says_how_to_install_it() -> None:
    need("json", "postgres", "ASKBOOK_DATABASE_URL")
    with pytest.raises(UsageError) as caught:
        need("no_such_library", "postgres", "ASKBOOK_DATABASE_URL")
    assert (caught.value.code, caught.value.hint) == ("missing_extra", 'Install it: pip install ".[postgres]"')


def test_the_extras_that_messages_name_exist() -> None:
    known = _PROJECT["optional-dependencies"]
    named = {
        str(ast.literal_eval(node.args[1]))
        for path in product_files()
        if "need(" in (text := (ROOT / path).read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "need"
    }
    assert named
    assert named <= set(known)


def test_the_package_runs_in_a_checkout_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "askbook", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("usage: python -m askbook")


# --- the examples of embedding ---------------------------------------------------------------------------------------


@pytest.fixture
def embedding(package: Package, server: ForkServer, tiny_book: Path, tmp_path: Path) -> Stranger:
    """A folder with the examples and a book."""
    copied(tiny_book, tmp_path / "home")
    for name in [*ASKS, "subgraph"]:
        shutil.copy(ROOT / "examples" / f"{name}.py", tmp_path)
    return Stranger(package, tmp_path, server)


@pytest.mark.parametrize("name", ASKS)
def test_an_example_is_an_application_that_answers(embedding: Stranger, name: str) -> None:
    script = f"from {name} import *\nQUESTION = 'How many teeth does a widget have?'\n{ASKS[name]}{SAYS}"
    (program := embedding.folder / "use.py").write_text(script)
    done = embedding.forked(program)
    assert (done.stdout, done.stderr) == ("[('success', 1, 'Widgets'), ('success', 2, 'Widgets')]\n", "")


def test_the_graph_is_a_node_of_another(embedding: Stranger) -> None:
    done = embedding.forked(embedding.folder / "subgraph.py", QDRANT_COLLECTION_NAME="manual")
    assert (done.returncode, "A passage is a piece of a page" in done.stdout) == (0, True), done.stderr
