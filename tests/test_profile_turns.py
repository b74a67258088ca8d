"""Turns of the five profiles over fakes: tool answers in the loop, limits and notices, threads, footers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag.answer.render import WORDS_ONLY
from rag.errors import RetrievalError
from rag.profiles.profile import Profile, load_profile
from tests.fakes import passage, tool_call
from tests.machine import ANSWER, Machine


def limited(name: str, **limits: int) -> Profile:
    profile = load_profile(name)
    return profile.model_copy(update={"limits": profile.limits.model_copy(update=limits)})


async def tool_said(profile: str, args: dict[str, Any], **machine: Any) -> Any:
    """What the model read after it had called the profile's tool with these arguments."""
    chosen = load_profile(profile)
    assert chosen.tool is not None
    called = tool_call(name=chosen.tool.name, args=json.dumps(args))
    running = Machine([called], ANSWER, profile=chosen, **machine)
    assert (await running.ask("What is a node?")).status == "success"
    return json.loads(running.model.prompts[1][-1].text)


async def test_the_model_reads_the_profiles_json_with_the_numbers_to_cite_by() -> None:
    said = await tool_said("documentation-agent", {"query": "nodes"}, later=[[passage(2), passage(1)]])
    assert [(one["rank"], one["number"], one["page_title"]) for one in said["results"]] == [
        (1, 2, "Page 2"),
        (2, 1, "Page 1"),
    ]


@pytest.mark.parametrize(
    ("profile", "args", "error"),
    [
        ("documentation-agent", {"query": "q", "top_k": 21}, "top_k must be a whole number from 1 to 20"),
        ("robotics-tutor", {"query": "q", "k": 11}, "Retrieval failed: k must be a whole number from 1 to 10"),
        ("textbook-assistant", {"query": ""}, "query must not be empty"),
    ],
)
async def test_a_call_out_of_bounds_gets_the_profiles_error_and_the_turn_goes_on(
    profile: str, args: dict[str, Any], error: str
) -> None:
    assert (await tool_said(profile, args))["error"] == error


async def test_broken_json_gets_the_profiles_error() -> None:
    machine = Machine([tool_call(args="no json")], ANSWER, profile=load_profile("robotics-tutor"))
    await machine.ask("What is a node?")
    said = json.loads(machine.model.prompts[1][-1].text)
    assert said == {"results": [], "error": "Retrieval failed: The arguments are not valid JSON."}


async def test_a_search_of_the_model_that_fails_gets_the_profiles_error() -> None:
    call = tool_call(args='{"query": "q"}', name="retrieve_textbook_content")
    machine = Machine([call], ANSWER, profile=load_profile("robotics-tutor"))
    search = machine.searcher.retrieve

    async def first_well_then_not(question: str, **options: Any) -> Any:
        if machine.searcher.asked:
            raise RetrievalError("embedding_failed", "The question could not be embedded (X).")
        return await search(question, **options)

    machine.searcher.retrieve = first_well_then_not  # type: ignore[method-assign]  # a fake that changes its mind
    assert (await machine.ask("What is a node?")).status == "success"
    assert json.loads(machine.model.prompts[1][-1].text) == {"results": [], "error": "Embedding generation failed"}


async def test_the_model_may_search_more_strictly_and_never_more_laxly() -> None:
    profile = load_profile("documentation-agent").overridden(score_threshold=0.3)
    wanted = [json.dumps({"query": "q", "similarity_threshold": value}) for value in (0.0, 0.6)]
    calls = [tool_call(args=args, name="retrieve_documentation") for args in wanted]
    machine = Machine([calls[0]], [calls[1]], ANSWER, profile=profile)
    await machine.ask("What is a node?")
    assert [asked[2] for asked in machine.searcher.asked] == [0.3, 0.3, 0.6]


async def test_isaac_sim_is_offered_no_tool_and_cites_in_its_own_form() -> None:
    machine = Machine("A node is [Source: Page 1](https://book.example/page-1).", profile=load_profile("isaac-sim"))
    response = await machine.ask("What is a node?")
    assert "tools" not in machine.model.options[0]
    assert response.content == "A node is [Source: Page 1](https://book.example/page-1#nodes)."
    assert [citation.marker for citation in response.citations] == [1]


async def test_without_a_maximum_the_length_of_an_answer_is_left_to_the_model() -> None:
    machine = Machine(ANSWER, profile=load_profile("documentation-agent"))
    await machine.ask("What is a node?")
    assert "max_tokens" not in machine.model.options[0]


async def test_the_answer_of_isaac_sim_keeps_to_its_part_of_the_window() -> None:
    machine = Machine(ANSWER, profile=load_profile("isaac-sim"))
    await machine.ask("What is a node?")
    assert 1100 < machine.model.options[0]["max_tokens"] < 1200


async def test_the_book_agents_answer_ends_with_sources_and_scores() -> None:
    response = await Machine(ANSWER, profile=load_profile("book-agent")).ask("What is a node?")
    assert response.content == f"{ANSWER}\n\n---\n**Sources:**\n[1] https://book.example/page-1#nodes (score: 0.90)"


async def test_a_turn_limit_is_announced_before_it_is_reached_and_said_when_it_is() -> None:
    machine = Machine(*[ANSWER] * 4, profile=limited("documentation-agent", max_turns=4))
    said = [[one for one in (await machine.ask("What is a node?")).notices if one != WORDS_ONLY] for _ in range(4)]
    assert said == [
        [],
        ["This conversation has 2 turns left; the limit is 4."],
        ["This conversation has 1 turn left; the limit is 4."],
        ["This conversation has no turns left; the limit is 4."],
    ]
    beyond = await machine.ask("And then?")
    assert beyond.error is not None
    assert beyond.error.message == "This conversation has reached its limit of 4 turns."
    assert beyond.content == beyond.plain_content == "Your conversation is too long. Type 'clear' to start fresh."


async def test_beyond_the_soft_limit_of_messages_a_notice_is_given_and_the_conversation_goes_on() -> None:
    machine = Machine(ANSWER, ANSWER, profile=limited("book-agent", max_messages=4))
    assert (await machine.ask("What is a node?")).notices == [WORDS_ONLY]
    second = await machine.ask("And then?")
    assert second.status == "success"
    assert second.notices[0].startswith("This conversation has 5 messages, more than the 4 that are recommended")


async def test_a_profiles_own_conversation_goes_on_unless_another_is_named() -> None:
    agent = Machine(*[ANSWER] * 3, profile=load_profile("robotics-tutor")).agent
    first, second = await agent.ask("What is a node?"), await agent.ask("And then?")
    other = await agent.ask("What is a node?", thread_id="mine")
    assert [one.thread_id for one in (first, second, other)] == ["robotics_chatbot", "robotics_chatbot", "mine"]
    assert (second.turn_number, other.turn_number) == (2, 1)


async def test_a_conversation_keeps_the_history_of_its_searches() -> None:
    machine = Machine(ANSWER, ANSWER, profile=load_profile("documentation-agent"))
    for question in ("What is a node?", "What is a topic?"):
        await machine.agent.ask(question, thread_id="t")
    stored = (await machine.agent.conversation("t"))["retrieval_history"]
    assert [search["query"] for search in stored] == ["What is a node?", "What is a topic?"]
    assert {"tool_name", "query", "results_count", "avg_similarity", "timestamp"} <= set(stored[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("documentation-agent", ("gpt-3.5-turbo", 0.0, None, 5, 0.0, 20, None, False, None, "documentation")),
        ("book-agent", ("gpt-4o-mini", 0.0, None, 5, 0.0, 50, 100, True, None, None)),
        (
            "isaac-sim",
            ("meta-llama/llama-3.2-3b-instruct:free", 0.7, 2048, 5, 0.3, None, None, True, None, None),
        ),
        ("textbook-assistant", ("gpt-4o-mini", 0.0, None, 5, 0.2, None, None, True, None, None)),
        ("robotics-tutor", ("gpt-4", 0.0, None, 3, 0.0, None, None, True, "robotics_chatbot", "robotics_textbook")),
    ],
)
def test_each_profile_has_the_defaults_of_its_design(name: str, expected: tuple[Any, ...]) -> None:
    one = load_profile(name)
    assert expected == (
        one.model.name,
        one.model.temperature,
        one.model.max_tokens,
        one.retrieval.top_k,
        one.retrieval.score_threshold,
        one.limits.max_turns,
        one.limits.max_messages,
        one.memory.persistent,
        one.memory.thread,
        one.book.collection,
    )
    assert one.limits.max_question_characters == 2000
