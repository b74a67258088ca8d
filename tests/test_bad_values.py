"""A value that cannot be is refused in one line that names the variable or the option, before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.web.api_keys import People
from rag.web.hosting import origins_of
from tests.command_line import CommandLine

LONG = "x" * 300  # longer than the name of a file may be


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    made = CommandLine(tmp_path)
    (made.folder / "a-file").write_text("text", encoding="utf-8")
    (made.folder / "a-folder").mkdir()
    return made


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ASKBOOK_HOME", "a-file", "ASKBOOK_HOME cannot be used: Not a directory: a-file"),
        ("ASKBOOK_HOME", "a-file/x", "ASKBOOK_HOME cannot be used: Not a directory: a-file/x"),
        ("ASKBOOK_HOME", LONG, "ASKBOOK_HOME cannot be used: File name too long: xxx"),
        ("ASKBOOK_EMBEDDING_MODEL", LONG, "ASKBOOK_EMBEDDING_MODEL cannot be used: File name too long: xxx"),
        (
            "ASKBOOK_EMBEDDING_MODEL",
            "text-embeding-3-small",
            "ASKBOOK_EMBEDDING_MODEL names neither a folder nor a model that is known: text-embeding-3-small.",
        ),
        ("ASKBOOK_EMBEDDING_MODEL", "a-folder", "The embedding model has no model.onnx in a-folder."),
        ("QDRANT_COLLECTION_NAME", "a/b", 'QDRANT_COLLECTION_NAME: "a/b" cannot be the name of a collection.'),
    ],
)
@pytest.mark.parametrize("command", [("ask", "Why?"), ("ingest", "a-folder"), ("eval", "a-file")], ids=" ".join)
def test_a_variable_is_named(command: tuple[str, ...], variable: str, value: str, said: str, run: CommandLine) -> None:
    (run.folder / "a-folder" / "page.md").write_text("# Page\n\nText.", encoding="utf-8")
    (run.folder / "a-file").write_text('{"question": "Why?"}', encoding="utf-8")
    done = run(*command, **{variable: value})
    assert (done.code, done.out, done.err.count("\n"), done.err.startswith(said)) == (2, "", 1, True), done.err


@pytest.mark.parametrize("command", [("threads", "list"), ("books", "list"), ("doctor",)], ids=" ".join)
def test_a_home_that_is_a_file_holds_no_empty_list(command: tuple[str, ...], run: CommandLine) -> None:
    done = run(*command, ASKBOOK_HOME="a-file")
    assert (done.code, done.out, done.err.startswith("ASKBOOK_HOME")) == (2, "", True)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("search", "Why?", "--history", ""), "--history"),
        (("eval", "a-file", "--report", ""), "--report"),
        (("eval", "a-file", "--against", ""), "--against"),
        (("eval", ""), "DATASET"),
        (("trust", ""), "FILE"),
        (("passages", " "), "CHUNK_ID"),
    ],
)
def test_the_name_that_a_script_left_empty_is_named(command: tuple[str, ...], option: str, run: CommandLine) -> None:
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert f"argument {option}: a name must not be empty" in done.err


@pytest.mark.parametrize(
    "entry", ["docs.example.org", "*", "https://", "https://example.org/docs", "https://a b", "null"]
)
def test_an_origin_that_no_browser_sends_is_refused(entry: str, run: CommandLine) -> None:
    said = f"ASKBOOK_ALLOWED_ORIGINS has the entry {entry!r}, which is no site."
    done = run("serve", "--port", "0", ASKBOOK_ALLOWED_ORIGINS=f"https://example.org,{entry}")
    assert (done.code, done.out, done.err.startswith(said)) == (2, "", True)


def test_origins_are_read_as_a_browser_names_them() -> None:
    listed = "https://Docs.Example.org/, http://127.0.0.1:8000,,http://[::1]:80"
    assert origins_of(listed) == ("https://docs.example.org", "http://127.0.0.1:8000", "http://[::1]:80")
    assert origins_of(None) == ()


@pytest.mark.parametrize("text", [",", " "])
def test_a_list_of_keys_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="ASKBOOK_API_KEYS lists no key"):
        People.parse(text)
