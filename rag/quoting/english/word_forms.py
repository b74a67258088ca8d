"""Function words, irregular forms, contractions, British spellings and abbreviations of names."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

_FUNCTION: Final = """
a about above across after again against ago all almost along already also although always am among an and another any
anyone anything are around as at away be because been before behind being below beneath beside besides between both but
by came can come could did do does doing done down during each either else enough etc even ever every everyone
everything far few for from further get gets getting go goes going got had has have having he hence her here hers
herself him himself his how however i if in indeed instead into is it its itself just least less let like likely
may me mere merely might mine more moreover most mostly much must my myself namely near nearly need neither never
nevertheless no nobody none nonetheless nor not nothing now of off often on once one ones only onto or other others
otherwise ought our ours ourselves out over own per perhaps quite rather really same seem seems shall she should since
so some someone something sometimes somewhat soon still such than that the their theirs them themselves then there
thereby therefore these they thing things this those though through throughout thus to together too toward towards
under unless unlike until unto up upon us usually various very via was way ways we well were what whatever when
whenever where whereas wherever whether which whichever while who whoever whole whom whose why will with within without
would yes yet you your yours yourself s t d ll re ve m st rd th
include includes included including known called named note important additionally furthermore overall specifically
example instance such respectively especially particularly generally typically commonly
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())

_FILE: Final = Path(__file__).parent.parent.parent / "data" / "irregular.txt"


@cache
def irregular() -> dict[str, str]:
    """Maps an irregular form, a derived noun or a nation's adjective to the word that it is compared as."""
    forms: dict[str, str] = {}
    for row in _FILE.read_text(encoding="utf-8").splitlines():
        base, *others = row.split()
        for word in others:
            forms.setdefault(word, base)
    return forms


# British spellings, as the part of a word that differs, and what Americans write there.
BRITISH: Final = re.compile(
    r"(?<=\w{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)|(?<=^col|^fav)our|(?<=^behavi|^neighb)our|(?<=^cen)tre"
)
AMERICAN: Final = {"is": "iz", "our": "or", "tre": "ter"}

# What is left of can't, won't, shan't and ain't without "n't".
NEGATED_FORMS: Final = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
CLITICS: Final = ("'s", "'re", "'ve", "'ll", "'d", "'m")
WORLD_WARS: Final = frozenset({"wwi", "wwii", "ww1", "ww2"})
# Function words that are names if written in capitals: the US, IT, the WHO.
NAMES_IN_CAPITALS: Final = frozenset({"us", "it", "who", "no"})
