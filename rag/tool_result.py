"""What a search answers to the model that asked for it: passages or JSON, as the profile says, and errors likewise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag.context import NOTHING_FOUND
from rag.errors import AskbookError
from rag.profile_sections import ResultField, ToolSection
from rag.prompt_format import as_data, format_passages, new_boundary
from rag.types import Passage, Retrieval

_SEARCH_CODES: Final = frozenset({"no_index", "embedding_mismatch"})
_SEARCH: Final = ("index_", "rerank_")  # what other codes of a search begin with
_EMBEDDING: Final = "embedding_"


def tool_answer(tool: ToolSection, passages: Sequence[Passage], seen: int, search: Retrieval) -> str:
    """The answer to a search that went well.

    `passages` is what it found, best first, each with its number of this turn; numbers up to `seen` were given before.
    """
    if tool.result is None:
        return _as_passages(passages, seen)
    results = [_record(passage, rank, tool.result.fields) for rank, passage in enumerate(passages, 1)]
    values = {
        "results": results,
        "count": len(results),
        "query": search.query,
        "error": None,
        "milliseconds": search.retrieval_time_ms,
    }
    return _json(tool.result.success, values, tool.result.indent)


def failed_answer(tool: ToolSection, query: str, failure: AskbookError) -> str:
    """The answer to a search that failed."""
    wording = tool.errors.other
    if failure.code in _SEARCH_CODES or failure.code.startswith(_SEARCH):
        wording = tool.errors.search
    elif failure.code.startswith(_EMBEDDING):
        wording = tool.errors.embedding
    return _failure(tool, query, wording, failure.message, failure.info().user_message)


def refused_answer(tool: ToolSection, args: Any, problem: str) -> str:
    """The answer to a call that was not carried out: its arguments are broken or out of bounds."""
    name = next(name for name, one in tool.parameters.items() if one.sets == "query")
    query = args.get(name) if isinstance(args, Mapping) else None
    return _failure(tool, query if isinstance(query, str) else "", tool.errors.arguments, problem, problem)


def _failure(tool: ToolSection, query: str, wording: str, message: str, user_message: str) -> str:
    # Not str.format: a message may hold braces, and a profile's text is not trusted with attributes.
    said = wording.replace("{user_message}", user_message).replace("{message}", message)
    if tool.result is None:
        return said
    values = {"results": [], "count": 0, "query": query, "error": said, "milliseconds": 0.0}
    return _json(tool.result.failure, values, tool.result.indent)


def _json(keys: Mapping[str, Any], values: Mapping[str, Any], indent: int | None) -> str:
    return json.dumps({key: values[what] for key, what in keys.items()}, indent=indent, ensure_ascii=False)


def _record(passage: Passage, rank: int, fields: Mapping[str, ResultField]) -> dict[str, Any]:
    """One result. A heading that the book does not have is null; `number` is what the model cites it by."""
    shown = {name: as_data(getattr(passage, name)) for name in ("text", "title", "heading", "breadcrumb")}
    known = passage.model_dump() | shown | {"rank": rank, "heading": shown["heading"] or None}
    record = {key: known[name] for key, name in fields.items()}
    return record if "number" in fields.values() else record | {"number": passage.number}


def _as_passages(passages: Sequence[Passage], seen: int) -> str:
    new = [passage for passage in passages if passage.number > seen]
    known = [passage for passage in passages if passage.number <= seen]
    lines = []
    if known:
        lines.append("Already given: " + ", ".join(f"[{passage.number}]" for passage in known) + ".")
    if new or not known:
        lines.append(format_passages(new, new_boundary()) if new else NOTHING_FOUND)
    return "\n".join(lines)
