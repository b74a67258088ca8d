"""What the public surface promises, tested through `open_agent`, with fakes of what a caller may bring."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from qdrant_client import QdrantClient, models

from askbook.testing import ScriptedModel
from graph.agent import Agent, open_agent
from rag.errors import MemoryFailureError, UsageError
from rag.settings import Settings
from tests.fakes import AT_ONCE

PAGES = [
    Document(
        "Atlas is a humanoid robot. It weighs 89 kg.", metadata={"title": "Robots", "heading": "Atlas", "score": 0.9}
    ),
    Document("Spot has four legs.", metadata={"title": "Robots", "heading": "Spot", "score": 0.8}),
]
QUESTION = "How much does Atlas weigh?"


class Pages(BaseRetriever):
    """A retriever of a caller's own, which finds the same documents for every question."""

    documents: list[Any] = PAGES

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
        return self.documents


class WholeAnswers(BaseChatModel):
    """A chat model that cannot stream, as many of LangChain's cannot."""

    replies: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "whole-answers"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(tools=tools)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])


class Letters(Embeddings):
    """Embeddings of a caller's own: the count of each letter."""

    def __init__(self, letters: str = "abcdefghijklmnop") -> None:
        self.letters = letters

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.lower().count(letter) for letter in self.letters] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@asynccontextmanager
async def an_agent(folder: Path, **options: Any) -> AsyncIterator[Agent]:
    given: dict[str, Any] = {"retriever": Pages(), "retries": AT_ONCE, **options}
    async with open_agent(Settings.model_validate({"ASKBOOK_HOME": folder, "ASKBOOK_JUDGE": "none"}), **given) as agent:
        yield agent


async def test_a_chat_model_that_cannot_stream_answers(tmp_path: Path) -> None:
    async with an_agent(
        tmp_path, model=FakeMessagesListChatModel(responses=[AIMessage("Atlas weighs 89 kg [1].")])
    ) as agent:
        response = await agent.ask(QUESTION)
    assert response.plain_content == "Atlas weighs 89 kg [1]."


async def test_a_chat_model_that_cannot_stream_searches(tmp_path: Path) -> None:
    call = {"name": "search_book", "args": {"query": "legs of Spot"}, "id": "1"}
    model = WholeAnswers(replies=[AIMessage("", tool_calls=[call]), AIMessage("Spot has four legs [2].")])
    async with an_agent(tmp_path, model=model) as agent:
        response = await agent.ask(QUESTION)
    assert [asked.args for asked in response.tool_calls] == [{"query": "legs of Spot"}]
    assert response.plain_content == "Spot has four legs [1]."


class NoWords(WholeAnswers):
    """A chat model whose stream has nothing in it."""

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        yield from ()


async def test_a_given_model_that_streams_nothing_sent_an_empty_answer(tmp_path: Path) -> None:
    async with an_agent(tmp_path, model=NoWords(replies=[])) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "empty_answer"


async def test_the_content_of_a_failed_turn_is_the_sentence_of_its_error(tmp_path: Path) -> None:
    async with an_agent(tmp_path, retriever=None, collection="nowhere") as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.content == response.plain_content == response.error.user_message
    assert response.content == "Could not search the book content. Please try again."


async def test_grounding_names_a_judge_even_if_there_is_none(tmp_path: Path) -> None:
    async with an_agent(tmp_path) as agent:
        answered, rejected = await agent.ask(QUESTION), await agent.ask("")
    for response in (answered, rejected):
        assert json.loads(response.model_dump_json())["grounding"]["judge"] is None


@pytest.mark.parametrize("profile", ["default", "robotics-tutor"])
async def test_given_embeddings_are_those_of_a_given_collection(tmp_path: Path, profile: str) -> None:
    client, embeddings = QdrantClient(":memory:"), Letters()
    client.create_collection("mine", models.VectorParams(size=16, distance=models.Distance.COSINE))
    payload = {
        "page_content": PAGES[0].page_content,
        "text": PAGES[0].page_content,
        "title": "Robots",
        "url": "https://ex.org/r",
    }
    client.upsert(
        "mine", [models.PointStruct(id=1, vector=embeddings.embed_query(PAGES[0].page_content), payload=payload)]
    )
    async with an_agent(
        tmp_path, retriever=None, profile=profile, collection="mine", embeddings=embeddings, qdrant_client=client
    ) as agent:
        response = await agent.ask(QUESTION)
    assert response.status == "success", response.error
    assert "89 kg" in response.content


async def test_given_embeddings_of_another_size_are_told_from_a_broken_index(tmp_path: Path) -> None:
    client = QdrantClient(":memory:")
    client.create_collection("mine", models.VectorParams(size=8, distance=models.Distance.COSINE))
    client.upsert("mine", [models.PointStruct(id=1, vector=[1.0] * 8, payload={"page_content": "Atlas is a robot."})])
    async with an_agent(
        tmp_path, retriever=None, collection="mine", embeddings=Letters(), qdrant_client=client
    ) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "embedding_mismatch"
    assert "8 dimensions" in response.error.message


async def test_a_book_of_other_given_embeddings_is_not_called_broken(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "robots.md").write_text("# Robots\n\nAtlas weighs 89 kg.\n")
    options: dict[str, Any] = {"retriever": None, "collection": "mine"}
    async with an_agent(tmp_path, embeddings=Letters(), **options) as agent:
        await agent.ingest(tmp_path / "pages")
    async with an_agent(tmp_path, embeddings=Letters(letters="abcdefgh"), **options) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "embedding_mismatch"


async def test_a_context_may_be_a_mapping_and_a_wrong_one_is_wrong_usage(tmp_path: Path) -> None:
    one: Any = {"top_k": 1}
    async with an_agent(tmp_path) as agent:
        response = await agent.ask(QUESTION, context=one)
        assert response.retrieval_count == 1
        wrongs: tuple[Any, ...] = ({"topk": 1}, {"top_k": 99}, 5)
        for wrong in wrongs:
            with pytest.raises(UsageError, match=r"context|top_k|topk"):
                await agent.ask(QUESTION, context=wrong)


@pytest.mark.parametrize("reply", ["[1]", "<think>The passages say that"])
async def test_an_answer_without_a_word_is_no_refusal(tmp_path: Path, reply: str) -> None:
    model = FakeMessagesListChatModel(responses=[AIMessage(reply)])
    async with an_agent(tmp_path, model=model) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "empty_answer"


async def test_a_retriever_that_returns_no_documents_is_named(tmp_path: Path) -> None:
    async with an_agent(tmp_path, retriever=Pages(documents=["Atlas weighs 89 kg."])) as agent:
        response = await agent.ask(QUESTION)
    assert response.error is not None
    assert response.error.code == "retriever"


async def test_a_source_without_an_address_has_no_empty_brackets(tmp_path: Path) -> None:
    async with an_agent(tmp_path) as agent:
        response = await agent.ask(QUESTION)
    assert response.content.endswith("- [1] Robots > Atlas")


async def test_the_heading_of_a_document_is_in_the_prompt_and_under_the_sources(tmp_path: Path) -> None:
    pages = [Document(page.page_content, metadata=page.metadata | {"url": "https://ex.org/robots"}) for page in PAGES]
    model = ScriptedModel("Atlas weighs 89 kg [1]. Spot has four legs [2].")
    async with an_agent(tmp_path, retriever=Pages(documents=pages), model=model) as agent:
        response = await agent.ask("How much does Atlas weigh, and how many legs has Spot?")
    for number, heading in enumerate(("Atlas", "Spot"), start=1):
        assert f"[{number}] Source: Robots > {heading} (https://ex.org/robots)" in model.prompts[0][-1].text
        assert f"- [{number}] Robots > {heading} (https://ex.org/robots)" in response.content


PAGE = [
    Document(
        "This handbook is about two robots.", metadata={"title": "Robots", "url": "https://ex.org/robots", "score": 0.7}
    ),
    Document(
        "It weighs 89 kg.",
        metadata={
            "title": "Robots",
            "heading": "Atlas",
            "breadcrumb": "Robots > Atlas",
            "url": "https://ex.org/robots",
            "score": 0.9,
        },
    ),
    Document(
        "Spot has four legs.",
        metadata={
            "title": "Robots",
            "heading": "Spot",
            "breadcrumb": "Robots > Spot",
            "url": "https://ex.org/robots",
            "score": 0.8,
        },
    ),
]


@pytest.mark.parametrize(
    ("profile", "form"),
    [
        ("documentation-agent", "(from Robots)"),
        ("isaac-sim", "[Source: Robots](https://ex.org/robots)"),
        ("isaac-sim", "[Source: Robots]"),
        ("robotics-tutor", "[Robots](https://ex.org/robots)"),
    ],
)
@pytest.mark.parametrize("anchors", [("", "", ""), ("", "#atlas", "#spot")])
async def test_a_page_that_is_cited_is_the_passage_of_it_that_says_so(
    tmp_path: Path, profile: str, form: str, anchors: tuple[str, ...]
) -> None:
    documents = [
        Document(page.page_content, metadata=page.metadata | {"url": f"https://ex.org/robots{anchor}"})
        for page, anchor in zip(PAGE, anchors, strict=True)
    ]
    model = FakeMessagesListChatModel(responses=[AIMessage(f"Atlas weighs 89 kg {form}. Spot has four legs {form}.")])
    async with an_agent(tmp_path, profile=profile, retriever=Pages(documents=documents), model=model) as agent:
        response = await agent.ask("How much does Atlas weigh, and how many legs has Spot?")
    assert [citation.heading for citation in response.citations] == ["Atlas", "Spot"]
    assert [citation.url for citation in response.citations] == [f"https://ex.org/robots{one}" for one in anchors[1:]]
    assert response.grounding.supported == 2


async def test_a_health_check_can_be_repeated(tmp_path: Path) -> None:
    async with an_agent(tmp_path) as agent:
        assert [await agent.check_health() for _ in range(3)] == [{}, {}, {}]


async def test_a_health_check_tells_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise MemoryFailureError("memory_locked", f"{tmp_path}/memory.sqlite is locked by another process.")

    async with an_agent(tmp_path) as agent:
        monkeypatch.setattr(agent.memory, "probe", fail)
        assert await agent.check_health() == {"memory": "memory.sqlite is locked by another process."}


@pytest.mark.parametrize(
    ("profile", "form"), [("isaac-sim", "[Source: 1]"), ("robotics-tutor", "[1](https://elsewhere.ex)")]
)
async def test_a_number_is_a_citation_in_every_form_around_it(tmp_path: Path, profile: str, form: str) -> None:
    model = FakeMessagesListChatModel(responses=[AIMessage(f"Atlas weighs 89 kg {form}.")])
    async with an_agent(tmp_path, profile=profile, model=model) as agent:
        response = await agent.ask(QUESTION)
    assert response.plain_content == "Atlas weighs 89 kg [1]."
    assert "elsewhere" not in response.content
