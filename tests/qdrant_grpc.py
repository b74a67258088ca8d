"""The stand-in for a Qdrant server over gRPC: the calls that the product makes, over the same local engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc  # type: ignore[import-untyped]  # it has no types
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.grpc import collections_service_pb2_grpc as collections_service
from qdrant_client.grpc import points_service_pb2_grpc as points_service
from qdrant_client.local.qdrant_local import QdrantLocal


@dataclass
class GrpcQdrant:
    """Qdrant over gRPC on a port of 127.0.0.1. `fault` answers every call in its place; `calls` are their names."""

    port: int = 0
    engine: QdrantLocal = field(default_factory=lambda: QdrantLocal(":memory:"))
    calls: list[str] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    fault: tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]] | None = None


@contextmanager
def listening_grpc() -> Iterator[GrpcQdrant]:
    """The stand-in, until the block ends."""
    stand_in = GrpcQdrant()
    server = grpc.server(ThreadPoolExecutor(1))  # local mode is not made for threads
    register: Any = points_service.add_PointsServicer_to_server  # generated, and without types
    register(_servicer(stand_in, points_service.PointsServicer, _POINTS), server)
    register = collections_service.add_CollectionsServicer_to_server
    register(_servicer(stand_in, collections_service.CollectionsServicer, _COLLECTIONS), server)
    stand_in.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield stand_in
    finally:
        server.stop(grace=None).wait()


Answer = Callable[[QdrantLocal, Any], Any]


def _servicer(stand_in: GrpcQdrant, base: type[Any], methods: Mapping[str, Answer]) -> Any:
    """An object with a method for each call; a call that is not there is one that the product does not make."""

    def method(name: str, answer: Answer) -> Any:
        def call(request: Any, context: Any) -> Any:
            stand_in.calls.append(name)
            stand_in.metadata.append(dict(context.invocation_metadata()))
            if stand_in.fault:
                status, details, trailing = stand_in.fault
                context.set_trailing_metadata(trailing)
                context.abort(status, details)
            try:
                return answer(stand_in.engine, request)
            except ValueError as error:
                missing = str(error).endswith(" not found")
                context.abort(grpc.StatusCode.NOT_FOUND if missing else grpc.StatusCode.INVALID_ARGUMENT, str(error))

        return call

    servicer = base()
    for name, answer in methods.items():
        setattr(servicer, name, method(name, answer))
    return servicer


def _list(engine: QdrantLocal, _: Any) -> Any:
    found = [wire.CollectionDescription(name=one.name) for one in engine.get_collections().collections]
    return wire.ListCollectionsResponse(collections=found)


def _describe(engine: QdrantLocal, asked: Any) -> Any:
    info = engine.get_collection(asked.collection_name)
    return wire.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(info))


def _create(engine: QdrantLocal, asked: Any) -> Any:
    engine.create_collection(
        asked.collection_name,
        vectors_config=GrpcToRest.convert_vectors_config(asked.vectors_config),
        sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(asked.sparse_vectors_config),
        metadata=GrpcToRest.convert_payload(asked.metadata),
    )
    return wire.CollectionOperationResponse(result=True)


def _update(engine: QdrantLocal, asked: Any) -> Any:
    engine.update_collection(asked.collection_name, metadata=GrpcToRest.convert_payload(asked.metadata))
    return wire.CollectionOperationResponse(result=True)


def _drop(engine: QdrantLocal, asked: Any) -> Any:
    return wire.CollectionOperationResponse(result=engine.delete_collection(asked.collection_name))


def _aliases(engine: QdrantLocal, _: Any) -> Any:
    found = [
        wire.AliasDescription(alias_name=one.alias_name, collection_name=one.collection_name)
        for one in engine.get_aliases().aliases
    ]
    return wire.ListAliasesResponse(aliases=found)


def _change_aliases(engine: QdrantLocal, asked: Any) -> Any:
    actions = [GrpcToRest.convert_alias_operations(one) for one in asked.actions]
    return wire.CollectionOperationResponse(result=engine.update_collection_aliases(actions))


def _done() -> Any:
    return wire.PointsOperationResponse(result=wire.UpdateResult(operation_id=1, status=wire.UpdateStatus.Completed))


def _index(engine: QdrantLocal, asked: Any) -> Any:
    engine.get_collection(asked.collection_name)
    return _done()


def _upsert(engine: QdrantLocal, asked: Any) -> Any:
    engine.upsert(asked.collection_name, [GrpcToRest.convert_point_struct(point) for point in asked.points])
    return _done()


def _delete(engine: QdrantLocal, asked: Any) -> Any:
    engine.delete(asked.collection_name, GrpcToRest.convert_points_selector(asked.points))
    return _done()


def _get(engine: QdrantLocal, asked: Any) -> Any:
    records = engine.retrieve(asked.collection_name, [GrpcToRest.convert_point_id(id) for id in asked.ids])
    return wire.GetResponse(result=[RestToGrpc.convert_retrieved_point(record) for record in records])


def _scroll(engine: QdrantLocal, asked: Any) -> Any:
    offset = GrpcToRest.convert_point_id(asked.offset) if asked.HasField("offset") else None
    with_vectors = asked.with_vectors.enable
    records, following = engine.scroll(
        asked.collection_name, limit=asked.limit, offset=offset, with_vectors=with_vectors
    )
    return wire.ScrollResponse(
        result=[RestToGrpc.convert_retrieved_point(record) for record in records],
        next_page_offset=None if following is None else RestToGrpc.convert_extended_point_id(following),
    )


def _query(engine: QdrantLocal, asked: Any) -> Any:
    (answer,) = engine.query_batch_points(asked.collection_name, [GrpcToRest.convert_query_points(asked)])
    return wire.QueryResponse(result=[RestToGrpc.convert_scored_point(point) for point in answer.points])


_COLLECTIONS = {
    "List": _list,
    "Get": _describe,
    "Create": _create,
    "Update": _update,
    "Delete": _drop,
    "ListAliases": _aliases,
    "UpdateAliases": _change_aliases,
}
_POINTS = {
    "CreateFieldIndex": _index,
    "Upsert": _upsert,
    "Delete": _delete,
    "Get": _get,
    "Scroll": _scroll,
    "Query": _query,
}
