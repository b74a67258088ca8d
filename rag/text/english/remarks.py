"""What an answer says about itself and its sources, and the phrases around a claim ("According to the text, ...")."""

import re
from typing import Final

_OF_SOURCES: Final = (
    "the|these|this|those|my|your|our|any|both|provided|given|cited|retrieved|available|above|following|reference"
)
_SOURCES: Final = (
    rf"(?:(?:{_OF_SOURCES})\s+){{0,3}}"
    r"(?:documents?|passages?|texts?|books?|chapters?|contexts?|sources?|excerpts?|sections?|materials?|information|"
    r"articles?|pages?|manuals?|documentation)(?:\s+(?:provided|given|above|I have|here))?"
)
_OF_INFORMATION: Final = (
    "any|the|some|further|more|enough|sufficient|specific|definite|definitive|exact|precise|explicit|direct|additional|"
    "detailed|clear|other|particular|current"
)
_INFORMATION: Final = (
    rf"(?:(?:{_OF_INFORMATION})\s+){{0,3}}"
    r"(?:information|details?|data|mention|answers?|evidence|figures?|numbers?|statistics|knowledge|explanation|"
    r"indication|reference|description|\w+\s+(?:figures?|numbers?|information|data|details?|name))"
)
_TELL: Final = (
    r"(?:mention|say|provide|specify|contain|state|include|give|address|describe|cover|discuss|offer|explain|have|tell|"
    r"indicate|list|name|information|details?)"
)
_TOLD: Final = (
    r"(?:mentioned|specified|stated|provided|given|described|covered|discussed|addressed|explained|included|available|"
    r"found)"
)

# Clauses that say that something is not known.
LACKS: Final = re.compile(
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

# A sentence that has no other words claims nothing.
_REMARK_WORD_LIST: Final = """
yes no sure certainly of course absolutely correct right exactly indeed true hello hi sorry ok okay great good fair
question questions you re are welcome thanks thank for asking the that this these those they it is s all a an point i
hope hopes helps help helpful useful answer answers answered your let me know if have any more other further about
please ask feel free can with anything else to would like want need here just only some few several examples example
in summary short conclusion brief as mentioned said noted described explained discussed earlier above before
previously and or also on clear clarify details information not so well ve m ll
"""
REMARK_WORDS: Final = frozenset(_REMARK_WORD_LIST.split())

# Sentences that introduce what follows, and questions.
POINTS: Final = re.compile(rf"\W*here(?: is|['’]s| are) (?:what|how) {_SOURCES}\b|.*\?\W*$", re.IGNORECASE | re.DOTALL)

# Sentences that speak to the user or hold an address or code.
ADDRESSES: Final = re.compile(r"\byou(?:r|rs)?\b|://|www\.|@|`", re.IGNORECASE)

# Phrases before a claim.
WRAPS: Final = re.compile(
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

# What stands between two clauses.
CLAUSE_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)

# "The book does state that ...": a statement, although its words resemble a remark.
FRAMED: Final = re.compile(
    rf"\b{_SOURCES}\s+(?:do(?:es)?\s+)?(?:states?|says?|mentions?|claims?) that\b", re.IGNORECASE
)
