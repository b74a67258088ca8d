"""The search tool: its schema, its arguments and its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag.errors import AskbookError
from rag.profiles.schema import Parameter, ResultField, ToolSection
from rag.prompt.passage_format import as_data, format_passages, new_boundary
from rag.types import Passage, Retrieval

CALLS_A_ROUND: Final = 3  # further calls in the same message are not carried out
LONGEST_QUERY: Final = 2000  # code points
NOTHING_FOUND: Final = "No relevant content found in the book."
# Codes of failed searches, and prefixes of codes of failed searches and embeddings.
_SEARCH_CODES: Final = frozenset({"no_index", "embedding_mismatch"})
_SEARCH_PREFIXES: Final = ("index_", "rerank_")
_EMBEDDING_PREFIX: Final = "embedding_"


class SearchArguments(NamedTuple):
    """The arguments of a tool call; None means the profile's value. The model cannot set the filter."""

    query: str
    top_k: int | None = None
    score_threshold: float | None = None


def tool_schema(tool: ToolSection) -> dict[str, Any]:
    """The tool in the format of OpenAI's function calling, its arguments in the profile's order."""
    properties = {name: _property(spec, bounds=tool.offers_bounds) for name, spec in tool.parameters.items()}
    required = [name for name, spec in tool.parameters.items() if spec.required]
    parameters = {"type": "object", "properties": properties, "required": required}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def read_arguments(tool: ToolSection, args: Any) -> SearchArguments | str:
    """The arguments of a tool call, or one line for the model that says what is wrong with them."""
    if not isinstance(args, dict):
        return "The arguments must be a JSON object"
    unknown = next((name for name in args if name not in tool.parameters), None)
    if unknown is not None:
        return f"There is no argument {str(unknown)[:64]!r}; there are {', '.join(tool.parameters)}"
    values: dict[str, Any] = {}
    for name, parameter in tool.parameters.items():
        value = args.get(name)
        if value is None:  # missing, or null, which models write for a missing argument
            if parameter.required:
                return f"{name} is required"
            continue
        problem = _text_problem(name, value) if parameter.sets == "query" else _number_problem(name, value, parameter)
        if problem:
            return problem
        values[parameter.sets] = value.strip() if parameter.sets == "query" else value
    if values.get("top_k") is not None:
        values["top_k"] = int(values["top_k"])
    return SearchArguments(**values)


def tool_answer(tool: ToolSection, passages: Sequence[Passage], seen: int, search: Retrieval) -> str:
    """The answer to a successful search with these results. Passages up to number `seen` were given before."""
    if tool.result is None:
        return _as_passages(passages, seen)
    results = [_record(passage, rank, tool.result.fields) for rank, passage in enumerate(passages, 1)]
    values = {
        "results": results,
        "count": len(results),
        "found": search.total_chunks_found,
        "query": search.query,
        "error": None,
        "milliseconds": search.retrieval_time_ms,
    }
    return _json(tool.result.success, values, tool.result.indent)


def failed_answer(tool: ToolSection, query: str, failure: AskbookError) -> str:
    """The answer to a failed search."""
    wording = tool.errors.other
    if failure.code in _SEARCH_CODES or failure.code.startswith(_SEARCH_PREFIXES):
        wording = tool.errors.search
    elif failure.code.startswith(_EMBEDDING_PREFIX):
        wording = tool.errors.embedding
    return _failure(tool, query, wording, failure.message, failure.info().user_message)


def refused_answer(tool: ToolSection, args: Any, problem: str) -> str:
    """The answer to a call that was not carried out, because its arguments are broken or out of bounds."""
    name = next(name for name, spec in tool.parameters.items() if spec.sets == "query")
    query = args.get(name) if isinstance(args, Mapping) else None
    return _failure(tool, query if isinstance(query, str) else "", tool.errors.arguments, problem, problem)


def _property(parameter: Parameter, *, bounds: bool) -> dict[str, Any]:
    limits = {"minimum": parameter.minimum, "maximum": parameter.maximum} if bounds else {}
    optional = {"default": parameter.default, **limits}
    described = {"type": parameter.type, "description": parameter.description}
    return described | {name: value for name, value in optional.items() if value is not None}


def _text_problem(name: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{name} must be a text"
    if not value.strip():
        return f"{name} must not be empty"
    return f"{name} must have at most {LONGEST_QUERY} characters" if len(value) > LONGEST_QUERY else ""


def _number_problem(name: str, value: Any, parameter: Parameter) -> str:
    least, most = parameter.bounds()
    whole = parameter.type == "integer"
    allowed = f"{name} must be a {'whole ' if whole else ''}number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        return allowed  # also for NaN, since every comparison with it is false
    return allowed if whole and value != int(value) else ""


def _failure(tool: ToolSection, query: str, wording: str, message: str, user_message: str) -> str:
    # Not str.format: a message may contain braces, and a profile must not reach attributes.
    text = wording.replace("{user_message}", user_message).replace("{message}", message)
    if tool.result is None:
        return text
    values = {"results": [], "count": 0, "found": 0, "query": query, "error": text, "milliseconds": 0.0}
    return _json(tool.result.failure, values, tool.result.indent)


def _json(keys: Mapping[str, Any], values: Mapping[str, Any], indent: int | None) -> str:
    return json.dumps({key: values[what] for key, what in keys.items()}, indent=indent, ensure_ascii=False)


def _record(passage: Passage, rank: int, fields: Mapping[str, ResultField]) -> dict[str, Any]:
    """One passage as a JSON object. A missing heading is null; `number` is always there, for citations."""
    shown = {name: as_data(getattr(passage, name)) for name in ("text", "title", "heading", "breadcrumb")}
    known = passage.model_dump() | shown | {"rank": rank, "heading": shown["heading"] or None}
    record = {key: known[name] for key, name in fields.items()}
    return record if "number" in fields.values() else record | {"number": passage.number}


def _as_passages(passages: Sequence[Passage], seen: int) -> str:
    new = [passage for passage in passages if passage.number > seen]
    known = [passage for passage in passages if passage.number <= seen]
    if not passages:
        return NOTHING_FOUND
    lines = ["Already given: " + ", ".join(f"[{passage.number}]" for passage in known) + "."] if known else []
    return "\n".join([*lines, *([format_passages(new, new_boundary())] if new else [])])
