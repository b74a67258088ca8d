"""What a sentence does in a conversation: it asks for something, sets a task, greets, or says that there is no answer.

Tasks such as "Write a publisher", small talk, refusals and sentences about the conversation state nothing. Greetings,
thanks and farewells are also known in some other languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from rag.quoting.page_units import Unit, sentence_spans, units

Wanted = Literal["number", "name", "year", ""]

_DEFINITION: Final = re.compile(
    r"(?:what(?:'s|’s| is| are| was| were)|who(?:'s|’s| is| are| was| were)|define|"
    r"what do(?:es)? .{1,60} (?:mean|stand for|do)|(?:please )?explain(?: to me)?(?: what)?|tell me about|describe)\b",
    re.IGNORECASE,
)
# "What is the difference ..." and "What is the default ..." do not ask for a definition.
_NO_DEFINITION: Final = re.compile(
    r"\b(?:difference|differ|differs|default|compare[ds]?|example|examples|steps|benefits?|advantages?|disadvantages?|"
    r"limitations?|used for|purpose of|happens|versus|vs|better)\b|\bfor\?*$",
    re.IGNORECASE,
)
_ASKING: Final = r"(?:what|who|which|how|when|where|why|is|are|does|do|can|should)"
ASKS: Final = re.compile(rf"\W*{_ASKING}\b", re.IGNORECASE)
_COMPARISON: Final = re.compile(
    r"\b(?:difference|differences|differ|differs|differentiate|compare[ds]?|comparison|versus|vs|better than)\b",
    re.IGNORECASE,
)
# Two things beside each other, which are compared unless the question asks how to do something.
_CHOICE: Final = re.compile(r"\b(?:slower|faster|instead of|rather than|or)\b", re.IGNORECASE)
# Verbs of what somebody wants to do, and those that are as often nouns: "list the files", but not "list comprehension".
_DO: Final = (
    r"add|adjust|allow|attach|avoid|bring|choose|clean|connect|convert|create|customi[sz]e|cut|define|delete|disable|do|"
    r"download|draw|edit|enable|find|fix|force|get|give|hide|hit|ignore|insert|join|keep|limit|load|make|merge|mount|move|"
    r"open|pass|pin|play|prevent|print|publish|put|read|remove|rename|replace|restore|run|save|see|select|send|serve|set|"
    r"share|show|skip|speed up|split|start|stop|strip|switch|take|tell|throw|turn|undo|upload|use|wrap|write"
)
_DO_OR_NOUN: Final = (
    r"access|back|build|call|change|check|close|compare|copy|count|export|filter|format|group|import|label|line|list|lock|"
    r"log|mail|mark|number|order|pull|push|query|record|reset|return|schedule|search|sort|store|test|update|upgrade|view"
)
# "How do I", "what do I type", "I'd like to", and what leaves that out, such as "Install it" and "find dead links in my
# pages"; but not "How do selectors work?"
_STEPS: Final = re.compile(
    r"\bhow (?:do|can|could|should|would|to|does one)\b(?!.*\bwork\W*$)|"
    r"\b(?:what|where|which \w+) (?:do|can|must|should) i\b|"
    r"^\W*(?:i(?:['’]d like| (?:\w+ )?(?:want|need)\b)|(?:steps?|install|configure|set up)\b|"
    rf"(?:{_DO})(?: [^\s?]+){{3}}|"
    rf"(?:{_DO_OR_NOUN}) (?:up |down |out )?(?:an?|the|my|our|your|all|some|every|each|one|two|three|it|them)\b)",
    re.IGNORECASE,
)
_LIST: Final = re.compile(
    r"\b(?:examples?|list|name (?:some|the|all)|types|kinds|which|tools|features|applications|"
    r"what (?:are|were) the|what [a-z]+s (?:are|do|does|can|should)|components|advantages|benefits|"
    r"limitations|challenges|settings|options|commands|rules|phases|steps)\b",
    re.IGNORECASE,
)
_SPEAKS: Final = re.compile(
    r"\W*(?:i|we|my|our|there|whose|will|would|could|has|have|was|were|did|may|must)\b", re.IGNORECASE
)
_WHY: Final = re.compile(r"\bwhy\b|\bhow come\b|\breasons?\b|\bwhat(?:'s| is| are)? the point\b", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"\bhow (?:many|much|tall|long|fast|heavy|big|large|far|often|old|high|deep|wide)\b|"
    r"\bwhat (?:is|are|was)(?: the)?(?: [\w'’-]+)* (?:price|cost|number|percentage|salary|budget|speed|capacity|height|"
    r"weight|wavelength|population|frequency|rate)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"^\W*(?:who|whose|which (?:company|person|team|university|developer|organi[sz]ation))\b", re.IGNORECASE
)
_YEAR: Final = re.compile(
    r"\b(?:in )?(?:which|what) (?:year|date|month|decade)\b|"
    r"^\W*when (?:was|were|did|has|had|will|does|is)\b(?!.*\bto\b)",
    re.IGNORECASE,
)
MESSAGE: Final = 4  # words of an error message, at least
_FAILURE: Final = re.compile(
    r"\b(?:errors?|exceptions?|traceback|warn(?:ing)?|fatal|panicked|fail(?:ed|ing|ure)|cannot|can't|could not|"
    r"couldn['’]t|can’t|unable to|not found|no such|does not exist|doesn['’]t exist|already (?:in use|exists|running)|"
    r"timed out|not recogni[sz]ed|not permitted|denied|refused|must(?: not)?|may not|"
    r"invalid|unexpected|undefined|unsatisfiable|deprecated|"
    r"was detected|raise)\b|\b(?:says?|said|saying|shows?|prints?|get|got):\s|"
    r"[a-z](?:Error|Exception|Warning)\b|"
    r"^\S+\.\w+:\d+:",  # the place in a file that a compiler or a linter complains of
    re.IGNORECASE,
)

# A few words and, behind a colon, the file that they are said of: "unreadable file: /tmp/a.txt".
_OF_FILE: Final = re.compile(r"^[^?:]*\w \w[^?:]*: ['\"]?(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^\s?]+['\"]?$")

# "the use keyword", "the move operator"
SPOKEN_CODE: Final = re.compile(
    r"\bthe (\w+) (?:keyword|operator|macro|command|function|method|statement|attribute|flag|hook|prop|expression)\b"
)
# Openings of a question that continues the one before it.
FOLLOW_UP: Final = re.compile(
    r"\W*(?:and|but|or|so|also|what about|how about|why not|then|same)\b|"
    r"\W*(?:und|oder|aber|et|mais|y|pero|e)\s|"  # the same in some other languages
    # A question without a verb: "in TypeScript?"
    r"\W*(?:on|in|for|with|without|under|from|to|at|by|as|via|when|if)(?: [^\s?]+){1,4} ?\?\W*$",
    re.IGNORECASE,
)
# "What are the steps?", "More details please": a general noun behind it belongs to something named before.
UNNAMED: Final = re.compile(r"\W*(?:what(?:['’]?s| is| are| was| were) the|(?:any |some )?more|any)\b", re.IGNORECASE)
# A conjunction before a question that may be whole without it: "And what is a node?"
CONJUNCTION: Final = re.compile(r"\W*(?:and|but|or|so|also|then)\b[\s,]*", re.IGNORECASE)
# Words that stand for something said before.
REFERS_BACK: Final = re.compile(
    r"\b(?:it|its|they|them|their|those|these|this one|that one|which ones?|the same)\b|"
    r"what(?:['’]?s| is) the default\W*$|"
    r"\b(?:use|make|create|need|exclude|include|share|write|add|remove|delete|start|stop|run|define|have|get|build|call|set|"
    r"choose|pick|open|close|show|change|test) one\b|"
    r"\b(?:that|this)\W*$|"
    r"\b(?:is|was|are|does|do|did|can|could|will|would|should|has|if|when|why) (?:that|this)\b"
    r"(?! (?:\w+ )?(?:book|textbook|documentation|docs|manual|handbook|guide|tutorial|site|website|wiki|project|"
    r"error|message|warning|code|output)\b)",
    re.IGNORECASE,
)
# "the second one", "the last of them", "the latter": an entry of what was said before.
PLACES: Final = ("first", "second", "third", "fourth", "fifth")
ORDINAL: Final = re.compile(
    rf"\bthe (?:(?:{'|'.join(PLACES)}|last)(?: ones?\b| of (?:them|these|those)\b|(?=\W*$))|(?:former|latter)\b)",
    re.IGNORECASE,
)


_THIS_BOOK: Final = (
    r"(?:this|the|your|that|these|those)(?: \w+)? "
    r"(?:book|textbook|documentation|docs|manual|handbook|guide|tutorial|site|website|wiki|project)"
)
_PARTS: Final = r"(?:chapters|parts|sections|pages|topics|subjects|contents)"
_OVERVIEW: Final = r"(?:an? |the )?(?:(?:short|brief|quick) )?(?:overview|summary|introduction)"
# Whole questions about the book itself, in lower case, without punctuation.
_ABOUT_BOOK: Final = re.compile(
    rf"what(?:['’]?s| is| are) {_THIS_BOOK}(?: all)?(?: about)?|"
    rf"what do(?:es)? {_THIS_BOOK} (?:cover|contain|describe|teach|explain|say|discuss|talk about|deal with)|"
    rf"what can (?:i|you) (?:ask|learn|find|read)(?: \w+)?(?: (?:here|{_THIS_BOOK}))?|"
    rf"(?:(?:can|could) you )?(?:summari[sz]e|describe|introduce|explain) {_THIS_BOOK}|"
    rf"(?:give|show|tell) me {_OVERVIEW}(?: (?:of|to) {_THIS_BOOK})?|"
    rf"{_OVERVIEW}(?: of {_THIS_BOOK})?|"
    rf"(?:tell me )?about {_THIS_BOOK}|"
    # To the answerer, which knows nothing but the book:
    r"what can you (?:do|answer|explain|tell me|do for me|help(?: me)? with)|"
    r"what (?:do you know|are you able to answer|kind of questions can (?:i ask|you answer))(?: about)?|"
    r"(?:how can you help(?: me)?|who are you|what are you)|"
    # In some other languages:
    r"(?:worum|um was) geht es (?:hier|in dies\w+ \w+)|wovon handelt dies\w+ \w+|"
    r"(?:zusammenfassung|überblick)(?: dies\w+ \w+)?|fasse? (?:das|dies\w+) \w+ zusammen|"
    r"de quoi (?:parle|traite|s['’]agit-il dans|s agit il dans) c\w+ \w+|résum\w+(?: (?:de )?c\w+ \w+)?|"
    r"de qué (?:trata|habla) est\w+ \w+|resum\w+(?: (?:de )?est\w+ \w+)?|"
    r"di (?:che )?cosa (?:parla|tratta) quest\w+ ?\w+|(?:riassunto|riassumi)(?: (?:di )?quest\w+ ?\w+)?|"
    r"(?:do|de) que (?:trata|fala) est\w+ \w+|"
    r"waar (?:gaat|handelt) (?:dit|deze) \w+ over|samenvatting(?: van (?:dit|deze) \w+)?"
)
_CONTENTS: Final = re.compile(
    r"(?:(?:show|give|list|print|tell)(?: me)? |what(?:['’]?s| is) )?(?:the |a )?"
    rf"(?:table of contents|toc|contents|outline)(?: (?:of|for|in) {_THIS_BOOK})?|"
    rf"(?:(?:show|give|list|print|tell)(?: me)? |what are )?(?:all )?(?:the )?{_PARTS}(?: (?:of|in) {_THIS_BOOK})|"
    rf"(?:what|which) {_PARTS} are (?:there|covered)?(?: ?in {_THIS_BOOK})?|"
    rf"(?:what|which) {_PARTS} do(?:es)? {_THIS_BOOK} (?:have|cover|contain|include)|"
    r"(?:(?:show|give|list|print|tell)(?: me)? |what are )?(?:all )?(?:the )?chapters|"
    rf"what(?:['’]?s| is) in {_THIS_BOOK}|"
    # In some other languages:
    r"(?:das )?inhaltsverzeichnis|welche (?:kapitel|themen) (?:gibt es|hat dies\w+ \w+)|"
    r"(?:la )?table des matières|sommaire|quels sont les chapitres|"
    r"(?:el )?índice|tabla de contenidos?|cuáles son los capítulos|"
    r"(?:l['’])?indice|sommario|quali sono i capitoli|"
    r"(?:o )?(?:índice|sumário)|quais são os capítulos|(?:de )?inhoudsopgave"
)
_MOST_WORDS: Final = 10  # of small talk; a longer message has content
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_EMOJI: Final = re.compile("[\U0001f300-\U0001faff]")
_STRETCHED: Final = re.compile(r"(\w)\1{2,}")  # "hiii", "heyyyy"
_GREETING: Final = (
    r"hi|hello|hey|heya|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|"
    r"how are you|how(?:['’]s| is) it going|what['’]?s up|nice to meet you|pleased to meet you|"
    r"hallo|guten (?:tag|morgen|abend)|hola|buenos días|bonjour|bonsoir|salut|ciao|olá|namaste|salam|assalamualaikum"
)
# "Nice" and "right" are missing: alone they may be questions to a book.
_CLOSING: Final = (
    r"thanks|thank you|thankyou|thx|ty|tysm|cheers|much appreciated|i appreciate (?:it|that|your help)|"
    r"bye|goodbye|good bye|good night|see you|see ya|take care|have a (?:nice|good|great) (?:day|evening|night|one)|"
    r"great|cool|awesome|perfect|excellent|brilliant|wonderful|amazing|well done|good job|nice work|"
    r"ok|okay|got it|i see|understood|makes sense|that helps|that helped|very helpful|"
    r"danke|vielen dank|tschüss|gracias|adiós|merci|grazie|obrigado|obrigada"
)
_CORE: Final = re.compile(rf"\b(?:{_GREETING}|{_CLOSING})\b")
# Only a greeting may end in a question mark: "hello?", "how are you?"
_ASKED: Final = re.compile(rf"\b(?:{_GREETING})\b")
# The only words allowed beside a greeting or a closing; any other may be a question.
_AROUND: Final = frozenset(
    _WORD.findall(
        "a again all alright and answer answers are beaucoup bot day dear evening everyone explanation folks for friend"
        " good guys help helped helpful i is it it's it’s job just lot lots many me mille morning much muchas my nice"
        " night no now oh one quick really right schön sir so such super that that's that’s the then there this time"
        " to today very viel was well worked working works wow you your fixed solved"
    )
)

# Patterns of a refusal: the book, a denied verb, what a book does or has done, and what may come before them.
_ADJECTIVES: Final = (
    r"(?:provided|given|retrieved|available|supplied|above|current|cited|numbered|following|relevant|book['’]s|your|my)"
)
BOOK: Final = (
    rf"(?:(?:the|this|these|any|your|those|of|all|none|no|my|in|within|from|for|and|or|{_ADJECTIVES})\s+){{0,6}}"
    r"(?:passages?|contexts?|books?|texts?|sources?|documents?|documentation|excerpts?|materials?|contents?|information|"
    r"sections?|snippets?|chapters?|manual|pages?|textbook|search results?|results?)(?:\s+(?:provided|given|i have|"
    r"available|above|supplied|here|content|itself|excerpts?|passages?|material|text|information|context))*"
)
_NOT: Final = (
    r"(?:do(?:es)? not|don['’]t|doesn['’]t|did not|didn['’]t|cannot|can ?not|can['’]t|could not|couldn['’]t|fails? to)"
)
_SAY: Final = (
    r"(?:actually |explicitly |directly |specifically |seem to |appear to )?(?:contain|include|mention|provide|"
    r"have|cover|discuss|specify|address|say|state|answer|find|give|describe|explain|offer|talk|tell|list|define|indicate|"
    r"reference|refer|detail|support|go into|hold|elaborate|know|locate|see|help|determine|identify|confirm|comment)\b"
)
TOLD: Final = (
    r"(?:mentioned|covered|discussed|addressed|described|specified|explained|answered|included|found|provided|stated|given|"
    r"contained|available|defined|listed|present)"
)
_OPENING: Final = (
    r"^\W*(?:(?:unfortunately|sorry|i['’]m sorry|i am sorry|i['’]m afraid|i am afraid|i apologi[sz]e|apologies|however|"
    r"but|based on [^,]{1,80}|from [^,]{1,60}|according to [^,]{1,60}|regrettably|no|as far as i can (?:see|tell))"
    r"[,.;:]?\s+(?:but\s+|that\s+)?){0,3}"
)
_REFUSED: Final = "|".join(
    (
        rf"{BOOK}\s+{_NOT}\s+{_SAY}",
        rf"{BOOK}\s+(?:\w+ly\s+)?(?:provides?|gives?|contains?|says?|offers?|has|have|includes?|mentions?)\s+"
        r"(?:no|nothing)\b",
        rf"(?:it|they|neither|none of (?:them|these|those))\s+{_NOT}\s+"
        r"(?:mention|answer|contain|cover|discuss|address)\b",
        r"(?:none|neither|nothing)\b.{0,60}\b(?:passages?|context|book|text|sources?)\b.{0,40}\b(?:mention|answer|contain|"
        r"cover|discuss|address|say|provide|describe|explain|relate|give)s?\b",
        rf"(?:nothing|no\s+\w+)\s+(?:in|within)\s+{BOOK}",
        rf"(?:i|we)\s+(?:{_NOT}|am unable to|are unable to|am not able to|was unable to|was not able to|wasn['’]t able)"
        rf"\s+{_SAY}",
        rf"(?:i['’]m|we['’]re|i am|we are)\s+(?:unable|not able)\s+to\s+{_SAY}",
        rf"(?:this|that|it|which)\s+(?:is not|isn['’]t|was not|wasn['’]t)\s+(?:\w+ly\s+)?{TOLD}\b",
        r"as an ai\b.{0,60}\b(?:cannot|can['’]t|unable|do not|don['’]t|am not)\b",
        r"(?:n/?a|none|unknown|no answer|not (?:found|available|mentioned|specified|stated|covered|known))\W*$",
        r"(?:i|we)\s+(?:found|have|see)\s+(?:no|nothing)\b",
        rf"there\s+(?:is|are|was|were)\s+(?:no|not|nothing|isn['’]t)\b.{{0,120}}\b(?:{BOOK})",
        r"(?:the|an|any|no|your|this)\s+(?:answer|question|information|topic|subject|mention|details?)\b.{0,100}\b(?:not|"
        r"cannot|can['’]t|isn['’]t|aren['’]t|outside|beyond|no|out of)\b.{0,80}",
        r"(?:there\s+(?:(?:is|are)\s+)?)?(?:no|(?:not|isn['’]t)\s+(?:enough|sufficient|any))\s+(?:relevant\s+)?"
        r"(?:information|mention|answer|details?|passages?)\b",
        rf"(?:this|that|it)\s+(?:is|was)\s+(?:not|outside|beyond|out of)\b.{{0,60}}\b(?:{BOOK}|scope)",
        rf".{{0,80}}\b(?:is|are|was|were)\s+(?:not|n['’]t|never)\s+(?:\w+ly\s+)?{TOLD}\s+(?:anywhere\s+)?"
        rf"(?:in|by|within|from)\s+{BOOK}",
    )
)
# One pattern: compiling the opening again for each of the others would take longer than all of them.
_REFUSAL: Final = re.compile(rf"{_OPENING}(?:{_REFUSED})", re.IGNORECASE)
_APOLOGY: Final = re.compile(
    r"\W*(?:(?:i['’]m|i am|we are|we['’]re)\s+(?:so |very |really )?sorry|sorry|i apologi[sz]e|my apologies|apologies|"
    r"unfortunately)(?:\s+(?:about|for)\s+(?:that|this|the\s+(?:inconvenience|confusion)))?\W*",
    re.IGNORECASE,
)

_TALK_WORDS_LIST: Final = """
a about above according all also am an and answer answered answers any anything are as ask asked asking at based be
below book brief briefly by can certainly content context correct course covers definitely do else excerpts
explanation explains feel find following follows for free from further get give given glad good great happy have help
helpful helps here here's hope how i i'd i'll i'm i've if in information is it it's key know let let's like list main
materials me more my need no of okay ok on one or other overview passage passages please points provided question
questions quick relevant said say says section short shown simple simply so sources step steps sum summarise summarize
summary sure tell text that that's the there they thank thanks this to topic understand up us use want was we welcome
what what's which will with would yes you you'd you're your clarification clarify details detail assistance assist
anymore absolutely another does example examples found make makes sense
"""
_TALK_WORDS: Final = frozenset(_TALK_WORDS_LIST.split())
# What an answer may say to a greeting or thanks, and the words that may stand beside it.
_COURTESY: Final = re.compile(
    rf"\b(?:{_GREETING}|thanks|thank you|(?:good)?bye|good night|take care|see you|"
    r"(?:you['’]re |you are )?(?:very |most |always )?welcome|my pleasure|anytime|no (?:problem|worries)|"
    r"don['’]t mention it|have a (?:nice|good|great|wonderful|lovely) \w+|"
    r"(?:glad|happy|pleased) (?:i|it|that|this|you)|"
    r"(?:glad|happy|pleased|great|good|nice) to (?:help|hear|assist|meet)|how (?:can|may) i (?:help|assist)|"
    r"what can i (?:do|help))\b"
)
_COURTEOUS_LIST: Final = """
anytime chat could documentation doing hear issue kind know manual pleased problem reach resolved sorted whenever words
"""
_COURTEOUS: Final = _AROUND.union(_TALK_WORDS, _COURTEOUS_LIST.split())
# A reply of these words answers the question by itself, as "Yes." does.
_REPLY_WORDS: Final = """
absolutely certainly correct definitely is it it's that that's partly mostly usually often sometimes rarely generally
normally exactly quite really entirely depends not
"""
_REPLIES: Final = frozenset(_REPLY_WORDS.split())
# After these words the topic of the conversation may be named.
_TOPIC_AFTER: Final = frozenset({"about", "on", "regarding", "for", "concerning", "of", "how", "why", "what", "to"})

# General words of headings, which need no support in a passage.
_HEADING_WORDS_LIST: Final = """
answer overview summary introduction conclusion key points main idea ideas details detail example examples note notes
steps step short brief explanation background context definition definitions benefits features uses usage important
information result results takeaway takeaways first second third next finally also further more related general
process requirements following follows include includes including these those several some different various described
listed explained book passage passages says question topic part parts section way ways reasons reason types type kinds
kind common proceed ingredients instructions method according chapter table tables list lists summarizes summarises
summarized summarised glance depends depend varies combination elements factors aspects shown shows below above
comparison compared differences advantages disadvantages pros cons timeline rules tips possible
"""
HEADING_WORDS: Final = frozenset(_HEADING_WORDS_LIST.split())


_BEFORE_QUESTION: Final = (
    rf"(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| all| everyone)?(?:[,.!]+\s+|\s+(?={_ASKING}\b))"
    r"|(?:please|kindly)[,:]?\s+|(?:quick )?question[:,]\s+"
    r"|(?:(?:can|could|would|will) (?:you|some(?:one|body)|any(?:one|body)) (?:please |kindly )?"
    r"(?:tell|show|explain to) me"
    r"|tell me|i(?:['’]d| would)? (?:like|want|need) to (?:know|ask|find out|understand|learn)"
    r"|i(?:['’]m| am) (?:wondering|trying to (?:find out|understand|figure out))|i (?:was )?wonder(?:ing)?"
    rf"|(?:do you|does any(?:one|body)) know)(?:[,:]\s+|\s+(?={_ASKING}\b))"
)
_POLITE: Final = re.compile(rf"\W*(?:{_BEFORE_QUESTION})+(?=\S)", re.IGNORECASE)
_THANKS: Final = re.compile(
    r"(?:[,;.!?\s]+please|[,;.!?]+\s*(?:many )?(?:thanks?(?: you)?(?: (?:in advance|a lot|so much|very much))?|cheers)"
    rf"|,? according to {_THIS_BOOK})+(?=\W*\Z)",
    re.IGNORECASE,
)
_SHOUTED: Final = 4  # words of a question in capitals, at least; fewer may be a name


def plain_question(question: str) -> str:
    """A question on one line, without courtesy, capitals throughout and quotation marks, and with its question mark.

    >>> plain_question("Hi, could you tell me  what is a lockfile? Thanks!"), plain_question("HOW DO I BAKE BREAD")
    ('what is a lockfile?', 'how do i bake bread?')
    """
    text = " ".join(question.strip(' \t\n"“”„«»').split())
    plain = _THANKS.sub("", _POLITE.sub("", text)) or text
    if plain.isupper() and len(plain.split()) >= _SHOUTED and "_" not in plain:
        plain = plain.lower()
    return f"{plain.rstrip('?.! ')}?" if ASKS.match(plain) else re.sub(r"[?!]{2,}\Z", "", plain)


def about_book(question: str) -> Literal["about", "contents", ""]:
    """Whether a question is about the book as a whole: what it is about, or what it contains.

    >>> about_book("What is this book about?"), about_book("table of contents"), about_book("What is a book?")
    ('about', 'contents', '')
    """
    plain = " ".join(re.sub(r"[^\w\s'’]", " ", plain_question(question).lower()).split())
    if _CONTENTS.fullmatch(plain):
        return "contents"
    return "about" if _ABOUT_BOOK.fullmatch(plain) else ""


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """What a question asks for. `wanted` is what an answer must hold, if anything; `message`: it is a pasted error;
    `bare`: it does not say that it asks, as "strip comments" and "trash folder".
    """

    definition: bool
    comparison: bool
    steps: bool
    listing: bool
    reason: bool
    wanted: Wanted
    message: bool
    bare: bool


def shape(question: str) -> QuestionShape:
    """The shape of a question, read off its words. Up to three words that ask nothing ask for a definition."""
    text = question.strip()
    words = len(text.split())
    asks = bool(ASKS.match(text))
    reason = bool(_WHY.search(text))
    fails = (words >= MESSAGE and _FAILURE.search(text)) or _OF_FILE.match(text)
    message = not asks and "?" not in text and bool(fails)
    steps = bool(_STEPS.search(text)) and not message
    comparison = bool(_COMPARISON.search(text) or (not steps and _CHOICE.search(text)))
    definition = bool(_DEFINITION.match(text)) and not _NO_DEFINITION.search(text)
    wanted: Wanted = (
        "year" if _YEAR.search(text) else "number" if _NUMBER.search(text) else "name" if _NAME.match(text) else ""
    )
    return QuestionShape(
        definition=(definition or (not asks and words <= 3)) and not comparison and not wanted,
        comparison=comparison,
        steps=steps,
        listing=bool(_LIST.search(text)),
        reason=reason,
        wanted=wanted,
        message=message,
        bare=not (asks or message or "?" in text or _SPEAKS.match(text)),
    )


_TASK: Final = re.compile(
    r"\W*(?:(?:please|now|next|then|also|kindly|\d{1,3}[.)])\W+)*(?:can|could|would|will)?(?:\s?you\s)?(?:please\s)?"
    r"(?P<verb>write|draft|compose|develop|provide|translate|explain|describe|summari[sz]e|generate|produce|craft|"
    r"create|tell|give|show|list|outline|break\sdown|discuss|compare|argue|imagine|pretend|say|repeat|print|output|"
    r"reply|respond|answer|recommend|suggest|promote|advertise|remind|inform|encourage|urge|invite|replace)\b",
    re.IGNORECASE,
)
# "Answer:" and "**Output 2:**" name what follows: a book of questions has them before every answer.
LABEL: Final = re.compile(
    r"\A\W*(?:answers?|reply|replies|outputs?)(?:\s(?:\d{1,3}|key))?[*_]*[:：][*_]*", re.IGNORECASE
)
_JOINT: Final = re.compile(r"[,;:—–-]\s+(?:(?:and|but|so|then|also)\s+)*")
_COLON: Final = re.compile(r"(?<=[:;—–])[*_]*[ \t]+(?=[\"'“*_]*[A-Z])")


def task_verb(sentence: str) -> str:
    """The verb of a task ("Write a poem about the sea") in lower case; "" if the sentence sets no task."""
    match = _TASK.match(LABEL.sub("", sentence))
    return match["verb"].lower() if match else ""


@lru_cache(maxsize=256)
def joined_tasks(sentence: str) -> tuple[str, ...]:
    """The clauses behind a comma or the like that begin as a task does.

    >>> joined_tasks("Robots use wheels, and write a poem about the sea.")
    ('write a poem about the sea.',)
    """
    clauses = [sentence[joint.end() :] for joint in _JOINT.finditer(sentence)]
    return tuple(one for one in clauses if task_verb(one))


def questions(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the questions of a Markdown text in order, in code points. Headings and code are skipped."""
    for unit in units(text):
        if unit.kind not in ("code", "heading"):
            for start, end in _sentences(text, unit):
                if text[start:end].rstrip("*_ \"'”’»)").endswith("?"):
                    yield start, end


def _sentences(text: str, unit: Unit) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a unit. What follows a colon is a sentence of its own."""
    for start, end in sentence_spans(text, unit.start, unit.end):
        for colon in _COLON.finditer(text, start, end):
            yield start, colon.start()
            start = colon.end()
        yield start, end


def is_small_talk(text: str) -> bool:
    """Whether a message is nothing but greeting, thanks, praise or farewell, or but emoji.

    >>> is_small_talk("Hi there!"), is_small_talk("Thanks, and what is ROS 2?"), is_small_talk("Hello world")
    (True, False, False)
    """
    if any(character.isdigit() for character in text) or len(text) > _MOST_WORDS * 20:
        return False
    found = [_STRETCHED.sub(r"\1", word) for word in _WORD.findall(text.lower())]
    plain = " ".join(found)
    core = _ASKED if "?" in text else _CORE
    if not found:
        return _EMOJI.search(text) is not None
    if len(found) > _MOST_WORDS or not core.search(plain):
        return False
    return all(word in _AROUND for word in _CORE.sub(" ", plain).split())


def is_refusal(sentence: str) -> bool:
    """Whether the sentence says that the book or the writer has no answer. An apology alone counts."""
    text = " ".join(sentence[:600].split())
    return _APOLOGY.fullmatch(text) is not None or _REFUSAL.match(text) is not None


def is_talk(sentence: str, question: AbstractSet[str] = frozenset()) -> bool:
    """Whether the sentence is only about the conversation: "Sure, here is what the book says about topics."

    After "about", "on" and the like, words of the `question` name the topic and claim nothing. An empty sentence is not
    talk, nor is one of more than 30 words.
    """
    found = words(sentence)
    if found and _REPLIES.issuperset(found):
        return True
    topic = False
    for word in found:
        if word in _TALK_WORDS:
            topic = topic or word in _TOPIC_AFTER
        elif not (topic and word in question):
            return False
    return 0 < len(found) <= 30


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence of an answer only greets, thanks, takes leave or offers help, and states nothing.

    >>> is_courtesy("You're welcome, glad it worked."), is_courtesy("Hello World is a program."), is_courtesy("Sure.")
    (True, False, False)
    """
    plain = " ".join(words(sentence)[:31])
    around = _COURTESY.sub(" ", plain).split()
    return _COURTESY.search(plain) is not None and len(around) <= 30 and _COURTEOUS.issuperset(around)


def is_yes_or_no(sentence: str) -> bool:
    """Whether talk answers the question by itself: "No.", "Yes, that is correct." It is talk beside another answer.

    >>> is_yes_or_no("Yes, it is."), is_yes_or_no("Correct!"), is_yes_or_no("Sure, here is the answer.")
    (True, True, False)
    """
    found = words(sentence)
    return found[:1] in (["yes"], ["no"]) or (bool(found) and _REPLIES.issuperset(found))


def words(text: str) -> list[str]:
    """The words of a text in order, in lower case; an apostrophe inside a word belongs to it."""
    return [word.replace("’", "'") for word in re.findall(r"\w+(?:['’]\w+)*", text.casefold())]
