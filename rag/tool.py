"""The search that the model may ask for: how it is offered, what it may ask, what it gets back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.profiles import ToolSection
from rag.prompt_format import format_passages, new_boundary
from rag.types import Passage

CALLS_A_ROUND: Final = 3  # further calls in one message are answered with a refusal to search


class SearchArguments(BaseModel):
    """What the model may set. The filter is the caller's alone."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=2000)
    top_k: int | None = Field(default=None, ge=1, le=20)


def tool_schema(tool: ToolSection) -> dict[str, Any]:
    """The tool in the form of OpenAI's function calling."""
    properties = {
        "query": {"type": "string", "description": tool.query_description},
        "top_k": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many passages to return."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["query"]}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def read_arguments(args: Any) -> SearchArguments | str:
    """The model's arguments, or what is wrong with them in one line, for the model to mend."""
    try:
        return SearchArguments.model_validate(args)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the arguments"
        return f"{where}: {problem['msg']}"


def tool_result(new: Sequence[Passage], known: Sequence[Passage]) -> str:
    """What the model reads of a search: the passages it has not seen yet, and the numbers of those it has."""
    lines = []
    if known:
        lines.append("Already given: " + ", ".join(f"[{passage.number}]" for passage in known) + ".")
    lines.append(format_passages(new, new_boundary()) if new else "No further passages found.")
    return "\n".join(lines)
