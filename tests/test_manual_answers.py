"""The manual is the default book: asked what people ask first, without a model, it answers from the right place."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from graph.agent import open_agent
from rag.books.book_settings import MANUAL
from rag.settings import Settings, variables
from rag.types import Response

ANSWERS: Final = {
    "How do I use my own book?": ("your-own-book.md", "python run.py ingest"),
    "What is askbook?": ("index.md", "askbook is a program that answers questions about a book"),
    "How do I set a model?": ("models.md", "OPENAI_API_KEY"),
    "Can I use Ollama?": ("models.md", "http://localhost:11434/v1"),
    "Where are my conversations stored?": ("memory.md", "memory.sqlite"),
    "How do I delete a conversation?": ("memory.md", "python run.py threads delete ID"),
    "What is a thread?": ("words.md", "A thread is a conversation"),
    "What does exit code 2 mean?": ("commands.md", "wrong usage"),
    "How do I share an index between processes?": ("search.md", "QDRANT_URL"),
    "How is a page split into chunks?": ("your-own-book.md", "250 word pieces"),
    "Which Python versions are supported?": ("first-minute.md", "3.11, 3.12 and 3.13"),
    "Can I use a PDF?": ("your-own-book.md", "page=12"),
    "Does it work on Windows?": ("first-minute.md", "does not run on Windows"),
    "Can two people use it at once?": ("memory.md", "Several people can use askbook at once"),
    "How do I open LangGraph Studio?": ("studio.md", "make studio"),
    "What is the license?": ("index.md", "MIT licence"),
    "What is the maximum length of a question?": ("chat.md", "2,000 characters"),
    "How do I change the port?": ("serve.md", "--port 8080"),
    "How do I protect the server with a password?": ("serve.md", "ASKBOOK_API_KEYS"),
    "Can askbook search the web?": ("index.md", "cannot search the web"),
    "How do I install askbook?": ("first-minute.md", "make chat"),
    "How do I update to a newer version?": ("first-minute.md", "get the new files"),
    "Do I need an API key to try it?": ("index.md", "You need no API key"),
    "Does askbook send my book to the internet?": ("memory.md", "nowhere, unless you set"),
    "wich modells can i use": ("models.md", "any model of an OpenAI-compatible endpoint"),
    "Can I change the refusal sentence?": ("profiles.md", "answer.refusal"),
    "How do I give each client its own API key?": ("serve.md", "ASKBOOK_API_KEYS"),
    "How many requests per minute may a client make?": ("serve.md", "60 questions per minute"),
    "How do I run it behind nginx?": ("deploy.md", "X-Accel-Buffering: no"),
    "Can I run several worker processes?": ("deploy.md", "docker compose up -d"),
    "Is there a health check endpoint?": ("operation.md", "GET /healthz"),
    "Does it export Prometheus metrics?": ("operation.md", "/metrics"),
    "Can a malicious page in the book inject instructions?": ("security.md", "prompt injection"),
    "Which nodes does the graph have?": ("how-it-works.md", "RETRIEVING, GENERATING and ERROR"),
    "Is there a synchronous version of open_agent?": ("python.md", "open_agent_sync"),
}
# A question, and another one that continues it.
IN_A_ROW: Final = (("What is a thread?", "And what is a passage?"), ("What is a passage?", "And what is a thread?"))
# Beside what these answers quote stand sentences that read as orders.
QUOTED: Final = (
    "What must an endpoint be able to do?",
    "Which addresses does the server have?",
    "What happens when I say hello or thanks?",
    "Can an answer contain links?",
)
BESIDE: Final = ("What is the capital of France?", "Who won the world cup in 1990?", "How do I bake sourdough bread?")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Response]:
    """Every question's response; the manual is indexed once, with the real parts."""
    home = tmp_path_factory.mktemp("manual")

    async def ask() -> dict[str, Response]:
        settings = Settings(home=home)
        async with open_agent(settings, collection=MANUAL) as agent:
            answers = {question: await agent.ask(question) for question in [*ANSWERS, *BESIDE, *QUOTED]}
            for first, then in IN_A_ROW:
                thread = (await agent.ask(first)).thread_id
                answers[then] = await agent.ask(then, thread_id=thread)
            return answers

    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(home)
        for name in variables():
            environment.delenv(name, raising=False)
        return asyncio.run(ask())


@pytest.mark.parametrize("question", ANSWERS)
def test_the_manual_answers_what_people_ask_first(asked: dict[str, Response], question: str) -> None:
    page, words = ANSWERS[question]
    response = asked[question]
    assert response.status == "success"
    assert words in response.plain_content
    assert page in [citation.url for citation in response.citations]


@pytest.mark.parametrize("question", BESIDE)
def test_the_manual_refuses_what_it_does_not_say(asked: dict[str, Response], question: str) -> None:
    assert asked[question].status == "fallback"


@pytest.mark.parametrize("question", [then for _, then in IN_A_ROW])
def test_a_second_question_that_begins_with_and_is_answered(asked: dict[str, Response], question: str) -> None:
    subject = question.removeprefix("And what is a ").rstrip("?")
    assert f"A {subject} is " in asked[question].plain_content


@pytest.mark.parametrize("question", [*ANSWERS, *QUOTED])
def test_what_the_manual_says_word_for_word_has_no_mark(asked: dict[str, Response], question: str) -> None:
    assert [one.text for one in asked[question].grounding.checked if one.standing == "unconfirmed"] == []
