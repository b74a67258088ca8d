"""A folder of pages that no known generator publishes."""

from __future__ import annotations

from rag.ingest.generators.generator import Generator


class PlainFolder(Generator):
    """Addresses are paths without their endings, and anchors are GitHub's."""

    name = "plain"
