"""One turn as a run of the graph: its request, its events, and always a response at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import StateSnapshot
from pydantic import ValidationError

from graph.build import RECURSION_LIMIT, AgentGraph
from graph.conversations import unanswered
from graph.memory import Memory
from graph.storage import thread_config
from nodes.turn import chosen_model
from rag.conversation.turns import check_question, failed_response, next_number
from rag.errors import AskbookError, MemoryFailureError, UsageError
from rag.ports import Services
from rag.types import Event, Response, new_id
from state import Context, InputState

# The events that are passed on to the caller.
_EVENT_TYPES: Final = frozenset({"phase", "retrieval", "waiting", "checking", "sentence", "retract"})

Events = AsyncGenerator[Event, None]


@dataclass(frozen=True)
class Request:
    """A question's thread, context, metadata and id, which its response repeats."""

    thread_id: str
    context: Context
    metadata: Mapping[str, Any]
    request_id: str = field(default_factory=new_id)

    def graph_input(self, question: str, before: Sequence[AnyMessage] = ()) -> InputState:
        """The input of a run that asks the question after the messages `before`."""
        asked = HumanMessage(id=self.request_id, content=question)
        return InputState(messages=[*before, asked], metadata=self.metadata)


def checked_context(context: Context | None) -> Context:
    """The context of a run, also from a mapping with its fields. Raises `UsageError` for anything else."""
    if context is None or isinstance(context, Context):
        return context or Context()
    try:
        return Context.model_validate(context)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        what = f"{name} of the context" if name else "the context"
        raise UsageError(
            f"{what[0].upper()}{what[1:]} is not allowed: {problem['msg']}.", code="invalid_option"
        ) from None


def interrupted_request(thread_id: str, turn: object, context: Context | None) -> Request:
    """The request of an interrupted turn. A client of the graph may have written anything into its record."""
    record = turn if isinstance(turn, dict) else {}
    metadata, request_id = record.get("metadata"), record.get("request_id")
    try:
        begun_with = Context.model_validate(record["context"]) if record.get("context") else None
    except ValidationError:
        begun_with = None
    return Request(
        thread_id,
        begun_with or context or Context(),
        metadata if isinstance(metadata, dict) else {},
        request_id if isinstance(request_id, str) else new_id(),
    )


def interrupted_question(snapshot: StateSnapshot) -> str | None:
    """The question of an interrupted turn; None if no turn was interrupted.

    `snapshot.next` does not tell: it omits tasks whose writes are stored. An answer among such writes is in the
    snapshot, and in the conversation only after the turn has been finished.
    """
    messages = snapshot.values.get("messages", []) if snapshot.tasks else []
    written = {message.id for task in snapshot.tasks for message in (task.result or {}).get("messages", [])}
    return unanswered(messages) or unanswered([message for message in messages if message.id not in written])


class TurnRunner:
    """Runs the graph for requests. `unsaved_graph` builds it without a checkpointer, for callers that keep state."""

    def __init__(
        self, graph: AgentGraph, services: Services, memory: Memory, unsaved_graph: Callable[[], AgentGraph]
    ) -> None:
        self._graph = graph
        self._services = services
        self._memory = memory
        self._build_unsaved_graph = unsaved_graph

    @cached_property
    def _unsaved_graph(self) -> AgentGraph:
        return self._build_unsaved_graph()

    async def ask(
        self, request: Request, question: str, before: Sequence[AnyMessage] = (), *, stored: bool = True
    ) -> Events:
        """Run a turn and yield its events. If the question or the model is rejected, yield only the error response."""
        parts = self._services.parts(request.context.profile)
        try:
            check_question(question, parts.profile.limits.max_question_characters)
            chosen_model(parts, request.context)
        except UsageError as error:
            yield response_event(await self._failed(error, request))
            return
        run = self.run(request, request.graph_input(question, before), stored=stored)
        async with aclosing(self.run_locked(request, run) if stored else run) as events:
            async for event in events:
                yield event

    async def run_locked(self, request: Request, events: Events, *, raises: bool = False) -> Events:
        """The events of a turn that runs under the thread's lock; the last one is always a response.

        With `raises`, a memory that fails before the run begins raises `MemoryFailureError` instead.
        The lock is released before the response is yielded, since the caller may never resume this generator.
        """
        last = None
        try:
            async with self._memory.turn(request.thread_id), aclosing(events):
                async for event in events:
                    if event.response is None:
                        yield event
                    else:
                        last = event
        except MemoryFailureError as error:
            if raises and last is None:
                raise
            last = last or response_event(await self._failed(error, request))
        if last is not None:
            yield last

    async def run(self, request: Request, graph_input: InputState | None, *, stored: bool = True) -> Events:
        """Run the graph and yield its events. If the run ends without a response, the last event is an error response.

        `graph_input` is None to finish an interrupted turn. The caller holds the thread's lock, unless nothing is to be
        `stored`.
        """
        last = None
        failure: AskbookError | None = None
        steps = self._steps(request, graph_input, stored=stored or graph_input is None)
        try:
            async with aclosing(steps) as events:
                async for event in events:
                    last = event
                    yield event
        except MemoryFailureError as error:
            failure = error
        except GraphRecursionError:
            failure = AskbookError(
                "api_error", "too_many_steps", f"The turn did not end within {RECURSION_LIMIT} steps."
            )
        if last is None or last.response is None:
            message = "The turn failed, and its error could not be recorded."
            failure = failure or AskbookError("api_error", "internal", message)
            yield response_event(await self._failed(failure, request))

    async def _steps(self, request: Request, graph_input: InputState | None, *, stored: bool = True) -> Events:
        """The events of the run's steps; the last one holds the response, if the run has given one."""
        values: Mapping[str, Any] = {}
        # A process that is killed resumes where it was, and loses no question. LangGraph allows no durability without
        # a checkpointer.
        options: dict[str, Any] = {"durability": "sync"} if stored else {}
        graph = self._graph if stored else self._unsaved_graph
        steps: Any = graph.astream(  # a generator, typed as an iterator
            graph_input,
            {**thread_config(request.thread_id), "recursion_limit": RECURSION_LIMIT},
            context=request.context,
            stream_mode=["custom", "values"],
            **options,
        )
        async with aclosing(steps):  # end the run before the caller releases the thread's lock
            async for mode, data in steps:
                if not isinstance(data, dict):
                    continue
                if mode == "values":
                    values = data
                elif data.get("type") in _EVENT_TYPES:
                    yield Event(data["type"], {name: value for name, value in data.items() if name != "type"})
        if values.get("response"):
            yield response_event(Response.model_validate(values["response"]))

    async def _failed(self, failure: AskbookError, request: Request) -> Response:
        """The error response for a question that never reached the graph, or whose run failed."""
        parts = self._services.parts(request.context.profile)
        number = 1
        if isinstance(failure, UsageError):
            with suppress(MemoryFailureError):  # report the invalid question; its number matters less
                values = (await self._graph.aget_state(thread_config(request.thread_id))).values
                number = next_number(values.get("messages", []), values.get("turn_number"))
        return failed_response(
            failure,
            profile=parts.profile.name,
            model=parts.model_name,
            request_id=request.request_id,
            thread_id=request.thread_id,
            turn_number=number,
            metadata=request.metadata,
        )


def response_event(response: Response) -> Event:
    """The last event of a turn."""
    return Event("response", response.model_dump(mode="json"), response)


async def response_of(events: Events) -> Response:
    """Consume the events of a turn and return its response."""
    async for event in events:
        if event.response is not None:
            return event.response
    raise AssertionError("a turn ends with its response")
