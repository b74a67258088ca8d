"""Points that somebody deletes behind an index's back, by each engine's own means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client import models as server_models


def delete_in_folder(home: Path, collection: str, ids: Collection[str]) -> None:
    """Delete the points of chunks in the shard of an embedded collection."""
    from qdrant_edge import EdgeShard, ScrollRequest, UpdateOperation

    root = home / "index" / collection
    shard = EdgeShard.load(str(root / (root / "current").read_text() / "shard"))
    records, _ = shard.scroll(ScrollRequest(limit=10_000, with_payload=["chunk_id"]))
    points = [record.id for record in records if record.payload and record.payload["chunk_id"] in ids]
    shard.update(UpdateOperation.delete_points(list(points)))
    shard.flush()
    shard.close()


def delete_on_server(engine: QdrantClient, collection: str, ids: Collection[str]) -> None:
    """Delete points in a stand-in's engine."""
    engine.delete(collection, server_models.PointIdsList(points=list(ids)))
