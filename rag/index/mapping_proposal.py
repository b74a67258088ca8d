"""Propose a mapping for a foreign collection from a few of its points.

A field is found by its name, one that ingestion scripts commonly use, and by what its values look like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rag.embedding.known_models import HOSTED, PACKAGED
from rag.index.collection_schema import FieldMap, value_at

POINTS: Final = 16  # points read for a proposal
_DEPTH: Final = 4  # levels of nested fields
_LONGEST: Final = 3  # most paths proposed for one field

_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "text": ("page_content", "text", "content", "text_content", "chunk_text", "chunk", "body", "passage", "document"),
    "title": ("title", "page_title", "doc_title", "document_title", "chapter_title", "chapter_name", "chapter"),
    "heading": ("heading", "section", "section_name", "section_heading", "section_title", "subsection", "header"),
    "breadcrumb": ("breadcrumb", "breadcrumbs", "hierarchy_path", "hierarchy", "heading_path", "path"),
    "url": ("url", "page_url", "source_url", "link", "permalink", "href", "source"),
    "source_file_path": (
        "source_file_path", "source_file", "file_path", "filepath", "source", "path", "filename", "file_name", "file",
    ),
    "chunk_index": ("chunk_index", "index", "position", "chunk_position", "chunk_number", "chunk_id", "start_pos",
                    "start_line"),
    "chapter": ("chapter", "chapter_number", "chapter_num", "chapter_id", "chapter_name", "chapter_title"),
    "page_number": ("page_number", "page_num", "page_no", "page"),
}  # fmt: skip
# What a value looks like; that of a breadcrumb may also be a list.
_LINE: Final = r".{0,300}"
_COUNT: Final = r"\s*\d+(?:\.0+)?\s*"
_LOOKS: Final = {
    "title": _LINE,
    "heading": _LINE,
    "breadcrumb": r".*>.*",
    "url": r"(?:https?://|/)\S*\s*",
    "source_file_path": r"(?!.*://).*[\w)-]\.\w{1,8}\s*",
    "chunk_index": _COUNT,
    "chapter": _LINE,
    "page_number": _COUNT,
}


def propose(payloads: Sequence[Mapping[str, Any] | None]) -> FieldMap | None:
    """A mapping for the payloads; None if no field can be the text."""
    values = _values([payload for payload in payloads if payload])
    text = _text(values)
    if text is None:
        return None
    found = {name: _paths(name, values, exclude=text) for name in _WORDS if name != "text"}
    # One path serves one field of a chunk.
    found["heading"] = tuple(path for path in found["heading"] if path not in found["title"])
    found["breadcrumb"] = tuple(path for path in found["breadcrumb"] if path not in found["source_file_path"])
    return FieldMap(text=(text,), **found)


def proposed_profile(collection: str, described: Any, payloads: Sequence[Any], model: str = "") -> str:
    """A profile's sections for a collection, from qdrant-client's description of it and some of its payloads.

    Comments list the candidates for what the user has to choose: the vector, and the model unless `model` is given.
    """
    params = described.config.params
    dense = params.vectors if isinstance(params.vectors, Mapping) else {"": params.vectors} if params.vectors else {}
    sizes = {vector.size for vector in dense.values()}
    known = {PACKAGED: 384} | {name: model.dimension for name, model in HOSTED.items()}
    fits = [name for name, size in known.items() if size in sizes]
    lines = ["[book]", f"collection = {_quoted(collection)}"]
    if not model:
        numbers = " or ".join(map(str, sorted(sizes))) or "no"
        lines.append(
            f"# The model that made its vectors of {numbers} dimensions; of that size: {', '.join(fits) or '?'}"
        )
    lines.append(f"embedding_model = {_quoted(model)}")
    if len(dense) > 1:
        first, *others = dense
        lines.append(f"vector = {_quoted(first)}  # or {', '.join(map(_quoted, others))}")
    lines += [f"# sparse_vector = {_quoted(name)}  # if Qdrant/bm25 made it" for name in params.sparse_vectors or {}]
    fields = propose(payloads)
    if fields is None:
        names = ", ".join(map(_quoted, sorted({str(name) for payload in payloads for name in payload or {}})))
        return "\n".join([*lines, "", "[book.payload]", f"# None of its fields reads like a text: {names or 'none'}"])
    return "\n".join([*lines, "", *payload_section(fields)])


def payload_section(fields: FieldMap) -> list[str]:
    """The lines of the section `[book.payload]` of a profile."""
    lines = ["[book.payload]"]
    for name, paths in fields.paths().items():
        listed = ", ".join(map(_quoted, paths))
        lines.append(f"{name} = {listed}" if len(paths) == 1 else f"{name} = [{listed}]")
    return lines


def _quoted(value: str) -> str:
    """A TOML string. It is a JSON string, except that TOML wants DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _values(payloads: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The non-empty values at each path of the payloads, paths in the order in which they first appear."""
    found: dict[str, list[Any]] = {}
    for payload in payloads:
        for path in _walk(payload):
            found.setdefault(path, [])
    for path, values in found.items():
        values += [value for payload in payloads if (value := value_at(payload, path)) not in (None, "", [], {})]
    return found


def _walk(payload: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[str]:
    for key, value in payload.items():
        if isinstance(value, Mapping) and depth < _DEPTH:
            yield from _walk(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}"


def _text(values: Mapping[str, list[Any]]) -> str | None:
    """The path of the text: a field with a known name, else the longest field with at least 8 spaces on average."""
    strings = {path: [v for v in held if isinstance(v, str)] for path, held in values.items() if path.strip()}
    named = [path for path in _named("text", strings) if strings[path]]
    if named:
        return named[0]
    lengths = {path: sum(map(len, held)) / len(held) for path, held in strings.items() if held}
    prose = [path for path, held in strings.items() if held and sum(v.count(" ") for v in held) >= 8 * len(held)]
    return max(prose, key=lambda path: lengths[path], default=None)


def _paths(name: str, values: Mapping[str, list[Any]], exclude: str) -> tuple[str, ...]:
    found = [
        path
        for path in _named(name, values)
        if path != exclude and values[path] and all(_fits(name, value) for value in values[path])
    ]
    # Leave out copies of a field, and every field after one that all points have.
    different: list[str] = []
    for path in found:
        if not any(values[path] == values[other] for other in different):
            different.append(path)
        if len(values[path]) == max(map(len, values.values())):
            break
    return tuple(different[:_LONGEST])


def _fits(name: str, value: Any) -> bool:
    if isinstance(value, list):
        return name == "breadcrumb"
    return isinstance(value, str | int | float) and re.fullmatch(_LOOKS[name], str(value), re.DOTALL) is not None


def _named(name: str, values: Mapping[str, Any]) -> list[str]:
    """The paths whose last key is a known name of the field: the likeliest name first, then the shallowest path."""
    words = _WORDS[name]
    known = [(words.index(last), path.count("."), path) for path in values if (last := _last(path)) in words]
    return [path for _, _, path in sorted(known)]


def _last(path: str) -> str:
    """The last key in snake case: `page_title` for `pageTitle` and `page-title`."""
    key = path.rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+", "_", key).lower()
