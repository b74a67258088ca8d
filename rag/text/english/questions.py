"""What a question asks for: a definition, a comparison, steps, a list, a number, a name, a year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

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
_ASKS: Final = re.compile(r"\W*(?:what|who|which|how|when|where|why|is|are|does|do|can|should)\b", re.IGNORECASE)
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

# "the use keyword", "the move operator"
SPOKEN_CODE: Final = re.compile(
    r"\bthe (\w+) (?:keyword|operator|macro|command|function|method|statement|attribute|flag|hook|prop|expression)\b"
)
# Openings of a question that continues the one before it.
FOLLOW_UP: Final = re.compile(r"\W*(?:and|but|or|so|also|what about|how about|why not|then)\b", re.IGNORECASE)
# Words that stand for something said before.
REFERS_BACK: Final = re.compile(
    r"\b(?:it|its|they|them|their|those|these|this one|that one|the same|the (?:first|second|last) one)\b|"
    r"\b(?:is|about|of|do|does|with|for|like) (?:that|this)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """What a question asks for. `wanted` is what an answer must hold; "" if anything may do."""

    definition: bool
    comparison: bool
    steps: bool
    listing: bool
    wanted: Wanted


def shape(question: str) -> QuestionShape:
    """The shape of a question, read off its words. Up to three words that ask nothing ask for a definition."""
    text = question.strip()
    words = len(text.split())
    asks = bool(_ASKS.match(text))
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
        wanted=wanted,
    )
