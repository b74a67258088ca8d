"""How long an ingestion would take, before it is run."""

from __future__ import annotations

import time
from typing import Final

from rag.ingest.report import IngestReport
from rag.ingest.text_batches import calls_at_once
from rag.ports import Embedder

SAMPLE: Final = 8  # texts that a local model embeds, to see how fast this machine is
REQUEST: Final = 1.0  # seconds that a request to a service takes, roughly
_WORD: Final = "gear "


def estimated_seconds(report: IngestReport, embedder: Embedder, *, is_local: bool) -> float:
    """The time that embedding would take: measured on this machine, or by the number of requests to a service.

    A local model embeds a few made-up texts as long as the book's are on average. A service is not called, since that
    would be billed; its limits may make it slower.
    """
    if not report.embedded:
        return 0.0
    if not is_local:
        requests = -(-report.embedded // embedder.batch_size)
        return REQUEST * -(-requests // calls_at_once(embedder))
    length = min(embedder.max_tokens, max(1, report.tokens // report.embedded))
    texts = [_WORD * length + str(number) for number in range(SAMPLE)]
    embedder.embed_documents(texts[:1])  # loads the model
    began = time.monotonic()
    embedder.embed_documents(texts)
    return (time.monotonic() - began) / SAMPLE * report.embedded
