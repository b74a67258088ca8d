"""The agent as programs use it: `open_agent` builds everything once and closes it, `Agent` asks and takes back."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.errors import GraphRecursionError
from langgraph.graph.state import CompiledStateGraph

from graph.build import STEPS, build_graph
from graph.memory import Saver, broken_memory, conversation, delete_thread, open_memory, thread_config, thread_ids
from rag.conversation import check_question, check_thread_id, failed_response, turns, unknown_thread
from rag.errors import AskbookError, InvalidQuestionError, UsageError
from rag.patience import USUAL, Patience
from rag.ports import Services
from rag.retrieval_context import RetrievalContext
from rag.services import Progress, open_services
from rag.settings import Settings
from rag.types import Event, Response, new_id
from state import EMPTY_BOARD, AgentState, Context, InputState

Graph = CompiledStateGraph[AgentState, Context, InputState, AgentState]

_PASSED_ON: Final = frozenset({"phase", "retrieval", "waiting", "sentence", "retract"})


class Agent:
    """One machine over one set of services. Safe to use for many conversations at once.

    `graph` is the compiled LangGraph graph itself. Failures of a turn come back as a `Response` with status "error";
    only wrong usage, such as an unknown conversation, raises `UsageError`.
    """

    def __init__(self, graph: Graph, services: Services, memory: Saver) -> None:
        self.graph = graph
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
        """One turn of a conversation; `metadata` comes back in the response.

        Without `thread_id` it is the profile's own conversation where it has one, else a new one.
        """
        async for event in self.stream(question, thread_id=thread_id, context=context, metadata=metadata):
            if event.response is not None:
                return event.response
        raise AssertionError("a stream ends with its response")

    async def stream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        context: Context | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[Event]:
        """The same turn as it happens; the last event is the response. Raises `UsageError` for an impossible id."""
        profile = self.services.parts((context or Context()).profile).profile
        thread = (profile.memory.thread or new_id()) if thread_id is None else check_thread_id(thread_id)
        asked = HumanMessage(id=new_id(), content=question)
        try:
            check_question(question, profile.limits.max_question_characters)
            response = None
            async for event in self._run(asked, thread, context, metadata or {}):
                response = event.response or response
                yield event
        except InvalidQuestionError as error:
            failure: AskbookError = error
        except sqlite3.Error as error:
            failure = broken_memory(error)
        except GraphRecursionError:
            failure = AskbookError("api_error", "too_many_steps", f"The turn did not end within {STEPS} steps.")
        else:
            if response is not None:
                return
            failure = AskbookError("api_error", "internal", "The failure of the turn could not be reported.")
        yield _event(await self._failed(failure, asked, thread, context, metadata or {}))

    async def _run(
        self, asked: HumanMessage, thread: str, context: Context | None, metadata: Mapping[str, Any]
    ) -> AsyncIterator[Event]:
        values: Mapping[str, Any] = {}
        async for mode, data in self.graph.astream(
            InputState(messages=[asked], metadata=metadata),
            {**thread_config(thread), "recursion_limit": STEPS},
            context=context or Context(),
            stream_mode=["custom", "values"],
            durability="sync",  # a process that is killed resumes where it was, and loses no question
        ):
            if not isinstance(data, dict):
                continue
            if mode == "values":
                values = data
            elif data.get("type") in _PASSED_ON:
                yield Event(data["type"], {name: value for name, value in data.items() if name != "type"})
        if values.get("response"):
            yield _event(Response.model_validate(values["response"]))

    async def _failed(
        self,
        failure: AskbookError,
        asked: HumanMessage,
        thread: str,
        context: Context | None,
        metadata: Mapping[str, Any],
    ) -> Response:
        """The response of a turn that the machine never saw, or could not finish."""
        parts = self.services.parts((context or Context()).profile)
        number = 1
        if isinstance(failure, InvalidQuestionError):
            with suppress(sqlite3.Error):  # that the question is invalid is the news, and its number a detail
                values = (await self.graph.aget_state(thread_config(thread))).values
                number = values.get("turn_number", 0) + 1
        return failed_response(
            failure,
            profile=parts.profile.name,
            model=parts.model_name,
            request_id=asked.id,
            thread_id=thread,
            turn_number=number,
            metadata=metadata,
        )

    async def undo(self, thread_id: str) -> str | None:
        """Take the last turn back, answered or not. Returns its question, or None where there is no turn.

        Raises `UsageError` for an unknown conversation.
        """
        state = await self._state(thread_id)
        messages: Sequence[AnyMessage] = state.get("messages", [])
        last = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=None)
        if last is None:
            return None
        update = EMPTY_BOARD | {
            "messages": [RemoveMessage(id=message.id or "") for message in messages[last:]],
            # Counted anew, since a question that was broken off may or may not have been counted.
            "turn_number": max((turn["turn_number"] for turn in turns(messages[:last])), default=0),
            "turn": None,
            "phase": "IDLE",
        }
        await self.graph.aupdate_state(thread_config(thread_id), update, as_node="idle")
        return messages[last].text

    async def retry(self, thread_id: str, *, context: Context | None = None) -> Response:
        """Ask the last question again, in place of its last answer. Raises `UsageError` where there is none."""
        question = await self.undo(thread_id)
        if question is None:
            raise UsageError("There is no question to ask again.", code="nothing_to_retry")
        return await self.ask(question, thread_id=thread_id, context=context)

    async def clear(self, thread_id: str) -> None:
        """Forget the conversation; its id can be used again."""
        await delete_thread(self.memory, thread_id)

    async def threads(self) -> list[str]:
        """The ids of the stored conversations, newest first."""
        return await thread_ids(self.memory)

    async def conversation(self, thread_id: str) -> dict[str, Any]:
        """A stored conversation as `rag.transcript` has it. Raises `UsageError` for an unknown one."""
        found = await conversation(self.memory, thread_id)
        if found is None:
            raise unknown_thread(thread_id)
        return found

    async def last_retrieval(self, thread_id: str) -> RetrievalContext | None:
        """What the newest turn of a conversation was answered from, as it is stored now; None before any search.

        Raises `UsageError` for an unknown conversation.
        """
        searched = [turn for turn in (await self.conversation(thread_id))["turns"] if turn.get("retrievals")]
        if not searched:
            return None
        shown = [one["chunk_id"] for one in searched[-1]["retrieved_chunks"] or []]
        return RetrievalContext.of_turn(searched[-1], await self.services.index.fetch(shown))

    async def _state(self, thread_id: str) -> Mapping[str, Any]:
        snapshot = await self.graph.aget_state(thread_config(thread_id))
        if not snapshot.values:
            raise unknown_thread(thread_id)
        return dict(snapshot.values)


def _event(response: Response) -> Event:
    return Event("response", response.model_dump(mode="json"), response)


@asynccontextmanager
async def open_agent(
    settings: Settings,
    profile: str | None = None,
    *,
    collection: str | None = None,
    progress: Progress | None = None,
    patience: Patience = USUAL,
) -> AsyncIterator[Agent]:
    """An agent with its services, closed at exit.

    `profile` is the settings' unless given; `collection` is the book; `patience` says how failed steps are retried.
    Raises `UsageError` for what is configured wrongly and `MemoryFailureError` when the memory cannot be opened.
    """
    name = profile or settings.profile
    async with open_services(settings, profile=name, collection=collection, progress=progress) as services:
        persistent = services.parts(name).profile.memory.persistent
        async with open_memory(settings.home, persistent=persistent) as memory:
            yield Agent(build_graph(services, patience).compile(checkpointer=memory), services, memory)
