"""The collections behind a book's name on a server: the one that readers see, and one that is being written.

A book's name is an alias of a collection `NAME.askbook-HEX`. A change writes a new one and lets the name stand for it
in one request, which Qdrant makes in one step; then the old one is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from rag.index.collection_schema import COMPLETE, OURS, CollectionSchema, is_ours
from rag.index.index_errors import not_ours

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

_STATE: Final = r"\.askbook-[0-9a-f]{32}"
_VERSION: Final = re.compile(".+" + _STATE)
SMALL: Final = 20_000  # points that are copied whatever the change; some seconds
SHARE: Final = 10  # of a larger book, at most this many points are copied for each one that changes


def is_version(collection: str) -> bool:
    """Whether a collection is one state of a book, which has another name."""
    return _VERSION.fullmatch(collection) is not None


def new_version(book: str) -> str:
    """The name of a collection for a new state of the book."""
    return f"{book}.askbook-{uuid4().hex}"


def own_state(schema: CollectionSchema, book: str, without: Collection[str]) -> str:
    """The collection behind the book's name by its own record; empty if none can be trusted, as that of a copy."""
    state = schema.state
    return state if state not in without and is_version(state) and state.startswith(f"{book}.askbook-") else ""


def worth_copying(stored: int, going: int) -> bool:
    """Whether a change is written beside the old state. `going` of the `stored` points are removed or overwritten.

    A change that only adds is made in place, and so is a small change of a large book.
    """
    return going > 0 and stored - going <= max(SMALL, SHARE * going)


async def version_of(client: AsyncQdrantClient, book: str) -> str | None:
    """The collection that the name is an alias of; None where it is no alias."""
    return (await aliases(client)).get(book)


async def aliases(client: AsyncQdrantClient) -> dict[str, str]:
    """The collections that the aliases of the server stand for."""
    return {one.alias_name: one.collection_name for one in (await client.get_aliases()).aliases}


async def book_names(client: AsyncQdrantClient) -> set[str]:
    """The collections of a server by the names that people use; a state without a name is left out."""
    found = {name for name in await _collections(client) if not is_version(name)}
    return found | {name for name, collection in (await aliases(client)).items() if is_version(collection)}


async def show(client: AsyncQdrantClient, book: str, version: str) -> None:
    """Let the name stand for this version, and delete the old state of the book.

    An earlier askbook gave the name to the collection itself, which is deleted first, since Qdrant allows no alias of
    that name. Raises `UsageError` "foreign_collection" if another program has taken the name meanwhile.
    """
    from qdrant_client import models

    old, names = await version_of(client, book), await _collections(client)
    if (old is not None or book in names) and not is_ours(await client.get_collection(book)):
        raise not_ours(book)
    made = models.CreateAlias(collection_name=version, alias_name=book)
    operations: list[Any] = [models.CreateAliasOperation(create_alias=made)]
    if book in names:
        await client.delete_collection(book)
    if old is not None:
        operations.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=book)))
    await client.update_collection_aliases(operations)
    if old is not None and is_version(old):
        await client.delete_collection(old)


async def rename(client: AsyncQdrantClient, book: str, new: str) -> None:
    """Give the alias another name, in one step."""
    from qdrant_client import models

    renamed = models.RenameAlias(old_alias_name=book, new_alias_name=new)
    await client.update_collection_aliases([models.RenameAliasOperation(rename_alias=renamed)])


async def remove(client: AsyncQdrantClient, book: str) -> None:
    """Delete the book of this name and what broken-off changes have left; of another program's alias, only the name."""
    from qdrant_client import models

    for name in await leftovers(client, book):
        await client.delete_collection(name)
    version = await version_of(client, book)
    if version is None or is_version(version):
        await client.delete_collection(version or book)  # its alias goes with it
    else:
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=book))
        await client.update_collection_aliases([gone])


async def leftovers(client: AsyncQdrantClient, book: str) -> list[str]:
    """The states of the book that have no name: those of interrupted changes."""
    shown, ours = set((await aliases(client)).values()), re.compile(re.escape(book) + _STATE)
    return sorted(name for name in await _collections(client) if ours.fullmatch(name) and name not in shown)


async def _collections(client: AsyncQdrantClient) -> set[str]:
    return {one.name for one in (await client.get_collections()).collections}


async def settle(client: AsyncQdrantClient, book: str) -> None:
    """Finish or remove what an interrupted change left. A complete state is shown if the book has no other."""
    found = await leftovers(client, book)
    if not found:
        return
    if book not in await book_names(client):
        states = {name: ((await client.get_collection(name)).config.metadata or {}).get(OURS) or {} for name in found}
        complete = [name for name in found if states[name].get(COMPLETE)]
        if complete:
            newest = max(complete, key=lambda name: str(states[name].get("updated_at", "")))
            await show(client, book, newest)
            found.remove(newest)
    for name in found:
        await client.delete_collection(name)
