"""What a sentence of an answer is: a claim, or a heading, a lead, a code block, a remark.

A remark is about the conversation ("I hope this helps") or about what the passages do not say; a reader does not look
for its source. A lead points to what follows or asks; "Here is what the book says about X" is one. What a claim is
wrapped in ("Yes,", "According to the passages,", "It is important to note that") is taken off before it is checked, and
so is a remark that is joined to it.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Sort = Literal["claim", "heading", "lead", "code", "remark"]

_MARKER: Final = re.compile(r"[\[【]\^?\d{1,3}(?:[,\s–-]{1,3}\^?\d{1,3}){0,20}[\]】]")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,80}\*\*:?\s*$")
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_OF_SOURCES = (
    "the|these|this|those|my|your|our|any|both|provided|given|cited|retrieved|available|above|following|reference"
)
_SOURCES = (
    rf"(?:(?:{_OF_SOURCES})\s+){{0,3}}"
    r"(?:documents?|passages?|texts?|books?|chapters?|contexts?|sources?|excerpts?|sections?|materials?|information|"
    r"articles?|pages?|manuals?|documentation)(?:\s+(?:provided|given|above|I have|here))?"
)
_OF_INFORMATION = (
    "any|the|some|further|more|enough|sufficient|specific|definite|definitive|exact|precise|explicit|direct|additional|"
    "detailed|clear|other|particular|current"
)
_INFORMATION = (
    rf"(?:(?:{_OF_INFORMATION})\s+){{0,3}}"
    r"(?:information|details?|data|mention|answers?|evidence|figures?|numbers?|statistics|knowledge|explanation|"
    r"indication|reference|description|\w+\s+(?:figures?|numbers?|information|data|details?|name))"
)
_TELL = (
    r"(?:mention|say|provide|specify|contain|state|include|give|address|describe|cover|discuss|offer|explain|have|tell|"
    r"indicate|list|name|information|details?)"
)
_TOLD = (
    r"(?:mentioned|specified|stated|provided|given|described|covered|discussed|addressed|explained|included|available|"
    r"found)"
)
_LACKS: Final = re.compile(
    r"\bI\s+(?:do not|don['’]?t|did not|didn['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am not able|"
    r"am unable|was unable|was not able|have not|haven['’]?t|have no|lack|am not sure|am sorry|apologi[sz]e)\b"
    rf"|\b{_SOURCES}\s+(?:do(?:es)?\s*(?:not|n['’]t)|did not|fails? to|lacks?|contains? no|"
    rf"(?:provide|give|make|offer|mention|include|have|has)s? no)\b(?:\s+\w+ly)?\s*{_TELL}?"
    rf"|\bthere (?:is|are|was|were)\s+(?:no|not (?:any|enough))\s+{_INFORMATION}\b"
    rf"|\b(?:no|not enough)\s+{_INFORMATION}\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:given|provided|available|found|about|on|regarding|in the)\b"
    rf"|\b(?:is|are|was|were)\s*(?:not|n['’]t)\s+(?:\w+ly\s+)?{_TOLD}(?:\s+(?:in|by|here)\s+{_SOURCES}|\s+here)?\s*\.?\s*$",
    re.IGNORECASE,
)
_TALK_WORDS: Final = """
yes no sure certainly of course absolutely correct right exactly indeed true hello hi sorry ok okay great good fair
question questions you re are welcome thanks thank for asking the that this these those they it is s all a an point i
hope hopes helps help helpful useful answer answers answered your let me know if have any more other further about
please ask feel free can with anything else to would like want need here just only some few several examples example
in summary short conclusion brief as mentioned said noted described explained discussed earlier above before
previously and or also on clear clarify details information not so well ve m ll
"""
_TALK: Final = frozenset(_TALK_WORDS.split())
_POINTS: Final = re.compile(rf"\W*here(?: is|['’]s| are) (?:what|how) {_SOURCES}\b|.*\?\W*$", re.IGNORECASE | re.DOTALL)
_ADDRESSES: Final = re.compile(r"\byou(?:r|rs)?\b|://|www\.|@|`", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+|\d")
_WRAPS: Final = re.compile(
    r"\W*(?:(?:yes|no|sure|certainly|of course|absolutely|correct|right|indeed|sorry|unfortunately|nevertheless|"
    r"nonetheless|however|overall|in (?:summary|short|conclusion|addition|fact|general|other words|a few words)|"
    r"additionally|furthermore|moreover|therefore|thus|also|besides|for (?:example|instance)|that said|specifically|"
    r"notably|in particular|finally|to (?:summari[sz]e|sum up|conclude)|"
    rf"(?:according to|based on|as (?:stated|described|mentioned|explained|noted) in|from|per) {_SOURCES})\s*[,:]\s*"
    r"|as (?:i |we )?(?:mentioned|said|noted|described|explained|discussed|stated)"
    r"(?:(?: (?:earlier|above|before|previously))[,:]?|(?: in [\w\s]{1,40})?[,:])\s+"
    r"|it is true that\s+|(?:it is|it['’]s|it) (?:also )?(?:important|worth|interesting|useful|essential|crucial) "
    r"(?:to (?:note|mention|know|remember|point out|understand)|noting|mentioning)(?: that)?,?\s+"
    rf"|{_SOURCES} (?:also )?(?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?) that\s+)",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)
_FRAMED: Final = re.compile(
    rf"\b{_SOURCES}\s+(?:do(?:es)?\s+)?(?:states?|says?|mentions?|claims?) that\b", re.IGNORECASE
)
_LONG: Final = 2000  # code points beyond which a sentence is not looked through for what wraps it


def is_code(sentence: str) -> bool:
    """Is it a fenced block?"""
    return bool(_FENCE.match(sentence))


def claim_of(sentence: str) -> tuple[Sort, str]:
    """The sort of a sentence, and what is left of it without what it is wrapped in."""
    if is_code(sentence):
        return "code", sentence
    text = _MARKER.sub("", sentence).strip()
    if _HEADING.match(text):
        return "heading", text.lstrip("# ").strip("* ")
    if bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    if len(text) > _LONG:
        return "claim", text
    if all(word in _TALK for word in _WORD.findall(text.lower())):
        return "remark", ""
    if text.rstrip("*_ ").endswith((":", "：")) or _POINTS.match(text):
        return "lead", text
    stated = _stated(_unwrapped(text))
    return ("claim", stated) if stated else ("remark", text)


def _unwrapped(text: str) -> str:
    for _ in range(4):
        match = _WRAPS.match(text)
        if not match or match.end() == len(text):
            break
        text = text[match.end() :]
    return text[:1].upper() + text[1:]


def _stated(text: str) -> str:
    """What is left of a sentence without its parts that say only that something is not known."""
    if not _LACKS.search(text) or _FRAMED.search(text) or _ADDRESSES.search(text):
        return text
    parts = [part for part in _JOINT.split(text) if part and part.strip()]
    kept = [_unwrapped(part) for part in parts if not _LACKS.search(part) and len(part.split()) > 3]
    return " ".join(kept)
