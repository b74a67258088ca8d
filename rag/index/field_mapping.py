"""The layout of foreign points: which fields of a payload hold the fields of a chunk.

A field is named by a path into the payload, with dots between the keys; several paths are tried in turn. For the points
of our own collections see `rag.index.points`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from rag.book import Chunk
from rag.index.points import CONTENT, METADATA

if TYPE_CHECKING:
    from rag.profiles.schema import BookSection

LONGEST: Final = 2_000  # characters of a title, an address and the like
HIGHEST: Final = 2**31 - 1  # of numbers, which a state must be able to store
Paths = tuple[str, ...]
Quantization = Literal["off", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The paths of each field of a chunk, in the order in which they are tried. A field without paths is empty."""

    text: Paths
    title: Paths = ()
    heading: Paths = ()
    breadcrumb: Paths = ()
    url: Paths = ()
    source_file_path: Paths = ()
    chunk_index: Paths = ()
    chapter: Paths = ()
    page_number: Paths = ()

    def text_of(self, payload: Mapping[str, Any] | None) -> str:
        """The text of a point; empty if it has none."""
        found = _first(payload or {}, self.text)
        return found if isinstance(found, str) and found.strip() else ""

    def chunk(self, id: object, payload: Mapping[str, Any] | None) -> Chunk:
        """The chunk of a point. Raises `ValueError` without a text; other fields may be missing or of another type.

        The hash is computed from the text, since a stored one may be of something else.
        """
        values = payload or {}
        text = self.text_of(values)
        if not text:
            raise ValueError(f"The point {id} has no text.")
        file = _text(_first(values, self.source_file_path))
        url = _text(_first(values, self.url)) or file
        heading = _text(_first(values, self.heading))
        return Chunk(
            id=str(id),
            text=text,
            title=_text(_first(values, self.title)) or _last_part(url) or heading or "Untitled",
            heading=heading,
            breadcrumb=_text(_first(values, self.breadcrumb)),
            url=url,
            anchor="",
            source="",
            source_file_path=file,
            chunk_index=_number(_first(values, self.chunk_index)) or 0,
            sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            chapter=_text(_first(values, self.chapter)) or None,
            page_number=_number(_first(values, self.page_number)),
        )

    def paths(self) -> dict[str, Paths]:
        """The paths of every field that has at least one."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: paths for name, paths in named.items() if paths}


# langchain-qdrant's default layout, with our names for the fields of the metadata.
LANGCHAIN: Final = FieldMap(
    text=(CONTENT,),
    **{
        field.name: (f"{METADATA}.{field.name}", *((f"{METADATA}.source",) if field.name == "url" else ()))
        for field in fields(FieldMap)
        if field.name != "text"
    },
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a profile describes the collection of its book.

    `embedding_model` is the model that encoded it, used if the collection does not record one. `vector` and `sparse`
    are the names of its vectors: without `vector` the only dense one is used, without `sparse` there is no sparse leg.
    `quantization` is for a collection that is created.
    """

    fields: FieldMap = LANGCHAIN
    embedding_model: str = ""
    vector: str | None = None
    sparse: str | None = None
    quantization: Quantization = "off"


def layout_of(book: BookSection) -> Layout:
    """The layout that a profile's section `[book]` describes."""
    mapped = FieldMap(**book.payload.model_dump()) if book.payload else LANGCHAIN
    return Layout(mapped, book.embedding_model or "", book.vector, book.sparse_vector, book.quantization)


def value_at(payload: Mapping[str, Any], path: str) -> Any:
    """The value at a path, None if there is none. A key may itself contain dots.

    >>> value_at({"meta": {"page.no": 7}}, "meta.page.no")
    7
    """
    if path in payload:
        return payload[path]
    key, _, rest = path.partition(".")
    inner = payload.get(key)
    return value_at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _first(payload: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """The first value that is not empty or blank."""
    values = (value_at(payload, path) for path in paths)
    return next((value for value in values if not _is_blank(value)), None)


def _is_blank(value: Any) -> bool:
    return not value.strip() if isinstance(value, str) else value in (None, [], {})


def _text(value: Any) -> str:
    """A value on one line, cut to `LONGEST` characters; a list, such as a breadcrumb, is joined with " > "."""
    return _whole_text(value)[:LONGEST]


def _whole_text(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return " > ".join(_whole_text(item) for item in value if item not in (None, ""))
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= HIGHEST:
        return ""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _number(value: Any) -> int | None:
    """A whole number from 0 to `HIGHEST`, also if it is stored as text; None for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= len(str(HIGHEST)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HIGHEST:
        return None
    return int(value) if value == value // 1 else None


def _last_part(url: str) -> str:
    """The last part of an address or path, without its suffix."""
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    name = unquote(path.rstrip("/").rpartition("/")[2])
    return name.rpartition(".")[0] or name
