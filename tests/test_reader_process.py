"""The process that reads files: it is kept between them, and whatever breaks it costs one file."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rag.ingest.formats import reader_process
from rag.ingest.formats.reader_process import FileReader

READINGS = "tests.readings"


@pytest.fixture
def reader() -> Iterator[FileReader]:
    reader = FileReader()
    yield reader
    reader.close()


def asked(reader: FileReader, function: str, raw: bytes = b"", seconds: float = 60.0) -> object:
    return reader.read(READINGS, function, raw, seconds=seconds)


def test_one_process_reads_many_files(reader: FileReader) -> None:
    assert asked(reader, "process_id") == asked(reader, "process_id") != os.getpid()
    raw = bytes(range(128)) * 20_000
    assert asked(reader, "printed", raw) == raw.decode()


def test_the_memory_of_the_process_that_asks_does_not_count(reader: FileReader) -> None:
    """A book of many pages made it large, and then each HTML page was read by a new process."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = asked(reader, "most_memory")
    assert isinstance(found, int)
    assert found < kilobytes * 1024


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("killed", "it is broken"),
        ("too_large", "too much memory"),
        ("too_deep", "nested too deeply"),
        ("mistaken", r"askbook failed at it \(IndexError\); please report it"),
    ],
)
def test_what_breaks_the_process_costs_one_file(function: str, says: str, reader: FileReader) -> None:
    with pytest.raises(ValueError, match=says):
        asked(reader, function)
    assert asked(reader, "printed", b"x") == "x"


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(reader: FileReader) -> None:
    with pytest.raises(ValueError, match="longer than 0 seconds"):
        asked(reader, "endless", seconds=0.3)
    assert asked(reader, "printed", b"x") == "x"


def test_a_process_ends_after_a_file_that_took_much_memory(reader: FileReader) -> None:
    first = asked(reader, "process_id")
    asked(reader, "greedy")
    assert asked(reader, "process_id") != first


def test_a_process_that_has_waited_long_is_not_used_again(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked(reader, "process_id")
    monkeypatch.setattr(reader_process, "IDLE", -1.0)
    assert asked(reader, "process_id") != first


def test_the_process_has_no_environment(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    found = asked(reader, "environment")
    assert isinstance(found, dict)
    assert "sk-secret" not in found.values()


def test_for_a_pdf_it_loads_nothing_that_only_pages_of_markdown_and_models_need(reader: FileReader) -> None:
    """Each PDF has a process of its own, whose start is most of the time that a short one takes."""
    with pytest.raises(ValueError, match="PDF"):
        reader.read("rag.ingest.formats.pdf_files", "pdf_texts", b"none", seconds=60.0)
    loaded = asked(reader, "modules")
    assert isinstance(loaded, list)
    assert "pypdfium2" in loaded
    assert not {"markdown_it", "pydantic"} & set(loaded)


def test_the_process_ends_with_the_program_that_started_it() -> None:
    code = (
        "from rag.ingest.formats.reader_process import read_apart\n"
        f"print(read_apart('{READINGS}', 'process_id', b'', seconds=60))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
