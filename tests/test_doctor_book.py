"""`run.py doctor` and a Qdrant server: a real search, and what to do about each way in which it cannot be made."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from rag.embedding.local import OnnxEmbeddings
from rag.index.mapping_proposal import propose
from rag.settings import Settings, variables
from run import main
from tests import foreign
from tests.conftest import index_book
from tests.foreign import NUMBERS, PAGES
from tests.qdrant_server import QdrantServer, refused
from tests.wire import drops, html, listening, malformed, nobody

KEY = "qdrant-canary-0123456789"
MODEL = "all-MiniLM-L6-v2-int8"


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with listening(QdrantServer(key=KEY)) as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: QdrantServer) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("QDRANT_URL", server.address)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    return tmp_path


def book(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The finding of the book; the key is nowhere in what was printed."""
    code = main(["doctor", "--json", *arguments])
    shown = capsys.readouterr()
    assert KEY not in shown.out + shown.err
    found = json.loads(shown.out)
    check: dict[str, Any] = next(check for check in found["checks"] if check["name"] == "book")
    assert code == (0 if found["ok"] else 1)
    return check


def test_a_book_on_a_server_is_searched_for_real(
    server: QdrantServer, tiny_source: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(index_book(tiny_source, home, settings=Settings.from_env(None)))
    server.requests.clear()
    check = book(capsys)
    assert check["ok"], check
    place = f"on the Qdrant server {server.address.removeprefix('http://')}"
    read_by = "read as plain pages (no generator's configuration was found)"
    assert check["detail"] == f'"book", 4 passages, {place}, {read_by}'
    (query,) = server.bodies("/points/query")
    assert query["using"] == "dense"


def test_a_server_without_books_has_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the manual; it will be indexed on the Qdrant server 127.0.0.1" in book(capsys)["detail"]


def test_a_book_that_is_not_there_is_named_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    check = book(capsys, "--collection", "none")
    assert (check["ok"], check["code"]) == (False, "no_index")
    assert "run.py ingest PATH --collection none" in check["hint"]


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        (refused(401, KEY), "index_auth", "refused the key (401)"),
        (refused(403, KEY), "index_auth", "refused the key (403)"),
        (refused(500, KEY), "index_server", "failed (500)"),
        (drops(), "index_unreachable", "does not answer"),
        (malformed(), "index_response", "does not come from a Qdrant server"),
        (html(), "index_response", "does not come from a Qdrant server"),
        (html(404), "index_response", "does not come from a Qdrant server"),
    ],
    ids=["401", "403", "500", "dropped", "malformed", "html", "html 404"],
)
def test_what_fails_is_said_with_what_to_do(
    server: QdrantServer, capsys: pytest.CaptureFixture[str], fault: Any, code: str, says: str
) -> None:
    server.faults["/"] = fault
    check = book(capsys)
    assert (check["ok"], check["code"]) == (False, code)
    assert says in check["detail"]
    assert check["hint"]


def test_a_server_that_is_not_there_is_unreachable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with nobody() as address:
        monkeypatch.setenv("QDRANT_URL", address)
        assert book(capsys)["code"] == "index_unreachable"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_mapping_is_proposed_that_can_be_pasted_into_a_profile(
    server: QdrantServer, home: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    name = foreign.make(server.engine, number, OnnxEmbeddings().embed_documents)
    assert main(["doctor", "--collection", name]) == 1
    shown = capsys.readouterr().out
    assert "does not record which embedding model made its vectors of 384 dimensions" in shown
    begin = shown.index('extends = "default"')
    toml = shown[begin : shown.index("\nok    model", begin)]
    assert "# The model that made its vectors of 384 dimensions; of that size: all-MiniLM-L6-v2-int8," in toml
    filled = toml.replace('embedding_model = ""', f'embedding_model = "{MODEL}"')
    payload = tomllib.loads(filled)["book"]["payload"]
    fields = propose([foreign.payload(number, i) for i in range(len(PAGES))])
    assert fields is not None
    assert {key: (value,) if isinstance(value, str) else tuple(value) for key, value in payload.items()} == (
        fields.paths()
    )
    (home / "profiles").mkdir()
    (home / "profiles" / "theirs.toml").write_text(filled, encoding="utf-8")
    check = book(capsys, "--profile", "theirs")
    assert check["ok"], check
    assert check["detail"].startswith(f'"{name}", not created by askbook, 3 passages')
    assert check["proposal"] == ""


def test_several_vectors_and_sparse_ones_are_named_in_the_proposal(
    server: QdrantServer, capsys: pytest.CaptureFixture[str]
) -> None:
    params = models.VectorParams(size=4, distance=models.Distance.DOT)
    vectors = {"small": params, "large": params.model_copy(update={"size": 8})}
    sparse = {"langchain-sparse": models.SparseVectorParams()}
    foreign.fill(server.engine, "two", [(1, {"small": [1, 0, 0, 0]}, {"body": "A text."})], vectors, sparse)
    check = book(capsys, "--collection", "two")
    assert check["code"] == "index_vectors"
    assert '"small", "large"' in check["detail"]
    assert 'vector = "small"  # or "large"' in check["proposal"]
    assert '# sparse_vector = "langchain-sparse"' in check["proposal"]
    assert 'text = "body"' in check["proposal"]


def test_a_collection_without_a_text_says_which_fields_there_are(
    server: QdrantServer, capsys: pytest.CaptureFixture[str]
) -> None:
    params = models.VectorParams(size=384, distance=models.Distance.COSINE)
    foreign.fill(server.engine, "pictures", [(1, [1.0] * 384, {"image": "a.png", "width": 3})], params)
    proposal = book(capsys, "--collection", "pictures")["proposal"]
    assert '# None of its fields reads like a text: "image", "width"' in proposal
