"""A stand-in for a Qdrant server: the REST endpoints that the product uses, over qdrant-client's engine in local mode.

What a search finds is therefore Qdrant's own doing, and everything between the product and the socket is real. Local
mode keeps neither payload indexes nor quantization; the stand-in remembers what it was told of both.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter
from qdrant_client import models
from qdrant_client.local.qdrant_local import QdrantLocal

from tests.wire import Reply, Request, WireServer, data

VERSION: Final = "1.19.0"
_IDS: Final[TypeAdapter[list[models.ExtendedPointId]]] = TypeAdapter(list[models.ExtendedPointId])


@dataclass
class QdrantServer(WireServer):
    """Qdrant on 127.0.0.1. With `key`, a request without it is refused as a cluster does it."""

    key: str | None = None
    engine: QdrantLocal = field(default_factory=lambda: QdrantLocal(":memory:"))
    indexes: dict[str, dict[str, Any]] = field(default_factory=dict)
    quantization: dict[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)  # local mode is not made for threads

    def answer(self, request: Request) -> Reply:
        if self.key and request.headers.get("api-key") != self.key:
            return Reply(status=401, body="Must provide an API key or an Authorization bearer token")
        if request.path in ("", "/"):
            return data({"title": "qdrant - vector search engine", "version": VERSION})
        for method, pattern, handler in _ROUTES:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                return self._handled(handler, match.groups(), request.body or {})
        return refused(404, f"no such endpoint: {request.method} {request.path}")

    def _handled(self, handler: Handler, names: tuple[str, ...], body: Any) -> Reply:
        with self.lock:
            try:
                return ok(handler(self, *names, body))
            except ValueError as error:
                if str(error).endswith(" not found"):
                    return refused(404, f"Not found: Collection `{names[0]}` doesn't exist!")
                return refused(400, f"Wrong input: {error}")

    def behind(self, name: str) -> str:
        """The collection that the name stands for: itself, or the one that it is an alias of."""
        found: dict[str, str] = {one.alias_name: one.collection_name for one in self.engine.get_aliases().aliases}
        return found.get(name, name)

    def paths(self, method: str) -> list[str]:
        """What was asked for by a method, in order."""
        return [request.path for request in self.requests if request.method == method]

    def bodies(self, ending: str) -> list[Any]:
        """What was sent to paths that end so."""
        return [request.body for request in self.requests if request.path.endswith(ending)]


Handler = Callable[..., Any]


def ok(result: Any) -> Reply:
    return data({"result": result, "status": "ok", "time": 0.0})


def refused(status: int, message: str, **headers: str) -> Reply:
    """An error in Qdrant's own form."""
    return data({"status": {"error": message}, "time": 0.0}, status, **headers)


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, list) else value.model_dump(mode="json")


def _done() -> dict[str, Any]:
    return {"operation_id": 1, "status": "completed"}


def _collections(server: QdrantServer, _body: Any) -> Any:
    return _plain(server.engine.get_collections())


def _exists(server: QdrantServer, name: str, _body: Any) -> Any:
    return {"exists": server.engine.collection_exists(name)}


def _describe(server: QdrantServer, name: str, _body: Any) -> Any:
    described = _plain(server.engine.get_collection(name))
    described["config"]["quantization_config"] = server.quantization.get(server.behind(name))
    described["payload_schema"] = {
        field: {"data_type": "keyword", "params": schema, "points": 0}
        for field, schema in server.indexes.get(server.behind(name), {}).items()
    }
    return described


def _create(server: QdrantServer, name: str, body: Any) -> Any:
    asked = models.CreateCollection.model_validate(body)
    server.engine.create_collection(
        name,
        vectors_config=asked.vectors,
        sparse_vectors_config=asked.sparse_vectors,
        metadata=asked.metadata,
    )
    server.indexes[name] = {}
    server.quantization[name] = body.get("quantization_config")
    return True


def _update(server: QdrantServer, name: str, body: Any) -> Any:
    _itself(server, name)
    return server.engine.update_collection(name, metadata=models.UpdateCollection.model_validate(body).metadata)


def _itself(server: QdrantServer, name: str) -> None:
    """Refuse an alias: whether a server changes the collection behind it, the product need not know."""
    if server.behind(name) != name:
        raise ValueError(f"{name} is an alias")


def _drop(server: QdrantServer, name: str, _body: Any) -> Any:
    _itself(server, name)
    return server.engine.delete_collection(name)


def _aliases(server: QdrantServer, _body: Any) -> Any:
    return _plain(server.engine.get_aliases())


def _change_aliases(server: QdrantServer, body: Any) -> Any:
    return server.engine.update_collection_aliases(models.ChangeAliasesOperation.model_validate(body).actions)


def _index(server: QdrantServer, name: str, body: Any) -> Any:
    server.engine.get_collection(name)
    server.indexes.setdefault(name, {})[body["field_name"]] = body["field_schema"]
    return _done()


def _upsert(server: QdrantServer, name: str, body: Any) -> Any:
    server.engine.upsert(name, models.PointsList.model_validate(body).points)
    return _done()


def _retrieve(server: QdrantServer, name: str, body: Any) -> Any:
    asked = models.PointRequest.model_validate(body)
    return _plain(
        server.engine.retrieve(
            name, asked.ids, with_payload=bool(asked.with_payload), with_vectors=asked.with_vector or False
        )
    )


def _delete(server: QdrantServer, name: str, body: Any) -> Any:
    server.engine.delete(name, models.PointIdsList(points=_IDS.validate_python(body["points"])))
    return _done()


def _scroll(server: QdrantServer, name: str, body: Any) -> Any:
    asked = models.ScrollRequest.model_validate(body)
    points, following = server.engine.scroll(
        name,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        offset=asked.offset,
        with_payload=True if asked.with_payload is None else asked.with_payload,
        with_vectors=asked.with_vector or False,
    )
    return {"points": _plain(points), "next_page_offset": following}


def _count(server: QdrantServer, name: str, body: Any) -> Any:
    return _plain(server.engine.count(name, models.CountRequest.model_validate(body).filter))


def _query(server: QdrantServer, name: str, body: Any) -> Any:
    return _query_batch(server, name, {"searches": [body]})[0]


def _query_batch(server: QdrantServer, name: str, body: Any) -> Any:
    searches = models.QueryRequestBatch.model_validate(body).searches
    # How to search what is quantized: local mode, which searches exactly, warns that it does not need to know.
    exact = [one.model_copy(update={"params": None}) for one in searches]
    return _plain(server.engine.query_batch_points(name, exact))


_COLLECTION: Final = r"/collections/([^/]+)"
_ROUTES: Final[list[tuple[str, str, Handler]]] = [
    ("GET", r"/collections", _collections),
    ("GET", r"/aliases", _aliases),
    ("POST", r"/collections/aliases", _change_aliases),
    ("GET", rf"{_COLLECTION}/exists", _exists),
    ("GET", _COLLECTION, _describe),
    ("PUT", _COLLECTION, _create),
    ("PATCH", _COLLECTION, _update),
    ("DELETE", _COLLECTION, _drop),
    ("PUT", rf"{_COLLECTION}/index", _index),
    ("PUT", rf"{_COLLECTION}/points", _upsert),
    ("POST", rf"{_COLLECTION}/points", _retrieve),
    ("POST", rf"{_COLLECTION}/points/delete", _delete),
    ("POST", rf"{_COLLECTION}/points/scroll", _scroll),
    ("POST", rf"{_COLLECTION}/points/count", _count),
    ("POST", rf"{_COLLECTION}/points/query", _query),
    ("POST", rf"{_COLLECTION}/points/query/batch", _query_batch),
]
