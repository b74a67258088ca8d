"""The endpoint as OpenAI's JavaScript client reads it. `make javascript` installs the client."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serving import serving

FOLDER = Path(__file__).parent / "javascript"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules" / "openai").is_dir(),
    reason="OpenAI's JavaScript client is not installed (make javascript; Debian: apt-get install npm)",
)


def test_openai_s_javascript_client_reads_the_answer_whole_and_streamed(tiny_book: Path) -> None:
    with serving(tiny_book, {"ASKBOOK_API_KEYS": "ann:key-of-ann-1"}) as address:
        command = ["node", "openai.mjs", address, "key-of-ann-1", "What is a widget?"]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert "default" in read["models"]
    assert "widget" in read["content"]
    assert read["streamed"] == read["content"]
    assert (read["finish"], read["usage"]["total_tokens"]) == ("stop", 0), "quoting uses no tokens"
    assert read["refused"] == {"kind": "NotFoundError", "status": 404, "code": "model_not_found"}
