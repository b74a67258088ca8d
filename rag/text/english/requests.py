"""What a sentence asks for: the kind of answer that a question wants, orders to the model, and tasks.

What an order asks for is no statement of the book, so it is no evidence and its addresses are no sources. A book's own
exercises ("Write a publisher") are tasks in the same way: they state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from rag.text.orders import begins_order
from rag.text.sentences import Unit, sentence_spans, units

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
ASKS: Final = re.compile(r"\W*(?:what|who|which|how|when|where|why|is|are|does|do|can|should)\b", re.IGNORECASE)
_COMPARISON: Final = re.compile(
    r"\b(?:difference|differences|differ|differs|differentiate|compare[ds]?|comparison|versus|vs|better than|"
    r"slower|faster|instead of|rather than|or)\b",
    re.IGNORECASE,
)
_STEPS: Final = re.compile(
    r"\b(?:how (?:do|can|could|should|would|to|does one)|steps?|install|configure|set up)\b", re.IGNORECASE
)
_LIST: Final = re.compile(
    r"\b(?:examples?|list|name (?:some|the|all)|types|kinds|which|tools|features|applications|"
    r"what (?:are|were) the|what [a-z]+s (?:are|do|does|can|should)|components|advantages|benefits|"
    r"limitations|challenges|settings|options|commands|rules|phases|steps)\b",
    re.IGNORECASE,
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
    r"\b(?:errors?|exceptions?|traceback|warn(?:ing)?|fatal|panicked|failed|cannot|can't|could not|unable to|not found|"
    r"denied|refused|must(?: not)?|may not|invalid|unexpected|undefined|unsatisfiable|deprecated|was detected|raise)\b|"
    r"[a-z](?:Error|Exception|Warning)\b|"
    r"^\S+\.\w+:\d+:",  # the place in a file that a compiler or a linter complains of
    re.IGNORECASE,
)

# "the use keyword", "the move operator"
SPOKEN_CODE: Final = re.compile(
    r"\bthe (\w+) (?:keyword|operator|macro|command|function|method|statement|attribute|flag|hook|prop|expression)\b"
)
# Openings of a question that continues the one before it.
FOLLOW_UP: Final = re.compile(r"\W*(?:and|but|or|so|also|what about|how about|why not|then)\b", re.IGNORECASE)
# A conjunction before a question that may be whole without it: "And what is a node?"
CONJUNCTION: Final = re.compile(r"\W*(?:and|but|or|so|also|then)\b[\s,]*", re.IGNORECASE)
# Words that stand for something said before.
REFERS_BACK: Final = re.compile(
    r"\b(?:it|its|they|them|their|those|these|this one|that one|the same|the (?:first|second|last) one)\b|"
    r"\b(?:use|make|create|need|exclude|include|share|write|add|remove|delete|start|stop|run|define|have|get|build|call|set|"
    r"choose|pick|open|close|show|change|test) one\b|"
    r"\b(?:is|about|of|do|does|with|for|like|on|in|to|from|at|by|after|before|than|against|without) (?:that|this)\W*$",
    re.IGNORECASE,
)


_THIS_BOOK: Final = (
    r"(?:this|the|your|that|these|those)(?: \w+)? "
    r"(?:book|textbook|documentation|docs|manual|handbook|guide|tutorial|site|website|wiki)"
)
_PARTS: Final = r"(?:chapters|parts|sections|pages|topics|subjects|contents)"
_OVERVIEW: Final = r"(?:an? |the )?(?:(?:short|brief|quick) )?(?:overview|summary|introduction)"
# Whole questions about the book itself, in lower case, without punctuation.
_ABOUT_BOOK: Final = (
    rf"what(?:['’]?s| is| are) {_THIS_BOOK}(?: all)?(?: about)?",
    rf"what do(?:es)? {_THIS_BOOK} (?:cover|contain|describe|teach|explain|say|discuss|talk about|deal with)",
    rf"what can (?:i|you) (?:ask|learn|find|read)(?: \w+)?(?: (?:here|{_THIS_BOOK}))?",
    rf"(?:(?:can|could) you )?(?:summari[sz]e|describe|introduce|explain) {_THIS_BOOK}",
    rf"(?:give|show|tell) me {_OVERVIEW}(?: (?:of|to) {_THIS_BOOK})?",
    rf"{_OVERVIEW} of {_THIS_BOOK}",
    rf"(?:tell me )?about {_THIS_BOOK}",
    # To the answerer, which knows nothing but the book:
    r"what can you (?:do|answer|explain|tell me|do for me|help(?: me)? with)",
    r"what (?:do you know|are you able to answer|kind of questions can (?:i ask|you answer))(?: about)?",
    r"(?:how can you help(?: me)?|who are you|what are you)",
)
_CONTENTS: Final = (
    r"(?:(?:show|give|list|print|tell)(?: me)? |what(?:['’]?s| is) )?(?:the |a )?"
    rf"(?:table of contents|toc|contents|outline)(?: (?:of|for|in) {_THIS_BOOK})?",
    rf"(?:(?:show|give|list|print|tell)(?: me)? |what are )?(?:all )?(?:the )?{_PARTS}(?: (?:of|in) {_THIS_BOOK})",
    rf"(?:what|which) {_PARTS} are (?:there|covered)?(?: ?in {_THIS_BOOK})?",
    rf"(?:what|which) {_PARTS} do(?:es)? {_THIS_BOOK} (?:have|cover|contain|include)",
    r"(?:(?:show|give|list|print|tell)(?: me)? |what are )(?:all )?(?:the )?chapters",
)


def about_book(question: str) -> Literal["about", "contents", ""]:
    """Whether a question is about the book as a whole: what it is about, or what it contains.

    >>> about_book("What is this book about?"), about_book("table of contents"), about_book("What is a book?")
    ('about', 'contents', '')
    """
    plain = " ".join(re.sub(r"[^\w\s'’]", " ", question.lower()).removeprefix("please ").split()).removesuffix(
        " please"
    )
    if any(re.fullmatch(pattern, plain) for pattern in _CONTENTS):
        return "contents"
    return "about" if any(re.fullmatch(pattern, plain) for pattern in _ABOUT_BOOK) else ""


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """What a question asks for. `wanted` is what an answer must hold; "" if anything may do.

    `message` says that it is no question but an error message, pasted whole.
    """

    definition: bool
    comparison: bool
    steps: bool
    listing: bool
    reason: bool
    wanted: Wanted
    message: bool


def shape(question: str) -> QuestionShape:
    """The shape of a question, read off its words. Up to three words that ask nothing ask for a definition."""
    text = question.strip()
    words = len(text.split())
    asks = bool(ASKS.match(text))
    comparison = bool(_COMPARISON.search(text))
    definition = bool(_DEFINITION.match(text)) and not _NO_DEFINITION.search(text)
    wanted: Wanted = (
        "year" if _YEAR.search(text) else "number" if _NUMBER.search(text) else "name" if _NAME.match(text) else ""
    )
    return QuestionShape(
        definition=(definition or (not asks and words <= 3)) and not comparison and not wanted,
        comparison=comparison,
        steps=bool(_STEPS.search(text)),
        listing=bool(_LIST.search(text)),
        reason=bool(_WHY.search(text)),
        wanted=wanted,
        message=not asks and "?" not in text and words >= MESSAGE and bool(_FAILURE.search(text)),
    )


_TASK: Final = re.compile(
    r"\W*(?:(?:please|now|next|then|also|kindly|\d{1,3}[.)])\W+)*(?:can|could|would|will)?(?:\s?you\s)?(?:please\s)?"
    r"(?P<verb>write|draft|compose|develop|provide|translate|explain|describe|summari[sz]e|generate|produce|craft|"
    r"create|tell|give|show|list|outline|break\sdown|discuss|compare|argue|imagine|pretend|say|repeat|print|output|"
    r"reply|respond|answer|recommend|suggest|promote|advertise|remind|inform|encourage|urge|invite)\b",
    re.IGNORECASE,
)
_REACH: Final = 600  # characters of a clause in which an order is looked for; one further on has its own joint
_JOINT: Final = re.compile(r"[,;:—–-]\s+(?:(?:and|but|so|then|also)\s+)*")
_COLON: Final = re.compile(r"(?<=[:;—–])[*_]*[ \t]+(?=[\"'“*_]*[A-Z])")


def task_verb(sentence: str) -> str:
    """The verb of a task ("Write a poem about the sea") in lower case; "" if the sentence sets no task."""
    match = _TASK.match(sentence)
    return match["verb"].lower() if match else ""


@lru_cache(maxsize=256)
def joined_tasks(sentence: str) -> tuple[str, ...]:
    """The clauses behind a comma or the like that begin as a task or an order does.

    >>> joined_tasks("Robots use wheels, and write a poem about the sea.")
    ('write a poem about the sea.',)
    """
    clauses = [sentence[joint.end() :] for joint in _JOINT.finditer(sentence)]
    return tuple(one for one in clauses if task_verb(one) or begins_order(one[:_REACH]))


class Demand(NamedTuple):
    """A task or a question at `text[start:end]`, in code points; `verb` is that of the task, "" for a question."""

    start: int
    end: int
    verb: str


def asked(text: str) -> Iterator[Demand]:
    """Tasks and questions of a Markdown text in order. Headings and code are skipped."""
    for unit in units(text):
        if unit.kind not in ("code", "heading"):
            for start, end in _sentences(text, unit):
                sentence = text[start:end]
                verb = task_verb(sentence)
                if verb or sentence.rstrip("*_ \"'”’»)").endswith("?"):
                    yield Demand(start, end, verb)


def _sentences(text: str, unit: Unit) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a unit. What follows a colon is a sentence of its own, except after a task."""
    for start, end in sentence_spans(text, unit.start, unit.end):
        for colon in _COLON.finditer(text, start, end):
            if not task_verb(text[start : colon.start()]):
                yield start, colon.start()
                start = colon.end()
        yield start, end
