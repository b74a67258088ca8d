"""How many files of ours one question enters."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fork_server import fork_server
from tests.homes import copied
from tests.openai_server import OPENAI_KEY, Endpoint, answer

MOST_FILES = 60  # without a model; with one, what reads its stream and checks its sentences is entered as well
MOST_FILES_WITH_A_MODEL = 74
PROGRAM = """
import json
from bench.files_of_a_turn import entered, functions_by_file
print(json.dumps(functions_by_file(entered("What is a widget?"))))
"""


@pytest.mark.parametrize(
    ("answers", "most", "entered"),
    [(False, MOST_FILES, "rag/quoting/answerer.py"), (True, MOST_FILES_WITH_A_MODEL, "rag/evidence/verdict.py")],
    ids=["without a model", "with a model"],
)
def test_one_question_enters_at_most_sixty_files(
    tiny_book: Path, tmp_path: Path, endpoint: Endpoint, *, answers: bool, most: int, entered: str
) -> None:
    """In a process of its own: caches of earlier tests would lower the number."""
    (program := tmp_path / "program.py").write_text(PROGRAM)
    home = copied(tiny_book, tmp_path / "home")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASKBOOK_HOME": str(home)}
    if answers:
        endpoint.script.append(answer("A widget turns a shaft, and it is small [1]."))
        environment |= {"OPENAI_BASE_URL": endpoint.address, "OPENAI_API_KEY": OPENAI_KEY, "ASKBOOK_JUDGE": "none"}
    forked = fork_server().start(program=program, cwd=tmp_path, env=environment)
    out, err = forked.communicate()
    assert forked.wait() == 0, err.decode()
    files = json.loads(out)
    assert entered in files
    files.pop("rag/embedding/vector_cache.py", None)  # entered by the tests' embedding model, not by the question
    assert len(files) <= most, "merge what is read together, or skip what this turn does not need"
