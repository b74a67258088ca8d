from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from rag.embedding.vector_cache import SqliteVectorCache
from rag.errors import UsageError

ROOT = Path(__file__).parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "vectors.sqlite"


def test_a_vector_comes_back_for_its_model_and_text(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.put("m", {"one": [0.5, -0.25], "ünï\x00": [1.0, 2.0]})
    assert cache.get("m", ["one", "unknown", "ünï\x00"]) == {"one": [0.5, -0.25], "ünï\x00": [1.0, 2.0]}
    assert cache.get("another", ["one"]) == {}


def test_vectors_outlive_the_program(path: Path) -> None:
    SqliteVectorCache(path).put("m", {"one": [0.5]})
    assert SqliteVectorCache(path).get("m", ["one"]) == {"one": [0.5]}


def test_a_later_vector_replaces_an_earlier_one(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.put("m", {"one": [0.5]})
    cache.put("m", {"one": [0.75]})
    assert cache.get("m", ["one"]) == {"one": [0.75]}


def test_float32_values_come_back_unchanged(path: Path) -> None:
    import numpy as np

    vector = np.random.default_rng(1).standard_normal(384).astype(np.float32).tolist()
    cache = SqliteVectorCache(path)
    cache.put("m", {"one": vector})
    assert cache.get("m", ["one"])["one"] == vector


def test_more_texts_than_one_statement_may_name_are_found(path: Path) -> None:
    cache = SqliteVectorCache(path)
    texts = [f"text {i}" for i in range(1201)]
    cache.put("m", {text: [float(i)] for i, text in enumerate(texts)})
    assert len(cache.get("m", texts)) == 1201


def test_nothing_asked_is_nothing_found(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.put("m", {})
    assert cache.get("m", []) == {}


def test_the_file_is_private(path: Path) -> None:
    SqliteVectorCache(path).put("m", {"one": [0.5]})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for journal in path.parent.glob("vectors.sqlite-*"):
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_broken_file_is_set_aside_and_begun_anew(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    cache = SqliteVectorCache(path)
    assert cache.get("m", ["one"]) == {}
    cache.put("m", {"one": [0.5]})
    assert cache.get("m", ["one"]) == {"one": [0.5]}
    assert path.with_name("vectors.sqlite.broken").read_bytes() == content


def test_an_empty_file_is_a_new_cache(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    cache = SqliteVectorCache(path)
    cache.put("m", {"one": [0.5]})
    assert cache.get("m", ["one"]) == {"one": [0.5]}


def test_another_programs_database_is_set_aside_unharmed(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE vectors (x)")
        theirs.execute("INSERT INTO vectors VALUES ('theirs')")
        theirs.commit()
    SqliteVectorCache(path).put("m", {"one": [0.5]})
    with closing(sqlite3.connect(path.with_name("vectors.sqlite.broken"))) as theirs:
        assert theirs.execute("SELECT x FROM vectors").fetchall() == [("theirs",)]


def test_a_file_that_breaks_while_it_is_used_is_begun_anew(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.put("m", {"one": [0.5]})
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:200] + os.urandom(size - 200))
    assert cache.get("m", ["one"]) == {}
    cache.put("m", {"one": [0.75]})
    assert cache.get("m", ["one"]) == {"one": [0.75]}


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "vectors.sqlite", tmp_path / "folder"):
        with pytest.raises(UsageError) as caught:
            SqliteVectorCache(place).put("m", {"one": [0.5]})
        assert caught.value.code == "vector_cache"
        assert str(place) in caught.value.message


def test_threads_may_share_a_cache(path: Path) -> None:
    cache = SqliteVectorCache(path)
    missing: list[str] = []

    def work(name: str) -> None:
        for i in range(20):
            cache.put("m", {f"{name} {i}": [float(i)]})
            if cache.get("m", [f"{name} {i}"]) != {f"{name} {i}": [float(i)]}:
                missing.append(f"{name} {i}")

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing == []


def test_two_processes_may_begin_and_fill_a_cache_at_once(path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from rag.embedding.vector_cache import SqliteVectorCache\n"
        "cache = SqliteVectorCache(Path(sys.argv[1]))\n"
        "Path(sys.argv[3], sys.argv[2]).touch()\n"
        "while len(list(Path(sys.argv[3]).iterdir())) < 2: time.sleep(0)\n"  # begin in the same moment
        "for i in range(30): cache.put('m', {f'{sys.argv[2]} {i}': [float(i)]})\n"
    )
    ready = path.parent.parent / "ready"
    ready.mkdir()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), name, str(ready)], env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        for name in ("a", "b")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    texts = [f"{name} {i}" for name in ("a", "b") for i in range(30)]
    assert set(SqliteVectorCache(path).get("m", texts)) == set(texts)
    assert not path.with_name("vectors.sqlite.broken").exists()


def test_a_cache_that_another_process_keeps_locked_is_empty_for_the_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.embedding.vector_cache.WAIT", 0.01)
    SqliteVectorCache(path).put("m", {"one": [0.5]})
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        SqliteVectorCache(path).put("m", {"two": [0.5]})
        other.execute("ROLLBACK")
    assert SqliteVectorCache(path).get("m", ["one", "two"]) == {"one": [0.5]}


def test_asking_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "home" / "vectors.sqlite"
    assert SqliteVectorCache(path).get("model", ["text"]) == {}
    assert not path.parent.exists()
