"""`run.py eval`: asks a book the questions of a dataset, says how good the answers are, or makes a dataset."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import number, opened, print_json, printable, progress_bar, say
from rag.book import Candidate, Chunk
from rag.conversation.turns import messages_from_json
from rag.errors import AskbookError, UsageError
from rag.evaluation.dataset import Conversation, Dataset, Labels, Place, read_dataset
from rag.evaluation.grading import DEPTH, GradedAnswer, grade, ranking_of
from rag.evaluation.starting_dataset import starting_dataset
from rag.profiles.profile import profile_of
from rag.settings import Settings
from rag.system.process import need
from rag.text.counting import counted
from rag.types import Event, Response

if TYPE_CHECKING:
    from graph.agent import Agent
    from rag.evaluation.evaluation_run import EvaluationRun, Journal, Setup

FOLDER: Final = "evaluations"  # in the home folder: the questions of unfinished runs
_MOST: Final = 10_000  # questions of a starting dataset


def evaluate(options: argparse.Namespace) -> int:
    """Exit code 0, 1 if there is no book or a question failed, or 2 for a bad dataset, before any question is asked."""
    if options.make is not None:
        return make(options)
    need("ir_measures", "eval", "eval")
    from rag.evaluation.evaluation_run import read_run

    dataset = read_dataset(Path(options.dataset))
    before = read_run(Path(options.against)) if options.against else None
    _check_report(options.report)
    if dataset.unused:
        say(f"Fields that eval does not use: {printable(', '.join(dataset.unused))}.")
    try:
        run = asyncio.run(_evaluated(options, dataset, before))
    except KeyboardInterrupt:
        say("Stopped. The same command goes on with the questions that are left.")
        raise
    if options.report:
        _write(options.report, run)
    if options.json:
        print_json(run.model_dump(mode="json"))
    else:
        from rag.evaluation.figure_table import lines

        print(printable("\n".join(lines(run))))
    return int(any(one.error for one in run.questions))


def _check_report(name: str | None) -> None:
    """Raise `UsageError` now if the report could not be written after a long run."""
    if name and (Path(name).is_dir() or not Path(name).absolute().parent.is_dir()):
        raise UsageError(f"{name} cannot be written.", code="dataset", hint="Name a file in an existing folder.")


async def _evaluated(options: argparse.Namespace, dataset: Dataset, before: EvaluationRun | None) -> EvaluationRun:
    from langgraph.checkpoint.memory import InMemorySaver

    from rag.evaluation.evaluation_run import EvaluationRun, Journal

    settings = Settings.from_env()
    async with opened(options, settings, checkpointer=InMemorySaver()) as agent:  # conversations end with the process
        setup = await _setup(agent, dataset)
        journal = Journal(settings.home / FOLDER, await _key(agent, setup))
        if options.fresh:
            journal.forget()
        if journal.done:
            say(f"{counted(len(journal.done), 'conversation')} of an unfinished run are kept; --fresh asks them again.")
        await _ask_all(agent, dataset.conversations, journal)
        answers = [answer for one in dataset.conversations for answer in journal.done[one.id]]
        run = EvaluationRun.of(setup, answers, before)
        journal.forget()
        return run


async def _setup(agent: Agent, dataset: Dataset) -> Setup:
    """What is measured. Raises `RetrievalError` if there is no book."""
    from rag.books.book_settings import owner_of
    from rag.evaluation.evaluation_run import Setup
    from rag.index.catalog import require_book

    parts, index = agent.services.parts(None), agent.services.index
    info = await require_book(index, owner_of(index.collection, parts.profile))
    return Setup(
        dataset=Path(dataset.name).name,
        dataset_sha256=dataset.sha256,
        conversations=len(dataset.conversations),
        collection=index.collection,
        passages=info.chunks,
        profile=parts.profile.name,
        model=parts.model_name,
        searched_with=parts.searched_with,
        top_k=parts.profile.retrieval.top_k,
        threshold=parts.profile.retrieval.score_threshold,
    )


async def _key(agent: Agent, setup: Setup) -> Mapping[str, Any]:
    """What decides the answers: a run with another key does not go on with this one."""
    profile = agent.services.parts(None).profile.model_dump(mode="json")
    ids = sorted(entry.id for entry in await agent.services.index.entries())
    return setup.model_dump() | {"profile": profile, "ids": ids}


async def _ask_all(agent: Agent, conversations: Sequence[Conversation], journal: Journal) -> None:
    """Ask every conversation that the journal does not have, one after the other, so that times can be compared."""
    with progress_bar("Asking", "conversation") as bar:
        for done, conversation in enumerate(conversations):
            bar(done, len(conversations))
            if conversation.id not in journal.done:
                journal.add(conversation.id, await asked(agent, conversation))
        bar(len(conversations), len(conversations))


async def asked(agent: Agent, conversation: Conversation) -> list[GradedAnswer]:
    """The answers of those questions of a conversation that count."""
    said: list[dict[str, str]] = [dict(message) for message in conversation.history]
    thread = f"eval-{conversation.id}"
    found = []
    for turn, question in enumerate(conversation.questions, 1):
        said.append({"role": "user", "content": question.text})
        if conversation.history:  # no thread has it, so the conversation is kept here
            events = agent.stream_messages(messages_from_json(said))
        else:
            events = agent.stream(question.text, thread_id=thread)
        response, candidates = await _read(events)
        said.append({"role": "assistant", "content": response.plain_content})
        if question.labels is not None:
            found.append(await _graded(agent, conversation, turn, response, candidates))
    return found


async def _read(events: AsyncGenerator[Event, None]) -> tuple[Response, list[Candidate]]:
    """The response of a turn, and the candidates of its first search."""
    candidates: list[Candidate] = []
    async with aclosing(events):
        async for event in events:
            if event.type == "retrieval" and (trace := event.data.get("trace")):
                candidates = [Candidate(**one) for one in trace["candidates"]]
            if event.response is not None:
                return event.response, candidates
    raise AssertionError("the stream ended without a response")


async def _graded(
    agent: Agent, conversation: Conversation, turn: int, response: Response, candidates: Sequence[Candidate]
) -> GradedAnswer:
    profile = agent.services.parts(None).profile
    labels = conversation.questions[turn - 1].labels or Labels()
    ids = dict.fromkeys([one.chunk_id for one in response.retrieved_chunks] + [one.chunk_id for one in candidates])
    chunks = await agent.services.index.fetch(list(ids)) if ids else []
    places = {one.id: Place(one.id, one.url, one.link, one.source_file_path) for one in chunks}
    return grade(
        conversation,
        turn,
        response,
        ranking_of(response, candidates, places, labels),
        refusal=profile.answer.refusal,
        threshold=profile.retrieval.score_threshold,
        standalone_relevant=await _written_out(agent, labels),
    )


async def _written_out(agent: Agent, labels: Labels) -> list[list[int]] | None:
    """For each passage found for the question written out, the labels that it matches; None without that question."""
    if labels.standalone is None or not labels.relevant:
        return None
    found = await agent.services.parts(None).retriever.retrieve(labels.standalone, k=DEPTH, threshold=0.0)
    places = (Place(one.chunk_id, one.url, one.link, one.source_file_path) for one in found.passages)
    return [labels.found_at(place) for place in places]


def _write(name: str, run: EvaluationRun) -> None:
    from rag.evaluation.report_page import report_page

    try:
        Path(name).write_text(report_page(run), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name} cannot be written.", code="dataset") from error
    say(f"Wrote {printable(name)}.")


def make(options: argparse.Namespace) -> int:
    """Print the dataset as JSON Lines, with --json as a list. Exit code 2 for an unknown book, or if nothing is made.

    The book is one of the index; if the index has no such book, it is a folder or file of pages.
    """
    wanted = int(number(options.make, "--make", 1, _MOST, whole=True) or 1)
    settings = Settings.from_env()
    chunks, others, ids = asyncio.run(_read_books(settings, options.dataset, options.profile))
    rows = starting_dataset(chunks, others, wanted, ids=ids)
    if not rows:
        raise UsageError(f"{options.dataset} has no headings or sentences to ask about.", code="dataset")
    if options.json:
        print_json(rows)
    else:
        for row in rows:
            print(_line(row))
    if len(rows) < wanted:
        say(f"The book gave only {counted(len(rows), 'question')}.")
    if not others:
        say("There is no other book in the index, so no question is unanswerable.")
    say("Read the questions before you rely on them: wrong and unnatural ones are among them.")
    return 0


def _line(row: object) -> str:
    """The row on one line. What a terminal must not get and what other readers take for a line break are escaped."""
    text = json.dumps(row, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


async def _read_books(settings: Settings, book: str, profile: str | None) -> tuple[list[Chunk], list[Chunk], bool]:
    """The chunks of the book and of all other books, and whether the first are those of the index."""
    from rag.books.book_settings import server_of
    from rag.index.catalog import list_collections

    known = await list_collections(home=settings.home, server=server_of(settings))
    others = [name for name in known if name != book]
    if book in known:
        chunks = await _stored(settings, [book], profile)
    else:
        chunks = await asyncio.to_thread(_loaded, Path(book))
    return chunks, await _stored(settings, others, profile, broken_too=True), book in known


async def _stored(
    settings: Settings, books: Sequence[str], profile: str | None, *, broken_too: bool = False
) -> list[Chunk]:
    """All chunks of books of the index. With `broken_too`, books that cannot be read are left out."""
    from rag.books.book_settings import collection_index

    chosen = profile_of(settings, profile)
    found: list[Chunk] = []
    for name in books:
        async with aclosing(collection_index(settings, name, chosen)) as index:
            try:
                found += await index.fetch(sorted(entry.id for entry in await index.entries()))
            except AskbookError:
                if not broken_too:
                    raise
    return found


def _loaded(source: Path) -> list[Chunk]:
    """The chunks of a folder or file. Raises `UsageError` if it does not exist or has no pages."""
    if not source.exists():
        hint = "Name a book of the index, or a folder of pages."
        raise UsageError(f'There is no book and no folder "{source}".', code="collection", hint=hint)
    from rag.ingest.chunking import chunk
    from rag.ingest.loaders import load_source

    result = load_source(source)
    return [one for document in result.documents for one in chunk(document, count_tokens=lambda text: len(text) // 4)]
