"""A book in another language is asked in its own language, without a key."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.suggestion import foreign_language
from graph.agent import Agent, open_agent
from rag.embedding.local import Bm25Encoder, OnnxEmbeddings
from rag.index.catalog import build_index
from rag.settings import Settings
from rag.types import Response
from state import Context
from tests.command_line import CommandLine
from tests.fakes import FakeVectors
from tests.ingesting import ingest

PAGES = Path(__file__).parent / "data" / "languages"
REFUSAL = "I don't have information about that in the book content"
FEWEST = 12  # of 14 questions that the pages answer


@asynccontextmanager
async def opened(home: Path, language: str, **settings: Any) -> AsyncIterator[Agent]:
    index = build_index(home=home, collection=language)
    await ingest(
        [PAGES / language], index=index, embedder=OnnxEmbeddings(), sparse=Bm25Encoder(), vectors=FakeVectors()
    )
    async with open_agent(Settings(home=home, **settings), collection=language) as agent:
        yield agent


async def asked(agent: Agent, questions: list[str]) -> Response:
    thread = None
    for question in questions:
        response = await agent.ask(question, thread_id=thread)
        thread = response.thread_id
    return response


def is_right(case: dict[str, Any], response: Response) -> bool:
    on_page = any(re.search(case["pages"], cited.source_file_path) for cited in response.citations)
    return on_page and bool(re.search(case["answer"], response.plain_content))


@pytest.mark.parametrize("language", ["es", "de", "zh"])
async def test_a_book_in_another_language_answers_and_refuses_like_an_english_one(
    tmp_path: Path, language: str
) -> None:
    lines = (PAGES / language / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    wrong, answered = [], []
    async with opened(tmp_path, language) as agent:
        for case in cases:
            response = await asked(agent, case["questions"])
            assert "[?]" not in response.content
            if case["pages"] is None:
                answered += [] if response.content == REFUSAL else [case["questions"]]
            elif not is_right(case, response):
                wrong.append(case["questions"])
    assert answered == []
    assert len(wrong) <= 14 - FEWEST, wrong


async def test_one_word_of_another_language_is_found_whatever_its_score_unless_a_threshold_is_set(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, "de") as agent:
        said = {"Sperrdatei?": "Sperrdatei", "Sicherheit?": "niemals sicher", "Quelltext?": "Quelltext"}
        for question, wanted in said.items():
            assert wanted in (await agent.ask(question)).plain_content
            chosen = await agent.ask(question, context=Context(score_threshold=0.2))
            assert all(chunk.score >= 0.2 for chunk in chosen.retrieved_chunks)
        for question in ("Datenbank?", "Lautsprecher?", "Urlaub?"):
            assert (await agent.ask(question)).content == REFUSAL


async def test_the_threshold_of_the_operator_holds_in_every_language(tmp_path: Path) -> None:
    async with opened(tmp_path, "de", agent_score_threshold=0.2) as agent:
        response = await agent.ask("Quelltext?")
    assert all(chunk.score >= 0.2 for chunk in response.retrieved_chunks)


@pytest.mark.parametrize(("language", "name"), [("es", "Spanish"), ("de", "German")])
async def test_the_language_of_a_book_is_told(tmp_path: Path, language: str, name: str) -> None:
    async with opened(tmp_path, language):
        assert await foreign_language(build_index(home=tmp_path, collection=language)) == name


def test_ingest_says_what_serves_a_book_in_another_language(tmp_path: Path) -> None:
    run = CommandLine(tmp_path)
    advice = [
        [line for line in run("ingest", str(source), "--collection", name).out.splitlines() if "knows English" in line]
        for name, source in (("german", PAGES / "de"), ("readme", PAGES / "README.md"))
    ]
    assert [line.partition(".")[0] for line in advice[0]] == ["The book seems to be in German"]
    assert advice[1] == []
