"""`run.py search` and `run.py passages`: retrieval without an answer, and the full text of stored passages."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from cli.terminal import in_line, number, print_json, printable, progress_bar, say
from rag.book import nothing_found
from rag.conversation.turns import check_question, history, messages_from_json
from rag.errors import AskbookError, UsageError
from rag.ports import Parts
from rag.profiles.profile import profile_of
from rag.search.retriever import parse_filter
from rag.settings import Settings
from rag.types import AnsweredQuestion


def search(options: argparse.Namespace) -> int:
    """Exit code 0 (also if nothing is found), 1 if the search failed, 2 for invalid input."""
    try:
        result = asyncio.run(_searched(options))
    except AskbookError as error:
        if not options.json:
            raise
        print_json(nothing_found(options.query, options.filter) | {"error": error.info().model_dump(mode="json")})
        return error.exit_code
    if options.json:
        print_json(result)
    else:
        _show(result["results"])
    return 0


async def _searched(options: argparse.Namespace) -> dict[str, Any]:
    settings = Settings.from_env()
    profile = profile_of(settings).in_environment(settings)
    query = check_question(options.query, profile.limits.max_question_characters)
    where = parse_filter(options.filter)
    top_k = number(options.top_k, "-k", 1, 20, whole=True)
    past = history(_read_history(options.history)) if options.history else []
    from rag.services import open_services

    with progress_bar("Indexing the manual") as progress:
        async with open_services(
            settings, profile=settings.profile, collection=options.collection, progress=progress
        ) as services:
            parts = services.parts(None)
            found = await parts.retriever.retrieve(
                query,
                k=int(top_k or profile.retrieval.top_k),
                threshold=profile.retrieval.score_threshold,
                where=where,
                history=past,
                neighbours=0 if top_k else parts.profile.retrieval.neighbours,
                rewrite=await _rewritten(parts, query, past),
            )
    return found.as_data(options.filter)


async def _rewritten(parts: Parts, query: str, past: Sequence[AnsweredQuestion]) -> str:
    """The model's rewrite of the query if the profile wants one, else empty. If there is none, a line says why."""
    if not past:  # spares the imports of a model call
        return ""
    from nodes.error import to_askbook_error
    from nodes.idle import wants_rewrite
    from nodes.rewrite import REWRITE_SECONDS, ask_rewrite, no_rewrite_notice, rewrite_of, rewrite_prompt

    if not wants_rewrite(parts, past):
        return ""
    prompt = rewrite_prompt(parts.profile, query, past)
    if not prompt:
        say(no_rewrite_notice("no_room"))
        return ""
    try:
        async with asyncio.timeout(REWRITE_SECONDS):
            message = await ask_rewrite(parts, prompt, parts.model_name)
    except (AskbookError, TimeoutError) as failure:
        say(no_rewrite_notice(to_askbook_error(failure, "rewrite").code))
        return ""
    written = rewrite_of(message)
    if not written:
        say(no_rewrite_notice("no_question"))
    return written


def _read_history(file: str) -> Any:
    try:
        return messages_from_json(json.loads(Path(file).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{file} cannot be read.", code="history") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON.", code="history") from error


async def _stored_passages(options: argparse.Namespace, settings: Settings) -> list[dict[str, Any]]:
    from rag.books.book_settings import MANUAL, choose_collection, collection_index, owner_of
    from rag.index.catalog import require_book

    profile = profile_of(settings)
    book = await choose_collection(settings, profile, options.collection)
    async with aclosing(collection_index(settings, book, profile)) as index:
        if book != MANUAL:
            await require_book(index, owner_of(book, profile))
        return [chunk.as_data() for chunk in await index.fetch(options.ids)]


def _show(results: list[dict[str, Any]]) -> None:
    if not results:
        say("Nothing was found.")
    for result in results:
        print(f"[{result['rank']}] {result['score']:.2f}  {in_line(result['breadcrumb'] or result['title'])}")
        print(f"    {in_line(result['url'])}  {result['chunk_id']}")
        print("    " + printable(result["text"]).strip().replace("\n", "\n    ") + "\n")


def passages(options: argparse.Namespace) -> int:
    """Exit code 2 if an id is unknown; the known passages are printed anyway.

    Raises `UsageError` if none is known, and `RetrievalError` if there is no book.
    """
    found = asyncio.run(_stored_passages(options, Settings.from_env()))
    known = {chunk["chunk_id"] for chunk in found}
    missing = [chunk_id for chunk_id in options.ids if chunk_id not in known]
    if missing and not known:
        raise UsageError(f"There is no passage {', '.join(missing)}.", code="unknown_chunk")
    if options.json:
        print_json(found)
    else:
        for chunk in found:
            print(f"{chunk['chunk_id']}  {in_line(chunk['title'])}\n{printable(chunk['text'])}\n")
    if missing:
        say(f"There is no passage {', '.join(missing)}.")
    return 2 if missing else 0
