"""A Qdrant server over gRPC: what every status of a failed call becomes, and that the key travels with each call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # it has no types
import pytest

from rag.errors import AskbookError
from rag.index.catalog import build_index, list_collections
from rag.index.server_client import Server
from rag.index.server_errors import server_faults
from tests.index_cases import INFO, make_point, rankings
from tests.qdrant_grpc import GrpcQdrant, listening_grpc

NORTH = [1.0, 0.0, 0.0, 0.0]
KEY = "grpc-canary-4711"
Status = grpc.StatusCode


@pytest.fixture(scope="module")
def server() -> Iterator[GrpcQdrant]:
    with listening_grpc() as running:
        yield running


@pytest.fixture(autouse=True)
def _as_it_was(server: GrpcQdrant) -> Iterator[None]:
    server.calls.clear()
    server.metadata.clear()
    yield
    server.fault = None


def at(server: GrpcQdrant) -> Server:
    return Server("http://127.0.0.1:1", KEY, server.port)  # nothing listens on that port for REST


async def failure(where: Server) -> AskbookError:
    index = build_index(home=Path(), collection="book", server=where)
    with pytest.raises(AskbookError) as caught:
        await rankings(index, [NORTH], limit=1)
    await index.aclose()
    assert KEY not in caught.value.info().model_dump_json()
    return caught.value


FAULTS = {
    Status.UNAUTHENTICATED: ("auth_error", "index_auth", False),
    Status.PERMISSION_DENIED: ("auth_error", "index_auth", False),
    Status.NOT_FOUND: ("retrieval_error", "no_index", False),
    Status.RESOURCE_EXHAUSTED: ("rate_limit", "index_rate_limit", True),
    Status.DEADLINE_EXCEEDED: ("retrieval_error", "index_timeout", True),
    Status.CANCELLED: ("retrieval_error", "index_timeout", True),
    Status.UNAVAILABLE: ("retrieval_error", "index_unreachable", True),
    Status.INVALID_ARGUMENT: ("retrieval_error", "index_request", False),
    Status.FAILED_PRECONDITION: ("retrieval_error", "index_request", False),
    Status.OUT_OF_RANGE: ("retrieval_error", "index_request", False),
    Status.ALREADY_EXISTS: ("retrieval_error", "index_request", False),
    Status.UNIMPLEMENTED: ("retrieval_error", "index_response", False),
    Status.INTERNAL: ("retrieval_error", "index_server", True),
    Status.UNKNOWN: ("retrieval_error", "index_server", True),
    Status.ABORTED: ("retrieval_error", "index_server", True),
    Status.DATA_LOSS: ("retrieval_error", "index_server", True),
}


def test_every_status_of_a_failed_call_has_its_row() -> None:
    assert set(FAULTS) == set(Status) - {Status.OK}


@pytest.mark.parametrize("status", FAULTS, ids=lambda status: status.name)
async def test_a_failed_call_becomes_what_the_same_failure_over_rest_does(
    server: GrpcQdrant, status: grpc.StatusCode
) -> None:
    server.fault = (status, f"the server says {KEY}", ())
    error = await failure(at(server))
    assert (error.error_type, error.code, error.retryable) == FAULTS[status]


async def test_the_time_that_a_busy_server_asks_for_is_kept(server: GrpcQdrant) -> None:
    server.fault = (Status.RESOURCE_EXHAUSTED, "slow down", (("retry-after", "7"),))
    assert (await failure(at(server))).retry_after == 7


async def test_a_vector_of_the_wrong_size_is_a_mismatch(server: GrpcQdrant) -> None:
    server.fault = (Status.INVALID_ARGUMENT, "Wrong input: Vector dimension error: expected dim: 4, got 3", ())
    assert (await failure(at(server))).message == 'The collection "book" holds vectors of 4 dimensions, not of 3.'


async def test_a_port_on_which_nobody_listens_is_unreachable() -> None:
    assert (await failure(Server("http://127.0.0.1:1", KEY, 1))).code == "index_unreachable"


async def test_the_key_travels_with_each_call_and_nothing_goes_over_rest(
    server: GrpcQdrant, recwarn: pytest.WarningsRecorder
) -> None:
    index = build_index(home=Path(), collection="book", server=at(server))
    await index.replace(INFO, add=[make_point("a")], remove=[])
    assert len((await rankings(index, [NORTH], limit=1))[0]) == 1
    await index.drop()
    await index.aclose()
    assert await list_collections(home=Path(), server=at(server)) == []
    assert {metadata["api-key"] for metadata in server.metadata} == {KEY}
    assert "QueryBatch" in server.calls
    assert not [warning for warning in recwarn if "Local mode" not in str(warning.message)]


@pytest.mark.parametrize("kind", [grpc.RpcError, grpc.aio.UsageError, grpc.aio.InternalError, grpc.aio.BaseError])
def test_an_error_of_grpc_without_a_status_is_unreachable_or_a_bug(kind: type[Exception]) -> None:
    with pytest.raises(AskbookError if issubclass(kind, grpc.RpcError) else kind), server_faults("book", "here"):
        raise kind("text")
