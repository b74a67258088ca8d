"""Questions worded from headings and sentences of a book."""

from __future__ import annotations

import re
import zlib
from typing import Final

from rag.text.english.heading_words import ORDERS, VAGUE
from rag.text.english.stopwords import STOP_WORDS
from rag.text.markup import visible

_SHORTEST, _LONGEST = 4, 90  # characters of a heading
_WORDS: Final = range(1, 11)
_NUMBERING: Final = re.compile(
    r"^(?:(?:chapter|part|section|step)?\s*\d+(?:\.\d+)*[.:)]?\s+|[^\w`\"'(]+)", re.IGNORECASE
)
_MARKUP: Final = re.compile(r"[*`]|\[([^\]]*)\]\([^)]*\)|<[^>]*>|\{[^}]*\}")
_PLAIN: Final = re.compile(r"[\w .,'’?/:&()+#@-]+")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE: Final = re.compile(r"(?:An? |The |Every |Each |All |Most |Some |[A-Z][a-z]+ )[^\n:;|<>{}\[\]]{30,220}\.")
_DEFINITION: Final = re.compile(r"((?:An? )?[A-Z]?[\w-]+(?: [\w-]+){0,3}) (is|are) (?:an? |the )")
# A sentence that refers to the one before it, or addresses the reader, makes no question by itself.
_LEANS: Final = re.compile(
    r"\b(?:this|these|those|it|its|they|their|here|above|below|following|previous|we|our|us|I|you|your|such|also|"
    r"however|therefore|next|see|note|then|another|other|both)\b|^That\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\b(?:is|are|was|were|can|cannot|may|must|will|should|has|have|had|does|do|provides?|supports?|uses?|allows?|"
    r"requires?|returns?|contains?|includes?|means?|creates?|adds?|takes?|makes?|gives?|turns?|runs?|reads?|writes?)\b"
)
_SWAPPED: Final = 6  # letters of a word that may be misspelt


def heading_words(heading: str) -> str:
    """The heading without numbering and markup; empty if no question can be made of it."""
    text = visible(_MARKUP.sub(r"\1", heading)).strip()
    text = _NUMBERING.sub("", text).strip().rstrip(".:!")
    words = re.findall(r"[^\W\d_]{2,}", text.lower())
    usable = _PLAIN.fullmatch(text) and _SHORTEST <= len(text) <= _LONGEST and len(text.split()) in _WORDS
    return text if usable and set(words) - VAGUE - STOP_WORDS else ""


def question_of(heading: str) -> str:
    """A question that the text below a heading answers. `heading` is from `heading_words`.

    >>> [question_of(text) for text in ("What is a node?", "How to mount a widget", "Add a member", "Locking in CI")]
    ['What is a node?', 'How do I mount a widget?', 'How do I add a member?', 'What should I know about locking in CI?']
    """
    first, _, rest = heading.partition(" ")
    if heading.endswith("?"):
        return heading
    if match := re.match(r"how to (?=\w)", heading, re.IGNORECASE):
        return f"How do I {heading[match.end() :]}?"
    if first.lower() in ORDERS and rest:
        return f"How do I {first.lower()} {rest}?"
    return f"What should I know about {lowered(heading)}?"


def follow_up_of(heading: str) -> str:
    """A question about a heading that leans on the one before it."""
    return f"And what about {lowered(heading.rstrip('?'))}?"


def lowered(text: str) -> str:
    """The text with a small first letter, unless its first word is an abbreviation, code, or begins a name."""
    first, *rest = text.split(" ", 2)
    plain = (first[1:].islower() or first == "A") and not (rest and rest[0][:1].isupper())
    return text[0].lower() + text[1:] if plain else text


def question_of_sentence(sentence: str) -> str:
    """A question that a sentence of the book answers by itself; empty if there is none.

    >>> question_of_sentence("A widget is a small part that turns a shaft in an engine.")
    'What is a widget?'
    >>> question_of_sentence("Every widget has exactly four teeth and a steel bracket.")
    'Is it true that every widget has exactly four teeth and a steel bracket?'
    """
    text = visible(_LINK.sub(r"\1", sentence)).replace("`", "").replace("**", "").strip()
    if not _SENTENCE.fullmatch(text) or _LEANS.search(text) or not _STATES.search(text):
        return ""
    if (match := _DEFINITION.match(text)) and not set(match[1].lower().split()) <= STOP_WORDS | VAGUE:
        return f"What {match[2]} {lowered(match[1])}?"
    return f"Is it true that {lowered(text[:-1])}?"


def misspelt(question: str) -> str:
    """The question with two letters of its longest word swapped; empty if no word is long enough.

    >>> misspelt("How do I mount the bracket?")
    'How do I mount the brakcet?'
    """
    words = [word for word in re.findall(r"[a-z]+", question) if len(word) >= _SWAPPED and word not in STOP_WORDS]
    if not words:
        return ""
    longest = max(words, key=len)
    places = [n for n in range(1, len(longest) - 2) if longest[n] != longest[n + 1]]
    if not places:
        return ""
    at = places[zlib.crc32(longest.encode()) % len(places)]
    wrong = longest[:at] + longest[at + 1] + longest[at] + longest[at + 2 :]
    return re.sub(rf"\b{longest}\b", wrong, question, count=1)
