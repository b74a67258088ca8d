"""A starting dataset from a book, to be edited by hand: headings and sentences as questions, with their pages.

Candidates are taken page by page in the order of hashes, so that a small dataset covers the whole book.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final

from rag.book import Chunk
from rag.quoting.english.heading_words import ORDERS, VAGUE
from rag.quoting.english.stopwords import STOP_WORDS
from rag.quoting.page_units import units
from rag.quoting.terms import keys, terms
from rag.text.visible import visible

Row = dict[str, Any]
# The share of each kind in percent; headings fill up what another kind lacks.
_SHARES: Final = {"sentence": 25, "followup": 15, "misspelt": 10, "unanswerable": 20}
_SHORTEST_TEXT: Final = 120  # characters below a heading that can answer a question
_HEAVY: Final = 0.5  # weight of a term without which a question cannot be answered


def starting_dataset(chunks: Sequence[Chunk], others: Sequence[Chunk], number: int, *, ids: bool) -> list[Row]:
    """About `number` rows of a dataset about the book `chunks`; fewer if the book is too small.

    `others` are chunks of other books, for questions without an answer. With `ids` a row names the one passage that
    answers.
    """
    sections = _sections(chunks)
    headings: list[Row] = [
        {"kind": "heading", "questions": [question_of(heading)], "page": page, "chunks": below}
        for (page, heading), below in sections.items()
    ]
    wrong = ((row, misspelt(row["questions"][0])) for row in headings)
    kinds: dict[str, list[Row]] = {
        "heading": _spread(headings),
        "sentence": _spread(_sentences(chunks)),
        "followup": _spread(_follow_ups(sections)),
        "misspelt": _spread(row | {"kind": "misspelt", "questions": [one]} for row, one in wrong if one),
        "unanswerable": list(_unanswerable(chunks, others)),
    }
    wanted = {kind: number * share // 100 for kind, share in _SHARES.items()}
    taken = {kind: kinds[kind][:count] for kind, count in wanted.items()}
    taken["heading"] = kinds["heading"][: number - sum(map(len, taken.values()))]
    rows = [row for kind in kinds for row in taken[kind]]
    return [_finished(row, ids=ids) for row in rows]


def _sections(chunks: Iterable[Chunk]) -> dict[tuple[str, str], list[Chunk]]:
    """The chunks of each page by heading, in the order of the book, without headings that occur on several pages."""
    pages: dict[str, set[str]] = defaultdict(set)
    found: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda one: (one.source_file_path, one.url, one.chunk_index)):
        heading = heading_words(chunk.heading or chunk.title)
        if heading:
            pages[heading.lower()].add(chunk.source_file_path or chunk.url)
            found[chunk.source_file_path or chunk.url, heading].append(chunk)
    return {
        (page, heading): below
        for (page, heading), below in found.items()
        if len(pages[heading.lower()]) == 1 and sum(len(one.text) for one in below) >= _SHORTEST_TEXT
    }


def _sentences(chunks: Sequence[Chunk]) -> Iterator[Row]:
    """Sentences that stand alone, as questions; those that the book has twice are left out."""
    found: list[Row] = []
    for chunk in chunks:
        for unit in units(chunk.text):
            if unit.kind == "sentence" and (question := question_of_sentence(unit.text)):
                page = chunk.source_file_path or chunk.url
                row = {"kind": "sentence", "questions": [question], "page": page, "chunks": [chunk]}
                found.append(row | {"reference": unit.text.strip()})
    often = Counter(row["questions"][0].lower() for row in found)
    return (row for row in found if often[row["questions"][0].lower()] == 1)


def _follow_ups(sections: dict[tuple[str, str], list[Chunk]]) -> Iterator[Row]:
    """A question about one heading of a page, and then about the next one."""
    for ((page, first), _), ((other, second), below) in pairwise(sections.items()):
        if page == other and not second.endswith("?"):
            yield {
                "kind": "followup",
                "questions": [question_of(first), follow_up_of(second)],
                "standalone": question_of(second),
                "page": page,
                "chunks": below,
            }


def _unanswerable(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> Iterator[Row]:
    """Questions of other books that share words with this one but need a word that it does not have, nearest first."""
    if not chunks:
        return
    known = frozenset().union(*(keys(f"{chunk.breadcrumb}\n{chunk.text}") for chunk in chunks))
    near: list[tuple[int, str, str, str]] = []
    for page, heading in _sections(others):
        question = question_of(heading)
        needed = [term for term in terms(question) if term.weight >= _HEAVY]
        shared = sum(term.within(known) for term in needed)
        if shared < len(needed):
            near.append((-shared, _hash(question), question, page))
    asked: set[str] = set()
    for _, _, question, page in sorted(near):
        if page not in asked:  # one a page, since those of a page are alike
            yield {"kind": "unanswerable", "questions": [question]}
        asked.add(page)


def _spread(rows: Iterable[Row]) -> list[Row]:
    """One row of each page, then another of each, and so on; pages and rows in the order of their hashes."""
    pages: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: _hash(one["page"], *one["questions"])):
        pages[row["page"]].append(row)
    rounds = zip_longest(*(pages[page] for page in sorted(pages, key=_hash)))
    return [row for rows in rounds for row in rows if row is not None]


def _finished(row: Row, *, ids: bool) -> Row:
    """The row as it is printed."""
    questions = row["questions"]
    asked: Row = {"question": questions[0]} if len(questions) == 1 else {"questions": questions}
    if row["kind"] == "unanswerable":
        return {"kind": row["kind"]} | asked | {"answerable": False}
    labels: Row = {"pages": f"^{re.escape(row['page'])}$"}
    if ids and len(row["chunks"]) == 1:
        labels["relevant"] = [row["chunks"][0].id]
    given = {name: row[name] for name in ("standalone", "reference") if name in row}
    return {"kind": row["kind"]} | asked | labels | given


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


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
