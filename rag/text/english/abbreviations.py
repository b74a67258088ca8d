"""Abbreviations whose full stop does not end a sentence."""

import re
from typing import Final

ABBREVIATION: Final = re.compile(
    r"(?:\b(?i:e\.?g|i\.?e|cf|vs|etc|approx|resp|fig|figs|eq|eqs|sec|no|nos|vol|pp?|ch|dr|mr|mrs|ms|prof|st|jr|sr|inc|"
    r"ltd|al|ca|ed|eds|dept|est|incl|min|max)|(?<![\w.])[A-Z]|\b[A-Z](?:\.[A-Z])+)\.$"
)
# Abbreviations that may also be the last word of a sentence; a capital letter after them tells.
MAY_END_SENTENCE: Final = re.compile(r"\b(?:etc|al|no|min|max|ed|inc|ltd|jr|sr)\.$", re.IGNORECASE)
