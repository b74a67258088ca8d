"""How a command opens the agent: settings, preloading, progress, and the choice of words about what is used."""

from __future__ import annotations

import argparse
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from cli.terminal import progress_bar
from rag.settings import Settings

if TYPE_CHECKING:
    from graph.agent import Agent


def preload() -> None:
    """Begin to load the embedding model's libraries while LangGraph is imported; together they cost most of a start."""
    threading.Thread(target=_import_libraries, daemon=True).start()


def _import_libraries() -> None:
    import tokenizers  # noqa: F401

    from rag.embedding.local import onnx_runtime

    onnx_runtime()


@asynccontextmanager
async def opened(options: argparse.Namespace, settings: Settings) -> AsyncIterator[Agent]:
    """The agent that the options ask for. The manual is indexed with a progress bar when it has to be."""
    from graph.agent import open_agent

    with progress_bar("Indexing the manual") as progress:
        manager = open_agent(settings, options.profile, collection=options.collection, progress=progress)
        agent = await manager.__aenter__()
    try:
        yield agent
    finally:
        await manager.__aexit__(None, None, None)
