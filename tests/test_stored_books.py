"""The books in the index: what is told of them, and renaming and deleting, in a folder and on a server."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from qdrant_client import models

from rag.books.book_settings import build_embedder, collection_index, vector_cache
from rag.books.stored_books import MANUAL_TITLE, books_on_offer, delete_book, list_books, rename_book, show_book
from rag.embedding.local import Bm25Encoder
from rag.errors import RetrievalError, UsageError
from rag.index.locks import folder_lock
from rag.settings import Settings
from tests.command_line import CommandLine
from tests.ingesting import ingest
from tests.qdrant_server import QdrantServer
from tests.wire import listening


@contextmanager
def shelf(kind: str, tmp_path: Path) -> Iterator[tuple[Settings, QdrantServer | None]]:
    """Settings for books in a folder, or on a stand-in of a server."""
    if kind == "folder":
        yield Settings(home=tmp_path / "home"), None
        return
    with listening(QdrantServer()) as server:
        yield Settings(home=tmp_path / "home", qdrant_url=server.address, qdrant_api_key=SecretStr("a-key")), server


async def read_in(settings: Settings, source: Path, name: str = "book") -> None:
    index = collection_index(settings, name)
    try:
        await ingest(
            [source],
            index=index,
            embedder=build_embedder(settings),
            sparse=Bm25Encoder(),
            vectors=vector_cache(settings),
        )
    finally:
        await index.aclose()


async def ids(settings: Settings, name: str) -> set[str]:
    index = collection_index(settings, name)
    try:
        return {entry.id for entry in await index.entries()}
    finally:
        await index.aclose()


kinds = pytest.mark.parametrize("kind", ["folder", "server"])


@kinds
async def test_a_book_is_listed_with_all_that_is_known_of_it(kind: str, tmp_path: Path, tiny_source: Path) -> None:
    with shelf(kind, tmp_path) as (settings, _):
        await read_in(settings, tiny_source)
        books = {book.name: book for book in await list_books(settings)}
        book = books["book"]
        assert (book.state, book.pages, book.passages) == ("ready", 2, len(await ids(settings, "book")))
        assert [(s.source, s.generator) for s in book.sources] == [(str(tiny_source), "plain")]
        assert book.title == tiny_source.name
        assert book.embedding_model == "all-MiniLM-L6-v2-int8"
        assert book.date is not None
        assert book.date.startswith("20")
        assert await show_book(settings, "book") == book
        manual = books["manual"]
        assert (manual.title, manual.state) == (MANUAL_TITLE, "absent")


async def test_a_profile_s_collection_is_listed_on_a_server_before_it_is_there(tmp_path: Path) -> None:
    mine = tmp_path / "home" / "profiles" / "mine.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('extends = "default"\ndescription = "Mine."\n[book]\ncollection = "physics"\n')
    with shelf("server", tmp_path) as (settings, _):
        book = {one.name: one for one in await list_books(settings)}["physics"]
        assert (book.state, book.profiles) == ("absent", ["mine"])
    assert "physics" not in {one.name for one in await list_books(Settings(home=tmp_path / "home"))}


@kinds
async def test_a_renamed_book_has_the_same_points_under_the_new_name_only(
    kind: str, tmp_path: Path, tiny_source: Path
) -> None:
    with shelf(kind, tmp_path) as (settings, _):
        await read_in(settings, tiny_source)
        before = await ids(settings, "book")
        await rename_book(settings, "book", "widgets")
        assert await ids(settings, "widgets") == before
        assert (await show_book(settings, "widgets")).passages == len(before)
        with pytest.raises(UsageError, match='no book "book"'):
            await show_book(settings, "book")
        await read_in(settings, tiny_source, "widgets")  # it can still be changed, and the old name is free
        await read_in(settings, tiny_source)
        with pytest.raises(UsageError, match="already a book"):
            await rename_book(settings, "book", "widgets")


async def test_a_changed_page_of_a_book_on_a_server_is_shown_in_one_step(tmp_path: Path, tiny_source: Path) -> None:
    pages = shutil.copytree(tiny_source, tmp_path / "pages")
    with shelf("server", tmp_path) as (settings, server):
        assert server is not None
        await read_in(settings, pages)
        before, first = await ids(settings, "book"), server.behind("book")
        page = pages / "widgets.md"
        page.write_text(page.read_text(encoding="utf-8").replace("four teeth", "five teeth"), encoding="utf-8")
        await read_in(settings, pages)
        second = server.behind("book")
        assert (await ids(settings, "book"), second != first) == (before, True)  # the same chunks, one with other words
        await read_in(settings, pages)
        assert server.behind("book") == second  # nothing has changed
        assert not server.engine.collection_exists(first)


async def test_a_book_is_not_renamed_while_it_is_being_changed(tmp_path: Path, tiny_source: Path) -> None:
    with shelf("folder", tmp_path) as (settings, _):
        await read_in(settings, tiny_source)
        lock = folder_lock(settings.home / "index", "book", seconds=0)
        with lock, pytest.raises(RetrievalError, match="is being changed by process"):
            await rename_book(settings, "book", "widgets")
        assert (await show_book(settings, "book")).state == "ready"


@kinds
async def test_a_deleted_book_is_gone_and_its_name_is_free(kind: str, tmp_path: Path, tiny_source: Path) -> None:
    with shelf(kind, tmp_path) as (settings, _):
        await read_in(settings, tiny_source)
        assert (await delete_book(settings, "book")).pages == 2
        assert [book.name for book in await list_books(settings) if book.state == "ready"] == []
        with pytest.raises(UsageError, match='no book "book"'):
            await delete_book(settings, "book")
        await read_in(settings, tiny_source)


async def test_another_program_s_collection_is_shown_and_left_alone(tmp_path: Path) -> None:
    with shelf("server", tmp_path) as (settings, server):
        assert server is not None
        vectors = models.VectorParams(size=4, distance=models.Distance.COSINE)
        server.engine.create_collection("theirs", vectors_config=vectors)
        book = {one.name: one for one in await list_books(settings)}["theirs"]
        assert (book.state, book.pages) == ("foreign", None)
        for change in (delete_book(settings, "theirs"), rename_book(settings, "theirs", "ours")):
            with pytest.raises(UsageError, match="was not made by askbook"):
                await change
        assert server.engine.collection_exists("theirs")
        assert await books_on_offer(settings) == []


async def test_a_broken_book_is_named_as_such_and_can_be_deleted(tmp_path: Path, tiny_source: Path) -> None:
    with shelf("folder", tmp_path) as (settings, _):
        await read_in(settings, tiny_source)
        (settings.home / "index" / "book" / "current").write_text("nonsense")
        book = {one.name: one for one in await list_books(settings)}["book"]
        assert book.state == "broken"
        assert "is broken" in book.problem
        with pytest.raises(UsageError, match="is broken"):
            await rename_book(settings, "book", "other")
        await delete_book(settings, "book")
        assert [one.state for one in await list_books(settings)] == ["absent"]


def test_remote_users_see_no_folders(tmp_path: Path, tiny_source: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    asyncio.run(read_in(settings, tiny_source))
    offered: list[dict[str, Any]] = asyncio.run(books_on_offer(settings))
    assert [book["name"] for book in offered] == ["book"]
    assert str(tmp_path) not in str(offered)


def test_the_command_prints_what_it_did(tmp_path: Path, tiny_book: Path) -> None:
    cli = CommandLine(tmp_path, tiny_book)
    listed = cli("books", "list", "--json").data
    assert {book["name"] for book in listed} == {"book", "manual"}
    assert "2 pages" in cli("books", "list").out
    renamed = cli("books", "rename", "book", "widgets", "--json")
    assert (renamed.code, renamed.data["renamed"], renamed.data["name"]) == (0, "book", "widgets")
    assert "model:     all-MiniLM-L6-v2-int8" in cli("books", "show", "widgets").out
    deleted = cli("books", "delete", "widgets")
    assert deleted.code == 0
    assert deleted.out.startswith('Deleted "widgets"')
    for action in (("show", "widgets"), ("delete", "widgets"), ("rename", "widgets", "x"), ("rename", "manual", "x")):
        refused = cli("books", *action)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
