"""Words, their stems, and the small words that carry no subject."""

from __future__ import annotations

import re
import threading
from functools import cache, lru_cache
from typing import Any, Final

from rag.text.visible import normal

# A word of a script without spaces counts character by character.
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
WORD: Final = re.compile(rf"\d{{1,3}}(?:,\d{{3}})+(?!\d)|[{_CJK}]|[^\W_{_CJK}]+(?:'[^\W\d_{_CJK}]+)?")
_STOP_WORDS: Final = """
a about above after again all also although always am among an and another any anyone anything are around as at be
because been before being below between both but by can cannot could did do does doing done down during each either
else enough even ever every few for from further get gets had has have having he her here hers him his how however i if
in instead into is it its itself just least less let like many may me might more most much must my neither never next
no nor not now of off often on once only onto or other our out over own per quite rather same shall she should since so
some such than that the their them then there these they thing this those though through thus to too toward under until
up upon us use used uses using very via was way we well were what when where whether which while who whom whose why will
with within without would yet you your yours don't doesn't isn't can't won't it's that's you're they're e.g i.e etc
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
_STEMMING: Final = threading.Lock()  # a stemmer keeps the word that it works on in itself


def words(text: str) -> list[str]:
    """The words of a text in their normal form, in order.

    >>> words("Don't re-use the Widget’s 2 teeth!")
    ["don't", 're', 'use', 'the', "widget's", '2', 'teeth']
    """
    return [word.replace(",", "") for word in WORD.findall(normal(text))]


def content_stems(text: str) -> list[str]:
    """The stems of the words that are no stop words and no bare numbers, in order."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS and not word.isdecimal()]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The Snowball (Porter 2) stem of a word in its normal form."""
    with _STEMMING:
        return str(_stemmer().stemWord(word.removesuffix("'s")))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # without a cache of its own: `stem` has one
