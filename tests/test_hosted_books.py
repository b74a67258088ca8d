"""A book through a hosted embedder, by the commands as they are typed: what is billed, kept, refused and mended."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from rag.ingest.chunk_vectors import FIRST_ATTEMPTS
from rag.settings import variables
from run import main
from tests.cohere_server import LONGEST, SHORT, CohereServer, cohere_server, says
from tests.homes import copied
from tests.wire import html

CANARY: Final = "co-canary-4712"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[CohereServer]:
    """The stand-in, set in an environment that is otherwise empty."""
    for name in os.environ.keys() & variables().keys():
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COHERE_API_KEY", CANARY)
    with cohere_server() as running:
        monkeypatch.setenv("COHERE_BASE_URL", running.address)
        yield running


@pytest.fixture
def long_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pages for one full request and a part of the next, and a model whose vectors are short."""
    monkeypatch.setenv("ASKBOOK_EMBEDDING_MODEL", f"cohere:{SHORT}")
    folder = tmp_path / "long"
    folder.mkdir()
    for page in range(LONGEST + 10):
        (folder / f"p{page:03}.md").write_text(f"# Page {page}\n\nThe widget of page {page} has {page} teeth.\n")
    return folder


def ingested(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["ingest", *arguments, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def kinds(server: CohereServer) -> set[str]:
    return {kind for kind, _ in server.embedded}


def test_a_book_is_embedded_once_by_the_model_that_is_said(
    server: CohereServer, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ingested(capsys, str(tiny_source))
    assert (first["embedding_model"], first["embedded"]) == ("embed-multilingual-v3.0", len(server.embedded))
    assert kinds(server) == {"search_document"}
    again = ingested(capsys, str(tiny_source))
    assert (again["embedded"], again["documents"]["unchanged"], len(server.requests)) == (0, 2, 1)


def test_the_words_for_people_name_the_model(
    server: CohereServer, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(tiny_source)]) == 0
    assert "4 passages, embedded with embed-multilingual-v3.0" in capsys.readouterr().out


def test_another_collection_of_the_same_text_is_not_billed_again(
    server: CohereServer, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingested(capsys, str(tiny_source))
    report = ingested(capsys, str(tiny_source), "--collection", "second")
    assert (report["embedded"], report["chunks"]["total"], len(server.requests)) == (0, 4, 1)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (says(401, CANARY), "Authentication failed. Please check your API keys.\nEmbedding failed: Cohere ("),
        (says(429, CANARY, retry_after="301"), "The service is busy. Please wait 301 seconds and try again.\n"),
        (html(400), "Could not search the book content.\nEmbedding failed: Cohere ("),
    ],
    ids=["401", "429 for too long", "400"],
)
def test_an_embedder_that_fails_in_the_middle_costs_nothing_that_was_embedded(
    server: CohereServer, long_book: Path, capsys: pytest.CaptureFixture[str], fault: Any, said: str
) -> None:
    server.at[2] = fault
    assert main(["ingest", str(long_book)]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.out, CANARY in shown.err, "Traceback" in shown.err) == ("", False, False)
    done = len(server.embedded)
    report = ingested(capsys, str(long_book))
    assert (report["embedded"], report["chunks"]["total"]) == (LONGEST + 10 - done, LONGEST + 10)
    texts = [text for _, text in server.embedded]
    assert len(texts) == len(set(texts)) == LONGEST + 10


@pytest.mark.parametrize("fault", [says(429, CANARY, retry_after="1"), html(503)], ids=["429", "503"])
def test_a_service_that_is_busy_is_waited_for(
    server: CohereServer,
    long_book: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: Any,
) -> None:
    monkeypatch.setattr("rag.ingest.chunk_vectors.FIRST_WAIT", 0.1)
    server.at[1] = server.at[2] = fault
    assert main(["ingest", str(long_book)]) == 0
    shown = capsys.readouterr()
    assert "cannot answer now" in shown.err
    texts = [text for _, text in server.embedded]
    assert len(texts) == len(set(texts)) == LONGEST + 10


def test_a_service_that_never_answers_is_given_up_soon(
    server: CohereServer, long_book: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.ingest.chunk_vectors.FIRST_WAIT", 0.01)
    server.at = dict.fromkeys(range(1, 20), html(503))
    assert main(["ingest", str(long_book)]) == 1
    assert "answered 503" in capsys.readouterr().err
    assert FIRST_ATTEMPTS <= len(server.requests) <= 2 * FIRST_ATTEMPTS  # of the two batches


@pytest.fixture
def packaged_home(tiny_book: Path, tmp_path: Path) -> Path:
    """A home folder with a book that the packaged model has encoded."""
    return copied(tiny_book, tmp_path / "home")


def test_a_key_that_is_set_later_bills_nothing_before_the_book_is_encoded_again(
    server: CohereServer, packaged_home: Path, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "How many teeth does a widget have?", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["error_type"], error["code"]) == ("retrieval_error", "embedding_mismatch")
    assert main(["ingest", str(tiny_source)]) == 2
    refused = capsys.readouterr().err
    assert "was encoded by all-MiniLM-L6-v2-int8" in refused
    assert "not by embed-multilingual-v3.0" in refused
    assert server.requests == []
    command = error["hint"].split('"')[1]
    assert command in refused
    assert main(shlex.split(command)[2:]) == 0
    assert kinds(server) == {"search_document"}
    capsys.readouterr()
    assert main(["search", "How many teeth does a widget have?", "--json"]) == 0
    assert "four teeth" in json.loads(capsys.readouterr().out)["results"][0]["text"]


def test_going_back_to_the_packaged_model_needs_one_variable(
    server: CohereServer,
    packaged_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ASKBOOK_EMBEDDING_MODEL", "packaged")
    assert main(["search", "How many teeth does a widget have?", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total_results"]
    assert server.requests == []


def test_a_rebuild_names_every_source_or_loses_none(
    server: CohereServer, packaged_home: Path, long_book: Path, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(long_book), "--rebuild"]) == 2
    shown = capsys.readouterr().err
    assert f"also holds {tiny_source}, which --rebuild would delete" in shown
    assert server.requests == []


def test_a_dry_run_of_a_rebuild_says_what_would_be_billed(
    server: CohereServer, packaged_home: Path, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = ingested(capsys, str(tiny_source), "--rebuild", "--dry-run")
    assert (report["embedded"], report["embedding_model"]) == (4, "embed-multilingual-v3.0")
    assert server.requests == []


# --- doctor ---------------------------------------------------------------------------------------------------------


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    shown = capsys.readouterr().out
    assert CANARY not in shown
    return {check["name"]: check for check in json.loads(shown)["checks"]}


def test_doctor_makes_one_vector_and_one_order_for_real(
    server: CohereServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASKBOOK_RERANK", "cohere")
    assert main(["doctor", "--json"]) == 0
    checks = findings(capsys)
    where = server.address.removeprefix("http://")
    assert checks["embedding"]["detail"] == f"embed-multilingual-v3.0, 1024 dimensions, at Cohere ({where})"
    assert checks["rerank"]["detail"] == f"rerank-v3.5, at Cohere ({where})"
    assert [request.path for request in server.requests] == ["/v1/embed", "/v2/rerank"]


def test_doctor_says_what_to_do_about_a_key_that_is_refused(
    server: CohereServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASKBOOK_RERANK", "cohere")
    server.faults["/"] = says(401, f"invalid api token: {CANARY}")
    assert main(["doctor", "--json"]) == 1
    checks = findings(capsys)
    for name in ("embedding", "rerank"):
        assert not checks[name]["ok"]
        assert checks[name]["detail"].endswith("answered 401.")
        assert checks[name]["hint"] == "Check COHERE_API_KEY, and that it belongs to COHERE_BASE_URL."


def test_doctor_finds_a_book_of_another_model(
    server: CohereServer, packaged_home: Path, tiny_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json"]) == 1
    book = findings(capsys)["book"]
    assert not book["ok"]
    assert f"ingest {tiny_source} --collection book --rebuild" in book["hint"]


def test_doctor_names_the_key_that_a_profiles_model_would_need(
    server: CohereServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COHERE_API_KEY")
    main(["doctor", "--json", "--profile", "robotics-tutor", "--collection", "robotics_textbook"])
    embedding = findings(capsys)["embedding"]
    assert embedding["detail"] == "all-MiniLM-L6-v2-int8, 384 dimensions, inside this process"
    assert embedding["hint"] == "The profile names embed-multilingual-v3.0; set COHERE_API_KEY to use it."
    assert server.requests == []


def test_a_reranker_without_a_key_is_wrong_usage(
    server: CohereServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COHERE_API_KEY")
    monkeypatch.setenv("ASKBOOK_RERANK", "cohere")
    assert main(["search", "a widget", "--collection", "book"]) == 2
    assert "ASKBOOK_RERANK=cohere needs COHERE_API_KEY, which is not set. Set COHERE_API_KEY" in capsys.readouterr().err
