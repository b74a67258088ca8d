"""Small talk, refusals, and sentences about the conversation; none of them says anything about the book.

Greetings, thanks and farewells are also known in some other languages.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

_MOST_WORDS: Final = 10  # of small talk; a longer message has content
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
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
        " to today very viel was well wow you your"
    )
)

# Patterns of a refusal: the book, a denied verb, what a book does, and what may come before them.
_ADJECTIVES: Final = (
    r"(?:provided|given|retrieved|available|supplied|above|current|cited|numbered|following|relevant|book['’]s|your|my)"
)
_BOOK: Final = (
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
_OPENING: Final = (
    r"^\W*(?:(?:unfortunately|sorry|i['’]m sorry|i am sorry|i['’]m afraid|i am afraid|i apologi[sz]e|apologies|however|"
    r"but|based on [^,]{1,80}|from [^,]{1,60}|according to [^,]{1,60}|regrettably|no|as far as i can (?:see|tell))"
    r"[,.;:]?\s+(?:but\s+|that\s+)?){0,3}"
)
_REFUSED: Final = "|".join(
    (
        rf"{_BOOK}\s+{_NOT}\s+{_SAY}",
        rf"{_BOOK}\s+(?:\w+ly\s+)?(?:provides?|gives?|contains?|says?|offers?|has|have|includes?|mentions?)\s+"
        r"(?:no|nothing)\b",
        rf"(?:that|this|it)\s+(?:is not|isn['’]t)\s+(?:something|anything)\s+(?:that\s+)?{_BOOK}",
        rf"(?:it|they|neither|none of (?:them|these|those))\s+{_NOT}\s+"
        r"(?:mention|answer|contain|cover|discuss|address)\b",
        r"(?:none|neither|nothing)\b.{0,60}\b(?:passages?|context|book|text|sources?)\b.{0,40}\b(?:mention|answer|contain|"
        r"cover|discuss|address|say|provide|describe|explain|relate|give)s?\b",
        rf"(?:nothing|no\s+\w+)\s+(?:in|within)\s+{_BOOK}",
        rf"(?:i|we)\s+(?:{_NOT}|am unable to|are unable to|am not able to|was unable to|was not able to|wasn['’]t able)"
        rf"\s+{_SAY}",
        rf"(?:i['’]m|we['’]re|i am|we are)\s+(?:unable|not able)\s+to\s+{_SAY}",
        r"(?:this|that|it|which)\s+(?:is not|isn['’]t|was not|wasn['’]t)\s+(?:\w+ly\s+)?(?:covered|mentioned|discussed|"
        r"addressed|described|specified|explained|answered|included|stated|defined)\b",
        r"as an ai\b.{0,60}\b(?:cannot|can['’]t|unable|do not|don['’]t|am not)\b",
        r"(?:n/?a|none|unknown|no answer|not (?:found|available|mentioned|specified|stated|covered|known))\W*$",
        r"(?:i|we)\s+(?:do not|don['’]t|did not|didn['’]t)\s+(?:have|know|find|see)\b",
        r"(?:i|we)\s+(?:found|have|see)\s+(?:no|nothing)\b",
        rf"there\s+(?:is|are|was|were)\s+(?:no|not|nothing|isn['’]t)\b.{{0,120}}\b(?:{_BOOK})",
        r"there\s+(?:is|isn['’]t|are)\s+(?:no|not)?\s?(?:enough\s+|sufficient\s+|any\s+)?(?:information|mention|answer|details?)"
        r"\b",
        r"(?:the|an|any|no|your|this)\s+(?:answer|question|information|topic|subject|mention|details?)\b.{0,100}\b(?:not|"
        r"cannot|can['’]t|isn['’]t|aren['’]t|outside|beyond|no|out of)\b.{0,80}",
        r"no\s+(?:information|mention|answer|details?|passage|relevant\s+\w+)\b.{0,120}",
        rf"(?:this|that|it)\s+(?:is|was)\s+(?:not|outside|beyond|out of)\b.{{0,60}}\b(?:{_BOOK}|scope)",
        rf".{{0,80}}\b(?:is|are|was|were)\s+(?:not|n['’]t|never)\s+(?:\w+ly\s+)?(?:mentioned|covered|discussed|addressed|"
        rf"described|specified|explained|answered|included|found|provided|stated|given|contained|available|defined|listed|present)\s+"
        rf"(?:anywhere\s+)?(?:in|by|within|from)\s+{_BOOK}",
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
# After these words the topic of the conversation may be named.
_TOPIC_AFTER: Final = frozenset({"about", "on", "regarding", "for", "concerning", "of", "how", "why", "what", "to"})

# General words of headings, which need no support in a passage.
_HEADING_WORDS_LIST: Final = """
answer overview summary introduction conclusion key points main idea ideas details detail example examples note notes
steps step short brief explanation background context definition definitions benefits features uses usage important
information result results takeaway takeaways first second third next finally also further more related general
process requirements following follows include includes including these those several some different various described
listed explained book passage passages says question topic part parts section way ways reasons reason types type kinds
kind common proceed ingredients instructions method
"""
HEADING_WORDS: Final = frozenset(_HEADING_WORDS_LIST.split())


def is_small_talk(text: str) -> bool:
    """Whether a message is nothing but greeting, thanks, praise or farewell.

    >>> is_small_talk("Hi there!"), is_small_talk("Thanks, and what is ROS 2?"), is_small_talk("Hello world")
    (True, False, False)
    """
    if any(character.isdigit() for character in text) or len(text) > _MOST_WORDS * 20:
        return False
    found = [_STRETCHED.sub(r"\1", word) for word in _WORD.findall(text.lower())]
    plain = " ".join(found)
    core = _ASKED if "?" in text else _CORE
    if not found or len(found) > _MOST_WORDS or not core.search(plain):
        return False
    return all(word in _AROUND for word in _CORE.sub(" ", plain).split())


def is_refusal(sentence: str) -> bool:
    """Whether the sentence says that the book or the writer has no answer. An apology alone counts."""
    text = " ".join(sentence[:600].split())
    return _APOLOGY.fullmatch(text) is not None or _REFUSAL.match(text) is not None


def is_talk(sentence: str, question: AbstractSet[str] = frozenset()) -> bool:
    """Whether the sentence is only about the conversation: "Sure, here is what the book says about topics."

    `question` holds the user's words. After "about", "on" and the like they name the topic and claim nothing. An empty
    sentence is not talk, nor is one of more than 30 words.
    """
    found = words(sentence)
    topic = False
    for word in found:
        if word in _TALK_WORDS:
            topic = topic or word in _TOPIC_AFTER
        elif not (topic and word in question):
            return False
    return 0 < len(found) <= 30


def words(text: str) -> list[str]:
    """The words of a text in order, in lower case; an apostrophe inside a word belongs to it."""
    return [word.replace("’", "'") for word in re.findall(r"\w+(?:['’]\w+)*", text.casefold())]
