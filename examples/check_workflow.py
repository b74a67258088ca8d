#!/usr/bin/env python3
"""Check every step of a question with the configuration of this machine, and print a checklist.

    python examples/check_workflow.py [--profile P]

The questions are headings of the book, so any book will do. The conversation is deleted at the end. Exit code 1 when a
check failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # Python adds only the script's own folder

from cli.terminal import printable, progress_bar
from graph.agent import Agent, open_agent
from rag.books.book_settings import build_embedder, choose_collection, owner_of
from rag.errors import AskbookError, MemoryFailureError
from rag.index.index_errors import filling
from rag.profiles.profile import Profile, profile_of
from rag.prompt.tool import read_arguments, tool_answer
from rag.settings import Settings
from rag.text.counting import counted
from rag.types import Citation, Quote, Response, new_id
from state import Context

UNRELATED: Final = "Which zorblax did Quenda Vimpelström juggle in Ombrifax?"  # made of words that no book has
FOLLOW_UP: Final = "Tell me more about that."
TRIES: Final = 8  # headings to try, since not every heading can be answered ("Overview")
ADVICE: Final = 'Fix that, then run this again; "python run.py doctor" checks each part by itself.'


class CheckError(Exception):
    """A failed check, with a problem and an advice what to do."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.advice = advice


class Asked(NamedTuple):
    """A question and its response."""

    question: str
    response: Response


class Checklist:
    """Prints a line for each check. After a failed check the others are skipped, since they depend on it."""

    def __init__(self) -> None:
        self.failed = False

    async def check(self, name: str, work: Callable[[], Awaitable[str]]) -> None:
        """Run one check. `work` returns the text of its line."""
        if self.failed:
            print(f"-     {name:<13} not checked, since a check before it failed")
            return
        try:
            self._line("ok  ", name, await work())
        except CheckError as failure:
            self._fail(name, str(failure), failure.advice)
        except AskbookError as failure:
            self._fail(name, failure.message, failure.hint or ADVICE)
        except Exception as failure:  # a bug is a line of the checklist too
            self._fail(name, f"{type(failure).__name__}: {failure}", ADVICE)

    def _fail(self, name: str, problem: str, advice: str) -> None:
        self.failed = True
        self._line("FAIL", name, problem)
        print(f"      {'':<13} {printable(advice)}")

    def _line(self, mark: str, name: str, text: str) -> None:
        print(f"{mark}  {name:<13} {' '.join(printable(text).split())}", flush=True)


class Workflow:
    """The checks, in order. Each sets the attributes that later ones need."""

    settings: Settings
    profile: Profile
    agent: Agent
    encoder: str

    def __init__(self, profile: str | None, opened: AsyncExitStack) -> None:
        self.name = profile
        self.opened = opened
        self.thread = f"check-{new_id()}"
        self.turns: list[Asked] = []

    async def read_settings(self) -> str:
        self.settings = Settings.from_env()
        return f"conversations and books in {self.settings.home}"

    async def load_profile(self) -> str:
        profile = profile_of(self.settings, self.name).in_environment(self.settings)
        self.name, self.profile = profile.name, profile
        return f"{profile.name}: {profile.description}"

    async def embed(self) -> str:
        collection = await choose_collection(self.settings, self.profile, None)
        embedder = await asyncio.to_thread(build_embedder, self.settings, self.profile, collection)
        length = len(await asyncio.to_thread(embedder.embed_query, "one vector"))
        if length != embedder.dimension:
            raise CheckError(
                f"a vector has {length} numbers, not {embedder.dimension}", "Check ASKBOOK_EMBEDDING_MODEL."
            )
        self.encoder = embedder.model_id
        return f"{self.encoder}, {length} dimensions"

    async def open_book(self) -> str:
        with progress_bar("Indexing the manual") as progress:
            self.agent = await self.opened.enter_async_context(open_agent(self.settings, self.name, progress=progress))
        self.opened.push_async_callback(self._tidy)
        info = await self.agent.services.index.info()
        if info is None or not info.chunks:
            name = self.agent.services.index.collection
            command = filling(name, profile=owner_of(name, self.profile))
            raise CheckError(f'the book "{name}" is not there', f'Run "{command}".')
        if info.embedding_model != self.encoder:
            raise CheckError(f"it was indexed with {info.embedding_model}", "Ingest the book again, with this model.")
        return f'"{info.collection}", {counted(info.chunks, "passage")}'

    async def ask_the_book(self) -> str:
        tried = 0
        for question in await self._headings():
            tried += 1
            response = await self._ask(question)
            if response.status == "success":
                self.turns = [Asked(question, response)]
                by = "the book's own sentences" if self.agent.services.parts(None).quotes else response.model
                return f'"{question}" was answered by {by}'
            await self.agent.clear(self.thread)
        raise CheckError(
            f"none of {counted(tried, 'heading')} of the book was answered",
            'Look at what is found with "python run.py search HEADING"; the score threshold may be too high.',
        )

    async def _headings(self) -> list[str]:
        """Different headings from all over the book, those with the longest text first."""
        index = self.agent.services.index
        ids = sorted(entry.id for entry in await index.entries())
        chunks = sorted(await index.fetch(ids[:: max(1, len(ids) // 40)]), key=lambda chunk: -len(chunk.text))
        longest = self.agent.services.parts(None).profile.limits.max_question_characters
        return list(dict.fromkeys((chunk.heading or chunk.title)[:longest] for chunk in chunks))[:TRIES]

    async def resolve_citations(self) -> str:
        citations = self.turns[0].response.citations
        if not citations:
            raise CheckError("the answer cites nothing", "Take a model that follows instructions, or ask again.")
        for citation in citations:
            await self._compare(citation)
        quotes = sum(max(1, len(citation.occurrences)) for citation in citations)
        return f"{counted(len(citations), 'citation')}, {counted(quotes, 'quote')} as stored, word for word"

    async def _compare(self, citation: Citation) -> None:
        found = await self.agent.services.index.fetch([citation.chunk_id])
        place = f"[{citation.marker}] {citation.chunk_id}"
        if not found or found[0].sha256 != citation.chunk_sha256:
            raise CheckError(f"{place} is not the passage that is stored", "Ingest the book again, then ask again.")
        for quote in [Quote.of(citation), *citation.occurrences]:
            if not quote.quote or found[0].text[quote.start : quote.end] != quote.quote:
                raise CheckError(f"{place} does not say: {quote.quote}", "Please report it.")

    async def call_tool(self) -> str:
        """Carry out the tool as for a model that calls it, whether or not the model at hand would."""
        tool, parts = self.profile.tool, self.agent.services.parts(None)
        if tool is None:
            return "the profile offers none"
        name = next(name for name, parameter in tool.parameters.items() if parameter.sets == "query")
        asked = read_arguments(tool, {name: self.turns[0].question})
        if isinstance(asked, str):
            raise CheckError(f"{tool.name}: {asked}", "Correct the section [tool] of the profile.")
        k, threshold = self.profile.retrieval.top_k, self.profile.retrieval.score_threshold
        found = await parts.retriever.retrieve(asked.query, k=k, threshold=threshold)
        said = tool_answer(tool, found.passages, 0, found.retrieval)
        given = len(found.passages)
        if tool.result is not None and given:
            result_key = next(key for key, what in tool.result.success.items() if what == "results")
            given = len(json.loads(said)[result_key])
        if not found.passages or given != len(found.passages):
            raise CheckError(f"{tool.name} answered with {counted(given, 'passage')}", "Please report it.")
        return f"{tool.name}({name}=...) answered with {counted(given, 'passage')}"

    async def refuse(self) -> str:
        sentence = self.agent.services.parts(None).profile.answer.refusal
        response = await self._ask(UNRELATED)
        self.turns.append(Asked(UNRELATED, response))
        if response.status != "fallback" or response.content != sentence or response.citations:
            raise CheckError(
                f"a question outside the book was answered: {response.content[:80]}",
                "Take a model that follows instructions, or unset its key to have the book quoted.",
            )
        return f"outside the book: {sentence}"

    async def follow_up(self) -> str:
        response = await self._ask(FOLLOW_UP)
        self.turns.append(Asked(FOLLOW_UP, response))
        if (response.thread_id, response.turn_number) != (self.thread, 3):
            raise CheckError(f"it became turn {response.turn_number} of {response.thread_id}", "Please report it.")
        return f'"{FOLLOW_UP}" is turn 3 of the conversation'

    async def read_back(self) -> str:
        await self._stored(self.turns)
        return f"{counted(len(self.turns), 'turn')}, as they were answered"

    async def undo(self) -> str:
        question = await self.agent.undo(self.thread)
        if question != FOLLOW_UP:
            raise CheckError(f"another question was taken back: {question}", "Please report it.")
        await self._stored(self.turns[:-1])
        return "the last turn was taken back, the others are there"

    async def forget(self) -> str:
        await self.agent.clear(self.thread)
        if self.thread in await self.agent.threads():
            raise CheckError(f"{self.thread} is still stored", "Please report it.")
        return "the conversation of this check is gone"

    async def _tidy(self) -> None:
        """Delete the conversation when a failed check has kept `forget` from doing so."""
        with suppress(MemoryFailureError):  # a check has reported it already
            await self.agent.clear(self.thread)

    async def _stored(self, expected: Sequence[Asked]) -> None:
        turns = (await self.agent.conversation(self.thread))["turns"]
        found = [(turn["question"], turn["content"]) for turn in turns]
        if found != [(asked.question, asked.response.content) for asked in expected]:
            raise CheckError(f"{counted(len(found), 'turn')} read back, and not what was answered", "Please report it.")

    async def _ask(self, question: str) -> Response:
        response = await self.agent.ask(question, thread_id=self.thread, context=Context(profile=self.name))
        if response.error is not None:
            failure = response.error
            raise CheckError(f"{failure.code}: {failure.message}", failure.hint or failure.user_message)
        return response


async def walk(profile: str | None) -> bool:
    """Run every check. Returns whether all of them passed."""
    checklist = Checklist()
    async with AsyncExitStack() as opened:
        workflow = Workflow(profile, opened)
        await checklist.check("settings", workflow.read_settings)
        await checklist.check("profile", workflow.load_profile)
        await checklist.check("embedding", workflow.embed)
        await checklist.check("book", workflow.open_book)
        await checklist.check("answer", workflow.ask_the_book)
        await checklist.check("citations", workflow.resolve_citations)
        await checklist.check("tool", workflow.call_tool)
        await checklist.check("refusal", workflow.refuse)
        await checklist.check("follow-up", workflow.follow_up)
        await checklist.check("conversation", workflow.read_back)
        await checklist.check("undo", workflow.undo)
        await checklist.check("clear", workflow.forget)
    return not checklist.failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when every check passed, 1 when one failed, 130 when it was interrupted."""
    parser = argparse.ArgumentParser(prog="check_workflow.py", description="Check every step of a question.")
    parser.add_argument("--profile", metavar="P", help="the profile that answers (default: ASKBOOK_PROFILE or default)")
    try:
        return 0 if asyncio.run(walk(parser.parse_args(arguments).profile)) else 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
