"""The stream as LangGraph's JavaScript client reads it, which chat pages are built on.

`make javascript` installs the client; without it the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import QUESTION
from tests.openai_server import OPENAI_KEY, Endpoint, Reply, answer, openai_server
from tests.studio_server import studio

FOLDER = Path(__file__).parent / "javascript"
TEETH = "Every widget has exactly four teeth [1]."

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="LangGraph's JavaScript client is not installed (make javascript; Debian: apt-get install npm)",
)


@pytest.fixture(scope="module")
def model() -> Iterator[Endpoint]:
    with openai_server() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tiny_book: Path, model: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose answers are written by the scripted model."""
    work = tmp_path_factory.mktemp("javascript")
    with studio(work, tiny_book, OPENAI_API_KEY=OPENAI_KEY, OPENAI_BASE_URL=model.address) as opened:
        yield opened


def asked(address: str) -> Any:
    """What the client has read of one turn."""
    command = ["node", "stream.mjs", address, QUESTION]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_chunks_become_the_message_of_the_answer(address: str, model: Endpoint) -> None:
    model.script.append(answer(TEETH, " It costs 17 euros [1].", f" {TEETH}"))
    turn = asked(address)
    (message,) = turn["streamed"]
    assert message == {"id": turn["last"]["id"], "type": "AIMessageChunk", "text": turn["last"]["content"]}
    assert "17 euros" not in message["text"]
    assert turn["last"]["response_metadata"]["citations"]


def test_the_final_state_corrects_what_was_withdrawn(address: str, model: Endpoint) -> None:
    call = {"id": "call-1", "name": "search_book", "arguments": json.dumps({"query": "widgets"})}
    model.script += [Reply(texts=(f"{TEETH}\n\n", "Let me look"), tool=call, finish="tool_calls"), answer(TEETH)]
    turn = asked(address)
    (message,) = turn["streamed"]
    assert [event["type"] for event in turn["events"] if event["type"] in ("sentence", "retract")][1] == "retract"
    assert message["id"] == turn["last"]["id"]
    assert message["text"] != turn["last"]["content"]
    assert turn["last"]["content"].startswith(TEETH)
