"""The agent for programs: `open_agent` builds and closes everything, `Agent` asks questions and undoes turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from graph.build import AgentGraph, build_graph, with_callbacks, with_thread_lock
from graph.conversations import remove_last_turn
from graph.memory import Memory, MemoryOptions, open_memory
from graph.storage import thread_config
from graph.turn_run import Request, TurnRunner, checked_context, interrupted_question, interrupted_request, response_of
from nodes.turn import DEFAULT_RETRIES, RetrySettings, checked_metadata
from rag.caller_parts import CallerParts
from rag.conversation.retrieval_context import RetrievalContext
from rag.conversation.turns import check_question, check_thread_id, unknown_thread
from rag.errors import AskbookError, RetrievalError, UsageError
from rag.ports import Services
from rag.search.langchain_retriever import SeenChunkIndex
from rag.search.retriever import parse_filter
from rag.services import LiveServices, observers_of, open_services
from rag.settings import Settings
from rag.types import Event, Response, new_id
from state import Context

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from qdrant_client import QdrantClient

    from rag.ingest.chunk_vectors import OnProgress
    from rag.ingest.report import IngestProgress, IngestReport
    from rag.ports import Judge


class Agent:
    """A compiled graph with its services and its memory. Many conversations may use it at once.

    A failed turn returns a `Response` with status "error"; only wrong usage, such as an unknown conversation, raises
    `UsageError`. Turns of one conversation run one after the other, across processes too; a turn that cannot begin in
    time fails with the code "thread_busy". Methods that are not turns raise `MemoryFailureError` when the memory fails.
    `graph` is the compiled LangGraph graph. A run of it waits for the thread's lock as a turn does, and raises
    `MemoryFailureError` if the lock is not free in time.
    """

    def __init__(
        self,
        graph: AgentGraph,
        services: Services,
        memory: Memory,
        retries: RetrySettings = DEFAULT_RETRIES,
        observers: Sequence[BaseCallbackHandler] = (),
    ) -> None:
        self._graph = with_callbacks(graph, observers)  # without the lock: for turns, which hold it already
        self.graph = with_thread_lock(self._graph, memory.turn)
        self._runs = TurnRunner(
            self._graph, services, memory, lambda: with_callbacks(build_graph(services, retries).compile(), observers)
        )
        self.services = services
        self.memory = memory

    async def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Response:
        """Run one turn of a conversation; the response repeats `metadata`.

        Without `thread_id` the turn belongs to the profile's own conversation if it has one, else to a new one.
        """
        return await response_of(self.stream(question, thread_id=thread_id, context=context, metadata=metadata))

    def stream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one turn and yield its events; the last one holds the response. Raises `UsageError` for an invalid id."""
        if thread_id is None:
            thread = self.services.parts(checked_context(context).profile).profile.memory.thread or new_id()
        else:
            thread = check_thread_id(thread_id)
        return self._runs.ask(Request(thread, checked_context(context), checked_metadata(metadata)), question)

    def stream_messages(
        self,
        messages: Sequence[AnyMessage],
        *,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer the last of the messages and yield the events of the turn. The caller keeps the conversation.

        `messages` are questions and answers, a question last. Nothing is stored.
        """
        request = Request(new_id(), checked_context(context), checked_metadata(metadata))
        question = messages[-1].text if messages else ""
        return self._runs.ask(request, question, messages[:-1], stored=False)

    async def resume(self, thread_id: str, *, context: Context | None = None) -> AsyncGenerator[Event, None]:
        """Finish an interrupted turn and yield its events. Searches that were done are not repeated.

        The turn keeps the context it began with; `context` is used only when it had not begun. Raises `UsageError` when
        there is nothing to finish.
        """
        snapshot = await self._graph.aget_state(thread_config(thread_id))
        if interrupted_question(snapshot) is None:
            raise UsageError("There is no turn to finish.", code="nothing_to_resume")
        request = interrupted_request(thread_id, snapshot.values.get("turn"), checked_context(context))
        async with aclosing(self._runs.run_locked(request, self._runs.run(request, None))) as events:
            async for event in events:
                yield event

    async def unfinished(self, thread_id: str) -> str | None:
        """The question of an interrupted turn, which `resume` can finish; None when there is none."""
        return interrupted_question(await self._graph.aget_state(thread_config(thread_id)))

    async def undo(self, thread_id: str, *, last: str | None = None) -> str:
        """Remove the last turn, answered or not. Returns its question.

        `last` is the `request_id` or the question of the turn to remove. If the last turn is a different one, nothing
        is removed and `UsageError` "other_turn" is raised. Also raises `UsageError` if there is no turn, and for an
        unknown conversation.
        """
        async with self.memory.turn(thread_id):
            asked = await remove_last_turn(self._graph, self.memory.database, thread_id, meant=last)
        if asked is None:
            raise UsageError("There is no turn to undo.", code="nothing_to_undo")
        return asked.question

    async def retry(self, thread_id: str, *, context: Context | None = None, last: str | None = None) -> Response:
        """Replace the last turn by asking its question again, as the same request: its id and its metadata stay.

        `last` works as in `undo`. Raises `UsageError` if there is no turn, or if the last turn is a different one.
        """
        return await response_of(self.stream_retry(thread_id, context=context, last=last))

    def stream_retry(
        self, thread_id: str, *, context: Context | None = None, last: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """As `retry`, and yield the events of the new turn. The answer is replaced under one lock.

        The old turn stays if the profile is unknown or rejects the question. Raises `MemoryFailureError` when the
        thread is busy.
        """
        request = Request(thread_id, checked_context(context), {})
        return self._runs.run_locked(request, self._asking_again(request, last), raises=True)

    async def _asking_again(self, request: Request, last: str | None) -> AsyncGenerator[Event, None]:
        longest = self.services.parts(request.context.profile).profile.limits.max_question_characters
        check = partial(check_question, longest=longest)
        asked = await remove_last_turn(
            self._graph, self.memory.database, request.thread_id, check=check, meant=last, keep=True
        )
        if asked is None:
            raise UsageError("There is no question to ask again.", code="nothing_to_retry")
        request = replace(request, metadata=asked.metadata, request_id=asked.request_id)
        async with aclosing(self._runs.run(request, request.graph_input(asked.question))) as events:
            async for event in events:
                yield event

    async def clear(self, thread_id: str) -> None:
        """Delete the conversation; its id can be used again."""
        await self.memory.delete(thread_id)

    async def threads(self) -> list[str]:
        """The ids of the stored conversations, newest first."""
        return await self.memory.threads()

    async def summary(self, thread_id: str) -> dict[str, Any] | None:
        """A conversation's entry in a list; None when there is none."""
        return await self.memory.summary(thread_id)

    async def passages(self, chunk_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Stored chunks, whole, in the given order; unknown ids are left out. Raises `RetrievalError`."""
        if isinstance(chunk_ids, str) or not isinstance(chunk_ids, Sequence):
            raise UsageError(f"chunk_ids must be a list of ids, unlike {chunk_ids!r:.40}.", code="given")
        return [chunk.as_data() for chunk in await self.services.index.fetch(chunk_ids)]

    async def search(self, query: str, *, k: int | None = None, filter: str | None = None) -> dict[str, Any]:
        """The passages for a query, as `run.py search --json` prints them. Raises `AskbookError`."""
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise UsageError(f"k must be a whole number from 1 on, unlike {k!r:.40}.")
        parts = self.services.parts(None)
        retrieval = parts.profile.retrieval
        found = await parts.retriever.retrieve(
            check_question(query, parts.profile.limits.max_question_characters),
            k=k or retrieval.top_k,
            threshold=retrieval.score_threshold,
            where=parse_filter(filter),
        )
        return found.as_data(filter)

    async def book(self) -> dict[str, Any]:
        """The name of the book and the number of its passages; 0 for one that is not indexed."""
        info = await self.services.index.info()
        return {"collection": self.services.index.collection, "passages": info.chunks if info else 0}

    async def ingest(
        self,
        sources: Sequence[Path | str] | Path | str,
        *,
        base_url: str | None = None,
        collection: str | None = None,
        generator: str | None = None,
        include: Sequence[str] | str = (),
        exclude: Sequence[str] | str = (),
        rebuild: bool = False,
        dry_run: bool = False,
        watch: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Read folders, files or addresses into a book, as `run.py ingest` does with the options of the same names.

        `collection` is by default the book that the agent answers from. An agent that answers from the manual reads
        into the usual book instead, and answers from it afterwards. `watch` is called in the event loop with the
        progress of each step. Cancelling leaves the index as it was. Raises `UsageError` for sources that cannot be
        read and `RetrievalError` if the index fails or another ingestion changes it.
        """
        if not isinstance(self.services, LiveServices):
            raise UsageError("This agent was made without a reader of books.", code="no_reader")
        from rag.ingest.book_sources import IngestOptions, texts

        options = IngestOptions.checked(
            base_url=base_url,
            generator=generator,
            include=include,
            exclude=exclude,
            rebuild=rebuild,
            dry_run=dry_run,
        )
        return await self.services.ingest(texts("sources", sources), options, collection, watch)

    async def check_health(self) -> dict[str, str]:
        """What fails, by part ("index", "memory"), in one sentence each; empty when everything answers.

        Anybody may ask a server for it, so a file is named without its folder.
        """
        failing: dict[str, str] = {}
        place = self.memory.database.place
        checks = {"index": self._check_book, "memory": self.memory.probe}
        for part, check in checks.items():
            try:
                await check()
            except AskbookError as error:
                failing[part] = error.message.replace(place, Path(place).name)
        return failing

    async def _check_book(self) -> None:
        """Raise `RetrievalError` if no question can be answered from the index. A caller's retriever has no index."""
        index = self.services.index
        if not (isinstance(index, SeenChunkIndex) or ((info := await index.info()) and info.chunks)):
            raise RetrievalError("no_index", "The book is not in the index.")

    async def conversation(self, thread_id: str) -> dict[str, Any]:
        """A stored conversation in the format of `rag.conversation.turns`. Raises `UsageError` if unknown."""
        stored = await self.memory.conversation(thread_id)
        if stored is None:
            raise unknown_thread(thread_id)
        return stored

    async def last_retrieval(self, thread_id: str) -> RetrievalContext | None:
        """The passages of the newest turn that searched, with their text as stored now; None before any search.

        Raises `UsageError` for an unknown conversation.
        """
        searched = [turn for turn in (await self.conversation(thread_id))["turns"] if turn.get("retrievals")]
        if not searched:
            return None
        ids = [chunk["chunk_id"] for chunk in searched[-1]["retrieved_chunks"] or []]
        return RetrievalContext.of_turn(searched[-1], await self.services.index.fetch(ids))


@asynccontextmanager
async def open_agent(
    settings: Settings,
    profile: str | None = None,
    *,
    collection: str | None = None,
    model: BaseChatModel | None = None,
    retriever: BaseRetriever | VectorStore | None = None,
    embeddings: Embeddings | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    qdrant_client: QdrantClient | None = None,
    judge: Judge | None = None,
    progress: OnProgress | None = None,
    retries: RetrySettings = DEFAULT_RETRIES,
) -> AsyncIterator[Agent]:
    """An agent with its services, closed at exit.

    `profile` defaults to the settings' profile; `collection` names the book; `retries` sets how failed steps are
    retried. `model` to `qdrant_client` are LangChain's and LangGraph's own objects in place of ours; the caller closes
    them. `judge` judges the sentences of the answers in place of a language model. Raises `UsageError` for a wrong
    configuration and `MemoryFailureError` when the memory cannot be opened.
    """
    if not isinstance(settings, Settings):
        raise UsageError("settings must be Settings.", code="given", hint="Give Settings.from_env().")
    if not isinstance(retries, RetrySettings):
        raise UsageError(f"retries must be RetrySettings, not of the class {type(retries).__name__}.", code="given")
    name = profile or settings.profile
    caller_parts = CallerParts(model, retriever, embeddings, qdrant_client, judge)
    async with open_services(
        settings, profile=name, collection=collection, progress=progress, caller_parts=caller_parts
    ) as services:
        persistent = services.parts(name).profile.memory.persistent
        options = MemoryOptions.of(settings)
        async with open_memory(
            settings.home, persistent=persistent, options=options, checkpointer=checkpointer, store=store
        ) as memory:
            graph = memory.compile(build_graph(services, retries))
            yield Agent(graph, services, memory, retries, observers_of(settings))
