"""Answers without a model that are right, and questions beside the book that are refused.

    python -m bench.quoting ../shared/data [--home FOLDER] [--book NAME] [--show]

Each book below DATA/books that has `questions.jsonl` or `labelled_queries.json` is ingested into the home and asked
through the real agent, without a key; `bench/data/quoting_questions.jsonl` has more questions. The last question of a
case is judged, after the others in the same thread. It is right if the file or address of a cited page matches `pages`,
in any case of letters, and the shown text matches `answer`; without `pages` it must be refused. A hash of the question
chooses the half that may be looked at; constants are fitted on that half. Intervals are Wilson's, at 95%.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.product import open_book
from graph.agent import Agent, open_agent
from rag.evaluation.dataset import json_lines
from rag.settings import Settings
from rag.types import Response

PAGES: Final = ("docs", "src")  # where a book's pages are, in its folder
UNANSWERABLE: Final = "unanswerable"
OWN: Final = Path(__file__).parent / "data" / "quoting_questions.jsonl"  # further questions, with a field `book`


@dataclass(frozen=True, slots=True)
class Case:
    """Questions of one thread. `pages` and `answer` are patterns; without `pages` the book has no answer."""

    book: str
    kind: str
    questions: tuple[str, ...]
    pages: str | None
    answer: str | None

    @property
    def looked_at(self) -> bool:
        return zlib.crc32(self.questions[-1].encode()) % 2 == 0

    def is_right(self, response: Response) -> bool:
        if self.pages is None:
            return response.status == "fallback"
        cited = [text for c in response.citations for text in (c.source_file_path, c.url)]
        on_page = any(re.search(self.pages, place, re.IGNORECASE) for place in cited)
        return response.status == "success" and on_page and bool(re.search(self.answer or "", response.plain_content))


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one on each line; none if there is no file."""
    return [row for _, row in json_lines(path.read_text(encoding="utf-8"))] if path.is_file() else []


def cases(books: Path) -> Iterator[Case]:
    """The cases of all books, book by book."""
    own = lines(OWN)
    for folder in sorted(path for path in books.iterdir() if path.is_dir()):
        written = folder / "questions.jsonl"
        rows = lines(written)
        asked = [row["questions"] for row in rows]  # a copy of the folder's own file counts once
        rows += [row for row in own if row["book"] == folder.name and row["questions"] not in asked]
        for row in rows:
            yield Case(folder.name, row["kind"], tuple(row["questions"]), row["pages"], row["answer"])
        if (labels := folder / "labelled_queries.json").is_file():
            for row in json.loads(labels.read_text(encoding="utf-8"))["test_queries"]:
                yield Case(folder.name, "labelled", (row["query"],), rf"^{row['expected_chapter']:02d}-", "")


def wilson(right: int, asked: int) -> tuple[float, float]:
    """Wilson's interval of a proportion at 95%."""
    z, p = 1.96, right / asked
    middle, half = p + z * z / (2 * asked), z * math.sqrt(p * (1 - p) / asked + z * z / (4 * asked * asked))
    return (middle - half) / (1 + z * z / asked), (middle + half) / (1 + z * z / asked)


def figure(results: list[bool]) -> str:
    low, high = wilson(sum(results), len(results))
    return f"{sum(results):3} of {len(results):3}  {sum(results) / len(results):4.0%}  ({low:.0%} to {high:.0%})"


async def ask(agent: Agent, case: Case) -> Response:
    """The response to the last question of the case."""
    thread = None
    for question in case.questions:
        response = await agent.ask(question, thread_id=thread)
        thread = response.thread_id
    return response


async def asked(data: Path, home: Path, book: str, show: bool) -> list[tuple[Case, bool]]:
    """Every case of one book, and whether it came out right."""
    folder = data / "books" / book
    pages = next((folder / name for name in PAGES if (folder / name).is_dir()), folder)
    await open_book(pages, home, book)
    found = []
    async with open_agent(Settings(home=home), collection=book) as agent:
        for case in [case for case in cases(data / "books") if case.book == book]:
            response = await ask(agent, case)
            found.append((case, case.is_right(response)))
            if show:
                verdict, half = ("right" if found[-1][1] else "WRONG"), ("looked at" if case.looked_at else "kept")
                print(f"\n## {verdict} ({book}, {case.kind}, {half}): {' / '.join(case.questions)}\n{response.content}")
    return found


def report(results: list[tuple[Case, bool]]) -> None:
    """Print the figures by half, by book and by kind."""
    for name, half in (("looked at", True), ("kept", False)):
        for what, wanted in (("answerable", False), (UNANSWERABLE, True)):
            right = [ok for case, ok in results if case.looked_at is half and (case.pages is None) is wanted]
            if right:
                print(f"{name:12} {what:14} {figure(right)}")
    for field in ("book", "kind"):
        print()
        for value in sorted({getattr(case, field) for case, _ in results}):
            for what, wanted in (("", False), (UNANSWERABLE, True)):
                rows = [ok for c, ok in results if getattr(c, field) == value and (c.pages is None) is wanted]
                if rows:
                    print(f"{value:12} {what:14} {figure(rows)}")


async def run(data: Path, home: Path, books: list[str], show: bool) -> None:
    results = [result for book in books for result in await asked(data, home, book, show)]
    for case, right in results:
        if not right:
            half = "looked at" if case.looked_at else "kept"
            print(f"not right ({case.book}, {case.kind}, {half}): {' / '.join(case.questions)}")
    print()
    report(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--home", type=Path, help="folder for the index; without it, a temporary one")
    parser.add_argument("--book", action="append", help="only this book; may be repeated")
    parser.add_argument("--show", action="store_true", help="print every answer")
    options = parser.parse_args()
    known = list(dict.fromkeys(case.book for case in cases(options.data / "books")))
    with tempfile.TemporaryDirectory() as folder:
        home = options.home or Path(folder)
        asyncio.run(run(options.data, home, options.book or known, options.show))


if __name__ == "__main__":
    main()
