"""What a sentence of an answer is: a claim, or a heading, a lead, a code block, a remark.

A remark is about the conversation ("I hope this helps") or about what the passages do not say; a reader does not look
for its source. What a claim is wrapped in ("Yes,", "According to the passages,", "It is important to note that") is
taken off before it is checked, and so is a remark that is joined to it.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Sort = Literal["claim", "heading", "lead", "code", "remark"]

_MARKER: Final = re.compile(r"[\[【]\^?\d{1,3}(?:[,\s–-]{1,3}\^?\d{1,3}){0,20}[\]】]")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,80}\*\*:?\s*$")
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_SOURCES = (
    r"(?:(?:the|these|this|those|my|your|our|any|both|provided|given|cited|retrieved|available|above|following|reference)\s+){0,3}"
    r"(?:documents?|passages?|texts?|books?|chapters?|contexts?|sources?|excerpts?|sections?|materials?|information|"
    r"articles?|pages?|manuals?|documentation)(?:\s+(?:provided|given|above|I have|here))?"
)
_INFORMATION = (
    r"(?:(?:any|the|some|further|more|enough|sufficient|specific|definite|definitive|exact|precise|explicit|direct|"
    r"additional|detailed|clear|further|other|particular|current)\s+){0,3}"
    r"(?:information|details?|data|mention|answers?|evidence|figures?|numbers?|statistics|knowledge|explanation|"
    r"indication|reference|description|\w+\s+(?:figures?|numbers?|information|data|details?|name))"
)
_LACKS: Final = re.compile(
    r"\bI\s+(?:do not|don['’]?t|did not|didn['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am not able|"
    r"am unable|was unable|was not able|have not|haven['’]?t|have no|lack|am not sure|am sorry|apologi[sz]e)\b"
    rf"|\b{_SOURCES}\s+(?:do(?:es)?\s*(?:not|n['’]t)|did not|fails? to|lacks?|contains? no|(?:provide|give|make|offer|"
    rf"mention|include|have|has)s? no)\b(?:\s+\w+ly)?\s*"
    r"(?:mention|say|provide|specify|contain|state|include|give|address|describe|cover|discuss|offer|explain|have|tell|"
    r"indicate|list|name|mention|information|details?)?"
    rf"|\b[Tt]here (?:is|are|was|were)\s+(?:no|not (?:any|enough))\s+{_INFORMATION}\b"
    rf"|\b(?:[Nn]o|[Nn]ot enough)\s+{_INFORMATION}\s+(?:(?:is|are|was|were)\s+)?(?:given|provided|available|found|about|on|regarding|in the)\b"
    r"|\b(?:is|are|was|were)\s*(?:not|n['’]t)\s+(?:\w+ly\s+)?(?:mentioned|specified|stated|provided|given|described|covered|"
    rf"discussed|addressed|explained|included|available|found)(?:\s+(?:in|by|here)\s+{_SOURCES}|\s+here)?\s*\.?\s*$",
    re.IGNORECASE,
)
_TALK: Final = re.compile(
    r"\W*(?:(?:yes|no|sure|certainly|of course|absolutely|correct|right|exactly|indeed|true|hello|hi|sorry|ok(?:ay)?|"
    r"great question|good question|you['’]?re (?:right|welcome|correct)|you are (?:right|welcome|correct)|"
    r"thanks?(?: you)?(?: for [\w\s]{1,60})?|"
    r"(?:that|this|it)(?:['’]s| is) (?:\w+ )?(?:correct|right|true|all|a (?:good|great|fair) (?:question|point))|"
    r"i hope (?:this|that|it)[\w\s]{0,60}|let me know[\w\s]{0,80}|please (?:let me know|ask|clarify|provide|specify)[\w\s]{0,80}|"
    r"feel free[\w\s]{0,80}|"
    r"i (?:can|could|will|would|['’]ll)(?: also| try to)? (?:provide|give|tell|help|list|explain|show|share|summari[sz]e|describe)[\w\s,'’]{0,120}|"
    r"here(?: is|['’]s| are) (?:what|a|an|the|some|how)[\w\s,'’-]{0,120}|"
    r"(?:here|these|those|they) are (?:just |only )?(?:some|a few|several) (?:other )?(?:of the )?(?:\w+ ){0,2}examples?[\w\s,'’-]{0,60}|"
    r"(?:as|like) (?:i )?(?:mentioned|said|noted|described|explained|discussed) (?:earlier|above|before)|"
    r"in (?:summary|short|conclusion|brief)|to (?:summari[sz]e|sum up|conclude))\W*)+"
)  # fmt: skip
_WRAPS: Final = re.compile(
    r"\W*(?:(?:yes|no|sure|certainly|of course|absolutely|correct|right|indeed|sorry|unfortunately|nevertheless|"
    r"nonetheless|however|overall|in (?:summary|short|conclusion|addition|fact|general|other words|a few words)|additionally|furthermore|moreover|"
    r"therefore|thus|also|besides|for (?:example|instance)|that said|specifically|notably|in particular|finally|"
    r"to (?:summari[sz]e|sum up|conclude)|"
    r"as (?:i )?(?:mentioned|said|noted|described|explained|discussed|stated)(?: (?:earlier|above|before|previously|in [\w\s]{1,40}))?|"
    rf"(?:according to|based on|as (?:stated|described|mentioned|explained|noted) in|from|per) {_SOURCES})\s*[,:]\s*"
    r"|(?:it is|it['’]s|it) (?:also )?(?:important|worth|interesting|useful|essential|crucial) (?:to (?:note|mention|know|remember|"
    r"point out|understand)|noting|mentioning)(?: that)?,?\s+"
    rf"|{_SOURCES} (?:also )?(?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?) that\s+)",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)
_ASKS: Final = re.compile(r"\b(?:you|your|I|we)\b")
_FRAMED: Final = re.compile(
    rf"\b{_SOURCES}\s+(?:do(?:es)?\s+)?(?:states?|says?|mentions?|claims?) that\b", re.IGNORECASE
)
_LONG: Final = 2000  # code points beyond which a sentence is not looked through for what wraps it


def claim_of(sentence: str) -> tuple[Sort, str]:
    """The sort of a sentence, and what is left of it without what it is wrapped in."""
    if _FENCE.match(sentence):
        return "code", sentence
    text = _MARKER.sub("", sentence).strip()
    if _HEADING.match(text):
        return "heading", text.lstrip("# ").strip("* ")
    if bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    if not any(c.isalnum() for c in text):
        return "remark", text
    if len(text) > _LONG:
        return "claim", text
    if _talks(text):
        return "remark", text
    if text.rstrip("*_ ").endswith((":", "：")):
        return "lead", text
    stated = _stated(_unwrapped(text))
    return ("claim", stated) if stated else ("remark", text)


def _talks(text: str) -> bool:
    """Is it about the conversation and nothing else?"""
    return bool(_TALK.fullmatch(text.lower())) or (text.endswith("?") and bool(_ASKS.search(text)))


def _unwrapped(text: str) -> str:
    for _ in range(4):
        match = _WRAPS.match(text)
        if not match or match.end() == len(text):
            break
        text = text[match.end() :]
    return text[:1].upper() + text[1:]


def _stated(text: str) -> str:
    """What is left of a sentence without its parts that say only that something is not known."""
    if not _LACKS.search(text) or _FRAMED.search(text):
        return text
    parts = [part for part in _JOINT.split(text) if part and part.strip()]
    kept = [_unwrapped(part) for part in parts if not _LACKS.search(part) and len(part.split()) > 3]
    return " ".join(kept)
