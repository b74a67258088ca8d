"""Opens the agent for a command, with preloading and a progress bar."""

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
    """Load the embedding model's libraries in a thread while LangGraph is imported; both take most of the start."""
    threading.Thread(target=_import_libraries, daemon=True).start()


def _import_libraries() -> None:
    import tokenizers  # noqa: F401

    from rag.embedding.local import onnx_runtime

    onnx_runtime()


@asynccontextmanager
async def opened(options: argparse.Namespace, settings: Settings) -> AsyncIterator[Agent]:
    """The agent for the given options. If the manual has to be indexed, a progress bar is shown."""
    from graph.agent import open_agent

    with progress_bar("Indexing the manual") as progress:
        manager = open_agent(settings, options.profile, collection=options.collection, progress=progress)
        agent = await manager.__aenter__()
    try:
        yield agent
    finally:
        await manager.__aexit__(None, None, None)
