"""Capitalized words that are no names, and the names of months and days."""

from typing import Final

# A sentence may begin with a word of these endings; it is then no name.
COMMON_ENDINGS: Final = ("ly", "ing", "ed", "tion", "ment", "ness", "ity")  # fmt: skip
_DATE_WORDS: Final = """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
DATES: Final = frozenset(_DATE_WORDS.split())
TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof", "tv"})
