"""English phrases of model answers that carry no claim: attributions, pointers to a page, titles of source lists."""

from __future__ import annotations

import re
from typing import Final

# Words of a sentence that only points at an address: "Visit the page now". Without the address it says nothing.
POINTING: Final = frozenset(
    {"address", "check", "click", "download", "find", "go", "here", "install", "link", "more", "now", "open", "page"}
    | {"read", "see", "site", "today", "visit", "website"}
)
# "(see )", "(cf.)" and the like, left over when their markers are removed.
SEE: Final = re.compile(r"[ \t]*\((?:see|cf\.?|(?:source|passage|ref|reference)s?:?)[ \t,;]*\)", re.IGNORECASE)
_SAYS: Final = (
    r"(?:say|state|explain|describe|note|mention|show|indicate|report|add|define|list|specifie|recommend|suggest)s?"
)
_SOURCE: Final = r"(?:the |this )?(?:(?:source|passage|text|book|section|document|chapter)s? )?"
# "According to [1]," and "Passage [2] says that", at the beginning of a sentence.
ATTRIBUTED: Final = re.compile(
    rf"^(?P<lead>\W*)(?:(?:according to|as (?:stated|described|shown|noted|mentioned|explained) (?:in|by)|based on|"
    rf"in|per|from|see) {_SOURCE}(?:\[\d+\][ ,]*(?:and )?)+[,:]?\s*"
    rf"|{_SOURCE}(?:\[\d+\][ ,]*(?:and )?)+ ?{_SAYS}(?: that|:)? )",
    re.IGNORECASE,
)
# The title of a list of sources that the model wrote itself.
SOURCES_TITLE: Final = re.compile(
    r"\W*(?:sources?|references?|citations?|works cited|bibliography|footnotes?|links?|further reading|learn more|"
    r"see also)(?:\s+(?:used|cited|consulted))?\W*",
    re.IGNORECASE,
)
