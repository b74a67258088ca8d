"""Points that somebody deletes behind an index's back, by each engine's own means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client import models as server_models


def delete_in_folder(home: Path, collection: str, ids: Collection[str]) -> None:
    """Delete points in the shard of an embedded collection."""
    from uuid import UUID

    from qdrant_edge import EdgeShard, UpdateOperation

    root = home / "index" / collection
    shard = EdgeShard.load(str(root / (root / "current").read_text() / "shard"))
    shard.update(UpdateOperation.delete_points([UUID(id) for id in ids]))
    shard.flush()
    shard.close()


def delete_on_server(engine: QdrantClient, collection: str, ids: Collection[str]) -> None:
    """Delete points in a stand-in's engine."""
    engine.delete(collection, server_models.PointIdsList(points=list(ids)))
