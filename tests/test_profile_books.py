"""The book of a profile on a server: what `ingest` fills is what `ask` searches, and a hint leads out of the error."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from rag.profiles.profile import load_profile
from rag.settings import variables
from run import main
from tests.cohere_server import CohereServer, cohere_server
from tests.qdrant_server import QdrantServer
from tests.wire import listening

QUESTION: Final = "How many teeth does a widget have?"
OWNERS: Final = ("robotics-tutor", "documentation-agent")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[QdrantServer, CohereServer]]:
    """Stand-ins for Qdrant and Cohere, set in an environment that is otherwise empty."""
    for name in os.environ.keys() & variables().keys():
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COHERE_API_KEY", "co-canary-4713")
    with listening(QdrantServer()) as qdrant, cohere_server() as cohere:
        monkeypatch.setenv("QDRANT_URL", qdrant.address)
        monkeypatch.setenv("COHERE_BASE_URL", cohere.address)
        yield qdrant, cohere


def asked(capsys: pytest.CaptureFixture[str], profile: str) -> dict[str, Any]:
    """The response, whatever its status."""
    capsys.readouterr()
    main(["ask", QUESTION, "--profile", profile, "--json"])
    response: dict[str, Any] = json.loads(capsys.readouterr().out)
    return response


def follow(hint: str, source: Path) -> int:
    """Run the command that a hint names, with `PATH` filled in."""
    command = shlex.split(hint.split('"')[1].replace("PATH", str(source)))
    assert command[:2] == ["python", "run.py"]
    return main(command[2:])


@pytest.mark.parametrize("name", OWNERS)
def test_ingest_fills_the_collection_that_the_profile_asks_with_its_model(
    name: str, services: tuple[QdrantServer, CohereServer], tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = load_profile(name).book
    assert main(["ingest", str(tiny_source), "--profile", name, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["collection"], report["embedding_model"]) == (book.collection, book.embedding_model)
    assert asked(capsys, name)["status"] == "success"


@pytest.mark.parametrize("name", OWNERS)
def test_the_hint_for_a_missing_book_makes_the_book_that_is_asked(
    name: str, services: tuple[QdrantServer, CohereServer], tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = asked(capsys, name)["error"]
    assert error["code"] == "no_index"
    assert follow(error["hint"], tiny_source) == 0
    assert asked(capsys, name)["status"] == "success"


def test_the_hint_for_a_book_of_another_model_encodes_it_with_the_profiles(
    services: tuple[QdrantServer, CohereServer], tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(tiny_source), "--collection", "documentation"]) == 0
    error = asked(capsys, "documentation-agent")["error"]
    assert error["code"] == "embedding_mismatch"
    assert follow(error["hint"], tiny_source) == 0
    assert asked(capsys, "documentation-agent")["status"] == "success"


def test_the_line_after_an_ingestion_asks_the_same_book(
    services: tuple[QdrantServer, CohereServer], tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(tiny_source), "--collection", "other", "--profile", "robotics-tutor"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert re.search(r"ask '[\w ?]+' --collection other --profile robotics-tutor$", line)


def test_a_collection_that_is_named_comes_before_the_profiles(
    services: tuple[QdrantServer, CohereServer],
    tiny_source: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled = []
    for more in (["--collection", "mine"], []):
        monkeypatch.setenv("QDRANT_COLLECTION_NAME", "named")
        assert main(["ingest", str(tiny_source), "--profile", "robotics-tutor", "--json", *more]) == 0
        filled.append(json.loads(capsys.readouterr().out)["collection"])
    monkeypatch.delenv("QDRANT_COLLECTION_NAME")
    monkeypatch.delenv("QDRANT_URL")
    assert main(["ingest", str(tiny_source), "--profile", "robotics-tutor", "--json"]) == 0
    assert [*filled, json.loads(capsys.readouterr().out)["collection"]] == ["mine", "named", "book"]
