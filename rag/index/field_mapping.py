"""How somebody else's points are laid out: which field of a payload is what of a chunk.

A field is a path into the payload, its keys separated by dots; several paths are tried in turn. Collections that
askbook made need none of this: `rag.index.payload` says how their points look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from rag.book import Chunk
from rag.index.payload import CONTENT, METADATA

if TYPE_CHECKING:
    from rag.profiles.schema import BookSection


Paths = tuple[str, ...]
Quantization = Literal["off", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The paths of each field of a chunk, in the order in which they are tried; no path: the field is empty."""

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
        """The text of a point, empty where it has none."""
        found = _first(payload or {}, self.text)
        return found if isinstance(found, str) and found.strip() else ""

    def chunk(self, id: object, payload: Mapping[str, Any] | None) -> Chunk:
        """The chunk of a point. Raises `ValueError` without a text; all else may be missing or of another type.

        The hash is of the text as it is now: what others store as one may be of something else.
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
        """The paths of every field that has some."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: paths for name, paths in named.items() if paths}


# What langchain-qdrant writes by default, as far as a loader has named its metadata as we do.
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
    """What a profile says of the collection that its book lives in.

    `embedding_model` is who encoded it, where it does not say so itself. `vector` and `sparse` are the names of its
    vectors; None takes the only dense one, and none for words. `quantization` is for a collection that is made anew.
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
    """What stands at a path, None where nothing does. A key that has a dot of its own is found too."""
    if path in payload:
        return payload[path]
    key, _, rest = path.partition(".")
    inner = payload.get(key)
    return value_at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _first(payload: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """The first value that says something."""
    values = (value_at(payload, path) for path in paths)
    return next((value for value in values if _says(value)), None)


def _says(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


def _text(value: Any) -> str:
    """A value on one line: a list is a way, such as that of a breadcrumb."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return " > ".join(_text(one) for one in value if one not in (None, ""))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:g}"


def _number(value: Any) -> int | None:
    """A whole number that is not negative, also where it is written as text."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        return None
    return int(value)


def _last_part(url: str) -> str:
    """The name of a page in its address, or of a file in its path, without its ending."""
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    name = unquote(path.rstrip("/").rpartition("/")[2])
    return name.rpartition(".")[0] or name
