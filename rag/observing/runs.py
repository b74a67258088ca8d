"""LangChain's callbacks as begun and ended runs: a turn, its nodes, and their searches, tools and model calls.

Only names, ids, counts and times of a run are kept: the texts that the callbacks bring are never read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from rag.errors import AskbookError

RunKind = Literal["turn", "node", "search", "tool", "model"]

PHASE_OF: Final = {
    "IDLE": "IDLE",
    "rewrite": "RETRIEVING",
    "RETRIEVING": "RETRIEVING",
    "tools": "RETRIEVING",
    "GENERATING": "GENERATING",
    "ERROR": "ERROR",
}


@dataclass
class Run:
    """One run. `name` is the node, the tool or the model; `facts` are what is known of it, by name.

    `began` is in seconds of `time.perf_counter`. `turn` is the run of the whole turn, which may be this one, and
    `parent` the run that began this one.
    """

    kind: RunKind
    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    parent: Run | None = None
    began: float = field(default_factory=time.perf_counter)

    @property
    def turn(self) -> Run:
        return self if self.parent is None else self.parent.turn

    @property
    def milliseconds(self) -> float:
        """How long the run has lasted."""
        return round((time.perf_counter() - self.began) * 1000, 1)


class RunObserver(BaseCallbackHandler):
    """Tells a subclass of each run that begins and ends. What a cancelled turn leaves open ends with the turn."""

    run_inline = True  # in the task of the run, and so in order

    def __init__(self) -> None:
        self._runs: dict[UUID, Run] = {}

    def begun(self, run: Run) -> None:
        """A run has begun."""

    def ended(self, run: Run, problem: str) -> None:
        """A run has ended; `problem` is the code of its failure, empty when there is none."""

    def on_chain_start(
        self,
        serialized: Any,  # noqa: ARG002
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **told: Any,
    ) -> None:
        said, name = metadata or {}, str(told.get("name"))
        parent = self._runs.get(parent_run_id) if parent_run_id else None
        if parent is None:
            facts = _known(thread_id=said.get("thread_id"), request_id=_request_of(inputs))
            self._begin(run_id, Run("turn", "askbook", facts))
        elif name in PHASE_OF and name == said.get("langgraph_node"):  # else a router, or a chain inside a node
            _learn(parent, inputs)
            self._begin(run_id, Run("node", name, {"phase": PHASE_OF[name]}, parent))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_told: Any) -> None:
        run = self._runs.get(run_id)
        if run is None:
            return
        if isinstance(outputs, Mapping):
            _learn(run.turn, outputs)
            passages = outputs.get("passages")
            count = len(passages) if isinstance(passages, list) else None
            of_node = _known(next_phase=outputs.get("phase"), passages=count)
            run.facts |= _answer_facts(outputs) if run.kind == "turn" else of_node
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_told: Any) -> None:
        self._end(run_id, error)

    on_retriever_error = on_tool_error = on_llm_error = on_chain_error

    def on_retriever_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **_told: Any) -> None:
        self._begin_inside("search", "search", run_id, parent_run_id)

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **_told: Any) -> None:
        self._end(run_id, passages=len(documents))

    def on_tool_start(
        self, serialized: Any, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **_told: Any
    ) -> None:
        self._begin_inside("tool", str((serialized or {}).get("name") or "tool"), run_id, parent_run_id)

    def on_tool_end(self, *_: Any, run_id: UUID, **_told: Any) -> None:
        self._end(run_id)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,  # noqa: ARG002
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **told: Any,
    ) -> None:
        said, asked = metadata or {}, told.get("invocation_params") or {}
        name = asked.get("model") or asked.get("model_name") or said.get("ls_model_name") or asked.get("_type")
        facts = _known(
            provider=said.get("ls_provider"),
            temperature=asked.get("temperature", said.get("ls_temperature")),
            max_tokens=asked.get("max_completion_tokens") or asked.get("max_tokens") or said.get("ls_max_tokens"),
            messages=sum(map(len, messages)),
        )
        self._begin_inside("model", str(name or "model"), run_id, parent_run_id, facts)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_told: Any) -> None:
        generations = response.generations[0] if response.generations else []
        message = getattr(generations[0], "message", None) if generations else None
        usage = getattr(message, "usage_metadata", None) or {}
        self._end(run_id, input_tokens=usage.get("input_tokens"), output_tokens=usage.get("output_tokens"))

    def _begin_inside(
        self, kind: RunKind, name: str, run_id: UUID, parent_run_id: UUID | None, facts: dict[str, Any] | None = None
    ) -> None:
        parent = self._runs.get(parent_run_id) if parent_run_id else None
        if parent is not None:  # else it belongs to no turn of ours
            self._begin(run_id, Run(kind, name, facts or {}, parent))

    def _begin(self, run_id: UUID, run: Run) -> None:
        self._runs[run_id] = run
        self.begun(run)

    def _end(self, run_id: UUID, error: BaseException | None = None, **facts: Any) -> None:
        run = self._runs.pop(run_id, None)
        if run is None:
            return
        run.facts |= _known(**facts)
        if run.kind == "turn":
            for left in [key for key, one in self._runs.items() if one.turn is run][::-1]:
                self.ended(self._runs.pop(left), "cancelled")
        # The code of a failure, or its class: never its text, which may hold anything.
        problem = error.code if isinstance(error, AskbookError) else type(error).__name__ if error else ""
        self.ended(run, problem)


def _known(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _request_of(inputs: Any) -> str | None:
    """The id of the question, which is the id of the request."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    found = getattr(last, "id", None)
    return found if isinstance(found, str) else None


def _learn(run: Run, values: Any) -> None:
    """Take the request's id from the state: LangGraph gives the question one when the caller has not."""
    turn = values.get("turn") if isinstance(values, Mapping) else None
    if isinstance(turn, Mapping) and isinstance(turn.get("request_id"), str):
        run.turn.facts["request_id"] = turn["request_id"]


def _answer_facts(state: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of the response, which the state of an ended turn holds."""
    answer = state.get("response")
    if not isinstance(answer, Mapping):
        return {}
    failure, grounding = answer.get("error") or {}, answer.get("grounding") or {}
    tokens = answer.get("tokens_used") or {}
    return _known(
        request_id=answer.get("request_id"),
        turn_number=answer.get("turn_number"),
        status=answer.get("status"),
        reason=answer.get("fallback_reason"),
        error=failure.get("code"),
        profile=answer.get("profile"),
        model=answer.get("model"),
        passages=len(answer.get("retrieved_chunks") or []),
        citations=len(answer.get("citations") or []),
        sentences=grounding.get("sentences"),
        unconfirmed=grounding.get("unconfirmed"),
        removed=grounding.get("removed"),
        model_calls=answer.get("llm_calls"),
        input_tokens=tokens.get("input"),
        output_tokens=tokens.get("output"),
        first_sentence_ms=(answer.get("timings_ms") or {}).get("first_token"),
    )
