"""How much of a passage is prose, and not code, addresses or a list of references."""

from __future__ import annotations

import re
from typing import Final

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
