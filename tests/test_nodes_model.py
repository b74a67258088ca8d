"""The nodes around the model, `generate` and `tools`: how the machine answers, told in rules.

A node is called directly, with a small state and a runtime that notes what the node writes to the stream. What it
returns is the update of the state. Nothing is compiled, searched or asked: search and model are fakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage, messages_to_dict
from langchain_core.outputs import ChatGenerationChunk

from nodes import generate as generating
from nodes import model_call
from nodes.tools import tools
from nodes.turn import exchange_of
from rag.answer.render import unconfirmed_answer
from rag.book import SearchFilter
from rag.errors import AskbookError, RetrievalError
from rag.profiles.profile import Profile, load_profile
from rag.types import Passage
from state import AgentState, Context
from tests.fakes import FakeSearcher, ScriptedModel, passage, refuses_tools, tool_call
from tests.machine import Machine
from tests.stage import Stream, as_data, asked, parts_of, wanting

REFUSAL = load_profile("default").answer.refusal


@pytest.fixture
def stream() -> Stream:
    return Stream()


# --- generate -------------------------------------------------------------------------------------------------------


async def generate(
    model: ScriptedModel, stream: Stream, *passages: Passage, quotes: bool = False, **state: Any
) -> dict[str, Any]:
    opened = asked(passages=as_data(*passages), **state)
    return await generating.generate(opened, stream.runtime, parts_of=parts_of(model, quotes=quotes))


async def test_without_a_passage_the_answer_is_the_refusal_and_the_model_is_not_called(stream: Stream) -> None:
    model = ScriptedModel()
    update = await generate(model, stream)
    assert (update["draft"]["status"], update["draft"]["fallback_reason"]) == ("fallback", "no_passage")
    assert update["draft"]["content"] == stream.sentences == REFUSAL
    assert model.prompts == []


async def test_an_answer_becomes_a_draft_with_resolved_citations(stream: Stream) -> None:
    update = await generate(ScriptedModel(script=["A node is a process [1]."]), stream, passage())
    assert update["phase"] == "IDLE"
    assert update["draft"]["status"] == "success"
    assert [citation["marker"] for citation in update["draft"]["citations"]] == [1]


async def test_what_was_streamed_is_what_the_draft_says(stream: Stream) -> None:
    script = [["A node ", "is a process [", "1]. It", " talks [7] to others [1].\n", "\nThat is", " all."]]
    update = await generate(ScriptedModel(script=script), stream, passage())
    assert stream.sentences == update["draft"]["content"]


async def test_one_call_of_the_model_is_counted_as_one(stream: Stream) -> None:
    assert (await generate(ScriptedModel(script=["Yes [1]."]), stream, passage()))["llm_calls"] == 1


async def test_an_answer_that_only_quotes_costs_no_model_call(stream: Stream) -> None:
    model = ScriptedModel()
    update = await generate(model, stream, passage(), quotes=True)
    assert update["draft"]["content"] == stream.sentences
    assert model.prompts == []
    assert update["llm_calls"] == 0
    assert update["draft"]["tokens_used"]["total"] == 0


async def test_the_answerer_that_quotes_gets_the_question_the_passages_and_the_earlier_turns() -> None:
    machine = Machine(passages=[passage(1), passage(2)], quotes=True)
    for question in ("What is a node?", "And what is it for?"):
        response = await machine.ask(question)
    first, second = machine.services.quoter.asked
    assert first == ("What is a node?", [passage(1), passage(2)], [])
    assert second[::2] == ("And what is it for?", [("What is a node?", "A node is a process.")])
    assert "".join(event["text"] for event in machine.events if event["type"] == "sentence") == response.content


async def test_the_models_own_refusal_is_a_fallback(stream: Stream) -> None:
    update = await generate(ScriptedModel(script=[REFUSAL + "."]), stream, passage())
    assert (update["draft"]["status"], update["draft"]["fallback_reason"]) == ("fallback", "model_refused")
    assert update["draft"]["content"] == stream.sentences == REFUSAL


async def test_nothing_follows_a_refusal(stream: Stream) -> None:
    update = await generate(ScriptedModel(script=[f"{REFUSAL}. But the weather is fine."]), stream, passage())
    assert update["draft"]["content"] == stream.sentences == REFUSAL


async def test_an_answer_of_unknown_markers_alone_is_not_confirmed_and_says_so(stream: Stream) -> None:
    update = await generate(ScriptedModel(script=["[9]"]), stream, passage())
    assert update["draft"]["status"] == "fallback"
    assert update["draft"]["content"] == stream.sentences == unconfirmed_answer([passage()])


async def test_the_model_is_offered_the_profiles_tool(stream: Stream) -> None:
    model = ScriptedModel(script=["Yes [1]."])
    await generate(model, stream, passage())
    assert [tool["function"]["name"] for tool in model.options[0]["tools"]] == ["search_book"]


async def test_the_caller_sets_temperature_and_length_of_the_answer() -> None:
    model = ScriptedModel(script=["Yes [1]."])
    await generate(model, Stream(Context(temperature=0.7, max_tokens=99)), passage())
    assert (model.options[0]["temperature"], model.options[0]["max_tokens"]) == (0.7, 99)


async def test_the_caller_chooses_how_citations_are_written() -> None:
    model = ScriptedModel(script=["A node is a process [1]."])
    update = await generate(model, Stream(Context(citation_style="source")), passage())
    link = "[Source: Page 1](https://book.example/page-1#nodes)"
    assert update["draft"]["content"] == f"A node is a process {link}."
    assert update["draft"]["plain_content"] == "A node is a process [1]."


async def test_a_tool_call_leads_to_another_search_and_not_to_an_answer(stream: Stream) -> None:
    update = await generate(ScriptedModel(script=[[tool_call("ros nodes")]]), stream, passage())
    assert update["phase"] == "RETRIEVING"
    assert update["tool_calls"] == [{"name": "search_book", "args": {"query": "ros nodes"}}]
    assert [message.tool_calls[0]["id"] for message in exchange(update)] == ["call-1"]
    assert "content" not in update["draft"]


async def test_gemini_gets_its_signature_of_a_tool_call_back_and_nothing_else_is_kept(stream: Stream) -> None:
    signed = {"__gemini_function_call_thought_signatures__": {"call-1": "c2lnbmVk"}}
    message = tool_call().model_copy(update={"additional_kwargs": {**signed, "reasoning": "Hm."}})
    update = await generate(ScriptedModel(script=[[message]]), stream, passage())
    assert [message.additional_kwargs for message in exchange(update)] == [signed]


async def test_what_was_said_before_a_tool_call_is_withdrawn(stream: Stream) -> None:
    await generate(ScriptedModel(script=[["A node is a process [1]. One moment", tool_call()]]), stream, passage())
    assert stream.types == ["phase", "sentence", "retract"]


async def test_the_last_round_offers_no_tool(stream: Stream) -> None:
    model = ScriptedModel(script=["Yes [1]."])
    rounds = [AIMessage("", tool_calls=[{"name": "search_book", "args": {}, "id": str(n)}]) for n in (1, 2)]
    await generate(model, stream, passage(), exchange=messages_to_dict(rounds))
    assert "tools" not in model.options[0]


async def test_a_tool_call_where_none_was_offered_is_no_answer_and_no_refusal(stream: Stream) -> None:
    rounds = [AIMessage("", tool_calls=[{"name": "search_book", "args": {}, "id": str(n)}]) for n in (1, 2)]
    with pytest.raises(AskbookError) as caught:
        await generate(ScriptedModel(script=[[tool_call()]]), stream, passage(), exchange=messages_to_dict(rounds))
    assert (caught.value.code, caught.value.retryable, stream.sentences) == ("empty_answer", True, "")


async def test_tokens_are_estimated_where_the_provider_counts_none(stream: Stream) -> None:
    tokens = (await generate(ScriptedModel(script=["Yes [1]."]), stream, passage()))["draft"]["tokens_used"]
    assert tokens["estimated"]
    assert tokens["total"] == tokens["input"] + tokens["output"] > 0


async def test_tokens_of_all_calls_of_the_turn_are_added_up(stream: Stream) -> None:
    before = {"input": 1000, "output": 100, "total": 1100, "estimated": False}
    update = await generate(ScriptedModel(script=["Yes [1]."]), stream, passage(), draft={"tokens_used": before})
    assert update["draft"]["tokens_used"]["input"] > 1000


async def test_an_empty_answer_is_a_failure_that_may_pass(stream: Stream) -> None:
    with pytest.raises(AskbookError) as caught:
        await generate(ScriptedModel(script=["  "]), stream, passage())
    assert (caught.value.code, caught.value.retryable) == ("empty_answer", True)


async def test_a_failure_before_the_first_sentence_may_be_retried(stream: Stream) -> None:
    with pytest.raises(AskbookError) as caught:
        await generate(ScriptedModel(script=[["Half a sen", TimeoutError()]]), stream, passage())
    assert caught.value.retryable
    assert stream.types == ["phase"]


@pytest.mark.parametrize("failure", [TimeoutError(), refuses_tools()])
async def test_a_failure_after_a_shown_sentence_withdraws_it_and_is_final(failure: Exception, stream: Stream) -> None:
    model = ScriptedModel(script=[["A node is a process [1]. Half", failure]])
    with pytest.raises(AskbookError) as caught:
        await generate(model, stream, passage())
    assert not caught.value.retryable
    assert len(model.prompts) == 1
    assert stream.types == ["phase", "sentence", "retract"]


class SilentModel(ScriptedModel):
    """Sends nothing for a while."""

    async def _astream(self, *arguments: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.sleep(0.05)
        async for chunk in super()._astream(*arguments, **options):
            yield chunk


async def test_a_model_may_send_nothing_for_as_long_as_the_profile_says(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_call, "_SILENCE", 0.01)
    profile = load_profile("default")
    hasty = profile.model_copy(update={"model": profile.model.model_copy(update={"timeout_seconds": 0.01})})
    said, state = ["A node is a process [1]."], asked(passages=as_data(passage()))
    with pytest.raises(AskbookError) as caught:
        await generating.generate(state, stream.runtime, parts_of=parts_of(SilentModel(script=said), profile=hasty))
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    update = await generate(SilentModel(script=said), stream, passage())
    assert update["draft"]["status"] == "success"


async def test_the_text_of_a_foreign_exception_goes_no_further(stream: Stream) -> None:
    with pytest.raises(AskbookError) as caught:
        await generate(ScriptedModel(script=[RuntimeError("key sk-canary")]), stream, passage())
    assert "canary" not in str(caught.value.info())


async def test_generate_refuses_to_work_without_an_open_turn(stream: Stream) -> None:
    with pytest.raises(AskbookError) as caught:
        await generating.generate(AgentState(messages=[]), stream.runtime, parts_of=parts_of())
    assert caught.value.code == "no_turn"


def exchange(update: Any) -> list[Any]:
    """The messages that an update keeps of the tool calls."""
    return exchange_of(update)


# --- tools ----------------------------------------------------------------------------------------------------------


async def search_again(
    searcher: FakeSearcher, stream: Stream, message: AIMessage, *known: Passage, profile: Profile | None = None
) -> dict[str, Any]:
    state = asked(passages=as_data(*known), exchange=messages_to_dict([message]))
    return await tools(state, stream.runtime, parts_of=parts_of(searcher=searcher, profile=profile))


async def test_tools_searches_with_the_models_words_and_without_the_history(stream: Stream) -> None:
    searcher = FakeSearcher([passage(2)])
    await search_again(searcher, stream, wanting({"args": {"query": "nodes", "top_k": 3}, "id": "a"}), passage(1))
    assert searcher.asked == [("nodes", 3, 0.2, None, [])]


@pytest.mark.parametrize(("wanted", "used"), [(0.1, 0.3), (0.6, 0.6)])
async def test_the_model_may_raise_the_score_threshold_and_not_lower_it(
    wanted: float, used: float, stream: Stream
) -> None:
    searcher, profile = FakeSearcher(), load_profile("documentation-agent").overridden(score_threshold=0.3)
    call = {"name": "retrieve_documentation", "args": {"query": "q", "similarity_threshold": wanted}, "id": "a"}
    await search_again(searcher, stream, wanting(call), profile=profile)
    assert [threshold for _, _, threshold, *_ in searcher.asked] == [used]


async def test_tools_tells_its_phase_and_every_search(stream: Stream) -> None:
    calls = [{"args": {"query": name}, "id": name} for name in ("a", "b")]
    await search_again(FakeSearcher([passage(2)]), stream, wanting(*calls), passage(1))
    assert stream.types == ["phase", "retrieval", "retrieval"]


async def test_new_passages_are_numbered_on(stream: Stream) -> None:
    searcher = FakeSearcher([passage(1, chunk_id="new", text="Something new.")])
    update = await search_again(searcher, stream, wanting({"args": {"query": "q"}, "id": "a"}), passage(1), passage(2))
    assert [(one["number"], one["chunk_id"][-3:]) for one in update["passages"]] == [(1, "001"), (2, "002"), (3, "new")]
    assert "[3] Source:" in exchange(update)[-1].content


async def test_a_passage_that_is_known_keeps_its_number_and_is_not_sent_again(stream: Stream) -> None:
    update = await search_again(
        FakeSearcher([passage(1)]), stream, wanting({"args": {"query": "q"}, "id": "a"}), passage(1)
    )
    assert update["passages"] == as_data(passage(1))
    assert "Already given: [1]." in exchange(update)[-1].content
    assert passage(1).text not in exchange(update)[-1].content


async def test_every_call_gets_its_answer(stream: Stream) -> None:
    calls = [{"args": {"query": f"q{n}"}, "id": f"id-{n}"} for n in range(5)]
    update = await search_again(FakeSearcher([passage(2)]), stream, wanting(*calls), passage(1))
    answers = [message for message in exchange(update) if isinstance(message, ToolMessage)]
    assert [message.tool_call_id for message in answers] == [f"id-{n}" for n in range(5)]


async def test_at_most_three_calls_of_a_message_are_searched(stream: Stream) -> None:
    searcher = FakeSearcher([passage(2)])
    calls = [{"args": {"query": f"q{n}"}, "id": f"id-{n}"} for n in range(5)]
    update = await search_again(searcher, stream, wanting(*calls), passage(1))
    assert len(searcher.asked) == 3
    assert exchange(update)[-1].content == "At most 3 searches at once."


@pytest.mark.parametrize(
    ("args", "said"),
    [({}, "query is required"), ({"query": "q", "top_k": 99}, "top_k must be"), ({"query": "q", "url": "x"}, "'url'")],
)
async def test_a_call_with_wrong_arguments_is_told_what_is_wrong(args: Any, said: str, stream: Stream) -> None:
    searcher = FakeSearcher([passage(2)])
    update = await search_again(searcher, stream, wanting({"args": args, "id": "a"}), passage(1))
    assert said in exchange(update)[-1].content
    assert searcher.asked == []


async def test_a_call_whose_arguments_are_no_json_is_told_so(stream: Stream) -> None:
    broken = AIMessage("", invalid_tool_calls=[{"name": "search_book", "args": "{", "id": "a", "error": None}])
    update = await search_again(FakeSearcher(), stream, broken, passage(1))
    assert exchange(update)[-1].content == "The arguments are not valid JSON."
    assert exchange(update)[-1].tool_call_id == "a"


async def test_a_search_of_the_model_that_fails_is_told_to_the_model(stream: Stream) -> None:
    searcher = FakeSearcher(failures=[RetrievalError("unreachable", "The index is away.")])
    update = await search_again(searcher, stream, wanting({"args": {"query": "q"}, "id": "a"}), passage(1))
    assert exchange(update)[-1].content == "Could not search the book content. Please try again."
    assert update["phase"] == "GENERATING"


async def test_the_filter_of_the_caller_holds_for_the_models_searches_too() -> None:
    searcher = FakeSearcher()
    stream = Stream(Context(filter="https://book.example/guide"))
    await search_again(searcher, stream, wanting({"args": {"query": "q"}, "id": "a"}), passage(1))
    assert searcher.asked[0][3] == SearchFilter(url_prefix="https://book.example/guide")
