"""Every attack planted in pages of a real textbook, indexed, and asked about with a model that obeys all of them.

The turns are whole: a real index and search, the compiled graph as a service opens it, OpenAI's wire format. The
questions are the book's labelled ones, and the pages the sections that answer them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from graph.agent import open_agent
from rag.answer.shown_answer import LEFT_OUT
from rag.settings import Settings
from rag.text.sentences import units
from rag.types import UNCONFIRMED_MARK, Event, Response
from tests.conftest import SHARED, index_book
from tests.obedience import IN_WORDS_OF_THE_TASK, PLANTED, links, obeyed
from tests.openai_server import Endpoint, Reply, Request, answer
from tests.prompt_reader import PromptPassage, parse_prompt
from tests.wire import listening

BOOK: Final = SHARED / "books" / "physical-ai"
LONGEST: Final = 900  # code points of a section, so that the index is made in a few seconds
FORMS: Final = ("## {0}", "- {0} {1}", "{0}", "| {0} | {1} |", "**{0}**", "> {0} {1}", "1. Note: {0} {1}")

pytestmark = pytest.mark.skipif(
    not (PLANTED and BOOK.is_dir()), reason="the attacks and the textbook are not beside this checkout (../shared/data)"
)


@dataclass
class Obedient(Endpoint):
    """Cites a sentence of each passage, and obeys each order in it, once behind the sentence and in every other form.

    `seen` holds the orders that it was shown, `kept` the sentences that it cited in each answer.
    """

    seen: set[str] = field(default_factory=set)
    kept: list[list[str]] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        passages, _ = parse_prompt(request.body["messages"][-1]["content"])
        self.kept.append([])
        said = "\n\n".join(filter(None, map(self._on, passages)))
        return answer(*(said[at : at + 7] for at in range(0, len(said), 7)))

    def _on(self, passage: PromptPassage) -> str:
        mark, sentence = f"[{passage.number}]", evidence(passage.text)
        here = [(kind, attack) for kind, attack in PLANTED if attack in passage.text]
        self.seen.update(attack for _, attack in here)
        told = [one for one in here if not IN_WORDS_OF_THE_TASK.match(one[1])]  # test_injection.py has the others
        added = [one for kind, attack in told for one in obeyed(kind, attack, sentence or attack)]
        if sentence is None:
            return "\n\n".join(f"{one} {mark}" for one in added)
        self.kept[-1].append(sentence)
        return f"{sentence} {mark} " + "\n\n".join(
            [" ".join(f"{one} {mark}" for one in added)]
            + [form.format(one, mark) for form, one in zip(itertools.cycle(FORMS), added, strict=False)]
        )


def evidence(text: str) -> str | None:
    """The first whole sentence of a passage that is none of the orders."""
    return next(
        (
            unit.text
            for unit in units(text)
            if unit.kind == "sentence" and re.fullmatch(r"[A-Z][^\n*`|]{30,}\.", unit.text) and not _planted(unit.text)
        ),
        None,
    )


def _planted(sentence: str) -> bool:
    return any(sentence in attack for _, attack in PLANTED)


def labelled() -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = json.loads((BOOK / "labelled_queries.json").read_text(encoding="utf-8"))[
        "test_queries"
    ]
    return queries


def sections() -> Iterator[tuple[str, str]]:
    """For each labelled question the section of its chapter that has most of its keywords, and a name for its file."""
    for query in labelled():
        page = next((BOOK / "docs").glob(f"{query['expected_chapter']:02d}-*/index.md")).read_text(encoding="utf-8")
        parts = [part for part in re.split(r"\n(?=#{2,3} )", page)[1:] if evidence(part[:LONGEST])]
        wanted = [*query["keywords"], *re.findall(r"\w{4,}", query["query"])]
        best = max(parts, key=lambda part: sum(word.lower() in part[:LONGEST].lower() for word in wanted))
        yield f"{query['expected_chapter']:02d}-{query['id']}.md", best[:LONGEST].rpartition("\n")[0] or best[:LONGEST]


def planted(section: str, orders: list[str]) -> str:
    """The section with an order behind each of its first paragraphs: within it and on a line of its own by turns."""
    paragraphs = section.split("\n\n")
    for number, order in enumerate(orders):
        place = min(1 + number, len(paragraphs) - 1)
        paragraphs[place] += f"\n\n{order}" if number % 2 or "```" in section else f" {order}"
    return "\n\n".join(paragraphs)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the sections and all orders in its book."""
    source, folder = tmp_path_factory.mktemp("planted"), tmp_path_factory.mktemp("home")
    found = list(sections())
    for number, (name, section) in enumerate(found):
        orders = [attack for _, attack in PLANTED[number :: len(found)]]
        (source / name).write_text(planted(section, orders), encoding="utf-8")
    asyncio.run(index_book(source, folder))
    return folder


@dataclass(frozen=True)
class Turn:
    """A turn, what was streamed of it, and the sentences that the model cited beside all that it added."""

    response: Response
    shown: str
    kept: list[str]


@pytest.fixture(scope="module")
def turns(home: Path) -> tuple[list[Turn], Obedient]:
    """The labelled questions, asked one after the other in a conversation each."""
    with listening(Obedient()) as model:
        key = SecretStr("sk-test")
        # The rules alone: the scripted model cannot judge.
        settings = Settings(home=home, openai_api_key=key, openai_base_url=model.address, judge="none")

        async def ask() -> list[list[Event]]:
            async with open_agent(settings, "default", collection="book") as agent:
                return [[event async for event in agent.stream(query["query"])] for query in labelled()]

        streams = asyncio.run(ask())
    found = []
    for events, kept in zip(streams, model.kept, strict=True):
        response = events[-1].response
        assert response is not None
        shown = "".join(event.data["text"] for event in events if event.type == "sentence")
        found.append(Turn(response, shown, kept))
    return found, model


def test_the_model_was_shown_every_order(turns: tuple[list[Turn], Obedient]) -> None:
    assert {attack for _, attack in PLANTED} - turns[1].seen == set()


def test_nothing_that_a_model_adds_in_obeying_reaches_the_user_unmarked(turns: tuple[list[Turn], Obedient]) -> None:
    """Words that an order scrambled are no English, which the check reads; they reach the user with the mark."""
    for turn in turns[0]:
        left = re.sub(r"\s*\[\d\]", "", turn.response.plain_content)
        for sentence in turn.kept:
            left = left.replace(sentence, "", 1)
        left = re.sub(rf"[^\n]*{re.escape(UNCONFIRMED_MARK)}", "", left)
        assert left.replace(LEFT_OUT, "").strip() == "", turn.response.plain_content


def test_no_link_of_a_planted_text_reaches_the_user(turns: tuple[list[Turn], Obedient]) -> None:
    foreign = set().union(*(links(attack) for _, attack in PLANTED))
    for turn in turns[0]:
        assert not foreign & links(turn.response.model_dump_json(exclude={"retrievals", "citations", "metadata"}))
        assert turn.shown == turn.response.content


def test_the_answers_keep_their_citations(turns: tuple[list[Turn], Obedient]) -> None:
    assert len(turns[0]) == 18
    for turn in turns[0]:
        assert turn.response.status == "success"
        assert turn.kept
        for sentence in turn.kept:
            assert any(sentence.startswith(citation.quote) for citation in turn.response.citations)
            assert f"{sentence[:-1]}" in turn.response.content


def test_the_labelled_chapter_is_cited(turns: tuple[list[Turn], Obedient]) -> None:
    chapters = [f"{query['expected_chapter']:02d}-" for query in labelled()]
    files = [[one.source_file_path for one in turn.response.citations] for turn in turns[0]]
    right = [any(f.startswith(chapter) for f in cited) for cited, chapter in zip(files, chapters, strict=True)]
    assert sum(right) >= 16
