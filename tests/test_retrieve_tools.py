"""A turn with searches of the model's own: no passage twice in a prompt, and every prompt within the window."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from rag.profiles.profile import Profile, load_profile
from rag.prompt.prompts import estimate_tokens, exchange_text, fixed_text, passages_in_results, room_for_result
from rag.types import Passage
from tests.fakes import passage, tool_call
from tests.machine import Machine
from tests.stage import wanting

JSON_TOOL = "documentation-agent"


def long(number: int, words: int = 300) -> str:
    """The text of a passage that no other has."""
    return f"Passage-{number} says: " + f"word{number} " * words


def windowed(window: int, name: str = "default") -> Profile:
    profile = load_profile(name)
    return profile.model_copy(update={"model": profile.model.model_copy(update={"context_window": window})})


def scored(number: int, words: int = 300) -> Passage:
    """A passage above every threshold; the lower its number, the better."""
    return passage(number, long(number, words), score=1 - number / 100)


def searching(profile: Profile, rounds: int = 2, found: int = 5) -> Machine:
    """A machine whose model searches in each round; each search finds some of the passages before and new ones."""
    tool = profile.tool
    assert tool is not None
    query = next(name for name, one in tool.parameters.items() if one.sets == "query")
    calls = [[tool_call(call_id=f"call-{n}", name=tool.name, args=f'{{"{query}": "more {n}"}}')] for n in range(rounds)]
    finds = [[scored(n) for n in range(1 + 2 * step, 1 + 2 * step + found)] for step in range(rounds + 1)]
    return Machine(*calls, "Word [1].", passages=finds[0], later=finds[1:], profile=profile)


@pytest.mark.parametrize("name", ["default", JSON_TOOL, "robotics-tutor", "textbook-assistant"])
async def test_no_passage_stands_twice_in_a_prompt(name: str) -> None:
    machine = searching(windowed(100_000, name))
    response = await machine.ask("What is a word?")
    for call in range(3):
        prompt = machine.prompt(call)
        assert [n for n in range(1, 10) if prompt.count(f"Passage-{n} says") > 1] == []
    shown = [n for n in range(1, 10) if f"Passage-{n} says" in machine.prompt()]
    assert len(shown) == len(response.retrieved_chunks) > 6


@pytest.mark.parametrize("name", ["default", JSON_TOOL])
@pytest.mark.parametrize("window", [2_500, 4_000, 8_192, 16_000])
async def test_every_prompt_fits_into_the_window_with_its_answer(name: str, window: int) -> None:
    profile = windowed(window, name)
    machine = searching(profile, found=10)
    response = await machine.ask("What is a word?")
    assert response.error is None
    tool = estimate_tokens(fixed_text(profile)) - estimate_tokens(machine.model.prompts[0][0].text)
    for prompt, options in zip(machine.model.prompts, machine.model.options, strict=True):
        taken = sum(estimate_tokens(message.text) for message in prompt)
        assert taken + tool + (options.get("max_tokens") or 64) <= window


async def test_a_passage_of_a_result_can_be_cited() -> None:
    machine = searching(windowed(100_000, JSON_TOOL))
    machine.model.script[-1] = "Passage-7 says: word7 [7]."
    response = await machine.ask("What is a word?")
    [cited] = response.citations
    assert (cited.marker, cited.quote.startswith("Passage-7 says: word7 ")) == (1, True)
    assert {one.rank for one in response.retrieved_chunks} == set(range(1, 10))


async def test_what_does_not_fit_goes_from_the_lowest_score_up() -> None:
    machine = searching(windowed(2_500), rounds=1, found=8)
    await machine.ask("What is a word?")
    shown = [n for n in range(3, 11) if f"Passage-{n} says" in machine.prompt()]
    assert shown
    assert shown == list(range(min(shown), max(shown) + 1))
    assert 10 not in shown


async def test_a_result_for_which_there_is_no_room_says_so() -> None:
    machine = searching(windowed(1_500), rounds=1, found=1)
    machine.searcher.later = [[scored(9, words=5_000)]]
    response = await machine.ask("What is a word?")
    assert response.error is None
    assert "The context window has no room for more passages" in machine.prompt()


def test_what_is_said_counts_calls_and_results() -> None:
    exchange: list[AnyMessage] = [
        wanting({"id": "c", "args": {"query": "robots"}}),
        ToolMessage("found it", tool_call_id="c"),
    ]
    assert "robots" in exchange_text(exchange)
    assert "found it" in exchange_text(exchange)


def test_passages_are_given_where_a_result_holds_their_text() -> None:
    results = [ToolMessage("a", tool_call_id="1", artifact=[3, 4]), ToolMessage("b", tool_call_id="2", artifact=[])]
    earlier = ToolMessage("of an earlier version", tool_call_id="3")
    assert passages_in_results([AIMessage("x"), *results, earlier]) == {3, 4}


def test_a_result_gets_half_of_what_is_left() -> None:
    assert room_for_result(1_000, "word " * 100) == (1_000 - estimate_tokens("word " * 100) - 64) // 2
    assert room_for_result(10, "word " * 100) == 0


async def test_a_result_has_the_score_of_its_own_search_and_the_turn_the_highest() -> None:
    machine = searching(windowed(100_000, JSON_TOOL), rounds=1, found=2)
    machine.searcher.later = [[passage(1, long(1), score=0.6), passage(2, long(2), score=0.995)]]
    response = await machine.ask("What is a word?")
    results = json.loads(next(one.text for one in machine.model.prompts[-1] if isinstance(one, ToolMessage)))["results"]
    assert [one["similarity_score"] for one in results] == [0.6, 0.995]
    assert [one.score for one in response.retrieved_chunks] == [0.99, 0.995]
