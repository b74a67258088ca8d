"""The checks of `run.py doctor` that search the book and call the model."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from cli.terminal import by_rules
from rag.errors import AskbookError, OptionRefusedError, RetrievalError
from rag.ports import RejectedOptions
from rag.system.process import program
from rag.text.counting import counted

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.book import IndexInfo
    from rag.failures import Service
    from rag.ports import ChunkIndex, Embedder
    from rag.profiles.profile import Profile
    from rag.settings import Settings


_UNMAPPED: Final = frozenset({"embedding_unknown", "payload_mapping", "index_vectors"})  # codes of a missing mapping
_TOKENS: Final = 16  # asked for in the model's check, since OpenAI's newer models reject fewer
_SECONDS: Final = 60.0  # for a model that thinks before its first token


class CheckResult(NamedTuple):
    """What a check found, what to do about it, and the object that it has built for other checks."""

    detail: str
    hint: str = ""
    built: Any = None


async def check_book(
    settings: Settings, profile: Profile, collection: str | AskbookError, embedder: Embedder | None
) -> CheckResult:
    """The finding, with a hint. Raises `AskbookError` if the book cannot be searched."""
    from rag.books.book_settings import MANUAL, build_embedder, collection_index, owner_of
    from rag.index.index_errors import no_collection

    if isinstance(collection, AskbookError):
        raise collection
    owner = owner_of(collection, profile)
    async with aclosing(collection_index(settings, collection, profile)) as index:
        info = await index.info()
        if info is None and collection == MANUAL:
            return CheckResult(f"the manual; it will be indexed {_place(settings)} at the first question")
        if info is None:
            raise no_collection(collection, owner)
        if collection == MANUAL:
            embedder = build_embedder(settings, profile, MANUAL)
        if embedder is not None:
            await _check_search(index, info, embedder, owner)
    made = ", not created by askbook" if info.foreign else ""
    detail = f'"{collection}"{made}, {counted(info.chunks, "passage")}, {_place(settings)}'
    read_by = "; ".join(dict.fromkeys(info.generators.values()))
    detail += f", read {by_rules(read_by)}" if read_by and collection != MANUAL else ""
    return CheckResult(detail, _hint(settings, info, owner, is_manual=collection == MANUAL))


async def _check_search(index: ChunkIndex, info: IndexInfo, embedder: Embedder, owner: str) -> None:
    """Make one dense search. Raises `AskbookError` if it fails, or finds nothing in a collection with points."""
    from rag.embedding.local import Bm25Encoder
    from rag.index.catalog import require_matching_models

    await require_matching_models(index, embedder, Bm25Encoder(), owner)
    vector = await asyncio.to_thread(embedder.embed_query, "one search")
    found = await index.search([vector], lambda matches: len(matches.scores), limit=1)
    if info.chunks and not found:
        raise RetrievalError(
            "index_vectors",
            f'A search of the collection "{info.collection}" finds nothing, although it holds {info.chunks} points.',
            hint="Its points may lack the vector that is searched; ingest its sources again.",
        )


def _place(settings: Settings) -> str:
    from rag.books.book_settings import server_of

    server = server_of(settings)
    if server is None:
        return f"in {settings.home}"
    return f"on the Qdrant server {server.address}{' over gRPC' if server.grpc_port else ''}"


def _hint(settings: Settings, info: IndexInfo, owner: str, *, is_manual: bool) -> str:
    from rag.books.book_settings import server_of
    from rag.index.index_errors import filling

    server = server_of(settings)
    if server is not None and server.sends_key_openly:
        return "QDRANT_API_KEY is sent unencrypted: use an address that begins with https://."
    if is_manual:
        return f'To add your own book, run "{program()} ingest PATH".'
    return "" if info.chunks else f'It is empty. Run "{filling(info.collection, profile=owner)}".'


async def proposal(settings: Settings, profile: Profile, collection: str | AskbookError, code: str) -> str:
    """A profile with a mapping for a collection that askbook did not create, if the error `code` says that it has none.

    Empty for any other code, for askbook's own collections, and if the collection cannot be read.
    """
    from rag.books.book_settings import collection_index
    from rag.index.collection_schema import is_ours
    from rag.index.mapping_proposal import POINTS, proposed_profile
    from rag.index.qdrant_index import QdrantIndex

    if code not in _UNMAPPED or isinstance(collection, AskbookError):
        return ""
    index = None
    try:
        index = collection_index(settings, collection, profile)
        if not isinstance(index, QdrantIndex):
            return ""
        described, payloads = await index.look_inside(POINTS)
    except AskbookError:  # the check "book" has reported it
        return ""
    finally:
        if index is not None:
            await index.aclose()
    if is_ours(described):
        return ""
    model = profile.book.embedding_model or ""
    shown = proposed_profile(collection, described, payloads, model)
    return f'\nA profile for it, such as {settings.home}/profiles/theirs.toml:\n\nextends = "default"\n\n{shown}\n'


async def check_model(settings: Settings, profile: Profile, embedder: Embedder) -> CheckResult:
    """The finding, with a hint. Raises `AskbookError` like a turn, but without retries."""
    from rag.model.endpoint import OPENAI_KEY, build_model, close_model, endpoint_of, provider_of, service_of

    endpoint = endpoint_of(profile, settings)
    model, name, _ = build_model(profile, settings, embedder)
    if model is None:
        key = " (and OPENAI_BASE_URL)" if endpoint.variable == OPENAI_KEY else ", the key of the profile's endpoint"
        hint = f"To have answers written by a model, set {endpoint.variable}{key}."
        return CheckResult("none; answers quote the book's own sentences", hint)
    if provider_of(profile, settings):
        await _first_token(model, name, {}, service_of(""))
        return CheckResult(f"{name} answers")
    try:
        where = urlsplit(endpoint.base_url).hostname or ""
        return await _check_answers(profile, model, f"{name} at {where}", service_of(endpoint.variable))
    finally:
        await close_model(model)


async def _check_answers(profile: Profile, model: BaseChatModel, name: str, service: Service) -> CheckResult:
    refused = await _first_token(model, profile.model.name, _options(profile), service)
    detail, hint = f"{name} answers", ""
    if "tools" in refused:
        hint = "It does not support tools, so the book is searched once per question."
    others = [profile.model.fallback, profile.model.judge if profile.answer.judge == "auto" else None]
    for other in filter(None, others):
        await _first_token(model, other, _options(profile) | {"model": other}, service)
        detail += f", and so does {other}"
    return CheckResult(detail, hint)


def _options(profile: Profile) -> dict[str, Any]:
    from rag.prompt.tool import tool_schema

    options: dict[str, Any] = {"max_tokens": _TOKENS}
    if profile.model.temperature is not None:
        options["temperature"] = profile.model.temperature
    if profile.tool and profile.tool.max_rounds:
        options["tools"] = [tool_schema(profile.tool)]
    return options


async def _first_token(model: BaseChatModel, name: str, options: dict[str, Any], service: Service) -> set[str]:
    """Call the model until it sends its first token. Returns the options that it rejected, which are left out."""
    from rag.failures import failure_of
    from rag.model.endpoint import call_options
    from rag.model.received_answer import AnswerMeter, finish_of

    rejected, refused = RejectedOptions(), set[str]()
    while True:
        meter, accepted = AnswerMeter(), rejected.accepted(name, options)
        try:
            async with asyncio.timeout(_SECONDS):
                async for chunk in model.astream("Say yes.", **call_options(model, accepted)):
                    if chunk.text or chunk.tool_call_chunks or finish_of(chunk.response_metadata):
                        return refused
                    meter.count(chunk)
            raise AskbookError("api_error", "empty_answer", f"{name} sent an empty answer.")
        except Exception as failure:
            error = failure_of(failure, service, {"stream_options", *options}, name)
        if not isinstance(error, OptionRefusedError) or not rejected.add(name, error.option):
            raise error
        refused.add(error.option)
