"""Patterns of English phrases that carry no claim: of textbooks, of answers, and around a claim."""

from __future__ import annotations

import re
from typing import Final

from rag.quoting.english.speech_acts import BOOK, TOLD
from rag.quoting.english.word_lists import LINK_WORDS

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
CAPTION: Final = re.compile(
    r"\W*(?:listing|figure|fig\.|table|filename|file)\b(?:[ \d.-]*:| \d[\d.-]*\.(?=\s))", re.IGNORECASE
)
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
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|Such|Here(?!['’]s| (?:is|are|we|you)\b)|However|"
    r"Instead(?! of (?!this|that|it\b))|Then|Thus|Therefore|Also|But|And|Or|So|Otherwise|Similarly|Likewise|"
    r"For example|For instance|In contrast|If (?:so|not)(?=,)|"
    r"Which(?= (?:will|would|is|are|was|were|means?|makes?|can|could|may|gives?)\b)|"
    r"Both(?! [^.,;:]{1,60} and )|Each|Unlike(?= (?:this|that|these|those|it|the (?:above|previous|others?|former))\b)|"
    r"Alternatively|Additionally|Finally|Next|Now that|After that|In addition|In other words|"
    r"In (?:this|that|these|those|the same|such)|Another|"
    r"Because of (?:this|that|these)|As (?:with|mentioned|noted|before|above)|The same|Same|Again|"
    r"Either(?! [^.;:]{1,60} or )|Neither(?! [^.;:]{1,60} nor )|"
    r"To \w+ (?:this|that|these|those|so)|Would|Will|Produces|From (?:there|here)|"
    r"With (?:this|that)|You (?:can|should|must|may|could) (?:instead|then|now)|"
    r"Second(?:ly)?(?=,)|Third(?:ly)?(?=,)|First(?:ly)?, (?:it|this|that|they|the latter))\b"
)
# A line that says nothing but that code follows.
LEADS_TO_CODE: Final = re.compile(
    r"(?:For (?:example|instance)|Then|Next|Now|Finally|Also|And|Or|Alternatively|Additionally)\b"
    r"(?![^:]*\b(?:this|that|these|those|it|they)\b)[^.:]{0,60}:"
)
# "these statements": what is pointed to, as a word.
POINTED: Final = re.compile(r"\b(?:this|that|these|those|such(?: an?)?) ([^\W\d_][\w-]*)", re.IGNORECASE)
# The number of a section: "3. Build and run", "Step 2: Start the server".
NUMBERED_TITLE: Final = re.compile(r"(?:(?:step|phase|stage|part) )?(\d{1,3})(?:[.:)]| -)", re.IGNORECASE)
# Where a second question begins: "What is a node, and how do I start one?"
SECOND_QUESTION: Final = re.compile(
    r"[,?]?\s+and (?=(?:how|why|when|where|what|which|who|is|are|do|does|can|should)\b)", re.I
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
    r"|(?:all|any|some|because|instead) of (?:this|that|it)|in (?:this|that) (?:way|manner|case)"
    r"|(?:this|that) (?:kind|sort|type) of|for (?:this|that) reason)\b(?! (?:who|that|which))"
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
    r"nonetheless|however|overall|in (?:summary|short|brief|conclusion|addition|fact|general|essence)|"
    r"in (?:other words|a few words|a nutshell|simple terms)|"
    r"additionally|furthermore|moreover|therefore|thus|also|besides|for (?:example|instance)|that said|specifically|"
    r"notably|in particular|finally|to (?:summari[sz]e|sum up|conclude|put it simply)|put simply|simply put|"
    r"not (?:really|quite|exactly|necessarily)|"
    r"basically|essentially|importantly|crucially|interestingly|tl;?dr|(?:that[’']s a )?(?:good|great) question|"
    r"(?:the |my )?(?:short |quick |brief |direct |simple |final )?(?:answer|summary|conclusion)|"
    rf"as {BOOK} (?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?)|"
    rf"according to(?: {BOOK})?|(?:based on|as (?:stated|described|mentioned|explained|noted) in|from|per) {BOOK})"
    r"[*_]*\s*[,:—–][*_]*\s*"
    r"|as (?:i |we )?(?:mentioned|said|noted|described|explained|discussed|stated)"
    r"(?:(?: (?:earlier|above|before|previously))[,:]?|(?: in [\w\s]{1,40})?[,:])\s+"
    r"|it is true that\s+|(?:it is|it['’]s|it) (?:also )?(?:important|worth|interesting|useful|essential|crucial) "
    r"(?:to (?:note|mention|know|remember|point out|understand)|noting|mentioning)(?: that)?,?\s+"
    rf"|{BOOK} (?:also )?(?:says?|states?|mentions?|explains?|notes?|describes?|shows?|indicates?) that\s+"
    r"|(?:please )?note that\s+)",
    re.IGNORECASE,
)

# A phrase behind a claim that only credits the book: ", as stated in passage [1]" without its marker.
CREDITS: Final = re.compile(
    r",\s*(?:as (?:stated|described|mentioned|explained|noted|said|shown|given) (?:in|by)|according to|per|see) "
    rf"{BOOK}(?=[\s.!]*\Z)",
    re.IGNORECASE,
)

# What stands between two clauses.
CLAUSE_JOINT: Final = re.compile(
    r"[,;]?\s+(?:but|however|although|though|nevertheless)\b[,;]?\s*|;\s+|,\s+only\s+that\s+|\s*,\s*(?=(?:the|there|it|they|he|she|this|these)\b)"
)

# Where a main clause begins: "A node runs, and it sends messages". A reason or a condition often has words of its own.
CLAUSE_BEGINS: Final = re.compile(
    r"(?:[,:]|\s[–—-])\s+(?=(?:and|but|or)\b)|;\s+"
    r"|\s+(?=and (?:it|they|the|a|this|you|he|she|its|therefore|then|so|is|are|was|were|will)\b)",
    re.IGNORECASE,
)

# The end of a line whose sentence goes on in the next one.
UNFINISHED: Final = re.compile(
    r"(?:,|\b(?:an?|and|as|at|between|by|for|from|in|into|its|nor|of|on|or|per|than|the|their|to|via|whose|with))\Z",
    re.IGNORECASE,
)

# How many items a line announces: "There are six types:", but not "Python 3 has types:" or "one of the two ways:".
ANNOUNCES: Final = re.compile(
    r"(?<![\w.-])(?<!of the )(?<!of these )(?P<number>[2-9]|1\d|20|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|fifteen|twenty)\s(?:[a-z-]+\s){0,2}(?P<noun>[a-z-]+s)\b[^.]*[:：]\W*$"
)

# What a sentence has that only sends the reader to a page, and what may stand in it beside the name of the page.
SENDS: Final = re.compile(
    r"\b(?:see|read|visit|consult|refer to|look (?:at|in|into|up)|covers?|covered|describe[sd]?|explain(?:s|ed)|"
    r"discuss(?:es|ed)|found (?:in|on|at|under)|"
    r"find (?:more|details|it|this|further)|(?:details|information) (?:is|are) in|"
    r"(?:comes?|is|are|taken|drawn) from|for (?:more|further|details))\b",
    re.IGNORECASE,
)
# The topic before such a pointer: "For more on apertures, see the chapter Light."
BEFORE_SENDING: Final = re.compile(
    r"\A\W*for (?P<topic>[^,:;]{1,60}),? (?=(?:please |you (?:can|may) )?(?:see|refer|consult|read|visit|look)\b)",
    re.IGNORECASE,
)
_BESIDE_PAGE_WORDS: Final = """
a about all also and answer answers any are as at based be been book both by can chapter chapters come comes contents
covered covers describe
described describes detail details discussed discusses documentation drawn each examples explained
explains file files find following for found from full further good great heading here in information is it its look
manual material more of on or page pages part passage passages please point points question read refer reference
section sections see source sources subject subsection taken text that the there these this titled to topic topics under
up visit want was where which with you your
"""
BESIDE_PAGE: Final = frozenset(_BESIDE_PAGE_WORDS.split()) - {"with"}

# --- what an answer says to the user --------------------------------------------------------------------------------

# How an offer or a closing question begins: "Would you like an example?" No colon follows, behind which is a claim.
OFFERS: Final = re.compile(
    r"\W*(?:(?:would|do) you (?:like|want|need|prefer)\b|(?:shall|should|may|can|could) i (?:also |now )?"
    r"(?:add|continue|describe|do|draw|elaborate|expand|explain|give|go|help|list|show|summari[sz]e|tell|walk)\b|"
    r"(?:want|need) (?:me|more|an? (?:example|summary))\b|"
    r"is there anything\b|(?:just |please )?let me know (?:how|if|what|when|whether|which)\b|"
    r"(?:please |just )?(?:ask|tell) me (?:if|for|about|when|whether|which)\b|any (?:other|more|further) questions\b|"
    r"i(?:['’]m| am|['’]d be| would be) (?:also )?(?:happy|glad) to\b|"
    r"i can (?:also )?(?:describe|elaborate|expand|explain|give|go|help|list|provide|show|summari[sz]e|walk)\b|"
    r"(?:if|should|in case) you(?:['’]d| would)? (?:still |also )?(?:have|like|need|require|want)\b.*\b"
    r"(?:ask\W*$|ask (?:me|away|again)\b|let me know|tell me|feel free|happy to|glad to|say so)|"
    r"(?:please )?feel free to (?:ask|reach out|let me know)\b|[^:;]*\b(?:would|do) you (?:like|want|prefer)\b)[^:;]*$",
    re.IGNORECASE | re.DOTALL,
)
# Phrases that leave nothing but talk around them: "Let's break it down.", "Yes, but with a caveat."
TALKS: Final = re.compile(
    r"\b(?:let['’]s|let us|let me|i['’]ll|we['’]ll|we can) (?:now )?"
    r"(?:break|go|look|take a look|recap|unpack|walk|dive|see)"
    r"(?: you)?(?: (?:it|this|that|these|them|things))?(?: (?:down|through|over|at|into|in))?\b"
    r"|\bclears? (?:it|this|that|things|everything) up\b|\b(?:one )?(?:step by step|by one)\b"
    r"|\b(?:but )?with (?:a|one|some) (?:few |small )?caveats?\b|\A\W*(?:done|here you go|there you go)\b",
    re.IGNORECASE,
)
# Words of a disclaimer: "Please ask a professional for advice on your own case." It has one of the first.
DISCLAIMS: Final = frozenset(["advice", "consult", "disclaimer", "professional", "substitute"])
_DISCLAIMER_WORDS: Final = """
a about above accountant acting adviser advisor always an and answer any are as ask attorney be before but by case cases
circumstances constitute contact decision decisions dentist does doctor educational engineer expert experts financial
for general guidance healthcare help i if important in individual information informational intended investment is it
lawyer legal licensed local making matter may medical no not note of official on only or own personal pharmacist
physician please provider purposes qualified question questions remember replace seek should situation speak specialist
specific talk tax that the their this to treatment veterinarian vet when with you your
"""
DISCLAIMER_WORDS: Final = DISCLAIMS.union(_DISCLAIMER_WORDS.split())

# --- labels, and code ------------------------------------------------------------------------------------------------

# "Sources: [1], [2]", a line that only cites.
SOURCE_LABEL: Final = re.compile(r"[\W_]*(?:sources?|references?)[\W_]*(?:and[\W_]*)*", re.IGNORECASE)
# What a caption or a list of sources in words begins with.
LABELLED: Final = re.compile(
    r"[\W_]*(?P<label>table|figure|fig\.|listing|sources?|references?)\b[ \d.-]*:[*_]*", re.IGNORECASE
)
# Words of programming languages, which code may have that no passage has.
_CODE_WORDS: Final = """
and as async await bool break case catch class cat cd char console const continue def default do double echo elif else
end enum esac except export extends false fi finally float fn for from func function if impl import in include int let
log main match mut new nil none not null or pass print printf println pub raise require return self static str string
struct super switch then this throw throws true try type use using val var void where while with yield
"""
CODE_WORDS: Final = frozenset(_CODE_WORDS.split())

# What parts the sides of a comparison: "r.text vs r.content", "between a topic and a service", "npm or yarn".
SIDES: Final = re.compile(
    r"\b(?:vs|versus|and|or|than|from|to|with|over|instead of|compared (?:to|with))\b", re.IGNORECASE
)

# --- citations in words ---------------------------------------------------------------------------------------------

# A sign that is meant as a citation where nothing else cites: "(1)" at the end of a sentence. "Step (1)" is none.
# "passage 1", "sources 1 and 2", as words of a sentence
SPOKEN_NUMBERS: Final = r"(?i:\b(?:passage|source)s? )\d{1,2}\b(?:(?:,? and|,) \d{1,2}\b)*(?![.,:/-]?\d)"
TRAILING_NUMBER: Final = re.compile(
    r"(?<!step)(?<!steps)(?<!equation)(?<!figure)(?<!table)(?<!section)(?<!chapter)(?<!rule)(?<!item)(?<!type)(?<!level)"
    r"(?<=[^\s\d])(?:,[ \t](?:see )?(?:passage|source))?[ \t](?:\((?P<n>\d{1,2})\)|\{(?P<braced>\d{1,2})\})"
    r"(?=[\s.!?…*_]*$)",
    re.IGNORECASE,
)
# Raised numbers as of footnotes: behind a full stop or a word, or by themselves.
_RAISED_NUMBER: Final = r"⁽?[⁰¹²³⁴-⁹]{1,2}⁾?"
RAISED_NUMBERS: Final = re.compile(
    r"(?P<word>[.!?…][\"”’)]?|(?<![^\W\d_])[^\W\d_]{2,}|(?<=[^\W\d_]{2})[ \t])"
    rf"(?P<raised>{_RAISED_NUMBER}(?:[,’] ?{_RAISED_NUMBER}){{0,4}})(?=[.,;:!?…)*_\"”\s]|$)"
)
# Words behind which a raised number is a power.
FUNCTIONS: Final = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "exp", "log", "lim", "det", "chi", "max", "min"]
)
# A footnote of the model's own at the end of a sentence, "[a]".
TRAILING_LETTER: Final = re.compile(r"[ \t](?P<sign>\[[a-z]\])(?=[\s.!?…*_]*$)")
# What a link behind it belongs to: it is no citation, whatever its address.
BEFORE_LINK: Final = re.compile(
    r"\b(?:see(?: also)?|read|visit|open|use|at|in|on|the|an?|to|of|by|via|with|and|or)[ \t]*\Z", re.IGNORECASE
)
# ", see" before a citation, which goes because the citation says it; but not that of "For details, see [1]".
FOR: Final = re.compile(r"\W*(?:for|if)\b", re.IGNORECASE)
REFERS_TO: Final = r"[ \t]*(?:and |or )?(?:see|visit|cf\.?)(?: also)?:?[ \t]*"
# The same as `BEFORE_LINK`, and the sentence needs a word there.
NEEDS_WORD: Final = re.compile(
    r"\b(?:the|an?|is|are|was|were|be|called|named|as|like|than|of|to|for)[ \t]*\Z", re.IGNORECASE
)
# Behind a link, or behind several, that is a part of its sentence: "[Atlas](atlas.md) weighs 89 kg."
AFTER_LINK: Final = re.compile(
    r"(?:(?:,| and| or)[ \t]*\[[^\]\n]{1,300}\]\([^()\s]{1,500}\))*+(?:[*_]*[ \t]+[*_]*[a-z]|[*_]*:)"
)
# The parts of a book, each by the words for it.
SORTS_OF_PARTS: Final = {
    "chapter": "chapter", "chapters": "chapter", "ch": "chapter", "chap": "chapter", "chs": "chapter",
    "section": "section", "sections": "section", "sec": "section", "part": "part", "parts": "part", "pt": "part",
    "page": "page", "pages": "page", "pp": "page", "p": "page", "appendix": "appendix", "appendices": "appendix",
}  # fmt: skip
NUMBERED_SORTS: Final = ("chapter", "section", "part")  # what a number without a word may count
# "Chapter 2: ", "Part II", "4.1 " and "2. " at the beginning of a title, but not "5 causes".
NUMBERED_PART: Final = re.compile(
    r"\W*(?:(?P<sort>chapter|section|part|appendix)\s+(?P<number>\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,6}\b|[A-Z]\b)"
    r"|(?P<count>\d{1,3}(?:\.\d{1,3})+(?=\s)|\d{1,3}(?=[.:)]|\s[–—-])))[\s.:)–—-]*",
    re.IGNORECASE,
)
# "02-" and "ch04-01-" at the beginning of the name of a file.
NUMBERED_FILE: Final = re.compile(
    r"(?:ch|chap|chapter)?[-_ ]?(?P<number>\d{1,3}(?:[-_.]\d{1,3})*)[-_. ]", re.IGNORECASE
)
LIST_JOINT: Final = re.compile(r"\s*(?:[,;&+]\s*(?:and\b)?|\b(?:and|or|as well as)\b)\s*", re.IGNORECASE)
# Words that may stand around the names of a page in its citation.
_AROUND_NAME_WORDS: Final = """
a an the chapter section part page file heading book documentation docs manual of in on under see also titled called
named entitled subsection paragraph
"""
AROUND_NAMES: Final = frozenset(_AROUND_NAME_WORDS.split())
# A word that makes of "(from ...)" the name of a page.
NAMES_PAGE: Final = LINK_WORDS | frozenset(SORTS_OF_PARTS) | {"file", "heading", "passage", "passages", "text"}
