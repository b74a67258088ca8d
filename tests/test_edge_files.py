"""The folder of an embedded index: which names it may have, and what happens when it is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag.errors import RetrievalError, UsageError
from rag.index.edge import EdgeIndex
from tests.index_cases import INFO, make_point, rankings, terms

NORTH = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def index(tmp_path: Path) -> EdgeIndex:
    return EdgeIndex(tmp_path, "book")


def generation(folder: Path) -> Path:
    (found,) = (folder / "book").glob("[0-9a-f]" * 32)
    return found


def shard_file(folder: Path, pattern: str) -> Path:
    (found,) = generation(folder).glob(f"shard/{pattern}")
    return found


@pytest.mark.parametrize("name", ["", ".", "..", "../book", "a/b", "a\\b", "~", "-x", "a b", "a\n", "é", "x" * 101])
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        EdgeIndex(tmp_path, name)
    assert caught.value.code == "collection_name"


@pytest.mark.parametrize("name", ["book", "ROS_2-docs.v1", "2024", "x" * 100])
def test_letters_digits_dashes_underscores_and_dots_are_a_name(tmp_path: Path, name: str) -> None:
    assert EdgeIndex(tmp_path, name).collection == name


@pytest.mark.parametrize(
    "damage",
    [
        "current: garbage",
        "current: empty",
        "current: elsewhere",
        "collection.json: garbage",
        "collection.json: missing",
        "shard: missing",
        "edge_config.json: truncated",
        "segments/*/segment.json: missing",
        "segments/*/segment.json: garbage",
        "segments/*/payload_storage/page_0.dat: missing",
        "segments/*/vector_storage-dense/vectors/status.dat: missing",
        "segments/*/vector_storage-dense/vectors/status.dat: truncated",
        "segments/*/vector_storage-dense/vectors/chunk_0.mmap: missing",
    ],
)
async def test_a_broken_folder_is_an_error_that_says_how_to_mend_it_and_dropping_mends_it(
    index: EdgeIndex, tmp_path: Path, damage: str
) -> None:
    await index.replace(INFO, add=[make_point("a"), make_point("b")], remove=[])
    break_it(tmp_path, *damage.split(": "))
    with pytest.raises(RetrievalError) as caught:
        await rankings(index, [NORTH, terms(1)], limit=2)
    assert caught.value.code == "index_broken"
    assert "\n" not in caught.value.message
    assert "run.py ingest" in caught.value.hint
    await index.drop()
    await index.replace(INFO, add=[make_point("c")], remove=[])
    assert len((await rankings(index, [NORTH], limit=2))[0]) == 1


def break_it(folder: Path, what: str, how: str) -> None:
    if what == "current":
        content = {"garbage": "\x00\xffnonsense", "empty": "", "elsewhere": "0" * 32}[how]
        (folder / "book" / "current").write_text(content)
    elif what == "shard":
        generation(folder).joinpath("shard").rename(folder / "moved")
    else:
        path = generation(folder) / what if what == "collection.json" else shard_file(folder, what)
        if how == "missing":
            path.unlink()
        elif how == "truncated":
            os.truncate(path, path.stat().st_size // 2)
        else:
            path.write_bytes(b"\x00\xff nonsense")


async def test_of_earlier_versions_nothing_stays_on_the_disk(index: EdgeIndex, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        await index.replace(INFO, add=[make_point(name)], remove=[])
    assert folders(tmp_path) == {generation(tmp_path).name}
    killed_while_deleting = tmp_path / "book" / ("0" * 32 + ".old")
    killed_while_deleting.mkdir()
    await index.replace(INFO, add=[make_point("d")], remove=[])
    assert folders(tmp_path) == {generation(tmp_path).name}
    await index.drop()
    assert folders(tmp_path) == set()


def folders(folder: Path) -> set[str]:
    return {path.name for path in (folder / "book").iterdir() if path.is_dir()}


async def test_a_folder_that_is_a_file_is_an_error_with_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not a folder")
    index = EdgeIndex(tmp_path / "index", "book")
    assert await index.info() is None
    with pytest.raises(RetrievalError) as caught:
        await index.replace(INFO, add=[make_point("a")], remove=[])
    assert caught.value.code == "index_files"
