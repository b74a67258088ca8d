"""The states of a book on a Qdrant server: a reader sees the old one or the new one, whatever happens in between."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from qdrant_client import models

from rag.book import Point
from rag.errors import RetrievalError, UsageError
from rag.index import server_versions
from rag.index.catalog import build_index, list_collections, rename_collection
from rag.index.collection_schema import record_of
from rag.index.points import to_payload
from rag.index.server import ServerIndex
from rag.index.server_client import Server
from rag.index.server_versions import is_version, new_version, worth_copying
from tests.command_line import CommandLine
from tests.index_cases import INFO, chunk_id, make_chunk, make_point
from tests.qdrant_server import QdrantServer, refused
from tests.wire import Reply, Request, listening

OLD, NEW = [make_point("a"), make_point("b"), make_point("c")], "The new text."
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with listening(QdrantServer()) as made:
        yield made


@pytest.fixture
async def index(server: QdrantServer) -> AsyncIterator[ServerIndex]:
    """The book with three points."""
    made = build_index(home=Path(), collection="book", server=Server(server.address))
    assert isinstance(made, ServerIndex)
    await made.replace(INFO, add=OLD, remove=[])
    yield made
    await made.aclose()


def changed(name: str) -> Point:
    point = make_point(name)
    return replace(point, chunk=make_chunk(name, text=NEW))


def texts(server: QdrantServer, collection: str = "book") -> list[str]:
    """The texts that a reader of the book finds now."""
    with server.lock:
        points, _ = server.engine.scroll(collection, limit=1000)
    return sorted(str((point.payload or {})["page_content"]) for point in points)


def behind(server: QdrantServer) -> list[str]:
    """The collections that there are, by their own names."""
    with server.lock:
        return sorted(one.name for one in server.engine.get_collections().collections)


def make_real(
    server: QdrantServer, name: str, points: list[Point], *, ours: bool = True, complete: bool = True
) -> None:
    """A collection with that very name, as an earlier askbook or another program made it."""
    with server.lock:
        server.engine.create_collection(
            name,
            vectors_config={"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)},
            sparse_vectors_config={"sparse": models.SparseVectorParams()},
            metadata=record_of(INFO, complete=complete) if ours else None,
        )
        if points:
            made = [
                models.PointStruct(id=p.chunk.id, vector={"dense": list(p.dense)}, payload=to_payload(p.chunk))
                for p in points
            ]
            server.engine.upsert(name, made)


OLD_TEXTS = sorted(point.chunk.text for point in OLD)


# --- a change ---------------------------------------------------------------------------------------------------------


async def test_a_reader_sees_the_old_state_until_the_new_one_is_whole(server: QdrantServer, index: ServerIndex) -> None:
    seen: list[list[str]] = []

    def points() -> Iterator[Point]:
        for name in ("a", "b", *(f"n{i}" for i in range(200))):  # several batches
            seen.append(texts(server))
            yield changed(name)

    await index.replace(INFO, add=points(), remove=[chunk_id("a"), chunk_id("b")])
    assert all(one == OLD_TEXTS for one in seen)
    assert texts(server) == [NEW] * 202 + [make_chunk("c").text]


async def test_what_has_not_changed_is_copied_with_its_vectors(server: QdrantServer, index: ServerIndex) -> None:
    before = server.engine.retrieve("book", [chunk_id("c")], with_vectors=True)
    await index.replace(INFO, add=[changed("a")], remove=[chunk_id("a"), chunk_id("b")])
    assert texts(server) == sorted([NEW, make_chunk("c").text])
    assert server.engine.retrieve("book", [chunk_id("c")], with_vectors=True) == before
    info = await index.info()
    assert info == replace(INFO, chunks=2)


async def test_one_state_is_kept(server: QdrantServer, index: ServerIndex) -> None:
    for _ in range(3):
        before = behind(server)
        await index.replace(INFO, add=[changed("a")], remove=[chunk_id("a")])
        (kept,) = behind(server)
        assert is_version(kept)
        assert [kept] != before


@pytest.mark.parametrize(("add", "remove"), [([make_point("d")], []), ([], [chunk_id("a")])])
async def test_what_is_only_added_or_only_removed_is_not_copied(
    server: QdrantServer, index: ServerIndex, add: list[Point], remove: list[str]
) -> None:
    before = behind(server)
    await index.replace(INFO, add=add, remove=remove)
    assert behind(server) == before
    assert len(texts(server)) == 3 + len(add) - len(remove)


async def test_a_large_book_is_not_copied_for_a_small_change(
    server: QdrantServer, index: ServerIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_versions, "SMALL", 0)
    monkeypatch.setattr(server_versions, "SHARE", 1)
    before = behind(server)
    await index.replace(INFO, add=[changed("a")], remove=[chunk_id("a")])
    assert behind(server) == before
    await index.replace(INFO, add=[changed("b"), changed("c")], remove=[chunk_id("b"), chunk_id("c")])
    assert behind(server) != before
    assert texts(server) == [NEW] * 3


@pytest.mark.parametrize(
    ("stored", "going", "copied"),
    [(3, 0, False), (20_000, 1, True), (1_000_000, 1, False), (1_000_000, 100_000, True), (0, 5, True)],
)
def test_a_copy_is_in_proportion_to_the_change(stored: int, going: int, *, copied: bool) -> None:
    assert worth_copying(stored, going) is copied


async def test_another_model_shows_the_old_state_until_the_new_one_is_whole(
    server: QdrantServer, index: ServerIndex
) -> None:
    def points() -> Iterator[Point]:
        for name in "abc":
            assert texts(server) == OLD_TEXTS
            yield changed(name)

    await index.replace(replace(INFO, embedding_model="other"), add=points(), remove=[])
    assert texts(server) == [NEW] * 3
    assert len(behind(server)) == 1


# --- broken off -------------------------------------------------------------------------------------------------------


async def test_a_change_that_fails_leaves_the_book_as_it_was(server: QdrantServer, index: ServerIndex) -> None:
    before = behind(server)

    def points() -> Iterator[Point]:
        yield from (changed(f"n{i}") for i in range(100))
        raise RetrievalError("embedding_failed", "No.")

    with pytest.raises(RetrievalError, match="No"):
        await index.replace(INFO, add=points(), remove=[chunk_id("a")])
    assert (behind(server), texts(server)) == (before, OLD_TEXTS)


@pytest.mark.parametrize("complete", [True, False])
async def test_what_a_killed_change_has_left_is_removed_by_the_next(
    server: QdrantServer, index: ServerIndex, *, complete: bool
) -> None:
    before = behind(server)
    make_real(server, new_version("book"), [changed("a")], complete=complete)
    make_real(server, new_version("book.notes"), [], complete=False)  # another book's
    async with index.writing():
        pass
    left = set(behind(server)) - set(before)
    assert [name.startswith("book.notes.") for name in left] == [True]
    assert texts(server) == OLD_TEXTS


async def test_a_whole_state_whose_name_was_not_set_yet_is_shown_by_the_next(server: QdrantServer) -> None:
    make_real(server, new_version("book"), [], complete=False)
    make_real(server, new_version("book"), [changed("a")])
    index = build_index(home=Path(), collection="book", server=Server(server.address))
    assert await index.info() is None
    async with index.writing():
        assert texts(server) == [NEW]
    assert len(behind(server)) == 1
    await index.aclose()


@pytest.mark.parametrize(
    ("method", "ending", "shown"),
    [("PUT", "/points", "four"), ("POST", "/collections/aliases", "four"), ("DELETE", "", "five")],
    ids=["while it copies", "before the name is set", "before the old state is deleted"],
)
def test_an_ingestion_that_is_killed_shows_one_state_and_the_next_one_tidies_up(
    tmp_path: Path, tiny_source: Path, monkeypatch: pytest.MonkeyPatch, method: str, ending: str, shown: str
) -> None:
    pages = shutil.copytree(tiny_source, tmp_path / "pages")
    run = CommandLine(tmp_path)
    with listening(QdrantServer()) as server:
        assert run("ingest", str(pages), QDRANT_URL=server.address).code == 0
        page = pages / "widgets.md"
        page.write_text(page.read_text(encoding="utf-8").replace("four teeth", "five teeth"), encoding="utf-8")
        answer, begin, dead = server.answer, threading.Event(), threading.Event()

        def killing(request: Request) -> Reply:
            begin.wait()
            if request.method == method and request.path.endswith(ending) and "writer" not in request.path:
                process.kill()
                dead.set()
            return refused(500, "nobody waits") if dead.is_set() else answer(request)

        monkeypatch.setattr(server, "answer", killing)
        with run.fork("ingest", str(pages), QDRANT_URL=server.address) as process:
            begin.set()
            assert process.wait(60) == -signal.SIGKILL
        monkeypatch.undo()
        assert [one.count("teeth") for one in texts(server) if f"{shown} teeth" in one] == [1]
        assert len([name for name in behind(server) if is_version(name)]) == 2
        assert run("ingest", str(pages), QDRANT_URL=server.address).code == 0
        assert [one.count("teeth") for one in texts(server) if "five teeth" in one] == [1]
        assert [is_version(name) for name in behind(server)] == [True]


# --- names ------------------------------------------------------------------------------------------------------------


async def test_a_collection_of_an_earlier_version_is_replaced_by_its_first_change(server: QdrantServer) -> None:
    make_real(server, "book", OLD)
    index = build_index(home=Path(), collection="book", server=Server(server.address))
    await index.replace(INFO, add=[changed("a")], remove=[chunk_id("a")])
    await index.aclose()
    (kept,) = behind(server)
    assert is_version(kept)
    assert texts(server) == sorted([NEW, make_chunk("b").text, make_chunk("c").text])


async def test_a_collection_that_another_program_makes_meanwhile_is_left_alone(server: QdrantServer) -> None:
    index = build_index(home=Path(), collection="book", server=Server(server.address))

    def points() -> Iterator[Point]:
        make_real(server, "book", OLD, ours=False)
        yield changed("a")

    with pytest.raises(UsageError, match="not made by askbook"):
        await index.replace(INFO, add=points(), remove=[])
    assert texts(server) == OLD_TEXTS
    await index.aclose()


async def test_an_alias_of_another_collection_is_changed_in_place_and_only_loses_its_name(server: QdrantServer) -> None:
    make_real(server, "library", OLD)
    alias = models.CreateAlias(collection_name="library", alias_name="book")
    server.engine.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
    index = build_index(home=Path(), collection="book", server=Server(server.address))
    await index.replace(INFO, add=[changed("a")], remove=[chunk_id("a")])
    assert NEW in texts(server, "library")
    await index.drop()
    assert behind(server) == ["library"]
    assert await index.info() is None
    await index.aclose()


async def test_books_are_listed_by_their_names(server: QdrantServer, index: ServerIndex) -> None:
    make_real(server, "old", OLD)
    make_real(server, new_version("book"), [], complete=False)
    async with index.writing():
        assert await list_collections(home=Path(), server=Server(server.address)) == ["book", "old"]


@pytest.mark.parametrize("real", [True, False])
async def test_a_renamed_book_can_be_changed_and_its_old_name_is_free(server: QdrantServer, *, real: bool) -> None:
    here = Server(server.address)
    index = build_index(home=Path(), collection="book", server=here)
    if real:
        make_real(server, "book", OLD)
    else:
        await index.replace(INFO, add=OLD, remove=[])
    server.requests.clear()
    await rename_collection(home=Path(), collection="book", new="novel", server=here)
    assert any(path.endswith("/points") for path in server.paths("PUT")) is real  # an alias is not copied
    assert await list_collections(home=Path(), server=here) == ["novel"]
    await index.replace(INFO, add=[changed("a")], remove=[])
    renamed = build_index(home=Path(), collection="novel", server=here)
    async with renamed.writing(), index.writing():
        await renamed.replace(replace(INFO, collection="novel"), add=[changed("b")], remove=[chunk_id("b")])
    assert texts(server, "novel") == sorted([NEW, make_chunk("a").text, make_chunk("c").text])
    assert texts(server) == [NEW]
    with pytest.raises(UsageError, match="already a book"):
        await rename_collection(home=Path(), collection="book", new="novel", server=here)
    await index.aclose()
    await renamed.aclose()


@pytest.mark.parametrize("name", [new_version("book"), "book.askbook-writer"], ids=["state", "writer"])
def test_a_state_or_a_sign_of_a_writer_is_no_book(server: QdrantServer, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a book"):
        build_index(home=Path(), collection=name, server=Server(server.address))


async def test_deleting_removes_the_book_and_what_is_left_of_it(server: QdrantServer, index: ServerIndex) -> None:
    make_real(server, new_version("book"), [changed("a")])
    await index.drop()
    assert behind(server) == []
    assert await index.info() is None


# --- a search during a change -----------------------------------------------------------------------------------------


APART = ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])  # so that each leg finds another passage


def switching(server: QdrantServer, monkeypatch: pytest.MonkeyPatch, *, before: int) -> list[str]:
    """Have another writer change every passage just before a request of a search; returns the paths asked for."""
    answer, asked = server.answer, list[str]()

    def between(request: Request) -> Reply:
        if request.path.endswith("/points/query/batch"):
            asked.append(request.path)
            if len(asked) == before:
                (old,) = behind(server)
                new = new_version("book")
                make_real(server, new, [changed(name) for name in "abc"])
                create = models.CreateAlias(collection_name=new, alias_name="book")
                with server.lock:
                    drop = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name="book"))
                    server.engine.update_collection_aliases([drop, models.CreateAliasOperation(create_alias=create)])
                    server.engine.delete_collection(old)
        return answer(request)

    monkeypatch.setattr(server, "answer", between)
    return asked


@pytest.mark.parametrize("before", [1, 2])
async def test_a_search_takes_all_from_one_state_though_the_name_moves(
    server: QdrantServer, index: ServerIndex, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    await index.replace(INFO, add=[replace(p, dense=v) for p, v in zip(OLD, APART, strict=True)], remove=[])
    asked = switching(server, monkeypatch, before=before)
    found = await index.search(lambda _: list(APART[:2]), lambda matches: matches, limit=1)
    assert len(asked) > before  # the search began anew when its state was gone
    assert {chunk.text for chunk in found.read(range(len(found.scores)))} == {NEW}


async def test_a_search_names_one_state_in_all_its_requests(server: QdrantServer, index: ServerIndex) -> None:
    await index.replace(INFO, add=[replace(p, dense=v) for p, v in zip(OLD, APART, strict=True)], remove=[])
    await index.search(lambda _: list(APART[:2]), lambda matches: matches, limit=1)
    (state,) = behind(server)
    asked = [path for path in server.paths("POST") if path.endswith("/points/query/batch")]
    assert asked == [f"/collections/{state}/points/query/batch"] * 2


async def test_a_key_that_may_only_use_the_books_name_can_search(server: QdrantServer, index: ServerIndex) -> None:
    (state,) = behind(server)
    server.faults[f"/collections/{state}/points/query"] = refused(403, "Forbidden")
    found = await index.search(lambda _: [make_point("a").dense], lambda matches: matches, limit=3)
    assert len(found.scores) == 3


async def test_the_record_of_a_copy_is_not_trusted(server: QdrantServer, index: ServerIndex) -> None:
    (old,) = behind(server)
    copy = new_version("other")
    make_real(server, copy, [changed("a")])
    with server.lock:
        server.engine.update_collection(copy, metadata=record_of(INFO, complete=True, state=old))
        create = models.CreateAlias(collection_name=copy, alias_name="other")
        server.engine.update_collection_aliases([models.CreateAliasOperation(create_alias=create)])
    other = build_index(home=Path(), collection="other", server=Server(server.address))
    found = await other.search(lambda _: [make_point("a").dense], lambda matches: matches, limit=3)
    assert [chunk.text for chunk in found.read(range(len(found.scores)))] == [NEW]
    await other.aclose()
