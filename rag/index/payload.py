"""How a chunk is stored in a point: langchain-qdrant's default layout, which other LangChain code reads.

The text is `page_content`, every other field is in `metadata`, and the point has the chunk's id.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final
from uuid import UUID

from rag.book import Chunk, IndexEntry

DENSE: Final = "dense"
SPARSE: Final = "sparse"
CONTENT: Final = "page_content"
METADATA: Final = "metadata"
WORDS: Final = "words"  # in the metadata: the chunk's words of prose, which count in the ranking
MOST_WORDS: Final = 255  # that are counted
CODE_WORDS: Final = 60  # words of prose that the code of a passage stands for
# For each field of a `SearchFilter`: the field of a chunk whose prefix it is.
FILTERS: Final[dict[str, str]] = {
    "url_prefix": "url",
    "title": "title",
    "heading": "heading",
    "file": "source_file_path",
    "chapter": "chapter",
}
_FIELDS: Final = tuple(field.name for field in fields(Chunk) if field.name not in ("id", "text"))
_ENTRY: Final = ("source", "source_file_path", "document_sha256", "sha256", "chunk_index", "page_chunks")
ENTRY_KEYS: Final = [f"{METADATA}.{name}" for name in _ENTRY]
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_ADDRESS: Final = re.compile(
    r"^[^\n]{0,200}(?<!\()https?://\S*[^\w\n]*$"  # a short line that ends in an address only points elsewhere
    r"|https?://\S+",
    re.MULTILINE,
)
_POINTERS: Final = re.compile(
    r"\W*(?:\d+\.?\s*)?(?:references?|bibliography|literature|works cited|(?:further|suggested) reading|see also"
    r"|external links)\W*",
    re.IGNORECASE,
)
_PROSE_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def metadata_of(chunk: Chunk) -> dict[str, Any]:
    """All of a chunk but its id and its text, with its words of prose."""
    values = asdict(chunk)
    return {name: values[name] for name in _FIELDS} | {WORDS: prose_words(chunk.text, chunk.heading)}


def chunk_of(id: object, text: str, metadata: Mapping[str, Any]) -> Chunk:
    """The chunk of a point of ours. Raises `ValueError` if fields of it are missing."""
    try:
        return Chunk(id=str(id), text=text, **{name: metadata[name] for name in _FIELDS})
    except KeyError as error:
        raise ValueError(f"the point {id} has no {error}") from error


def entry_of(id: object, payload: Mapping[str, Any] | None) -> IndexEntry:
    """The entry of a point whose payload holds at least `ENTRY_KEYS`."""
    stored = (payload or {}).get(METADATA) or {}
    # Interned: kept once in memory for all chunks of a page, since a book may have a hundred thousand entries.
    source, path, document = (sys.intern(str(stored.get(name, ""))) for name in _ENTRY[:3])
    numbers = [value if isinstance(value := stored.get(name), int) else 0 for name in _ENTRY[4:]]
    return IndexEntry(str(id), source, path, document, str(stored.get("sha256", "")), *numbers)


def point_ids(ids: Iterable[str]) -> list[int | str]:
    """The ids that Qdrant knows, UUIDs and numbers below 2**64, each once: it refuses a request for any other."""
    known: dict[int | str, None] = {}
    for id in map(str, ids):
        if id.isascii() and id.isdecimal() and int(id) < 2**64:
            known[int(id)] = None
            continue
        try:
            known[str(UUID(id))] = None
        except ValueError:
            continue
    return list(known)


def prose_words(text: str, heading: str = "") -> int:
    """The number of words outside code blocks and addresses, at most `MOST_WORDS`; 0 under "References" and the like.

    Short texts, such as a label, have little prose, and embeddings often place them too close to a question. A section
    that shows a command does answer: its code counts as `CODE_WORDS` words.
    """
    if _POINTERS.fullmatch(heading):
        return 0
    prose, blocks = _CODE.subn(" ", text)
    return min(MOST_WORDS, len(_PROSE_WORD.findall(_ADDRESS.sub(" ", prose))) + (CODE_WORDS if blocks else 0))
