"""The examples of embedding, each run by a stranger in a folder of its own, with the package from the wheel."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from tests.homes import copied
from tests.package import ROOT, Package, Stranger

LONGEST = {"fastapi_app": 12, "flask_app": 12, "subgraph": 10}  # lines that are neither empty nor the docstring
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
SAYS = """
print([(answer["status"], answer["turn_number"], answer["citations"][0]["title"]) for answer in answers])
"""


@pytest.fixture
def stranger(package: Package, tiny_book: Path, tmp_path: Path) -> Stranger:
    copied(tiny_book, tmp_path / "home")
    for name in LONGEST:
        shutil.copy(ROOT / "examples" / f"{name}.py", tmp_path)
    return Stranger(package, tmp_path)


@pytest.mark.parametrize("name", LONGEST)
def test_an_example_is_short(name: str) -> None:
    source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0].end_lineno or 0
    assert len([line for line in source.splitlines()[docstring:] if line.strip()]) <= LONGEST[name]


@pytest.mark.parametrize("name", ASKS)
def test_an_application_answers(stranger: Stranger, name: str) -> None:
    script = f"from {name} import *\nQUESTION = 'How many teeth does a widget have?'\n{ASKS[name]}{SAYS}"
    (stranger.folder / "use.py").write_text(script)
    done = stranger.script("use.py")
    assert (done.stdout, done.stderr) == ("[('success', 1, 'Widgets'), ('success', 2, 'Widgets')]\n", "")


def test_the_graph_is_a_node_of_another(stranger: Stranger) -> None:
    done = stranger.script("subgraph.py", QDRANT_COLLECTION_NAME="manual")
    assert (done.returncode, "A passage is a piece of a page" in done.stdout) == (0, True), done.stderr
