"""Words that limit or bound a statement ("only", "at least"), and spans of time."""

from typing import Final

LIMITS: Final = frozenset({"only", "solely", "exclusively"})

# Words of a passage that limit something.
_LIMITING_WORDS: Final = (
    "only solely exclusively exclusive sole merely just alone single unique except limited restricted nothing"
)
LIMITING: Final = frozenset(_LIMITING_WORDS.split())

# After "only" these speak of an amount or a condition ("only a part", "only if"), which other checks compare.
_DEGREE_WORDS: Final = "a an one some few part partly partially half slightly about if when after once"
DEGREES: Final = frozenset(_DEGREE_WORDS.split())

# After these words "only" limits nothing: "not only", "the only son".
UNLIMITED_AFTER: Final = frozenset({"not", "the", "'s"})

# After "at" these compare nothing.
EXTREMES: Final = frozenset({"least", "most"})

_TIME_SPAN_WORDS: Final = "century decade decades year years month months week weeks day days few couple"
TIME_SPANS: Final = frozenset(_TIME_SPAN_WORDS.split())
