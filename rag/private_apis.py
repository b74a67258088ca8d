"""What `rag` uses of the private parts of other libraries, why, and the upstream issue where one is known.

`tests/test_private_apis.py` fails when a library changes such a part. Two private methods of langchain-openai are
overridden where the chat model is defined, in `rag/model/chat_model.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_qdrant import QdrantVectorStore

MESSAGE_LIMITS: Final = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]  # qdrant's own


def use_own_channels(remote: Any, key: str | None) -> None:
    """Make an `AsyncQdrantRemote` open gRPC channels whose only interceptor adds the key.

    The client's own interceptor (qdrant/qdrant-client#914) turns RESOURCE_EXHAUSTED into an exception that is not
    gRPC's. grpcio raises it again when the call is discarded (grpc/grpc#40964), and Python prints it to standard error
    with the server's text. `rag.index.server_errors` reads the status and `retry-after` from gRPC's own error instead.

    There is no public way: qdrant-client has no parameter for a channel or for interceptors. This replaces
    `_init_grpc_channel`, which the client calls before its first request, inside the event loop.
    """

    def open_channels() -> None:
        if not remote._grpc_channel_pool:
            address = f"{remote._host}:{remote._grpc_port}"
            size = remote._get_grpc_pool_size()
            remote._grpc_channel_pool = [_channel(address, secure=remote._https, key=key) for _ in range(size)]

    remote._init_grpc_channel = open_channels


def _channel(address: str, *, secure: bool, key: str | None) -> Any:
    import grpc  # type: ignore[import-untyped]  # it has no types

    class AddKey(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]  # as above
        async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            metadata = grpc.aio.Metadata(*(details.metadata or ()))
            metadata.add("api-key", key)
            return await continuation(details._replace(metadata=metadata), request)  # a namedtuple's public method

    interceptors = [AddKey()] if key else []
    if secure:
        credentials = grpc.ssl_channel_credentials()
        return grpc.aio.secure_channel(address, credentials, options=MESSAGE_LIMITS, interceptors=interceptors)
    return grpc.aio.insecure_channel(address, options=MESSAGE_LIMITS, interceptors=interceptors)


def limit_exchanges(client: Any, seconds: float) -> Any:
    """Make a blocking client of httpx or httpx2 wait at most so long for an answer, its headers included. Returns it.

    The client's own timeout counts from byte to byte, and no hook is called before the headers are complete. There is
    no public way (encode/httpx#1450): the transport has no parameter for the network backend of its pool. This wraps
    `_network_backend`, so that the time from the last byte sent to every byte read has a limit.
    """
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _PunctualBackend(transport._pool._network_backend, seconds)
    return client


class _PunctualBackend:
    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    def connect_tcp(self, *args: Any, **options: Any) -> _PunctualStream:
        return _PunctualStream(self._inner.connect_tcp(*args, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _PunctualStream:
    """A connection. What is read must come within so many seconds after the last writing."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._end = time.monotonic() + self._seconds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            library: Any = import_module(type(self._inner).__module__.partition(".")[0])
            raise library.ReadTimeout("the answer does not end")
        data: bytes = self._inner.read(max_bytes, left if timeout is None else min(timeout, left))
        return data

    def start_tls(self, *args: Any, **options: Any) -> _PunctualStream:
        return _PunctualStream(self._inner.start_tls(*args, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def store_with_documents(document_of: Callable[[Any, str], Document]) -> type[QdrantVectorStore]:
    """A `QdrantVectorStore` that makes its documents by `document_of(point, collection name)`.

    There is no public way: the store reads one key for the text and one for the metadata, whatever the payload's layout
    (langchain-ai/langchain#14515). This overrides `_document_from_point`, which makes the documents of every search.
    """
    from langchain_qdrant import QdrantVectorStore

    class MappedStore(QdrantVectorStore):
        @classmethod
        def _document_from_point(cls, scored_point: Any, collection_name: str, *_: str) -> Document:
            return document_of(scored_point, collection_name)

    return MappedStore
