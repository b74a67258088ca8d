"""gRPC channels of our own for qdrant-client.

The client's own interceptor turns a busy server's answer into an exception that is none of gRPC's. grpcio then raises
it once more where the call is thrown away, and Python prints it, with its traceback and the server's words, on standard
error. Ours only adds the key; `rag.index.server_errors` reads the rest.
"""

from __future__ import annotations

from typing import Any

MESSAGE_LIMITS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]  # as the client's


def use_own_channels(client: Any, key: str | None) -> None:
    """Let an `AsyncQdrantClient` open its channels by us. It does so at its first call, inside the event loop.

    There is no public way in: this sets what the client's `_init_grpc_channel` does. The contract of the index runs
    over gRPC, and fails where a release of the client has it otherwise.
    """
    remote = client._client

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
            return await continuation(details._replace(metadata=metadata), request)

    added = [AddKey()] if key else []
    if secure:
        credentials = grpc.ssl_channel_credentials()
        return grpc.aio.secure_channel(address, credentials, options=MESSAGE_LIMITS, interceptors=added)
    return grpc.aio.insecure_channel(address, options=MESSAGE_LIMITS, interceptors=added)
