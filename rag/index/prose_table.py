"""How many words of prose each passage has, and not of code or addresses, in a file beside the shard.

A search ranks by them without reading the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag.book import Chunk

FILE: Final = "prose-1.npy"  # the number changes with `prose_words`, so that files of another rule are not read
MOST: Final = 255  # words that are counted
_NOT_PROSE: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)"  # code
    r"|^[^\n]{0,200}(?<!\()https?://\S*[^\w\n]*$"  # a short line that ends in an address only points elsewhere
    r"|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_POINTERS: Final = re.compile(
    r"\W*(?:\d+\.?\s*)?(?:references?|bibliography|literature|works cited|(?:further|suggested) reading|see also"
    r"|external links)\W*",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def prose_words(text: str, heading: str = "") -> int:
    """The number of words outside code blocks and addresses; 0 under a heading such as "References".

    An embedding places short texts, such as a line of code, a label or the title of a cited paper, at least as close to
    a question as the paragraph that answers it. Those texts have little prose.
    """
    return 0 if _POINTERS.fullmatch(heading) else len(_WORD.findall(_NOT_PROSE.sub(" ", text)))


class ProseTable:
    """The words of prose by chunk id. `rows` is an array of ids as 16 bytes in ascending order, and of words."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        self._ids = rows["id"].copy()
        self._words = rows["words"].astype(float)

    @classmethod
    def of(cls, folder: Path, chunks: int, texts: Callable[[], Iterable[tuple[int, str, str]]]) -> ProseTable:
        """The table of a generation's folder. One that lacks it, or is damaged, gets a new one if it can be written.

        `texts` gives the id, the text and the heading of every chunk.
        """
        import numpy as np

        try:
            rows = np.load(folder / FILE, allow_pickle=False)
            if rows.dtype == _row() and len(rows) == chunks:
                return cls(rows)
        except (OSError, ValueError, EOFError):
            pass
        rows = counted_prose(texts())
        write(folder, rows)
        return cls(rows)

    def words(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """The words of prose of each chunk, at most `MOST`. The ids must be in the table."""
        import numpy as np

        wanted = np.frombuffer(b"".join([id.to_bytes(16, "big") for id in ids]), dtype="S16")
        return self._words.take(np.searchsorted(self._ids, wanted), mode="clip")


def prose_of(chunks: Sequence[Chunk]) -> NDArray[np.float64]:
    """The words of prose of chunks at hand, counted as in a table."""
    import numpy as np

    return np.array([min(MOST, prose_words(chunk.text, chunk.heading)) for chunk in chunks], dtype=float)


def counted_prose(texts: Iterable[tuple[int, str, str]]) -> NDArray[np.void]:
    """The rows of a table."""
    import numpy as np

    counted = ((id.to_bytes(16, "big"), min(MOST, prose_words(text, heading))) for id, text, heading in texts)
    return np.array(sorted(counted), dtype=_row())


def write(folder: Path, rows: NDArray[np.void]) -> None:
    """Write the rows of a generation's table, if the folder allows it: it can be made again."""
    import numpy as np

    unfinished = folder / f"{uuid4().hex}.npy"
    try:
        np.save(unfinished, rows)
        unfinished.replace(folder / FILE)
    except OSError:
        unfinished.unlink(missing_ok=True)


def _row() -> np.dtype[np.void]:
    import numpy as np

    return np.dtype([("id", "S16"), ("words", "u1")])
