"""Closed lists of English words: abbreviations, names, negation, limits, and the words of a citation."""

from __future__ import annotations

import re
from itertools import product
from typing import Final

ABBREVIATION: Final = re.compile(
    r"(?:\b(?i:e\.?g|i\.?e|cf|vs|etc|approx|resp|fig|figs|eq|eqs|sec|no|nos|vol|pp?|ch|dr|mr|mrs|ms|prof|st|jr|sr|inc|"
    r"ltd|al|ca|ed|eds|dept|est|incl|min|max)|(?<![\w.^])[A-Z]|\b[A-Z](?:\.[A-Z])+)\.$"
)
# Abbreviations before the number of a part or a day: "s. 12", "art. 5", "Jan. 1". A unit is none: "5 s. 12 people".
BEFORE_NUMBER: Final = re.compile(
    r"(?<![\d.] )(?<!\w)(?:ss?|arts?|paras?|cl|regs?|sch|pts?|chs?|rr?|nn?|tab|§§?|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
# The beginning of a caption, up to the full stop behind its number: "Figure 9.40. A hive".
CAPTION_NUMBER: Final = re.compile(
    r"[\s*_]*(?:figure|fig\.|table|equation|example|listing|procedure)\s\d{1,3}(?:[.-]\d{1,3}){0,3}", re.IGNORECASE
)
# Abbreviations that may also be the last word of a sentence; a capital letter after them tells.
MAY_END_SENTENCE: Final = re.compile(r"\b(?:etc|al|no|min|max|ed|inc|ltd|jr|sr)\.$", re.IGNORECASE)

# A sentence may begin with a word of these endings; it is then no name.
COMMON_ENDINGS: Final = ("ly", "ing", "ed", "tion", "ment", "ness", "ity")  # fmt: skip
_MONTH_WORDS: Final = "january february march april may june july august september october november december"
MONTHS: Final = tuple(_MONTH_WORDS.split())
_DAY_WORDS: Final = "monday tuesday wednesday thursday friday saturday sunday"
DATES: Final = frozenset({*MONTHS, *_DAY_WORDS.split()})
# What stands for a set of days, and every word for it.
SETS_OF_DAYS: Final = {
    **dict.fromkeys(
        [("weekday",), ("weekdays",), ("working", "days"), ("business", "days"), *product(
            ("monday", "mondays", "mon"), ("to", "through", "till", "until", *"-–—"), ("friday", "fridays", "fri"))],
        ("weekday", "working", "mon", "fri", *_DAY_WORDS.split()[:5]),
    ),
    **dict.fromkeys(
        [("weekend",), ("weekends",), *product(
            ("saturday", "saturdays", "sat"), ("and", "&"), ("sunday", "sundays", "sun"))],
        ("weekend", "sat", "sun", *_DAY_WORDS.split()[5:]),
    ),
}  # fmt: skip
BEGIN_SETS_OF_DAYS: Final = frozenset(words[0] for words in SETS_OF_DAYS)
TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof", "tv", "ad", "bc", "bce", "ce"})  # no names

# Acronyms and codes that are words of the language and name nobody: a writer may use them of himself.
_ACRONYM_WORDS: Final = """
api apis http https html css xml json sql url uri usb cpu gpu ram rom ssd hdd bios os gui cli ide sdk pdf csv png jpeg
gif svg ascii utf dns ip tcp udp ssh ssl tls vpn lan wan wifi lte gps led lcd rgb hdmi pcb rtc adc dac pwm uart gpio
spi i2c rfid nfc iot ai ml llm nlp ocr qr pin otp sms faq diy ceo cfo cto hr it vat gdp cpi usd eur gbp roi kpi b2b b2c
dna rna hiv aids ecg eeg mri ct bmi gp er icu hdl ldl wwi wwii uk us usa eu un am pm ad bc bce ce utc gmt tv dvd cd vip
id ids asap rsvp atm crud rest ascii mvp ui ux pr ci cd dpi ppi hp rpm ac dc uv ir ph co2 h2o o2 no2 ipv4 ipv6 mp3 mp4
utf8 sha256 md5 x86 x64 p2p 2d 3d 4k 3g 4g 5g html5 css3 es6 k8s i18n a4 r2 h0 h1 h2 q1 q2 q3 q4 2fa n2
"""
ACRONYMS: Final = frozenset(_ACRONYM_WORDS.split())
UNSPOKEN: Final = frozenset(
    {"of", "the", "and", "for", "in", "to", "on", "by", "with"}
)  # words that an acronym leaves out
# Short forms in dates: "Mon, 3 Mar 2025".
SHORT_DATES: Final = {word[:3]: word for word in (*MONTHS, *_DAY_WORDS.split())} | {
    "sept": "september", "tues": "tuesday", "thur": "thursday", "thurs": "thursday",
}  # fmt: skip

# After a verb at the beginning of a sentence, which is then an instruction and no name: "Discard the starter".
DETERMINERS: Final = frozenset(
    {"the", "a", "an", "your", "all", "any", "each", "every", "this", "these", "both", "its", "one", "some"}
)

# A sentence that begins with one of these is about what the sentence before it names.
PRONOUNS: Final = frozenset({"it", "its", "they", "their", "he", "his", "she", "her"})

_CUE_WORDS: Final = "not no never nor neither without none nobody nothing nowhere cannot non hardly scarcely barely"
CUES: Final = frozenset(_CUE_WORDS.split())

# After these words a cue denies nothing: "not only", "no more than".
DENYING_NOTHING: Final = {
    "not": frozenset({"only", "just", "merely", "simply", "solely", "forget"}),
    "no": frozenset({"more", "less", "fewer", "matter", "doubt", ".", "one"}),
}

# Behind these words a cue leaves open whether something is so: "with or without".
EITHER: Final = {"without": (["with", "or"],), "not": (["whether", "or"],)}

CONDITIONS: Final = frozenset({"if", "when", "where", "unless", "whenever"})  # before a clause
# What tells of a condition that it is not fulfilled: "by default", "if you leave it out".
DEFAULTS: Final = frozenset(
    {"default", "defaults", "otherwise", "omit", "omitted", "leave", "left", "optional", "missing"}
)

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

# Words that say of how much, when or why a statement holds. A falsehood may add them to what a passage says.
_UNIVERSAL_WORDS: Final = """
all every always never only any each must none no entire entirely whole completely everything everyone nothing
everywhere whenever exclusively guaranteed guarantees ensures automatically directly immediately simply
"""
UNIVERSALS: Final = frozenset(_UNIVERSAL_WORDS.split())
# Words that take back a part of it. A falsehood may leave them out.
_LIMIT_WORDS: Final = """
most mostly some sometimes usually often may might many few several certain typically generally normally mainly largely
partly almost nearly rarely occasionally except unless only if default
"""
LIMITS: Final = frozenset(_LIMIT_WORDS.split())
EXCEPTIONS: Final = frozenset({"except", "excluding", "excluded", "unless", "besides", "apart"})
ALL: Final = frozenset({"all", "every", "each", "always"})
_TIME_WORDS: Final = """
before after first then until once while when during finally later earlier next last already previously second initially
"""
TIMES: Final = frozenset(_TIME_WORDS.split())
_CAUSE_WORDS: Final = """
because therefore since due cause causes caused leads thus hence reason why prevent prevents result results thereby
avoid means
"""
CAUSES: Final = frozenset(_CAUSE_WORDS.split())

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
_SCHEMES: Final = ("sip", "sips", "tel", "callto", "skype", "xmpp")  # of addresses without slashes
SCHEMES: Final = "|".join(_SCHEMES)
AFTER_SCHEME: Final = "|".join(rf"(?<=\b{one}:)" for one in _SCHEMES)
# The words of a link that says nothing itself: "It is so [here](nodes.md)".
LINK_WORDS: Final = frozenset(
    {"here", "this", "source", "sources", "link", "page", "docs", "documentation", "reference", "manual", "book"}
    | {"chapter", "guide", "details", "more", "see", "also"}
)
