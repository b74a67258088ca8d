"""Collections that somebody else made, laid out as in `qdrant_payload_schemas.json`, for the tests of mapping them.

The file names fields; here they get values, for three passages of one small book. Schema 7 is the broken one: what it
writes is not what it reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import pytest
from qdrant_client import QdrantClient, models

SCHEMAS: Final = Path(__file__).parent.parent.parent / "shared" / "data" / "qdrant_payload_schemas.json"
NUMBERS: Final = range(1, 10)
BROKEN: Final = 7
PAGES: Final = (
    ("Nodes", "A node is a process that computes, and every node has a name of its own.", "ros2/nodes"),
    ("Topics", "A topic is a named bus over which nodes exchange messages without knowing each other.", "ros2/topics"),
    ("Simulation", "Gazebo simulates rigid bodies, and Isaac Sim renders cameras with ray tracing.", "sim/gazebo"),
)
SITE: Final = "https://textbook.example/docs/"
_NESTED: Final = "metadata (nested dict, also copied flat to the top level)"


def schema(number: int) -> dict[str, Any]:
    """One of the schemas; skips where the file is not beside this checkout."""
    if not SCHEMAS.is_file():
        pytest.skip("the payload schemas are not beside this checkout (../shared/data/qdrant_payload_schemas.json)")
    found: dict[str, Any] = json.loads(SCHEMAS.read_text("utf-8"))["schemas"][number - 1]
    return found


def size(number: int) -> int:
    """How many dimensions its vectors have, where the file says so."""
    said = schema(number).get("vector")
    if isinstance(said, str) and said.startswith("W "):
        return int(said.split(",")[0].split()[1])
    return said if isinstance(said, int) else 1536 if number == 9 else 384


def _value(name: str, position: int) -> Any:
    title, text, path = PAGES[position]
    known: dict[str, Any] = {
        "content": text,
        "text": text,
        "text_content": text,
        "url": SITE + path,
        "source_url": SITE + path,
        "page_url": SITE + path,
        "source": f"docs/{path}.md",
        "source_file": f"docs/{path}.md",
        "filename": f"{path.rpartition('/')[2]}.md",
        "page_title": title,
        "title": title,
        "chapter": f"Chapter {position + 1}",
        "chapter_name": title,
        "chapter_num": position + 1,
        "section": f"What {title.lower()} are",
        "section_name": f"What {title.lower()} are",
        "subsection": "",
        "hierarchy_path": ["Book", title],
        "tags": ["ros"],
        "language": "en",
        "chunk_type": "section",
        "content_hash": "0" * 32,
        "model_version": "embed-english-v3.0",
        "page_number": position + 10,
        "page_num": position + 10,
        "chunk_id": f"chunk-{position}",
        "document_id": f"doc-{position}",
    }
    if name in known:
        return known[name]
    if name in ("created_at", "generation_timestamp", "timestamp", "stored_at"):
        return "2026-01-02T03:04:05Z"
    return position  # of counters: chunk_index, position, start_pos, token_count, ...


def payload(number: int, position: int) -> dict[str, Any]:
    """The payload of a point as the schema's own script writes it."""
    said = schema(number)
    names: Sequence[str] = said.get("payload") or said.get("payload_written") or said["payload_read"]
    if _NESTED in names:
        nested = {name: _value(name, position) for name in said["declared_metadata"]}
        return {"content": _value("content", position), "metadata": nested, **nested, "chunk_id": f"chunk-{position}"}
    made = {(key := name.partition("(")[0]): _value(key, position) for name in names}
    return made | ({"chunk_id": position} if number == 8 else {})  # there it is a counter


def point_id(number: int, position: int) -> int | str:
    return position + 1 if "int" in str(schema(number).get("id")) else str(uuid5(UUID(int=number), str(position)))


def fill(
    engine: QdrantClient,
    collection: str,
    points: Sequence[tuple[int | str, Any, Mapping[str, Any]]],
    vectors: Any,
    sparse: Mapping[str, models.SparseVectorParams] | None = None,
) -> None:
    """A collection as a script of somebody else makes it: without a record of ours."""
    engine.create_collection(collection, vectors_config=vectors, sparse_vectors_config=sparse)
    if points:
        engine.upsert(collection, [models.PointStruct(id=i, vector=v, payload=dict(p)) for i, v, p in points])


def make(engine: QdrantClient, number: int, embed: Callable[[list[str]], list[list[float]]]) -> str:
    """The collection of a schema with its three passages; returns its name."""
    name = f"schema-{number}"
    vectors = embed([text for _, text, _ in PAGES])
    points = [(point_id(number, i), vectors[i], payload(number, i)) for i in range(len(PAGES))]
    fill(engine, name, points, models.VectorParams(size=len(vectors[0]), distance=models.Distance.COSINE))
    return name
