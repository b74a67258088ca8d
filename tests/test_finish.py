"""Why an answer ended, in the words of every provider whose models LangChain has."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from rag.answer.render import WORDS_ONLY
from rag.model.received_answer import finish_of, names_its_finish
from rag.types import CUT_OFF
from tests.fakes import ScriptedModel
from tests.machine import ANSWER, Machine


class Foreign(ScriptedModel):
    """A chat model whose stream ends as its script says, without OpenAI's reason after it."""

    def _chunks(self, prompt: Any, options: Any) -> Any:
        chunks = list(super()._chunks(prompt, options))
        return iter(chunks[:-1])


def machine(*script: list[AIMessageChunk]) -> Machine:
    one = Machine()
    one.model = Foreign(script=list(script))
    one.services.model = one.model
    return one


def ends(text: str, **metadata: Any) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=text), AIMessageChunk(content="", response_metadata=metadata)]


NORMAL = [
    {"finish_reason": "stop", "model_provider": "openai"},
    {"stop_reason": "end_turn", "model_provider": "anthropic"},
    {"done": True, "done_reason": "stop", "model_provider": "ollama"},
    {"stopReason": "end_turn", "model_provider": "bedrock_converse"},
    {"finish_reason": "STOP", "model_provider": "google_genai"},
    {"finish_reason": "COMPLETE", "model_provider": "cohere"},
    {"finish_reason": "eos_token"},
    {},
]
AT_ITS_LENGTH = [
    {"finish_reason": "length"},
    {"stop_reason": "max_tokens", "model_provider": "anthropic"},
    {"done_reason": "length", "model_provider": "ollama"},
    {"stopReason": "max_tokens", "model_provider": "bedrock_converse"},
    {"finish_reason": "MAX_TOKENS", "model_provider": "google_genai"},
]
FILTERED = [
    {"finish_reason": "content_filter"},
    {"stop_reason": "refusal", "model_provider": "anthropic"},
    {"stopReason": "guardrail_intervened", "model_provider": "bedrock_converse"},
    {"finish_reason": "SAFETY", "model_provider": "google_genai"},
]


@pytest.mark.parametrize("metadata", NORMAL, ids=str)
async def test_an_answer_of_any_chat_model_is_complete_when_its_model_says_so(metadata: dict[str, Any]) -> None:
    one = machine(ends(ANSWER, **metadata))
    response = await one.ask("What is a node?")
    assert (response.status, response.notices, response.plain_content) == ("success", [WORDS_ONLY], ANSWER)
    assert len(one.model.prompts) == 1


@pytest.mark.parametrize("metadata", AT_ITS_LENGTH, ids=str)
async def test_an_answer_of_any_chat_model_that_was_cut_says_so(metadata: dict[str, Any]) -> None:
    response = await machine(ends(f"{ANSWER} And the", **metadata)).ask("What is a node?")
    assert (response.status, response.notices[0]) == ("success", CUT_OFF)


@pytest.mark.parametrize("metadata", FILTERED, ids=str)
async def test_a_filter_of_any_provider_is_told_as_one(metadata: dict[str, Any]) -> None:
    one = machine(ends("A node", **metadata))
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.error.code, len(one.model.prompts)) == ("content_filter", 1)


async def test_a_model_that_always_says_why_it_ended_and_did_not_was_broken_off() -> None:
    one = machine(*[ends("A node is", model_provider="anthropic")] * 3)
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.error.code, len(one.model.prompts)) == ("stream_cut", 3)


async def test_a_reason_that_comes_with_every_chunk_is_one_reason() -> None:
    """Gemini repeats it, and merged chunks would say "MAX_TOKENSMAX_TOKENS"."""
    reason = {"finish_reason": "MAX_TOKENS"}
    one = machine([AIMessageChunk(content=part, response_metadata=dict(reason)) for part in (ANSWER, " And")])
    assert (await one.ask("What is a node?")).notices[0] == CUT_OFF


def test_no_reason_is_none() -> None:
    assert finish_of({"finish_reason": None, "stop_reason": ""}) is None
    assert not names_its_finish({})


WORDS = "I cannot help with that."
REFUSED = [
    [AIMessageChunk(content="", additional_kwargs={"refusal": WORDS})],
    [AIMessageChunk(content=[{"type": "refusal", "refusal": WORDS}])],
]


@pytest.mark.parametrize("script", REFUSED, ids=["field", "block"])
async def test_the_words_of_a_model_that_refuses_are_its_filter(script: list[AIMessageChunk]) -> None:
    one = machine([*script, *ends("", finish_reason="stop")])
    response = await one.ask("How many teeth?")
    assert response.error is not None
    assert (response.error.code, len(one.model.prompts)) == ("content_filter", 1)
    assert WORDS not in response.model_dump_json()
