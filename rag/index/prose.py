"""How many words of prose a passage has, by which a search ranks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag.book import Chunk

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


def counted_words(text: str, heading: str) -> int:
    """The `prose_words` of a chunk, at most `MOST`."""
    return min(MOST, prose_words(text, heading))


def prose_of(chunks: Sequence[Chunk]) -> NDArray[np.float64]:
    """The words of prose of chunks at hand, counted as in a `PointTable`."""
    import numpy as np

    return np.array([counted_words(chunk.text, chunk.heading) for chunk in chunks], dtype=float)
