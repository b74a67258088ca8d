"""Greetings and thanks: what is said to a person and asks a book nothing.

Searching for "hi" finds passages that have nothing to do with it, and a follow-up's logic would make another question
of it. So such a message is answered with one fixed sentence, without a search and without a model.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 10  # words; what is longer says something
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_STRETCHED: Final = re.compile(r"(\w)\1{2,}")  # "hiii", "heyyyy"

_GREETING: Final = (
    r"hi|hello|hey|heya|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|"
    r"how are you|how(?:['’]s| is) it going|what['’]?s up|nice to meet you|pleased to meet you|"
    r"hallo|guten (?:tag|morgen|abend)|hola|buenos días|bonjour|bonsoir|salut|ciao|olá|namaste|salam|assalamualaikum"
)
# "Nice" or "right" alone might be asked of a book; "thanks" is not.
_CLOSING: Final = (
    r"thanks|thank you|thankyou|thx|ty|tysm|cheers|much appreciated|i appreciate (?:it|that|your help)|"
    r"bye|goodbye|good bye|good night|see you|see ya|take care|have a (?:nice|good|great) (?:day|evening|night|one)|"
    r"great|cool|awesome|perfect|excellent|brilliant|wonderful|amazing|well done|good job|nice work|"
    r"ok|okay|got it|i see|understood|makes sense|that helps|that helped|very helpful|"
    r"danke|vielen dank|tschüss|gracias|adiós|merci|grazie|obrigado|obrigada"
)
_CORE: Final = re.compile(rf"\b(?:{_GREETING}|{_CLOSING})\b")
_ASKED: Final = re.compile(rf"\b(?:{_GREETING})\b")  # may end in a question mark: "hello?", "how are you?"
# Beside it only these may stand: whatever else is said may be a question.
_AROUND: Final = frozenset(
    _WORD.findall(
        "a again all alright and answer answers are beaucoup bot day dear evening everyone explanation folks for friend"
        " good guys help helped helpful i is it it's it’s job just lot lots many me mille morning much muchas my nice"
        " night no now oh one quick really right schön sir so such super that that's that’s the then there this time"
        " to today very viel was well wow you your"
    )
)


def is_small_talk(text: str) -> bool:
    """Whether a message is a greeting, thanks, praise or a farewell, and nothing besides.

    >>> is_small_talk("Hi there!"), is_small_talk("Thanks, and what is ROS 2?"), is_small_talk("Hello world")
    (True, False, False)
    """
    if any(sign.isdigit() for sign in text) or len(text) > _LONGEST * 20:
        return False
    words = [_STRETCHED.sub(r"\1", word) for word in _WORD.findall(text.lower())]
    said = " ".join(words)
    core = _ASKED if "?" in text else _CORE
    if not words or len(words) > _LONGEST or not core.search(said):
        return False
    left = _CORE.sub(" ", said).split()
    return all(word in _AROUND for word in left)
