"""Commands over a Qdrant server that fails: one clear line, the right exit code, and a later run that goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from rag.index.collections import is_version
from rag.settings import variables
from run import main
from tests.qdrant_faults import CANARY, FAULTS
from tests.qdrant_server import QdrantServer, refused
from tests.wire import Reply, listening, nobody

QUESTION: Final = "How many teeth does a widget have?"
LOOK: Final = "/collections/book"


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """`run.py` with a fresh home and a stand-in of its own: the exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("QDRANT_API_KEY", CANARY)

    def run(address: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setenv("QDRANT_URL", address.replace("http://", f"http://user:{CANARY}@"))
        code = main(arguments)
        shown = capsys.readouterr()
        assert CANARY not in shown.out + shown.err
        assert "Traceback" not in shown.err
        return code, shown.out, shown.err

    return run


INGESTION_FAULTS: Final = {
    "the look": (LOOK, "401", "refused the key (401)"),
    "making the collection": (LOOK, "500", "failed (500)"),
    "making an index": ("/index$", "429 with its seconds", "is busy (429)"),
    "sending points": ("/points$", "413", "refused the request (413)"),
    "a dropped connection": ("/points$", "dropped", "does not answer"),
    "nonsense": ("/points$", "another shape", "does not come from a Qdrant server"),
}


@pytest.mark.parametrize("name", INGESTION_FAULTS)
def test_an_ingestion_that_fails_is_one_line_and_a_later_one_goes_on(
    command: Callable[..., tuple[int, str, str]], tiny_source: Path, name: str
) -> None:
    path, fault, says = INGESTION_FAULTS[name]
    with listening(QdrantServer(key=CANARY)) as server:
        server.faults[path] = FAULTS[fault].reply
        code, out, err = command(server.address, "ingest", str(tiny_source))
        assert (code, out) == (1, "")
        assert says in err
        server.faults.clear()
        code, out, _ = command(server.address, "ingest", str(tiny_source), "--json")
        report = json.loads(out)
        assert (code, report["chunks"]["total"]) == (0, 4)
        code, out, _ = command(server.address, "search", QUESTION, "-k", "1", "--json")
        assert "exactly four teeth" in json.loads(out)["results"][0]["text"]


def test_a_page_of_which_a_broken_off_ingestion_stored_a_part_is_written_anew_without_embedding(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.index.qdrant_index.BATCH", 1)
    page = tmp_path / "page.md"
    page.write_text("# Parts\n\n" + "".join(f"## Part {i}\n\nThis is part {i} of it.\n\n" for i in range(6)), "utf-8")
    with listening(QdrantServer(key=CANARY)) as server:
        sent = 0

        def after_two(request: Any) -> Reply:
            nonlocal sent
            sent += request.method == "PUT" and request.path.endswith("/points")
            return refused(500, "full") if sent > 2 else QdrantServer.answer(server, request)

        monkeypatch.setattr(server, "answer", after_two)
        assert command(server.address, "ingest", str(page))[0] == 1
        monkeypatch.undo()
        monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("QDRANT_API_KEY", CANARY)
        (left,) = (one.name for one in server.engine.get_collections().collections if is_version(one.name))
        assert server.engine.count(left).count == 2
        code, out, _ = command(server.address, "ingest", str(page), "--json")
        report = json.loads(out)
        assert (code, report["embedded"], report["chunks"]["total"]) == (0, 0, 6)
        assert server.engine.count("book").count == 6
        assert not server.engine.collection_exists(left)
        code, out, _ = command(server.address, "ingest", str(page), "--json")
        assert json.loads(out)["documents"]["unchanged"] == 1


def test_asking_a_server_that_is_not_there_is_one_line(command: Callable[..., tuple[int, str, str]]) -> None:
    with nobody() as address:
        for arguments in (["ask", QUESTION], ["search", QUESTION], ["passages", "1"]):
            code, out, err = command(address, *arguments)
            assert (code, out) == (1, "")
            assert "does not answer (ConnectError)" in err
