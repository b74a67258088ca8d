"""A question as the machine takes it: its thread, its options, and what the response repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import StateSnapshot
from pydantic import JsonValue, TypeAdapter, ValidationError

from graph.conversations import unanswered
from rag.errors import UsageError
from rag.types import new_id
from state import Context, InputState


@dataclass(frozen=True)
class Request:
    """A question's thread, context, metadata and id, which its response repeats."""

    thread_id: str
    context: Context
    metadata: Mapping[str, Any]
    request_id: str = field(default_factory=new_id)

    def asking(self, question: str) -> InputState:
        """The input of a run that asks the question."""
        return InputState(messages=[HumanMessage(id=self.request_id, content=question)], metadata=self.metadata)


def checked_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The metadata, if they can be stored and given back as JSON. Raises `UsageError`."""
    try:
        if metadata:
            form = TypeAdapter(dict[str, JsonValue])
            form.dump_json(form.validate_python(metadata, strict=True))
    except (ValidationError, ValueError):  # a value that JSON does not have
        raise UsageError("The metadata are not a mapping from text to JSON values.") from None
    return metadata or {}


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
    """The question that the machine stopped at. Not by `next`, which omits a task whose writes are already stored."""
    return unanswered(snapshot.values.get("messages", [])) if snapshot.tasks else None
