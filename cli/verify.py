"""`run.py verify`: a stored conversation's citations against the index as it is now."""

from __future__ import annotations

import argparse
import asyncio
from typing import Final

from cli.terminal import counted, print_json, printable
from cli.threads import stored
from rag.profiles import profile_of
from rag.settings import Settings
from rag.verify import CheckedCitation, Verification, citations_of, verify

_MEANING: Final = {
    "valid": "the passage is as it was cited",
    "stale": "the passage has changed",
    "gone": "the book has no such passage",
}


def verify_thread(options: argparse.Namespace) -> int:
    """Exit code 0 when every citation is valid, 1 when one is not, 2 for an unknown id."""
    result = asyncio.run(_verified(options, Settings.from_env()))
    if options.json:
        print_json(result.as_json())
    else:
        _show(result)
    return int(any(one.status != "valid" for one in result.citations))


async def _verified(options: argparse.Namespace, settings: Settings) -> Verification:
    conversation = await stored(settings, options.id)
    from rag.services import choose_collection, collection_index

    profile = profile_of(settings)
    book = await choose_collection(settings, profile, options.collection)
    cited = citations_of(conversation["turns"])
    index = collection_index(settings, book, profile)
    try:
        chunks = await index.fetch(list(dict.fromkeys(citation.chunk_id for _, citation in cited))) if cited else []
    finally:
        await index.aclose()
    known = {chunk.id: chunk for chunk in chunks}
    checked = [verify(citation, number, known.get(citation.chunk_id)) for number, citation in cited]
    return Verification(thread_id=options.id, collection=book, citations=checked)


def _show(result: Verification) -> None:
    for one in result.citations:
        print(f"{one.status:<6} turn {one.turn_number} [{one.marker}]  {printable(one.title)} ({printable(one.url)})")
        if one.status != "valid":
            print(f"       {_finding(one)}")
            print(f"       “{printable(' '.join(one.quote.split()))}”  {one.chunk_id}")
    counts = ", ".join(f"{number} {status}" for status, number in result.counts.items() if number)
    summary = f"{counted(len(result.citations), 'citation')} checked against {printable(result.collection)}"
    print(f"{summary}: {counts}." if counts else f"{summary}.")


def _finding(one: CheckedCitation) -> str:
    meaning = _MEANING[one.status].capitalize()
    if one.status == "gone":
        return f"{meaning}."
    if one.quotes_found == one.quotes:
        return f"{meaning}; every quote is still in it."
    kept = f"{one.quotes_found} of {one.quotes} quotes are" if one.quotes > 1 else "the quote is not"
    return f"{meaning}; {kept} still in it." if one.quotes > 1 else f"{meaning}; {kept} in it any more."
