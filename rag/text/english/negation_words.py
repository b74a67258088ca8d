"""Words that deny something, and words that decide how much a "not" denies."""

from typing import Final

_CUE_WORDS: Final = "not no never nor neither without none nobody nothing nowhere cannot non hardly scarcely barely"
CUES: Final = frozenset(_CUE_WORDS.split())

# After these words a cue denies nothing: "not only", "no more than".
DENYING_NOTHING: Final = {
    "not": frozenset({"only", "just", "merely", "simply", "solely"}),
    "no": frozenset({"more", "less", "fewer", "matter", "doubt", ".", "one"}),
}

# Words that deny without a "not".
_IMPLYING_WORDS: Final = """
fail lack absent absence unable refuse deny reject prevent avoid prohibit forbid ban cease impossible unlikely rare
rarely seldom little few only except instead rather unlike unless despite stop lose deprive exclude abolish disallow
free unknown unclear uncertain disputed false wrong myth fewer loss abandon decline unsuccessful insufficient
independent minus outside beyond neglect ignore omit exempt limit until yet empty
"""
IMPLYING: Final = frozenset(_IMPLYING_WORDS.split())

SCOPE_ENDS: Final = frozenset({"but", "because", "although", "and", "which"})

# Stems of verbs that are denied together with their object: "does not need a master" means "has no master".
_CARRIER_STEMS: Final = "need requir use have contain includ involv provid offer support give take make"
CARRIERS: Final = frozenset(_CARRIER_STEMS.split())

# "Not all of them run" denies "all", but not "run".
_WHOLE_WORDS: Final = "all every each everyone everything both always necessarily entirely completely fully quite"
WHOLES: Final = frozenset(_WHOLE_WORDS.split())
