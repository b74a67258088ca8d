"""The tests from outside import nothing that users could not import."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

OURS: Final = {"askbook", "bench", "build_backend", "cli", "graph", "nodes", "rag", "run", "state", "tests"}
PUBLIC: Final = {
    "askbook",
    "askbook.testing",
    "graph.agent.open_agent",
    "graph.build.build_graph",
    "graph.server.make_graph",
    "rag.grounding.prove",
    "rag.settings.Settings",
    "state.Context",
}
# Stand-ins for servers, processes and terminals. They import nothing of the product but `run`.
SUPPORT: Final = {
    "cohere_server", "command_line", "fork_server", "homes", "llama_server", "openai_server", "other_models", "outside",
    "package", "postgres", "qdrant_grpc", "qdrant_server", "serving", "site_programs", "small_book", "small_book_pdf",
    "studio_server", "terminal", "web_site", "wire",
}  # fmt: skip


def imported(source: str) -> set[str]:
    """The full names that a module imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_allowed(name: str) -> bool:
    first, *others = name.split(".")
    if first not in OURS:
        return True
    if first == "tests":
        return bool(others) and others[0] in SUPPORT
    return name in PUBLIC or name.rpartition(".")[0] == "askbook" or name.startswith("askbook.testing.")


def test_only_documented_names_are_imported() -> None:
    folder = Path(__file__).parent
    found = {
        f"{path.name}: {name}"
        for path in folder.rglob("*.py")
        for name in imported(path.read_text(encoding="utf-8"))
        if not is_allowed(name)
    }
    assert found == set()


def test_an_internal_import_is_noticed() -> None:
    assert not is_allowed("rag.answer.writer.AnswerWriter")
    assert not is_allowed("tests.fakes.passage")
    assert is_allowed("graph.agent.open_agent")
    assert is_allowed("askbook.Settings")
