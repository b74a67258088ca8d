"""A disk without room is told in words before the engine, whose files are mapped, writes and is ended by a signal."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from rag.errors import RetrievalError
from rag.index.edge import EdgeIndex
from tests.index_cases import INFO, make_point


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


async def test_a_disk_without_room_for_the_index_leaves_the_book_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = EdgeIndex(tmp_path, "book")
    await index.replace(INFO, add=[make_point("one")], remove=[])
    before = sorted((tmp_path / "book").iterdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 10**9 - 5_000_000, 5_000_000))
    with pytest.raises(RetrievalError, match=r"needs about 10 MB in .+, and 5 MB are free") as caught:
        await index.replace(replace(INFO, chunks=1_000), add=[make_point("two")], remove=[])
    assert caught.value.code == "index_write"
    assert sorted((tmp_path / "book").iterdir()) == before
    assert await index.info() == replace(INFO, chunks=1)


async def test_a_small_book_needs_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 10**9 - 5_000_000, 5_000_000))
    index = EdgeIndex(tmp_path, "book")
    await index.replace(replace(INFO, chunks=1), add=[make_point("one")], remove=[])
    assert await index.info() == replace(INFO, chunks=1)
