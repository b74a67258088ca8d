"""What `/why` says of a search: its queries, the scores of each leg, the sum, and the gate."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.terminal import console, counted, printable, say
from rag.conversation.turns import check_thread_id
from rag.errors import UsageError
from rag.profiles.profile import profile_folders, profile_names, profile_of
from rag.settings import Settings
from rag.types import Citation, Grounding, Quote, Response, new_id

if TYPE_CHECKING:
    from graph.agent import Agent
    from state import Context


WORDS = {
    "kept": "",
    "neighbour": "beside a better one",
    "below_threshold": "below the threshold",
    "duplicate": "said already",
    "beyond_k": "enough were better",
}


def why_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    """The lines for a trace as `Trace.as_data` gives it; candidates that were not used are shown while they are few."""
    for query in trace["queries"]:
        mark = "rewritten: " if query["kind"] == "rewrite" else ""
        yield f"  weight {query['weight']:.2f}  {mark}{printable(_short(query['text']))}"
    kinds = [query["kind"] for query in trace["queries"]]
    yield f"  scores    {', '.join(_legs(kinds))}; threshold {trace['threshold']:g}"
    used = sum(candidate["outcome"] == "kept" for candidate in trace["candidates"])
    for place, candidate in enumerate(trace["candidates"][: used + 5], 1):
        scores = "  ".join(f"{score:.3f}" for score in candidate["scores"])
        fate = WORDS[candidate["outcome"]]
        yield (
            f"  {place:2}. sum {candidate['fused']:.3f}  score {candidate['cosine']:.3f}  ({scores})  "
            f"{printable(candidate['heading'] or candidate['title'])}{f': {fate}' if fate else ''}"
        )


def checked_line(grounding: Grounding) -> str:
    """`5 sentences, 4 supported, 1 removed; gpt-4o judged 5 and rejected 1`"""
    counts = f"{grounding.sentences} sentences, {grounding.supported} supported, {grounding.removed} removed"
    judge = grounding.judge
    return counts + (f"; {judge.model} judged {judge.sentences} and rejected {judge.removed}" if judge else "")


def _legs(kinds: list[str]) -> Iterator[str]:
    """`cosine, BM25, cosine in context 1, ...`: the raw question has two legs, every other query one."""
    yield from ("cosine", "BM25")
    for number, kind in enumerate(kinds[1:], 1):
        yield "cosine of the rewrite" if kind == "rewrite" else f"cosine in context {number}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:99]}…"


class Leave(Exception):  # noqa: N818  # it is no error
    """The user wants to go."""


class ChatSession:
    """One chat: the agent, the conversation it is in, and the last answer."""

    def __init__(self, agent: Agent, settings: Settings, profile: str, where: str | None = None) -> None:
        self.agent = agent
        self.settings = settings
        self.profile = profile
        self.where = where  # the filter of every search, as it was written
        self.thread_id = new_id()
        self.resumed = 0
        self.last: Response | None = None
        self.trace: Mapping[str, Any] | None = None  # of the search that opened the last turn
        self.failed = False
        self.offered = False  # to finish the turn that was broken off

    def context(self) -> Context:
        from state import Context

        return Context(profile=self.profile, filter=self.where)

    async def resume(self, thread_id: str | None) -> None:
        """Go on with a stored conversation, the newest unless one is named; one that is new begins under its name."""
        known = await self.agent.threads()
        self.thread_id = check_thread_id(thread_id) if thread_id is not None else next(iter(known), self.thread_id)
        if self.thread_id in known:
            found = await self.agent.memory.summary(self.thread_id)
            self.resumed = found["turns"] if found else 0

    async def book(self) -> str:
        """The book in words: its name and size."""
        from rag.services import MANUAL

        index = self.agent.services.index
        info = await index.info()
        name = "askbook's own manual" if index.collection == MANUAL else f'"{index.collection}"'
        return f"{name} ({counted(info.chunks, 'passage')})" if info else f"{name}, which is not indexed yet"

    async def take_back(self) -> str:
        """Undo the last turn and return its question. Raises `UsageError` where there is none."""
        question = await self.agent.undo(self.thread_id) if self.thread_id in await self.agent.threads() else None
        if question is None:
            raise UsageError("There is no turn to take back.")
        self.last = None
        return question


class Command(NamedTuple):
    does: str
    run: Callable[[ChatSession, str], Awaitable[None]]


async def _help(_session: ChatSession, _rest: str) -> None:
    for name, command in COMMANDS.items():
        print(f"  /{name:<10} {command.does}")
    print("  Ctrl-C stops an answer, Ctrl-D leaves.")


async def _sources(session: ChatSession, _rest: str) -> None:
    """The passages that the last answer cites; a refusal has none."""
    for citation in _citations(session):
        print(f"  [{citation.marker}] {printable(citation.breadcrumb or citation.title)}  ({citation.score:.2f})")
        print(f"      {printable(citation.url)}")
        for quote in [Quote.of(citation), *citation.occurrences]:
            print(f"      “{printable(' '.join(quote.quote.split()))}”")


async def _show(session: ChatSession, rest: str) -> None:
    """The whole passage, with the quoted stretches marked."""
    chosen = next((one for one in _citations(session) if str(one.marker) == rest.strip("[]")), None)
    if chosen is None:
        numbers = ", ".join(str(one.marker) for one in _citations(session))
        raise UsageError(f"There is no source {rest or 'without a number'}.", hint=f"Sources: {numbers}.")
    chunks = await session.agent.services.index.fetch([chosen.chunk_id])
    if not chunks:
        raise UsageError("The passage is no longer in the index.")
    from rich.text import Text

    text = Text(printable(chunks[0].text, "�"))  # one for one, so that the quote's place stays right
    for quote in [Quote.of(chosen), *chosen.occurrences]:
        text.stylize("reverse", quote.start, quote.end)
    screen = console()
    screen.print(Text(printable(chosen.breadcrumb or chosen.title), style="bold"))
    screen.print(text)


async def _why(session: ChatSession, _rest: str) -> None:
    """How the last answer came about: searches, scores, gate, times."""
    last = _last(session)
    threshold = session.agent.services.parts(session.profile).profile.retrieval.score_threshold
    for one in last.retrievals:
        print(f"  searched  {printable(one.query)}")
        print(f"            {one.total_chunks_found} candidates, {one.results_count} used, threshold {threshold:g}")
    for line in why_lines(session.trace) if session.trace else ():
        print(line)
    for chunk in last.retrieved_chunks:
        print(f"  [{chunk.rank}] {chunk.score:.3f}  {printable(chunk.heading or chunk.title)}")
    print(f"  checked   {printable(checked_line(last.grounding))}")
    why = f" ({last.fallback_reason})" if last.fallback_reason else ""
    print(f"  status    {last.status}{why}, {last.llm_calls} model calls, {last.tokens_used.total} tokens")
    print(f"  time      {last.timings_ms.total:.0f} ms, of which searching {last.timings_ms.retrieval:.0f} ms")


async def _undo(session: ChatSession, _rest: str) -> None:
    say(f"Took back: {printable(await session.take_back())}")


async def _clear(session: ChatSession, _rest: str) -> None:
    from cli.threads import delete

    await delete(session.agent.memory, session.settings.home, session.thread_id)
    session.last = None
    say("The conversation is forgotten.")


async def _threads(session: ChatSession, _rest: str) -> None:
    from cli.threads import row, summaries

    for one in (await summaries(session.agent.memory))[:20]:
        print(f" {'*' if one['thread_id'] == session.thread_id else ' '}{row(one)}")


async def _profile(session: ChatSession, rest: str) -> None:
    if rest:
        before, chosen = profile_of(session.settings, session.profile), profile_of(session.settings, rest)
        session.profile = chosen.name
        if before.memory.persistent and not chosen.memory.persistent:
            say(f"This chat is stored all the same. Start with --profile {chosen.name} for one that is not.")
    for name in profile_names(profile_folders(session.settings)):
        mark = "*" if name == session.profile else " "
        print(f" {mark}{name:<20} {profile_of(session.settings, name).said()}")


async def _export(session: ChatSession, rest: str) -> None:
    if not rest:
        raise UsageError("/export needs the name of a file.")
    from cli.threads import as_markdown

    text = as_markdown(await session.agent.conversation(session.thread_id))
    say(f"Wrote {_write_new(rest, text)}.")


def _write_new(name: str, text: str) -> Path:
    path = Path(name).expanduser()
    try:
        private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(private, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already.", hint="Name another file.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written.") from error
    return path


async def _quit(_session: ChatSession, _rest: str) -> None:
    raise Leave


async def _answered_by_the_chat(_session: ChatSession, _rest: str) -> None:
    raise AssertionError("the chat answers by itself")


def _last(session: ChatSession) -> Response:
    if session.last is None:
        raise UsageError("There is no answer yet.")
    return session.last


def _citations(session: ChatSession) -> list[Citation]:
    """At least one. Raises `UsageError` where nothing was cited."""
    if not (found := _last(session).citations):
        raise UsageError("The last answer has no sources.")
    return found


COMMANDS: Final = {
    "help": Command("show this list", _help),
    "sources": Command("the sources of the last answer, with their quotes", _sources),
    "show": Command("N: the whole passage, its quote marked", _show),
    "why": Command("how the last answer came about", _why),
    "retry": Command("ask the last question again", _answered_by_the_chat),
    "resume": Command("finish the answer that was broken off", _answered_by_the_chat),
    "undo": Command("take the last turn back", _undo),
    "clear": Command("forget this conversation", _clear),
    "threads": Command("the stored conversations", _threads),
    "profile": Command("[NAME]: show or change the profile", _profile),
    "export": Command("FILE: write this conversation as Markdown", _export),
    "quit": Command("leave", _quit),
}
