"""Small talk and denials: the few phrases that a program must know to be polite and to hear a "no"."""

from __future__ import annotations

import re
from typing import Final

from rag.text.words import words

_MOST_WORDS: Final = 8  # of small talk; a longer message has content
_EMOJI: Final = re.compile("[\U0001f300-\U0001faff]")
_STRETCHED: Final = re.compile(r"(\w)\1{2,}")  # "hiii"
# Each message of nothing but these is small talk, in the languages of most readers.
_PHRASES: Final = """
hi|hello|hey|hiya|howdy|yo|good morning|good afternoon|good evening|good night|good day|greetings|how are you|bye|
goodbye|how's it going|what's up|nice to meet you|thanks|thank you|thank you very much|thanks a lot|many thanks|thx|
ty|cheers|great|perfect|awesome|excellent|cool|ok|okay|nice|good|got it|i see|understood|well done|good job|good bot|
that helps|see you|that was helpful|very helpful|see you later|take care|sorry|no problem|never mind|you're welcome|
welcome|hallo|guten tag|guten morgen|guten abend|moin|servus|danke|danke schön|vielen dank|tschüss|auf wiedersehen|
hola|buenos días|buenas tardes|gracias|muchas gracias|adiós|bonjour|salut|bonsoir|merci|merci beaucoup|au revoir|ciao|
buongiorno|grazie|olá|bom dia|obrigado|obrigada|hoi|goedemorgen|dank je|привет|здравствуйте|спасибо|пока|merhaba|
teşekkürler|안녕하세요
"""
_WITHOUT_SPACES: Final = re.compile(r"\W*(?:你好|谢谢|再见|こんにちは|ありがとう|नमस्ते|धन्यवाद|สวัสดี)\W*")
_AROUND_WORDS: Final = """
there again all everyone so much very and for your help the answer that this it's it is was a lot to you really
"""
_AROUND: Final = frozenset(_AROUND_WORDS.split())
_TALK: Final = "|".join(sorted(map(re.escape, _PHRASES.replace("\n", "").split("|")), key=len, reverse=True))
# What a model says to the reader and not of the book.
_COURTESY: Final = re.compile(
    r"\W*(?:let me know|feel free|i hope|hope (?:this|that|it)|please (?:let me|feel free|ask)|is there anything|"
    r"(?:i'm|i am|i'd be|happy|glad) .{0,20}(?:help|assist|worked)|i can (?:help|assist|answer)|what would you like|"
    r"how can i (?:help|assist)|i'm doing|have a (?:nice|great|good)|you're welcome\b.{0,40}|"
    r"if you (?:have|need|want|would like).{0,60}(?:question|help|detail|know|ask|information)|"
    r"(?:sure|certainly|of course|great question|good question|absolutely)\b.{0,80}|"
    r"(?:here|below|following) (?:is|are|'s)\b.{0,80}|based on the (?:passages|book|context|text)\W*|in summary\W*)",
    re.IGNORECASE,
)
_BOOK: Final = (
    r"(?:passages?|books?|chapters?|con(?:text|tent)|document(?:s|ation)?|text(?:s|book)?|sources?|sections?)"
)
_DENIAL: Final = re.compile(
    rf"\b{_BOOK}\b.{{0,60}}\b(?:do(?:es)? ?n[o']t|don't|doesn't|cannot|can't|did ?n[o']t|lacks?|has no|have no|"
    r"contains? no|gives? no|provides? no|says? nothing|makes? no)\b.{0,60}"
    r"|\b(?:is|are|was|were) not (?:mentioned|stated|covered|specified|described|discussed|provided|given|addressed|"
    rf"explained)\b.{{0,60}}\b{_BOOK}\b"
    r"|\bi (?:don't|do not|can't|cannot|could not|couldn't) (?:have|find|answer|see|know|provide|locate|help|assist)\b"
    r".{0,80}",
    re.IGNORECASE,
)
_SPEAKS_OF: Final = re.compile(
    r"\b(?:mention|contain|provid|say|state|answer|cover|includ|specif|describ|discuss|give|explain|address|inform|tell|nothing|"
    r"detail|reference|find|have|know|help|assist)",
    re.IGNORECASE,
)


def is_small_talk(text: str) -> bool:
    """Whether a message is nothing but greeting, thanks, praise or farewell, or but emoji.

    >>> is_small_talk("Hi there!"), is_small_talk("Thanks, and what is ROS 2?"), is_small_talk("Hello world")
    (True, False, False)
    """
    if _WITHOUT_SPACES.fullmatch(text):
        return True
    said = words(_STRETCHED.sub(r"\1", text))
    if not said:
        return _EMOJI.search(text) is not None
    if len(said) > _MOST_WORDS or any(word.isdecimal() for word in said):
        return False
    plain = f" {' '.join(said)} "
    rest, found = re.subn(rf"(?<= )(?:{_TALK})(?= )", "", plain)
    return found > 0 and set(rest.split()) <= _AROUND


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence of an answer speaks to the reader: "Let me know if you have questions."."""
    return len(sentence) < 200 and (is_small_talk(sentence) or _COURTESY.match(sentence.replace("’", "'")) is not None)


def denies_answer(sentence: str) -> bool:
    """Whether a sentence says that the book, or the writer, does not have the answer."""
    if len(sentence) > 400:
        return False
    found = _DENIAL.search(sentence.replace("’", "'"))
    return found is not None and _SPEAKS_OF.search(found[0]) is not None
