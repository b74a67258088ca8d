"""What several test files share: books that are indexed once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rag.ingest.pipeline import IngestReport, ingest
from rag.retrieval.sparse import Bm25Encoder
from rag.services import BOOK, build_embedder, collection_index, vector_cache
from rag.settings import Settings

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"

PAGES = {
    "widgets.md": """# Widgets

A widget is a small part that turns a shaft. Every widget has exactly four teeth.

## Mounting a widget

Mount a widget with the steel bracket, then tighten its two screws to 5 Nm:

```bash
widget mount --torque 5
```
""",
    "gadgets.md": """# Gadgets

A gadget is a machine made of twelve widgets. Gadgets are painted blue at the factory in Lund.

## Cleaning a gadget

Clean a gadget with warm water once a month. Never use alcohol on the paint.
""",
}


async def index_book(
    source: Path, home: Path, base_url: str | None = None, settings: Settings | None = None
) -> IngestReport:
    """Read a book into the collection `book` of a home folder, or where `settings` say, as `run.py ingest` does."""
    settings = settings or Settings(_env_file=None, ASKBOOK_HOME=home)  # type: ignore[call-arg]  # by their variables
    index = collection_index(settings, BOOK)
    try:
        return await ingest(
            [source],
            base_url=base_url,
            index=index,
            embedder=build_embedder(settings),
            sparse=Bm25Encoder(),
            vectors=vector_cache(settings),
        )
    finally:
        await index.aclose()


@pytest.fixture(scope="session")
def tiny_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of two pages."""
    folder = tmp_path_factory.mktemp("tiny")
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="session")
def tiny_book(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the tiny book in it. Tests that write to it use a copy."""
    home = tmp_path_factory.mktemp("home")
    asyncio.run(index_book(tiny_source, home))
    return home


@pytest.fixture(scope="session")
def physical_ai(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a real textbook in it; about a minute of one core."""
    source = SHARED / "books" / "physical-ai" / "docs"
    if not source.is_dir():
        pytest.skip("the textbook is not beside this checkout (../shared/data/books/physical-ai)")
    home = tmp_path_factory.mktemp("physical-ai")
    asyncio.run(index_book(source, home, "https://book.example.org/docs"))
    return home
