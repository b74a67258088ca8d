"""Errors that every kind of index can raise."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from rag.book import IndexInfo
from rag.embedding.known_models import HOSTED, PACKAGED
from rag.errors import RetrievalError, UsageError
from rag.system.process import program


def no_collection(collection: str, profile: str = "") -> RetrievalError:
    """The error for a collection that does not exist, with the command that fills it."""
    message = f'There is no book in the collection "{collection}".'
    return RetrievalError("no_index", message, hint=f'Run "{filling(collection, profile=profile)}".')


def broken(collection: str, what: str) -> RetrievalError:
    """The error of an index that cannot be read."""
    message = f'The index of "{collection}" is broken: {" ".join(what.split())[:200]}.'
    hint = f'Run "{program()} ingest" again with the book\'s sources; it is rebuilt from them.'
    return RetrievalError("index_broken", message, hint=hint)


def locked(collection: str, who: str = "another process") -> RetrievalError:
    """The error for a change while another one is under way."""
    message = f'The book "{collection}" is being changed by {who}.'
    return RetrievalError("index_locked", message, hint="Try again when it is done.", retryable=True)


def not_ours(collection: str) -> UsageError:
    """The error for a write to a foreign collection. The program that made it would not know our points."""
    message = f'The collection "{collection}" was not made by askbook, so nothing is written into it.'
    return UsageError(
        message,
        code="foreign_collection",
        hint="Ingest into another collection with --collection NAME, and ask with the same option.",
    )


def name_taken(collection: str) -> UsageError:
    """The error for a new name that a collection has already."""
    message = f'There is already a book in the collection "{collection}".'
    return UsageError(message, code="name_taken", hint="Choose another name, or delete that book first.")


def mismatch(
    stored: IndexInfo,
    embedding_model: str,
    dimension: int,
    sparse_model: str,
    recipe: str = "",
    *,
    sources: Collection[str] = (),
    profile: str = "",
) -> RetrievalError:
    """The error for a collection that other models or another recipe encoded, with the command of `filling`."""
    if stored.foreign:
        return _foreign_mismatch(stored, embedding_model, dimension)
    wanted = (embedding_model, dimension, sparse_model)
    how = f"by {_names(*encoders(stored)[:3])}, not by {_names(*wanted)}"
    if wanted == encoders(stored)[:3]:
        how = f'by the recipe "{stored.recipe}", not by "{recipe}"'
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{stored.collection}" was encoded {how}.',
        hint=f'Run "{filling(stored.collection, sources, profile)} --rebuild" to encode it again'
        f"{'' if sources else ', with all of its sources'}, or {way_back(stored.embedding_model)}.",
    )


def wrong_size(stored: IndexInfo, embedding_model: str, dimension: int) -> RetrievalError:
    """The error for a question whose vector has another size than those of the collection."""
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{stored.collection}" holds vectors of {stored.dimension} dimensions, and {embedding_model} '
        f"makes vectors of {dimension} dimensions.",
        hint="Use the embedding model that made the vectors of the collection.",
    )


def _foreign_mismatch(stored: IndexInfo, embedding_model: str, dimension: int) -> RetrievalError:
    name, size, back = stored.collection, stored.dimension, way_back(stored.embedding_model)
    if not stored.embedding_model:
        return RetrievalError(
            "embedding_unknown",
            f'The collection "{name}" does not record which embedding model made its vectors of {size} dimensions.',
            hint='Name the model in the profile: [book] embedding_model = "..."; '
            f'"{program()} doctor --collection {name}" prints what to add.',
        )
    return RetrievalError(
        "embedding_mismatch",
        f'The collection "{name}" holds vectors of {size} dimensions, made by {stored.embedding_model} as the profile '
        f"says; questions are embedded by {embedding_model} ({_size(dimension)}).",
        hint=f"{back[0].upper()}{back[1:]}, or correct embedding_model in the section [book] of the profile.",
    )


def filling(collection: str, sources: Collection[str] = (), profile: str = "") -> str:
    """The command that reads these sources, or `PATH`, into the collection, which a profile may own."""
    paths = " ".join(shlex.quote(source) for source in sorted(sources)) or "PATH"
    return f"{program()} ingest {paths} --collection {collection}{f' --profile {profile}' if profile else ''}"


def way_back(model: str) -> str:
    """What to set in order to use the model that encoded a collection."""
    known = HOSTED.get(model)
    if model == PACKAGED:
        return "set ASKBOOK_EMBEDDING_MODEL=packaged to go back to that model"
    if known is not None:
        return f"set ASKBOOK_EMBEDDING_MODEL={model} and {known.provider.upper()}_API_KEY to go back to that model"
    return "go back to the model it was made with"


def encoders(info: IndexInfo) -> tuple[str, int, str, str]:
    """Everything that must be equal for vectors to be comparable."""
    return info.embedding_model, info.dimension, info.sparse_model, info.recipe


def _names(embedding: str, dimension: int, sparse: str) -> str:
    return f"{embedding or 'an unknown model'} ({_size(dimension)}) and {sparse or 'an unknown sparse model'}"


def _size(dimension: int) -> str:
    return f"{dimension} dimensions" if dimension else "dimensions unknown"
