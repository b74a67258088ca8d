"""Datasets: questions about a book, alone or in conversations, with what a good answer has.

A line is one conversation:

    {"kind": "followup", "questions": ["What is a node?", "And a topic?"], "pages": "concepts", "answer": "publish"}

The labels of a line belong to its last question. A question may also be an object with labels of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rag.conversation.turns import check_question, messages_from_json
from rag.errors import AskbookError, UsageError

LABELS: Final = frozenset({"relevant", "pages", "answer", "reference", "answerable", "standalone"})
FIELDS: Final = LABELS | {"question", "questions", "history", "kind", "id"}
_LONGEST_QUESTION: Final = 1_000_000  # the profile has a smaller limit, and its error is one of the turn
_CHUNK_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PATTERN_SIGNS: Final = frozenset("|[]*+^$\\{}")
_REFERENCE_WORDS: Final = 5  # an `answer` of as many words, without signs of a pattern, is a reference answer


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands: its id, its page's address with and without the anchor, and its file."""

    chunk_id: str
    url: str
    link: str
    file: str


@dataclass(frozen=True, slots=True)
class Labels:
    """What a good answer to a question has.

    `relevant` are chunk ids, addresses, or patterns of pages, and `pages` a pattern of the page to cite; either
    replaces the other. `answer` is a pattern of the shown text, `reference` a good answer. Without `answerable` the
    book has no answer. `standalone` is the question as it would be asked alone.
    """

    relevant: tuple[str, ...] = ()
    pages: str | None = None
    answer: str | None = None
    reference: str | None = None
    answerable: bool = True
    standalone: str | None = None

    def found_at(self, place: Place) -> list[int]:
        """The positions in `relevant` that the passage matches."""
        return [number for number, wanted in enumerate(self.relevant) if matches(wanted, place)]

    def is_right_page(self, place: Place) -> bool:
        """Whether a citation of the passage names the right page."""
        return matches(self.pages, place) if self.pages is not None else bool(self.found_at(place))


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `labels` is None if it only prepares the next one."""

    text: str
    labels: Labels | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Questions that are asked one after the other in one thread. `history` are messages as `{role, content}`."""

    id: str
    line: int
    kind: str
    history: tuple[Mapping[str, str], ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The conversations of a file. `unused` are fields that it has and nobody reads."""

    name: str
    sha256: str
    conversations: tuple[Conversation, ...]
    unused: tuple[str, ...]

    @property
    def questions(self) -> int:
        """How many questions count."""
        return sum(question.labels is not None for one in self.conversations for question in one.questions)


def matches(wanted: str, place: Place) -> bool:
    """Whether a passage is meant: by its id, by its address, or by a pattern of its file or address in any case."""
    if _CHUNK_ID.fullmatch(wanted):
        return place.chunk_id.lower() == wanted.lower()
    if wanted.startswith(("http://", "https://")):
        own = place.link if "#" in wanted else place.url
        return own.rstrip("/") == wanted.rstrip("/")
    return any(re.search(wanted, text, re.IGNORECASE) for text in (place.file, place.url))


def read_dataset(file: Path) -> Dataset:
    """The dataset in a file of JSON Lines. Raises `UsageError` that names the line and what is wrong with it."""
    try:
        content = file.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read.", code="dataset") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}, line {line}: this is not UTF-8.", code="dataset") from error
    found: list[Conversation] = []
    unused: set[str] = set()
    seen: Counter[str] = Counter()
    try:
        for line, row in json_lines(text):
            one = _conversation(row, line)
            seen[one.id] += 1
            found.append(one if seen[one.id] == 1 else replace(one, id=f"{one.id}#{seen[one.id]}"))
            unused |= row.keys() - FIELDS
    except BrokenLineError as error:
        raise UsageError(f"{file}, {error}.", code="dataset") from None
    if not found:
        raise UsageError(f"{file} has no questions.", code="dataset")
    return Dataset(str(file), hashlib.sha256(content).hexdigest(), tuple(found), tuple(sorted(unused)))


def _conversation(row: Any, line: int) -> Conversation:
    if not isinstance(row, dict):
        raise BrokenLineError(line, "this is not a JSON object")
    given = [name for name in ("question", "questions") if name in row]
    if len(given) != 1:
        raise BrokenLineError(line, "it needs either `question` or `questions`")
    asked = [row["question"]] if given == ["question"] else row["questions"]
    if not isinstance(asked, list) or not asked:
        raise BrokenLineError(line, "`questions` is not a list with at least one question")
    questions = tuple(_questions(asked, row, line))
    history = _history(row.get("history"), line)
    kind = _text(row, "kind", line) or "question"
    return Conversation(_id(row, questions, history, line), line, kind, history, questions)


def _id(row: Mapping[str, Any], questions: Sequence[Question], history: Sequence[Mapping[str, str]], line: int) -> str:
    """The id given, else a hash of what is asked, so that edited labels do not make it another conversation."""
    if given := _text(row, "id", line):
        return given
    said = [message["content"] for message in history] + [question.text for question in questions]
    return hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _questions(asked: Sequence[Any], row: Mapping[str, Any], line: int) -> Iterator[Question]:
    for position, one in enumerate(asked, 1):
        last = position == len(asked)
        own = one if isinstance(one, dict) else {"question": one}
        if unknown := own.keys() - LABELS - {"question"}:
            raise BrokenLineError(line, f"question {position} has the unknown field `{min(unknown)}`")
        text = own.get("question")
        try:
            text = check_question(text, _LONGEST_QUESTION)  # type: ignore[arg-type]  # it refuses what is not text
        except AskbookError as error:
            raise BrokenLineError(line, f"question {position}: {_clause(error)}") from None
        has_labels = bool(own.keys() & LABELS)
        labels = _labels({**row, **own} if last else own, line) if last or has_labels else None
        yield Question(text, labels)


def _clause(error: AskbookError) -> str:
    """The message of an error as a part of a sentence."""
    return error.message[0].lower() + error.message[1:].removesuffix(".")


def _history(given: Any, line: int) -> tuple[Mapping[str, str], ...]:
    if given is None:
        return ()
    try:
        messages_from_json(given)
    except UsageError as error:
        raise BrokenLineError(line, _clause(error)) from None
    return tuple({"role": message["role"], "content": message["content"]} for message in given)


def _labels(row: Mapping[str, Any], line: int) -> Labels:
    relevant = _relevant(row.get("relevant"), line)
    pages, answer = _text(row, "pages", line), _text(row, "answer", line)
    reference = _text(row, "reference", line)
    if answer is not None and reference is None and len(answer.split()) >= _REFERENCE_WORDS:
        answer, reference = (answer, None) if _PATTERN_SIGNS & set(answer) else (None, answer)
    for name, pattern in (("pages", pages), ("answer", answer)):
        _check_pattern(pattern, f"`{name}`", line)
    if not relevant and pages is not None:
        relevant = (pages,)
    answerable = row.get("answerable")
    if answerable is not None and not isinstance(answerable, bool):
        raise BrokenLineError(line, "`answerable` is neither true nor false")
    if answerable is None:
        says_none = "pages" in row or "relevant" in row
        answerable = bool(relevant) or answer is not None or reference is not None or not says_none
    return Labels(relevant, pages, answer, reference, answerable, _text(row, "standalone", line))


def _relevant(given: Any, line: int) -> tuple[str, ...]:
    items = [given] if isinstance(given, str) else given or []
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise BrokenLineError(line, "`relevant` is not a list of chunk ids, addresses or patterns")
    for item in items:
        _check_pattern(item, "`relevant`", line)
    return tuple(dict.fromkeys(items))


def _check_pattern(pattern: str | None, name: str, line: int) -> None:
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        raise BrokenLineError(line, f"{name} is not a regular expression ({error})") from None


def _text(row: Mapping[str, Any], name: str, line: int) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise BrokenLineError(line, f"`{name}` is not text")
    return value or None


class BrokenLineError(ValueError):
    """A line that is not JSON. `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """Each value with the number of its line, from 1. Empty lines are skipped. Raises `BrokenLineError`.

    Only a line feed ends a line: `str.splitlines` also splits at U+2028, which JSON allows inside strings.

    >>> list(json_lines('{"a": 1}\\n\\n["\\u2028"]'))
    [(1, {'a': 1}), (3, ['\\u2028'])]
    """
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                problem = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
                raise BrokenLineError(number, f"this is not JSON ({problem})") from None
