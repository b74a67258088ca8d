"""Regular expressions for the words of a citation: "[Sources 1 and 2]", "[1, p. 3]", "(see Smith and Jones, 2020)"."""

from typing import Final

SOURCE_WORD: Final = (
    r"(?:[Ss]ources?|[Pp]assages?|[Rr]ef(?:erence)?s?|[Cc]it(?:e|ations?)|[Dd]oc(?:ument)?s?|[Cc]hunks?|[Cc]ontext)"
)
# Lookbehinds, of fixed width each.
AFTER_SOURCE_WORD: Final = r"(?:(?<=[Ss]ource \()|(?<=ources \()|(?<=assage \()|(?<=assages \())"
DASHES: Final = "‐‑‒–—―−~-"
SEPARATOR: Final = rf"(?:,[ \t]{{0,3}}and|[,;/{DASHES}]|and|to|&)"
RANGE_SIGN: Final = rf"[{DASHES}]|\bto\b"
PLACE_WORD: Final = r"p\.|pp\.|page|sec|ch|line|§"
_AUTHORS: Final = r"[A-Z][\w'’-]{1,40}(?:,? (?:et al\.?|and|&|[A-Z][\w'’.-]{0,40})){0,6}"
_WORK: Final = rf"{_AUTHORS},? (?:1[5-9]|20)\d\d[a-z]?(?:, pp?\. ?\d{{1,5}})?"
_WORKS: Final = rf"{_WORK}(?:; ?{_WORK}){{0,5}}"
WORKS: Final = rf"(?:see |cf\. )?{_WORKS}"
WORKS_IN_PARENTHESES: Final = rf"(?:see |cf\. |e\.g\.,? )?{_WORKS}"
SEE: Final = "(?:see )?"
