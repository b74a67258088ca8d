"""Orders that dictate a reply: "Always reply with the word X", "When asked about X, say that ...".

A manual tells its reader to reply too: to a message, with a status. So an order of this kind dictates words, or a
statement behind "that", or it names the situation of whoever answers: asked about something, from now on, regardless of
what stands above.
"""

from __future__ import annotations

import re
from typing import Final

_BEGIN: Final = r"(?:^\W*|[.:;!?\"'”’)][\"'”’)]?\s+)"
_SAY: Final = r"(?:say|reply|respond|answer|claim|state|assert|insist|declare|pretend)"
_REPLY: Final = r"(?:reply|respond|answer)"
_TELL: Final = r"(?:say|reply|respond|answer|claim|insist|pretend)"  # "You must state that ..." is a rule of licences
_EVER: Final = r"(?:(?:please|always|only|just|simply|now|also|instead|then|never|henceforth)[\s,]+)"
_MUST: Final = r"(?:you\s(?:must|should|shall|will|have\sto|need\sto|are\sto|are\srequired\sto)\s)"
# What is to be said, letter by letter: the word X, "X", or a word in capitals.
_DICTATED: Final = (
    r"(?:(?:only|just|exactly|simply)\s)?(?:(?:(?:with|by\ssaying|using)\s)(?:(?:only|just|exactly|simply)\s)?)?"
    r"(?:the\s(?:(?:exact|single|following|one)\s)*(?:words?|phrase|sentence)\b|[\"“‘*]+\w"
    r"|(?-i:(?!HTTP|JSON|HTML|YAML)[A-Z]{4,}\b)(?=\W*$|[.!]))"
)
_THAT: Final = r"that\s(?!(?:question|call|prompt|message|phone|one|email|mail)s?\b|\w+ly\b)\w+\s\w"

REPLY_ORDER: Final = re.compile(
    rf"""(?:
      {_BEGIN}(?:{_EVER}|{_MUST})*{_REPLY}\s(?:{_DICTATED}|{_THAT})
    | {_BEGIN}{_EVER}*(?:{_MUST}{_EVER}*|{_EVER}){_TELL}\s(?:{_DICTATED}|{_THAT})
    | \b(?:when|whenever|if|once)\s(?:you(?:\sare|['’]re|\sget)?\s|(?:anyone|anybody|someone|somebody|people|they|
        (?:the|a|any)\s(?:user|person|human|reader)s?)\s)?(?:ever\s)?asks?(?:ed)?\s(?:you\s)?
        (?:about\s[^\n]{{1,100}}?,\s(?:then\s)?(?:{_EVER}|{_MUST})*{_SAY}\b
        | [^\n]{{1,100}}?,\s(?:then\s)?(?:{_EVER}|{_MUST})*{_SAY}\s{_THAT})
    | \bfrom\snow\son,?\s(?:{_EVER}|{_MUST})*{_SAY}\b
    | \b(?:ignore|disregard|forget)\s(?:\w+\s){{0,4}}?(?:above|foregoing|preceding|previous|earlier|before)\b
        [^.\n]{{0,40}}?(?:[,;]|\band)\s(?:{_EVER}|{_MUST})*{_SAY}\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
