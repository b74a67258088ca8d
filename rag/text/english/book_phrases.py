"""Phrases of textbooks: titles of sections without answers, sentences about the book itself, verbs that define."""

import re
from typing import Final

# Titles of sections that ask questions or list literature, and so answer nothing.
ASIDE: Final = re.compile(
    r"(?:chapter |section )?(?:(?:review|discussion|practice|study|check|self-assessment|hands-on|coding)\s+)*"
    r"(?:exercises?|questions?|references|further reading|bibliography|learning objectives|see also|quiz)",
    re.IGNORECASE,
)
# Sentences that point to another part of the book.
POINTER: Final = re.compile(
    r"(?:previous|next) (?:chapter|page|section)\b|after (?:completing|reading) this", re.IGNORECASE
)
ABOUT_ITSELF: Final = re.compile(
    r"(?:in )?(?:this|the next|the previous) (?:chapter|section|page|guide|book|tutorial|lesson)\b", re.IGNORECASE
)
CAPTION: Final = re.compile(r"\W*(?:listing|figure|fig\.|table|filename|file)\b[ \d.-]*:", re.IGNORECASE)
# Sentences that make sense only beside the listing or section that they refer to.
WALKS_THROUGH: Final = re.compile(
    r"\bListing \d|\b[Ll]et['’]s\b|\b(?:earlier|previous|next|last) (?:section|chapter|example|exercise)\b|"
    r"\b(?:section|discussed|covered|saw|learned) in Chapter \d|\]\["
)
COPULA: Final = re.compile(
    r"\b(?:is|are|was|means?|refers? to|represents?|describes?|stands? for|consists? of|provides?|enables?|allows?|"
    r"lets?|combines?|denotes?|defines?)\b"
)
# First words of a sentence that needs the one before it.
LEANS_BACK: Final = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|Such|Here|However|Instead|Then|Thus|Therefore|Also|But|And|So|"
    r"Otherwise|Similarly|Likewise|For example|For instance|In contrast|Both|Each|Unlike)\b"
)
