"""How many files of ours one question enters."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.fork_server import fork_server
from tests.homes import copied

MOST_FILES = 60
PROGRAM = """
import json
from bench.files_of_a_turn import entered, functions_by_file
print(json.dumps(functions_by_file(entered("What is a widget?"))))
"""


def test_one_question_enters_at_most_sixty_files(tiny_book: Path, tmp_path: Path) -> None:
    """In a process of its own: caches of earlier tests would lower the number."""
    (program := tmp_path / "program.py").write_text(PROGRAM)
    home = copied(tiny_book, tmp_path / "home")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASKBOOK_HOME": str(home)}
    forked = fork_server().start(program=program, cwd=tmp_path, env=environment)
    out, err = forked.communicate()
    assert forked.wait() == 0, err.decode()
    files = json.loads(out)
    assert "rag/quoting/answerer.py" in files
    files.pop("rag/embedding/vector_cache.py", None)  # entered by the tests' embedding model, not by the question
    assert len(files) <= MOST_FILES, "merge what is read together, or skip what this turn does not need"
