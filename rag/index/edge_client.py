"""Qdrant's own engine in this process, as far as `QdrantVectorStore` and this package need a `QdrantClient` of it.

A collection is a folder with a shard of qdrant-edge and a card; a book's name is an alias, a file that names the
collection, as on a server. A collection is written once, by one client, and can be searched once an alias names it.
From then on it never changes, so that threads and processes search it without a lock.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from rag.errors import RetrievalError, UsageError
from rag.index.index_errors import broken, no_collection
from rag.index.payload import DENSE, METADATA, SPARSE, WORDS
from rag.system.files import check_room, private_folder

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION: Final = re.compile(r"(.+)\.askbook-([0-9a-f]{32})")
_FOLDER: Final = re.compile("[0-9a-f]{32}")
NOWHERE: Final = "0" * 32  # the folder of an alias that cannot be read
_OLD: Final = ".old"  # at the end of the name of a folder that is being deleted
_CARD: Final = "collection.json"
_POINTS: Final = "points.txt"
WORDS_KEY: Final = [f"{METADATA}.{WORDS}"]  # the field that every hit of a search needs
_ALIAS: Final = "current"  # the file in a book's folder that names the collection
CHUNK_ROOM: Final = 8_000  # bytes of disk per chunk during a build, plus twice its vector; 7 KB in all were measured
EMPTY_ROOM: Final = 2_000_000  # bytes of disk of an empty collection
OPENING_ROOM: Final = 100_000  # bytes of disk
FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE})


class EdgePoint(NamedTuple):
    """A stored point, read once: the engine makes a new object each time that it is asked for a payload."""

    id: str
    payload: dict[str, Any] | None
    score: float = 0.0
    vector: Any = None


def is_collection_name(name: object) -> bool:
    """Whether a name is valid. It becomes a folder, so it must not be a path."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


class EdgeClient:
    """A client that is no `QdrantClient`, but has the methods of one that are called. They block.

    They raise `RetrievalError`: "no_index" for a missing collection, "index_broken" and "index_write". `edge_faults`
    translates what else the file system and the engine raise.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shards: dict[str, _Shard] = {}  # that are searched, by book
        self._written: dict[str, _Shard] = {}  # that are written, by collection
        self._opening = threading.Lock()

    # Collections and aliases

    def get_aliases(self) -> Any:
        books = [path.name for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        found = {book: name for book in books if is_collection_name(book) and (name := self._named(book))}
        aliases = [SimpleNamespace(alias_name=book, collection_name=f"{book}.askbook-{found[book]}") for book in found]
        return SimpleNamespace(aliases=aliases)

    def get_collections(self) -> Any:
        found = [path for path in self.folder.glob("*/*") if _FOLDER.fullmatch(path.name.removesuffix(_OLD))]
        names = [f"{path.parent.name}.askbook-{path.name.removesuffix(_OLD)}" for path in found]
        return SimpleNamespace(collections=[SimpleNamespace(name=name) for name in names])

    def get_collection(self, collection_name: str) -> Any:
        while True:
            folder = self._place(collection_name)
            try:
                card = _read_card(folder, _book(collection_name))
                break
            except RetrievalError:
                if self._place(collection_name) == folder:
                    raise  # otherwise the collection was replaced just now
        # As text: models of qdrant-client would take as long to import as all else that a start needs.
        vectors = {DENSE: SimpleNamespace(size=card["dimension"], distance="Cosine", multivector_config=None)}
        params = SimpleNamespace(vectors=vectors, sparse_vectors={SPARSE: None})
        config = SimpleNamespace(params=params, metadata=card["metadata"], quantization_config=None)
        return SimpleNamespace(config=config, points_count=None)

    def create_collection(self, collection_name: str, *, vectors_config: Any, metadata: Any, **_: Any) -> bool:
        """Begin a collection. Its points are on the disk once an alias names it.

        It has no write-ahead log, whose lock would let only one opener in. One thread searches its one segment, since
        a pool costs more. With `Memory.Cached`, opening would read 32 MB.
        """
        import qdrant_edge as edge

        size = vectors_config[DENSE].size
        vector = edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine, memory=edge.Memory.Cold)
        config = edge.EdgeConfig(
            vectors={DENSE: vector},
            sparse_vectors={SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            max_search_threads=1,
            wal_enabled=False,
        )
        chunks, folder = metadata["askbook"]["chunks"], self._place(collection_name)
        check_room(private_folder(folder.parent), EMPTY_ROOM + chunks * (CHUNK_ROOM + 8 * size))
        _write(private_folder(folder) / _CARD, json.dumps({"dimension": size, "metadata": metadata}))
        with _writes(collection_name):
            self._written[collection_name] = _Shard(folder, edge.EdgeShard.create(str(folder / "shard"), config))
        return True

    def update_collection(self, collection_name: str, *, metadata: Any) -> bool:
        folder = self._place(collection_name)
        _write(folder / _CARD, json.dumps(_read_card(folder, collection_name) | {"metadata": metadata}))
        return True

    def update_collection_aliases(self, operations: Sequence[Any]) -> bool:
        """Finish the collections that get an alias. One operation is one step."""
        for operation in operations:
            if (made := getattr(operation, "create_alias", None)) is not None:
                self._show(made.collection_name)
            elif (renamed := getattr(operation, "rename_alias", None)) is not None:
                self._rename(renamed.old_alias_name, renamed.new_alias_name)
        return True

    def create_payload_index(self, *_: Any, **__: Any) -> None:
        """Nothing: without an index, filters take a millisecond for 100,000 points."""

    def delete_collection(self, collection_name: str) -> bool:
        """Delete the folder. The system keeps files that readers have open."""
        if written := self._written.pop(collection_name, None):
            written.engine.close()
        book, folder = _book(collection_name), self._place(collection_name)
        if (kept := self._shards.get(book)) and kept.folder == folder:
            del self._shards[book]
        if self._named(book) == folder.name:
            self._forget(book)
        old = folder.with_name(folder.name + _OLD)
        if folder.exists():
            folder.rename(old)  # first, so that nobody opens an incomplete one
        shutil.rmtree(old, ignore_errors=True)
        return True

    def close(self) -> None:
        """Let go of every shard; one that is being searched closes after that. A later search opens it again."""
        self._shards.clear()

    # Points

    def upsert(self, collection_name: str, points: Sequence[Any], **_: Any) -> None:
        import qdrant_edge as edge

        written = self._writable(collection_name)
        rows = [edge.Point(written.number(point), _engine_vectors(point.vector), point.payload) for point in points]
        with _writes(collection_name):
            written.engine.update(edge.UpdateOperation.upsert_points(rows))

    def delete(self, collection_name: str, points_selector: Sequence[Any], **_: Any) -> Any:
        from qdrant_edge import UpdateOperation

        written = self._writable(collection_name)
        written.engine.update(UpdateOperation.delete_points(written.known(points_selector)))
        return SimpleNamespace(status="completed")

    def retrieve(self, collection_name: str, ids: Sequence[Any], **_: Any) -> list[EdgePoint]:
        shard = self._reading(collection_name)
        records: list[Any] = shard.engine.retrieve(shard.known(ids), True, False)
        return [EdgePoint(shard.ids[one.id], one.payload) for one in records]

    def scroll(
        self, collection_name: str, *, limit: int, offset: Any, with_payload: Any, with_vectors: bool
    ) -> tuple[list[EdgePoint], Any]:
        import qdrant_edge as edge

        asked = edge.ScrollRequest(offset=offset, limit=limit, with_payload=with_payload, with_vector=with_vectors)
        shard = self._reading(collection_name)
        answer: Any = shard.engine.scroll(asked)
        records, following = answer
        found = [EdgePoint(shard.ids[one.id], one.payload, vector=_vectors(one.vector)) for one in records]
        return found, following

    def query_points(self, collection_name: str, query: Any = None, **options: Any) -> Any:
        import qdrant_edge as edge

        prefetch, payload = options.get("prefetch") or [], options.get("with_payload", True)
        shard = self._reading(collection_name)
        request = edge.QueryRequest(
            limit=options.get("limit", 10),
            offset=options.get("offset") or None,
            query=_query(query, options.get("using")),
            prefetches=[
                edge.Prefetch(limit=p.limit or 10, query=_query(p.query, p.using), filter=_filter(p.filter, shard))
                for p in (prefetch if isinstance(prefetch, list) else [prefetch])
            ],
            filter=_filter(options.get("query_filter"), shard),
            score_threshold=options.get("score_threshold"),
            with_payload=payload not in (False, WORDS_KEY),
            with_vector=bool(options.get("with_vectors", False)),
        )
        found: list[Any] = shard.engine.query(request)
        if payload == WORDS_KEY:
            payloads: Any = [{METADATA: {WORDS: shard.words[one.id]}} for one in found]
        else:
            payloads = [one.payload for one in found]
        points = [EdgePoint(shard.ids[one.id], each, one.score) for one, each in zip(found, payloads, strict=True)]
        return SimpleNamespace(points=points)

    # Files

    def _place(self, collection: str) -> Path:
        """The folder of a collection, or the one that an alias names. Raises `RetrievalError` "no_index"."""
        made = _VERSION.fullmatch(collection)
        book, name = (made[1], made[2]) if made else (collection, self._named(collection))
        if name is None:
            raise no_collection(book)
        return self.folder / book / name

    def _named(self, book: str) -> str | None:
        """The folder that a book's alias names; None without an alias."""
        try:
            name = (self.folder / book / _ALIAS).read_text("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            return NOWHERE
        return name if _FOLDER.fullmatch(name) else NOWHERE

    def _show(self, collection: str) -> None:
        """Let a name stand for a collection, for every search from the next on."""
        folder = self._place(collection)
        if written := self._written.pop(collection, None):
            with _writes(collection):
                written.engine.flush()
            written.engine.close()
            written.keep_points()
        _sync(folder)
        _write(folder.parent / "current.new", folder.name)
        (folder.parent / "current.new").replace(folder.parent / _ALIAS)
        _sync(folder.parent)

    def _rename(self, book: str, new: str) -> None:
        """Move the folder of a book to an unused name, with the locks of both. Readers keep what they have open."""
        root = private_folder(self.folder / new)
        for path in list(root.iterdir()):  # the lock, and what a deleted collection has left
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.folder / book).rename(root)  # replaces the empty folder
        _sync(self.folder)

    def _forget(self, book: str) -> None:
        pointer = self.folder / book / _ALIAS
        if pointer.is_dir() and not pointer.is_symlink():
            shutil.rmtree(pointer)
        pointer.unlink(missing_ok=True)
        self._shards.pop(book, None)

    # Shards

    def _writable(self, collection: str) -> _Shard:
        written = self._written.get(collection)
        if written is None:
            hint = 'A finished collection is read-only: use "ingest", or add to a QdrantVectorStore of your own.'
            raise UsageError("The embedded index is read-only for other programs.", code="read_only", hint=hint)
        return written

    def _reading(self, collection: str) -> _Shard:
        """The shard of a collection. It stays open as long as somebody has it."""
        if collection in self._written:
            return self._written[collection]
        book, folder = _book(collection), self._place(collection)
        with self._opening:
            kept = self._shards.get(book)
            if kept is None or kept.folder != folder:
                self._shards[book] = kept = _Shard.load(folder, book)
        return kept


@dataclass(eq=False, slots=True)
class _Shard:
    """An open shard, whose points are numbered: a UUID costs ten times as much as a number.

    Beside it are the id of each point and its words of prose: the engine parses a whole payload, 8 µs, for one field,
    and a search needs this one of hundreds of hits, of which it reads a few.
    """

    folder: Path
    engine: EdgeShard
    ids: list[str] = field(default_factory=list)  # by number
    words: list[int] = field(default_factory=list)  # by number
    numbers: dict[str, int] = field(default_factory=dict)  # by id

    @classmethod
    def load(cls, folder: Path, book: str) -> _Shard:
        from qdrant_edge import EdgeShard

        if not (folder / "shard" / "edge_config.json").is_file():  # the engine's own message would hold the whole path
            raise broken(book, "its files are missing")
        if shutil.disk_usage(folder).free < OPENING_ROOM:  # the engine maps files, and a full disk may kill the process
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            rows = [line.split() for line in (folder / _POINTS).read_text("ascii").splitlines()]
            ids, words = [id for id, _ in rows], [int(count) for _, count in rows]
        except ValueError as error:
            raise broken(book, f"{_POINTS} cannot be read") from error
        numbers = dict(zip(ids, range(len(ids)), strict=True))
        return cls(folder, EdgeShard.load(str(folder / "shard")), ids, words, numbers)

    def number(self, point: Any) -> int:
        """The number of a point that is written."""
        number = self.numbers.setdefault(point.id, len(self.ids))
        if number == len(self.ids):
            self.ids.append(point.id)
            self.words.append(0)
        self.words[number] = point.payload[METADATA][WORDS]
        return number

    def known(self, ids: Iterable[Any]) -> list[int | UUID | str]:
        """The numbers of the points with these ids; unknown ones are left out."""
        return [self.numbers[id] for id in map(str, ids) if id in self.numbers]

    def keep_points(self) -> None:
        lines = [f"{id} {words}\n" for id, words in zip(self.ids, self.words, strict=True)]
        _write(self.folder / _POINTS, "".join(lines))


def _book(collection: str) -> str:
    """The book's name, for messages and locks."""
    made = _VERSION.fullmatch(collection)
    return made[1] if made else collection


def _read_card(folder: Path, book: str) -> dict[str, Any]:
    try:
        card = json.loads((folder / _CARD).read_text("utf-8"))
        if not isinstance(card["metadata"], Mapping):
            raise TypeError
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise broken(book, f"{_CARD} is damaged, or another version of askbook wrote it") from error
    return dict(card)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in a folder durable; `fsync` of a file does so for its bytes only."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def edge_faults(collection: str) -> Iterator[None]:
    """Turn what the file system and the engine raise into `RetrievalError`s.

    The engine raises bare `Exception`s, and panics over damaged files.
    """
    try:
        yield
    except OSError as error:
        raise _files(collection, error.errno, error.strerror or str(error)) from error
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        cause = re.search(r"\(os error (\d+)\)", str(error))
        if cause and int(cause[1]) in FORBIDDEN:
            raise _files(collection, int(cause[1]), os.strerror(int(cause[1]))) from error
        raise broken(collection, str(error)) from error


def _files(collection: str, number: int | None, what: str) -> RetrievalError:
    is_full = number in (errno.ENOSPC, errno.EDQUOT)
    hint = "Free disk space." if is_full else "Make the folder in ASKBOOK_HOME readable and writable."
    message = f'The folder of the index "{collection}" cannot be used: {what}.'
    return RetrievalError("index_files", message, hint=hint)


@contextmanager
def _writes(collection: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        message = f'The index of "{_book(collection)}" could not be written: {" ".join(str(error).split())[:200]}.'
        hint = "Free disk space. The index is unchanged."
        raise RetrievalError("index_write", message, hint=hint) from error


# Requests: from qdrant-client's models to the engine's


def _engine_vectors(vectors: Mapping[str, Any]) -> dict[str, Any]:
    import qdrant_edge as edge

    return {
        name: edge.SparseVector(list(one.indices), list(one.values)) if hasattr(one, "indices") else one
        for name, one in vectors.items()
    }


def _vectors(vectors: Any) -> Any:
    if not isinstance(vectors, dict):
        return None
    from qdrant_client import models  # here: a start that only lists entries does not wait for it

    return {
        name: models.SparseVector.model_construct(indices=one.indices, values=one.values)
        if hasattr(one, "indices")
        else one
        for name, one in vectors.items()
    }


def _query(query: Any, using: str | None) -> Any:
    import qdrant_edge as edge
    from qdrant_client import models

    if isinstance(query, models.SparseVector):
        return edge.Query.Nearest(edge.SparseVector(query.indices, query.values), using=using)
    if isinstance(query, models.FusionQuery):
        # The server's constant for a plain RRF is 2; with it both stores rank alike.
        return edge.Fusion.Dbsf() if query.fusion == models.Fusion.DBSF else edge.Fusion.Rrf(k=2)
    if isinstance(query, models.NearestQuery) and query.mmr is not None:
        diversity = 0.5 if query.mmr.diversity is None else query.mmr.diversity
        nearest: Any = query.nearest
        return edge.Mmr(nearest, 1.0 - diversity, query.mmr.candidates_limit or 100, using=using)
    if isinstance(query, list):
        return edge.Query.Nearest(query, using=using)
    raise UsageError(f"The embedded index does not support a {type(query).__name__}.", code="query")


def _filter(given: Any, shard: _Shard) -> Any:
    import qdrant_edge as edge

    if given is None:
        return None
    if given.min_should is not None:
        raise UsageError("The embedded index does not support min_should.", code="filter")
    parts: dict[str, Any] = {}
    for name in ("must", "should", "must_not"):
        if (part := getattr(given, name)) is not None:
            parts[name] = [_condition(one, shard) for one in (part if isinstance(part, list) else [part])]
    return edge.Filter(**parts)


def _condition(given: Any, shard: _Shard) -> Any:
    import qdrant_edge as edge
    from qdrant_client import models

    if isinstance(given, models.Filter):
        return _filter(given, shard)
    if isinstance(given, models.HasIdCondition):
        return edge.HasIdCondition(set(shard.known(given.has_id)))
    if isinstance(given, models.FieldCondition):
        if given.match is not None:
            kind = getattr(edge, type(given.match).__name__)  # of the same name, with the same single value
            return edge.FieldCondition(key=given.key, match=kind(*given.match.model_dump().values()))
        if isinstance(given.range, models.Range):
            return edge.FieldCondition(key=given.key, range=edge.RangeFloat(**given.range.model_dump()))
    raise UsageError(f"The embedded index does not support the filter {given!r}.", code="filter")
