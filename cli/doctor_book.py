"""What `run.py doctor` finds of the book: that it is there, fits the models, and can be searched, for real."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from cli.terminal import counted
from rag.errors import AskbookError, RetrievalError

if TYPE_CHECKING:
    from rag.book import IndexInfo
    from rag.ports import ChunkIndex, Embedder
    from rag.profiles import Profile
    from rag.settings import Settings

_UNMAPPED: Final = frozenset({"embedding_unknown", "payload_mapping", "index_vectors"})

Finding = tuple[None, str, str]


async def check_book(
    settings: Settings, profile: Profile, collection: str | AskbookError, embedder: Embedder | None
) -> Finding:
    """The finding, with what to do. Raises `AskbookError` for a book that cannot be searched."""
    from rag.services import MANUAL, build_embedder, collection_index

    if isinstance(collection, AskbookError):
        raise collection
    index = collection_index(settings, collection, profile)
    try:
        info = await index.info()
        if info is None and collection == MANUAL:
            return None, f"the manual, indexed {_place(settings)} when it is first asked", ""
        if info is None:
            raise RetrievalError(
                "no_index",
                f'There is no book in the collection "{collection}".',
                hint=f'Run "python run.py ingest PATH --collection {collection}".',
            )
        if collection == MANUAL:
            embedder = build_embedder(settings, profile, MANUAL)
        if embedder is not None:
            await _searched(index, info, embedder)
    finally:
        await index.aclose()
    made = ", made by somebody else" if info.foreign else ""
    detail = f'"{collection}"{made}, {counted(info.chunks, "passage")}, {_place(settings)}'
    return None, detail, _hint(settings, info, is_manual=collection == MANUAL)


async def _searched(index: ChunkIndex, info: IndexInfo, embedder: Embedder) -> None:
    """One search by meaning, as a question makes it."""
    from rag.retrieval.index import checked
    from rag.retrieval.sparse import Bm25Encoder

    await checked(index, embedder, Bm25Encoder())
    vector = await asyncio.to_thread(embedder.embed_query, "one search")
    (found,) = await index.search([vector], limit=1)
    if info.chunks and not found:
        raise RetrievalError(
            "index_vectors",
            f'A search of the collection "{info.collection}" finds nothing, although it holds {info.chunks} points.',
            hint="Its points may lack the vector that is searched; ingest its sources again.",
        )


def _place(settings: Settings) -> str:
    from rag.services import server_of

    server = server_of(settings)
    if server is None:
        return f"in {settings.home}"
    return f"on the Qdrant server {server.address}{' over gRPC' if server.grpc_port else ''}"


def _hint(settings: Settings, info: IndexInfo, *, is_manual: bool) -> str:
    from rag.services import server_of

    server = server_of(settings)
    if server is not None and server.sends_key_openly:
        return "QDRANT_API_KEY can be read on the way: use an address that begins with https://."
    if is_manual:
        return "Yours: python run.py ingest PATH"
    return "" if info.chunks else f'It is empty. Run "python run.py ingest PATH --collection {info.collection}".'


async def proposal(settings: Settings, profile: Profile, collection: str | AskbookError, code: str) -> str:
    """A mapping for somebody else's collection, where `code` says that one is wanting; else nothing."""
    from rag.retrieval.proposal import POINTS, proposed_profile
    from rag.retrieval.server import ServerIndex
    from rag.retrieval.shape import is_ours
    from rag.services import collection_index

    if code not in _UNMAPPED or isinstance(collection, AskbookError):
        return ""
    index = None
    try:
        index = collection_index(settings, collection, profile)
        if not isinstance(index, ServerIndex):
            return ""
        described, payloads = await index.look_inside(POINTS)
    except AskbookError:  # that it cannot be looked into is the finding already
        return ""
    finally:
        if index is not None:
            await index.aclose()
    if is_ours(described):
        return ""
    model = profile.book.embedding_model or ""
    shown = proposed_profile(collection, described, payloads, model)
    return f'\nA profile for it, such as {settings.home}/profiles/theirs.toml:\n\nextends = "default"\n\n{shown}\n'
