"""The slash commands of the chat, and the session that they act on."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.terminal import clipped, console, counted, in_line, printable, say
from rag.conversation.turns import check_thread_id
from rag.errors import UsageError
from rag.profiles.layers import profile_folders, profile_names
from rag.profiles.profile import profile_of
from rag.settings import Settings
from rag.types import Citation, Event, Grounding, Opinion, Quote, Response, new_id

if TYPE_CHECKING:
    from graph.agent import Agent
    from state import Context


_OUTCOMES: Final = {
    "kept": "",
    "neighbour": "neighbour of a better one",
    "below_threshold": "below the threshold",
    "duplicate": "duplicate of a better one",
    "beyond_k": "ranked too low",
}
_UNUSED_SHOWN: Final = 5  # candidates that `/why` shows after the used ones


class Leave(Exception):  # noqa: N818  # not an error
    """Raised by `/quit`."""


class ChatSession:
    """One chat: the agent, the current conversation, and the last answer."""

    def __init__(self, agent: Agent, settings: Settings, profile: str, where: str | None = None) -> None:
        self.agent = agent
        self.settings = settings
        self.profile = profile
        self.where = where  # the filter of every search, as typed
        self.thread_id = new_id()
        self.resumed = 0  # turns of the continued conversation
        self.last: Response | None = None
        self.trace: Mapping[str, Any] | None = None  # of the first search of the last turn
        self.failed = False  # whether any turn failed
        self.offered = False  # whether the user was just asked to finish an interrupted turn

    def context(self) -> Context:
        from state import Context

        return Context(profile=self.profile, filter=self.where)

    async def resume(self, thread_id: str | None) -> None:
        """Continue a conversation, by default the newest; an unknown `thread_id` starts a new one with that id."""
        known = await self.agent.threads()
        self.thread_id = check_thread_id(thread_id) if thread_id is not None else next(iter(known), self.thread_id)
        if self.thread_id in known:
            found = await self.agent.memory.summary(self.thread_id)
            self.resumed = found["turns"] if found else 0

    async def book(self) -> str:
        """The name and size of the book, for display."""
        from rag.services import MANUAL

        index = self.agent.services.index
        info = await index.info()
        name = "askbook's own manual" if index.collection == MANUAL else f'"{index.collection}"'
        return f"{name} ({counted(info.chunks, 'passage')})" if info else f"{name} (not indexed yet)"

    async def asked_again(self) -> AsyncIterator[Event]:
        """The events of the last turn, asked again. Raises `UsageError` if there is none."""
        if self.thread_id not in await self.agent.threads():
            raise UsageError("There is no question to ask again.", code="nothing_to_retry")
        self.last = None
        return self.agent.stream_retry(self.thread_id, context=self.context())

    async def take_back(self) -> str:
        """Undo the last turn and return its question. Raises `UsageError` if there is none."""
        question = await self.agent.undo(self.thread_id) if self.thread_id in await self.agent.threads() else None
        if question is None:
            raise UsageError("There is no turn to undo.")
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
    from cli.sources import print_full

    print_full(console(), _citations(session))


async def _show(session: ChatSession, rest: str) -> None:
    citations = {str(citation.marker): citation for citation in _citations(session)}
    chosen = citations.get(rest.strip("[]"))
    if chosen is None:
        problem = f"There is no source {rest}." if rest else "/show needs the number of a source."
        raise UsageError(problem, hint=f"Sources: {', '.join(citations)}.")
    chunks = await session.agent.services.index.fetch([chosen.chunk_id])
    if not chunks:
        raise UsageError("The passage is no longer in the index.")
    from rich.text import Text

    text = Text(printable(chunks[0].text, "�"))  # same length, so the offsets of the quotes stay right
    for quote in [Quote.of(chosen), *chosen.occurrences]:
        text.stylize("reverse", quote.start, quote.end)
    screen = console()
    screen.print(Text(in_line(chosen.breadcrumb or chosen.title), style="bold"))
    screen.print(text)


async def _why(session: ChatSession, _rest: str) -> None:
    last = _last(session)
    threshold = session.agent.services.parts(session.profile).profile.retrieval.score_threshold
    for search in last.retrievals:
        print(f"  searched  {in_line(search.query)}")
        print(
            f"            {search.total_chunks_found} candidates, {search.results_count} used, threshold {threshold:g}"
        )
    for line in why_lines(session.trace) if session.trace else ():
        print(line)
    for chunk in last.retrieved_chunks:
        print(f"  [{chunk.rank}] {chunk.score:.3f}  {in_line(chunk.heading or chunk.title)}")
    print(f"  checked   {printable(checked_line(last.grounding))}")
    if last.grounding.judge:
        print(f"  judged    {printable(judged_line(last.grounding.judge))}")
    why = f" ({last.fallback_reason})" if last.fallback_reason else ""
    print(f"  status    {last.status}{why}, {last.llm_calls} model calls, {last.tokens_used.total} tokens")
    print(f"  time      {last.timings_ms.total:.0f} ms, of which searching {last.timings_ms.retrieval:.0f} ms")


def why_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    """The lines of `/why` for a trace from `Trace.as_data`: queries, legs, then the used candidates and five more."""
    for query in trace["queries"]:
        mark = "rewritten: " if query["kind"] == "rewrite" else ""
        yield f"  weight {query['weight']:.2f}  {mark}{printable(clipped(' '.join(query['text'].split()), 100))}"
    kinds = [query["kind"] for query in trace["queries"]]
    yield f"  scores    {', '.join(_legs(kinds))}; threshold {trace['threshold']:g}"
    used = sum(candidate["outcome"] == "kept" for candidate in trace["candidates"])
    for place, candidate in enumerate(trace["candidates"][: used + _UNUSED_SHOWN], 1):
        scores = "  ".join(f"{score:.3f}" for score in candidate["scores"])
        outcome = _OUTCOMES[candidate["outcome"]]
        yield (
            f"  {place:2}. sum {candidate['fused']:.3f}  score {candidate['cosine']:.3f}  ({scores})  "
            f"{in_line(candidate['heading'] or candidate['title'])}{f': {outcome}' if outcome else ''}"
        )


def checked_line(grounding: Grounding) -> str:
    """For example "5 sentences, 4 supported, 0 unconfirmed, 1 removed"."""
    counts = f"{grounding.sentences} sentences, {grounding.supported} supported, "
    return counts + f"{grounding.unconfirmed} unconfirmed, {grounding.removed} removed"


def judged_line(judge: Opinion) -> str:
    """For example "gpt-4o: 2 calls, 5 sentences, 4 confirmed, 1 rejected, 812 ms"."""
    if not judge.calls:
        return f"{judge.model}: no call, since nothing was doubtful"
    counts = f"{counted(judge.calls, 'call')}, {counted(judge.sentences, 'sentence')}"
    found = f"{judge.confirmed} confirmed, {judge.removed} rejected"
    return f"{judge.model}: {counts}, {found}, {judge.milliseconds:.0f} ms"


def _legs(kinds: list[str]) -> Iterator[str]:
    """Names of the legs, such as "cosine", "BM25", "cosine in context 1": two for the question, one per other query."""
    yield from ("cosine", "BM25")
    for number, kind in enumerate(kinds[1:], 1):
        yield "cosine of the rewrite" if kind == "rewrite" else f"cosine in context {number}"


async def _undo(session: ChatSession, _rest: str) -> None:
    say(f"Removed from the conversation: {printable(await session.take_back())}")


async def _clear(session: ChatSession, _rest: str) -> None:
    from cli.threads import delete

    await delete(session.agent.memory, session.settings.home, session.thread_id)
    session.last = None
    say("The conversation was deleted.")


async def _threads(session: ChatSession, _rest: str) -> None:
    from cli.threads import row, summaries

    for summary in (await summaries(session.agent.memory))[:20]:
        print(f" {'*' if summary['thread_id'] == session.thread_id else ' '}{row(summary)}")


async def _profile(session: ChatSession, rest: str) -> None:
    if rest:
        before, chosen = profile_of(session.settings, session.profile), profile_of(session.settings, rest)
        session.profile = chosen.name
        if before.memory.persistent and not chosen.memory.persistent:
            say(f"This chat is still stored. Start with --profile {chosen.name} for one that is not.")
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
        raise UsageError(f"{path} already exists.", hint="Choose another file name.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written.") from error
    return path


async def _quit(_session: ChatSession, _rest: str) -> None:
    raise Leave


async def _handled_by_the_chat(_session: ChatSession, _rest: str) -> None:
    raise AssertionError("cli.chat handles this command itself")


def _last(session: ChatSession) -> Response:
    if session.last is None:
        raise UsageError("There is no answer yet.")
    return session.last


def _citations(session: ChatSession) -> list[Citation]:
    """The citations of the last answer, at least one. Raises `UsageError` if there are none."""
    if not (found := _last(session).citations):
        raise UsageError("The last answer has no sources.")
    return found


COMMANDS: Final = {
    "help": Command("show this list", _help),
    "sources": Command("the sources of the last answer, with their quotes", _sources),
    "show": Command("N: source N in full, with its quotes marked", _show),
    "why": Command("how the last answer was found and checked", _why),
    "retry": Command("ask the last question again", _handled_by_the_chat),
    "resume": Command("finish the interrupted answer", _handled_by_the_chat),
    "undo": Command("remove the last turn", _undo),
    "clear": Command("delete this conversation", _clear),
    "threads": Command("list the stored conversations", _threads),
    "profile": Command("[NAME]: list the profiles, or switch to one", _profile),
    "export": Command("FILE: save this conversation as Markdown", _export),
    "quit": Command("leave the chat", _quit),
}
