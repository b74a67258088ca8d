"""`run.py doctor`: what is configured, reachable and matching; one line a check, and what to do about each failure."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from cli.model_check import check_model
from cli.terminal import counted, print_json, printable
from rag.errors import AskbookError, UsageError
from rag.profiles import EffectiveValue, effective, profile_of
from rag.settings import Settings

_SHOWN: Final = 72  # characters of a value on its line; the whole of it is in the JSON


@dataclass(frozen=True)
class Check:
    """One finding. `detail` says what is in use, or what is wrong; `hint` what to do about it."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


def doctor(options: argparse.Namespace) -> int:
    """Exit code 1 when a check failed."""
    checks = asyncio.run(_checks(options))
    values = _values(options)
    if options.json:
        found = {"ok": all(check.ok for check in checks), "checks": [asdict(check) for check in checks]}
        print_json(found | {"profile": [value._asdict() for value in values]})
    else:
        if options.profile:
            _print_profile(values)
        for check in checks:
            print(f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<10} {printable(check.detail)}")
            if check.hint:
                print(f"      {'':<10} {printable(check.hint)}")
    return 0 if all(check.ok for check in checks) else 1


def _values(options: argparse.Namespace) -> list[EffectiveValue]:
    """The profile as it runs; empty where a check has said already that there is none."""
    settings = Settings.from_env()
    try:
        return effective(options.profile or settings.profile, settings)
    except UsageError:
        return []


def _print_profile(values: list[EffectiveValue]) -> None:
    """One line a value, and where each came from."""
    width = max((len(value.key) for value in values), default=0)
    for value in values:
        shown = json.dumps(value.value, ensure_ascii=False)
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        print(f"{value.key:<{width}}  {printable(shown)}  · {printable(value.source)}")
    if values:
        print()


async def _checks(options: argparse.Namespace) -> list[Check]:
    """Each check is made even when an earlier one failed, except that nothing can be checked without settings."""
    checks: list[Check] = []
    settings = Settings.from_env()
    profile = await _attempt(checks, "profile", lambda: _profile(options, settings))
    if profile is None:
        return checks
    embedder = await _attempt(checks, "embedding", lambda: _embedding(settings))
    await _attempt(checks, "book", lambda: _book(options, settings, profile, embedder))
    await _attempt(checks, "model", lambda: check_model(settings, profile, embedder))
    await _attempt(checks, "memory", lambda: _memory(settings, profile))
    return checks


async def _attempt(checks: list[Check], name: str, work: Callable[[], Awaitable[tuple[Any, str, str]]]) -> Any:
    """Run one check: what it built is passed on, its finding is noted; a failure is a finding too."""
    try:
        built, detail, hint = await work()
    except AskbookError as error:
        checks.append(Check(name, ok=False, detail=error.message, hint=error.hint))
        return None
    checks.append(Check(name, ok=True, detail=detail, hint=hint))
    return built


async def _profile(options: argparse.Namespace, settings: Settings) -> tuple[Any, str, str]:
    profile = profile_of(settings, options.profile).in_environment(settings)
    retrieval = profile.retrieval
    return profile, f"{profile.name}: {retrieval.top_k} passages of score {retrieval.score_threshold:g} or more", ""


async def _embedding(settings: Settings) -> tuple[Any, str, str]:
    from rag.services import build_embedder

    embedder = build_embedder(settings)
    embedder.embed_query("one vector")
    return embedder, f"{embedder.model_id}, {embedder.dimension} dimensions, inside this process", ""


async def _book(options: argparse.Namespace, settings: Settings, profile: Any, embedder: Any) -> tuple[Any, str, str]:
    from rag.services import MANUAL, choose_collection, collection_index

    name = await choose_collection(settings, profile, options.collection)
    index = collection_index(settings, name)
    try:
        info = await index.info()
    finally:
        await index.aclose()
    place = "on the Qdrant server" if settings.qdrant_url else f"in {settings.home}"
    if info is None:
        if name == MANUAL:
            return None, f"the manual, indexed {place} when it is first asked", ""
        hint = f'Run "python run.py ingest PATH --collection {name}".'
        raise AskbookError("retrieval_error", "no_index", f'There is no book in the collection "{name}".', hint=hint)
    if embedder is not None and info.embedding_model != embedder.model_id:
        raise AskbookError(
            "retrieval_error",
            "embedding_mismatch",
            f'"{name}" was indexed with {info.embedding_model}, but questions are embedded with {embedder.model_id}.',
            hint="Ingest it into another --collection, or set the embedding model it was made with.",
        )
    hint = "Yours: python run.py ingest PATH" if name == MANUAL else ""
    return None, f'"{name}", {counted(info.chunks, "passage")}, {place}', hint


async def _memory(settings: Settings, profile: Any) -> tuple[Any, str, str]:
    from graph.memory import FILE, open_memory, thread_ids

    if not profile.memory.persistent:
        return None, "conversations end with the process, as the profile says", ""
    async with open_memory(settings.home, persistent=True) as memory:
        stored = len(await thread_ids(memory))
    return None, f"{settings.home / FILE}, {counted(stored, 'conversation')}", ""
