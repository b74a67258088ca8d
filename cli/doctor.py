"""`run.py doctor`: checks the configuration, one line per check, and says how to fix each failure."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from cli.doctor_checks import CheckResult, check_book, check_model, proposal
from cli.terminal import clipped, print_json, printable
from rag.errors import AskbookError, UsageError
from rag.profiles.effective_values import EffectiveValue, effective
from rag.profiles.profile import Profile, profile_of
from rag.settings import Settings
from rag.text.counting import counted

_SHOWN: Final = 72  # characters of a value on its line; the JSON has the whole value


@dataclass(frozen=True)
class Check:
    """One finding. `detail` says what is in use or what is wrong, `hint` what to do about it."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    code: str = ""
    proposal: str = ""


def doctor(options: argparse.Namespace) -> int:
    """Exit code 0, 1 if a check failed, or 2 if the settings, the profile or the book's name cannot be."""
    try:
        settings = Settings.from_env()
        profile_of(settings, options.profile)
        checks = asyncio.run(_checks(options, settings))
    except UsageError as error:
        if not options.json:
            raise
        broken = Check("settings", ok=False, detail=error.message, hint=error.hint)
        error_json = error.info().model_dump(mode="json")
        print_json({"ok": False, "checks": [asdict(broken)], "profile": [], "error": error_json})
        return error.exit_code
    values = _values(options, settings)
    if options.json:
        found = {"ok": all(check.ok for check in checks), "checks": [asdict(check) for check in checks]}
        print_json(found | {"profile": [value._asdict() for value in values], "error": None})
    else:
        if options.profile:
            _print_profile(values)
        for check in checks:
            print(f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<10} {printable(check.detail)}")
            if check.hint:
                print(f"      {'':<10} {printable(check.hint)}")
            for line in check.proposal.splitlines():
                print(f"      {printable(line)}".rstrip())
    return 0 if all(check.ok for check in checks) else 1


def _values(options: argparse.Namespace, settings: Settings) -> list[EffectiveValue]:
    """The effective values of the profile; empty if it is invalid, which its check reports."""
    try:
        return effective(options.profile or settings.profile, settings)
    except UsageError:
        return []


def _print_profile(values: list[EffectiveValue]) -> None:
    """One line per value, with its source."""
    width = max((len(value.key) for value in values), default=0)
    for value in values:
        shown = clipped(json.dumps(value.value, ensure_ascii=False), _SHOWN)
        print(f"{value.key:<{width}}  {printable(shown)}  · {printable(value.source)}")
    if values:
        print()


async def _checks(options: argparse.Namespace, settings: Settings) -> list[Check]:
    """Run every check, even after one has failed. Without a valid profile the others are skipped."""
    checks: list[Check] = []
    if settings.profiles is not None:
        await _attempt(checks, "offer", lambda: _offer(settings))
    if settings.api_keys or settings.books is not None or settings.allowed_origins:
        await _attempt(checks, "serve", lambda: _server(settings))
    from rag.system.network import faults

    checks += [Check("network", ok=False, detail=one.message, hint=one.hint, code="network") for one in faults()]
    profile = await _attempt(checks, "profile", lambda: _profile(options, settings))
    if profile is None:
        return checks
    collection = await _collection(options, settings, profile)
    embedder = await _attempt(checks, "embedding", lambda: _embedding(settings, profile, collection))
    await _attempt(checks, "book", lambda: check_book(settings, profile, collection, embedder))
    checks[-1] = replace(checks[-1], proposal=await proposal(settings, profile, collection, checks[-1].code))
    if settings.rerank != "off":
        await _attempt(checks, "rerank", lambda: _rerank(settings))
    await _attempt(checks, "model", lambda: check_model(settings, profile, embedder))
    await _attempt(checks, "memory", lambda: _memory(settings, profile))
    return checks


async def _attempt(checks: list[Check], name: str, work: Callable[[], Awaitable[CheckResult]]) -> Any:
    """Run one check, append its finding, and return the object that it built; None if it failed."""
    try:
        found = await work()
    except AskbookError as error:
        checks.append(Check(name, ok=False, detail=error.message, hint=error.hint, code=error.code))
        return None
    checks.append(Check(name, ok=True, detail=found.detail, hint=found.hint))
    return found.built


async def _profile(options: argparse.Namespace, settings: Settings) -> CheckResult:
    from rag.prompt.prompts import check_system, system_prompt

    profile = profile_of(settings, options.profile).in_environment(settings)
    check_system(system_prompt(profile), profile.name, profile.budget)
    retrieval = _used(profile, settings).retrieval
    name = f"{profile.name} ({profile.display_name})" if profile.display_name else profile.name
    detail = f"{name}: {counted(retrieval.top_k, 'passage')} of score {retrieval.score_threshold:g} or more"
    return CheckResult(detail, built=profile)


def _used(profile: Profile, settings: Settings) -> Profile:
    """The profile as a turn uses it, with a model or without one."""
    from rag.model.endpoint import has_model
    from rag.services import without_model

    try:
        writes = has_model(profile, settings)
    except UsageError:  # only the address of a model can be wrong, and the check "model" reports it
        writes = True
    return profile if writes else without_model(profile, settings)


async def _offer(settings: Settings) -> CheckResult:
    from rag.profiles.offered_profiles import offer_of

    offer = offer_of(settings)
    return CheckResult(f"others may choose {', '.join(offer.names)}; the default is {offer.usual}")


async def _server(settings: Settings) -> CheckResult:
    """Read the lists of `serve` as `serve` does."""
    from cli.serve import book_access, people_of
    from rag.web.hosting import origins_of

    people = people_of(settings)
    books = book_access(settings, people.names).entries
    origins = origins_of(settings.allowed_origins)
    offered = counted(len({book for _, book in books}), "book") if books else "every book"
    return CheckResult(f"{counted(len(people.names), 'key')}, {offered}, {counted(len(origins), 'site')} may call it")


async def _collection(options: argparse.Namespace, settings: Settings, profile: Any) -> str | AskbookError:
    """The book, or the error in choosing it, which the check "book" reports.

    Raises `UsageError` for a name that no book can have.
    """
    from rag.books.book_settings import choose_collection, collection_index

    try:
        chosen = await choose_collection(settings, profile, options.collection)
        async with aclosing(collection_index(settings, chosen, profile)):
            return chosen
    except AskbookError as error:
        if error.code == "collection_name":
            raise
        return error


async def _embedding(settings: Settings, profile: Any, collection: str | AskbookError) -> CheckResult:
    """Embed one text. If the book is the manual, use the model that a book of the user would be embedded with."""
    from rag.books.book_settings import BOOK, MANUAL, build_embedder, embedding_of, place_of

    asked = collection if isinstance(collection, str) and collection != MANUAL else BOOK
    embedder = build_embedder(settings, profile, asked)
    await asyncio.to_thread(embedder.embed_query, "one vector")
    missing = embedding_of(settings, profile, asked).missing
    hint = f"The profile names {profile.book.embedding_model}; set {missing} to use it." if missing else ""
    return CheckResult(f"{embedder.model_id}, {embedder.dimension} dimensions, {place_of(embedder)}", hint, embedder)


async def _rerank(settings: Settings) -> CheckResult:
    from rag.books.book_settings import place_of
    from rag.search.reranker import build_reranker

    reranker = build_reranker(settings)
    await asyncio.to_thread(reranker.rerank, "one order", ["one text", "another"])
    return CheckResult(f"{reranker.model_id}, {place_of(reranker)}")


async def _memory(settings: Settings, profile: Any) -> CheckResult:
    """Store and delete one checkpoint."""
    from graph.memory import MemoryOptions, open_memory

    if not profile.memory.persistent:
        return CheckResult("conversations are not stored, as the profile says")
    async with open_memory(settings.home, options=MemoryOptions.of(settings)) as memory:
        await memory.probe()
        stored = len(await memory.threads())
    return CheckResult(f"{memory.database.place}, {counted(stored, 'conversation')}")
