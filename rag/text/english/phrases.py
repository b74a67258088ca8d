"""Patterns of English phrases that carry no claim: of textbooks, of answers, and around a claim."""

from __future__ import annotations

import re
from typing import Final

from rag.text.english.speech_acts import BOOK, TOLD

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
    r"(?:in )?(?:this|the next|the previous) "
    r"(?:chapter|section|page|guide|book|tutorial|lesson|article|document|post)\b",
    re.IGNORECASE,
)
# Sentences that only point to another page: "See the guide for details."
REFERENCE: Final = re.compile(
    r"\W*(?:(?:please |you (?:can|may) (?:also )?)?(?:see|refer to|check(?: out)?|consult|visit|read (?:more|the)|"
    r"learn more|(?:take|have) a look at|find more|more (?:information|details|examples))\b"
    r"|(?:for|to (?:get|see|find|learn|read)) (?:more|further|additional|full|complete|all|other)\b)",
    re.IGNORECASE,
)
# Labels of remarks beside the text.
REMARK: Final = re.compile(r"\W*(?:tip|hint|info|note|technical details|see also|todo)\b[*_]*:", re.IGNORECASE)
# Titles of pages that tell what changed from version to version.
CHANGES: Final = re.compile(
    r"(?:release[ -]?(?:notes|history)|releases|change ?log|changes|news|(?:version )?history|what['’]?s new)\b",
    re.IGNORECASE,
)
# Titles of pages for those who work on the program itself, and questions about that.
CONTRIBUTING: Final = re.compile(
    r"\b(?:contribut\w+|release process|maintain(?:ers?|ing)|code of conduct|development (?:guide|setup|environment)|"
    r"pull requests?)\b",
    re.IGNORECASE,
)
CAPTION: Final = re.compile(r"\W*(?:listing|figure|fig\.|table|filename|file)\b[ \d.-]*:", re.IGNORECASE)
# Sentences that make sense only beside the listing or section that they refer to.
WALKS_THROUGH: Final = re.compile(
    r"\bListing \d|\b[Ll]et['’]s\b|\b(?:earlier|previous|next|last) (?:section|chapter|example|exercise)\b|"
    r"\b(?:section|discussed|covered|saw|learned) in Chapter \d|\]\[|\b[Ww]e['’](?:ll|ve|re|d)\b|\b[Bb]efore we\b|"
    r"\bNow that\b"
)
COPULA: Final = re.compile(
    r"\b(?:is|are|was|means?|refers? to|represents?|describes?|stands? for|consists? of|provides?|enables?|allows?|"
    r"lets?|combines?|denotes?|defines?)\b"
)
# After "X is", these words say something about X but not what it is.
NO_DEFINITION: Final = re.compile(r"\s+(?:also|often|not|just|now|already|still|made|important|\w+(?:ly|ed|ble|ful))\b")
# First words of a sentence that needs the one before it. "It is possible to" stands for nothing.
LEANS_BACK: Final = re.compile(
    r"(?!It(?:['’]s| is) (?:\w+ly |also |often |not )?[*_]*(?:possible|impossible|important|necessary|recommended|"
    r"common|best|advisable|worth|a good idea|good practice)\b)"
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|Such|Here(?! (?:is|are)\b)|However|"
    r"Instead(?! of (?!this|that|it\b))|Then|Thus|Therefore|Also|But|And|Or|So|Otherwise|Similarly|Likewise|"
    r"For example|For instance|In contrast|"
    r"Both(?! [^.,;:]{1,60} and )|Each|Unlike(?= (?:this|that|these|those|it|the (?:above|previous|others?|former))\b)|"
    r"Alternatively|Additionally|Finally|Next|Now that|After that|In addition|In other words|"
    r"In (?:this|that|these|those|the same|such)|Another|"
    r"Because of (?:this|that|these)|As (?:with|mentioned|noted|before|above)|The same|Same|Again|Either|Neither|"
    r"To \w+ (?:this|that|these|those|so)|Would|Will|Produces|From (?:there|here)|"
    r"With (?:this|that))\b"
)
# "these statements": what is pointed to, as a word.
POINTED: Final = re.compile(r"\b(?:this|that|these|those|such(?: an?)?) ([^\W\d_][\w-]*)", re.IGNORECASE)
# The number of a section: "3. Build and run", "Step 2: Start the server".
NUMBERED_TITLE: Final = re.compile(r"(?:(?:step|phase|stage|part) )?(\d{1,3})(?:[.:)]| -)", re.IGNORECASE)
# Where a second question begins: "What is a node, and how do I start one?"
SECOND_QUESTION: Final = re.compile(
    r"[,?]?\s+and (?=(?:how|why|when|where|what|which|who|is|are|do|does|can|should)\b)", re.I
)
# Words that give a reason.
REASON: Final = re.compile(
    r"\b(?:because|since|so that|in order to|due to|reasons?|causes?|caused|avoids?|prevents?|ensures?|therefore|"
    r"otherwise|makes? (?:it|sure)|leads? to|results? in|helps?|allows?|guarantees?)\b",
    re.IGNORECASE,
)
# Platforms that exclude each other, each by its names.
PLATFORMS: Final = tuple(
    re.compile(rf"\b(?:{names})\b", re.IGNORECASE)
    for names in (
        "windows|powershell|winget",
        "macos|mac os|os x|mac|homebrew|brew",
        "linux|ubuntu|debian|fedora|arch linux",
        "android",
        "ios|iphone|ipad",
    )
)

# Words anywhere in a sentence that stand for something before it: "We do not recommend using these versions."
POINTS_BACK: Final = re.compile(
    r"\b(?:these|those|the (?:above|former|latter)|as (?:above|before)"
    r"|(?:all|any|some|because|instead) of (?:this|that|it)|in (?:this|that) (?:way|manner))\b(?! (?:who|that|which))"
)

# Words by which a heading leans on what stands before it, so that nobody understands it alone.
LEANING: Final = re.compile(r"\b(?:such|this|that|these|those|it|its|they|them|their|above|below)\b", re.IGNORECASE)
# Words of a sentence that only points at an address: "Visit the page now". Without the address it says nothing.
POINTING: Final = frozenset(
    ["address", "check", "click", "download", "find", "go", "here", "install", "learn", "link", "linking", "more",
     "now", "open", "page", "read", "see", "site", "today", "visit", "website"]
)  # fmt: skip
# "(see )", "(cf.)" and the like, left over when their markers are removed.
SEE: Final = re.compile(r"[ \t]*\((?:see|cf\.?|(?:source|passage|ref|reference)s?:?)[ \t,;]*\)", re.IGNORECASE)
# ", see" before an address that is removed.
REFERS: Final = r"[ \t]*[,;(–—-][ \t]*(?:and |or )?(?:see|visit|cf\.?)(?: also)?:?[ \t]*"
# A word that needs what is removed behind it, but in "(see ...)" and ", see ...", which are removed with it.
NEEDS_OBJECT: Final = re.compile(
    r"(?:(?<![,;(–—-][ \t])(?<![,;(–—-])\b"
    r"(?:at|by|call|contact|for|from|in|into|is|are|of|on|open|see|through|to|under|via|visit|with)"
    r"(?:[ \t]the)?|\w:)[ \t*_]*\Z",
    re.IGNORECASE,
)
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

_OF_INFORMATION: Final = (
    "any|the|some|further|more|enough|sufficient|specific|definite|definitive|exact|precise|explicit|direct|additional|"
    "detailed|clear|other|particular|current"
)
_INFORMATION: Final = (
    rf"(?:(?:{_OF_INFORMATION})\s+){{0,3}}"
    r"(?:information|details?|data|mention|answers?|evidence|figures?|numbers?|statistics|knowledge|explanation|"
    r"indication|reference|description|\w+\s+(?:figures?|numbers?|information|data|details?|name))"
)
# Clauses that say that something is not known.
LACKS: Final = re.compile(
    r"\bI\s+(?:do not|don['’]?t|did not|didn['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am not able|"
    r"am unable|was unable|was not able|have not|haven['’]?t|have no|lack|am not sure|am sorry|apologi[sz]e)\b"
    rf"|\b{BOOK}\s+(?:do(?:es)?\s*(?:not|n['’]t)|did not|fails? to|lacks?|contains? no|"
    rf"(?:provide|give|make|offer|mention|include|have|has)s? no)\b"
    rf"|\bthere (?:is|are|was|were)\s+(?:no|not (?:any|enough))\s+{_INFORMATION}\b"
    rf"|\b(?:no|not enough)\s+{_INFORMATION}\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:given|provided|available|found|about|on|regarding|in the)\b"
    rf"|\b(?:is|are|was|were)\s*(?:not|n['’]t)\s+(?:\w+ly\s+)?{TOLD}(?:\s+(?:in|by|here)\s+{BOOK}|\s+here)?\s*\.?\s*$",
    re.IGNORECASE,
)

# A sentence of such words alone claims nothing.
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
POINTS: Final = re.compile(rf"\W*here(?: is|['’]s| are) (?:what|how) {BOOK}\b|.*\?\W*$", re.IGNORECASE | re.DOTALL)

# Sentences that speak to the user or hold an address or code.
ADDRESSES: Final = re.compile(r"\byou(?:r|rs)?\b|://|www\.|@|`", re.IGNORECASE)

# Phrases before a claim.
WRAPS: Final = re.compile(
    r"\W*(?:(?:yes|no|sure|certainly|of course|absolutely|correct|right|indeed|sorry|unfortunately|nevertheless|"
    r"nonetheless|however|overall|in (?:summary|short|conclusion|addition|fact|general|other words|a few words)|"
    r"additionally|furthermore|moreover|therefore|thus|also|besides|for (?:example|instance)|that said|specifically|"
    r"notably|in particular|finally|to (?:summari[sz]e|sum up|conclude)|"
    rf"(?:according to|based on|as (?:stated|described|mentioned|explained|noted) in|from|per) {BOOK})\s*[,:]\s*"
    r"|as (?:i |we )?(?:mentioned|said|noted|described|explained|discussed|stated)"
    r"(?:(?: (?:earlier|above|before|previously))[,:]?|(?: in [\w\s]{1,40})?[,:])\s+"
    r"|it is true that\s+|(?:it is|it['’]s|it) (?:also )?(?:important|worth|interesting|useful|essential|crucial) "
    r"(?:to (?:note|mention|know|remember|point out|understand)|noting|mentioning)(?: that)?,?\s+"
    rf"|{BOOK} (?:also )?(?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?) that\s+)",
    re.IGNORECASE,
)

# What stands between two clauses.
CLAUSE_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)

# Where a main clause begins: "A node runs, and it sends messages". A reason or a condition often has words of its own.
CLAUSE_BEGINS: Final = re.compile(
    r"(?:[,:]|\s[–—-])\s+(?=(?:and|but|or)\b)|;\s+"
    r"|\s+(?=and (?:it|they|the|a|this|you|he|she|its|therefore|then|so)\b)",
    re.IGNORECASE,
)

# How many items a line announces: "There are six types:", but not "Python 3 has types:" or "one of the two ways:".
ANNOUNCES: Final = re.compile(
    r"(?<![\w.-])(?<!of the )(?<!of these )(?P<number>[2-9]|1\d|20|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|fifteen|twenty)\s(?:[a-z-]+\s){0,2}(?P<noun>[a-z-]+s)\b[^.]*[:：]\W*$"
)

# How a sentence begins that only sends the reader to a page, and what may stand in it beside the name of the page.
SENDS: Final = (["see"], ["read"], ["visit"], ["for"])
BESIDE_PAGE: Final = frozenset(
    ["a", "about", "also", "at", "details", "for", "further", "information", "in", "on", "please", "the"]
)

# What parts the sides of a comparison: "r.text vs r.content", "between a topic and a service", "npm or yarn".
SIDES: Final = re.compile(
    r"\b(?:vs|versus|and|or|than|from|to|with|over|instead of|compared (?:to|with))\b", re.IGNORECASE
)
