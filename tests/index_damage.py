"""Points that somebody deletes behind an index's back, by each engine's own means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client import models as server_models


def delete_in_folder(home: Path, collection: str, ids: Collection[str]) -> None:
    """Delete the points of chunks in the shard of an embedded collection."""
    from qdrant_edge import EdgeShard, UpdateOperation

    root = home / "index" / collection
    folder = root / (root / "current").read_text()
    known = [line.split()[0] for line in (folder / "points.txt").read_text().splitlines()]
    shard = EdgeShard.load(str(folder / "shard"))
    shard.update(UpdateOperation.delete_points([known.index(id) for id in ids]))
    shard.flush()
    shard.close()


def delete_on_server(engine: QdrantClient, collection: str, ids: Collection[str]) -> None:
    """Delete points in a stand-in's engine."""
    engine.delete(collection, server_models.PointIdsList(points=list(ids)))
