"""The machine as a whole, over fakes: its ways from a question to an answer, and what stays of a turn."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from graph.build import build_graph
from graph.storage import thread_config
from rag.errors import UsageError
from rag.observing.runs import PHASE_OF
from rag.profiles.profile import Profile, load_profile
from state import EMPTY_TURN, AgentState, Context, InputState
from tests.drawing import README, draw, in_page
from tests.fakes import FakeSearcher, FakeServices, ScriptedModel, final, passage, tool_call
from tests.machine import ANSWER, Machine
from tests.stage import limited

REFUSAL = load_profile("default").answer.refusal


# --- the ways through the machine -----------------------------------------------------------------------------------


async def test_a_question_is_searched_then_answered() -> None:
    machine = Machine(ANSWER)
    response = await machine.ask("What is a node?")
    assert machine.phases == ["RETRIEVING", "GENERATING", "IDLE"]
    assert (response.status, response.plain_content) == ("success", ANSWER)


async def test_the_state_names_the_phase_that_comes_next() -> None:
    machine = Machine(ANSWER)
    seen = []
    start = InputState(messages=[HumanMessage("What is a node?")])
    async for values in machine.graph.astream(start, thread_config("t"), stream_mode="values"):
        assert isinstance(values, dict)
        seen.append(values.get("phase"))
    assert seen == [None, "RETRIEVING", "GENERATING", "IDLE", "IDLE"]


async def test_an_ordinary_answer_costs_one_model_call() -> None:
    machine = Machine(ANSWER)
    response = await machine.ask("What is a node?")
    assert response.llm_calls == len(machine.model.prompts) == 1


async def test_without_a_passage_the_answer_is_the_refusal_and_no_model_is_called() -> None:
    machine = Machine(passages=[])
    response = await machine.ask("Who won the cup?")
    assert (response.status, response.fallback_reason, response.content) == ("fallback", "no_passage", REFUSAL)
    assert (response.llm_calls, machine.model.prompts, machine.shown) == (0, [], REFUSAL)


async def test_a_passage_below_the_threshold_is_none() -> None:
    machine = Machine(passages=[passage(score=0.19)])
    assert (await machine.ask("What is a node?")).fallback_reason == "no_passage"


async def test_what_was_shown_is_the_content() -> None:
    machine = Machine(["A node ", "is a process [1]. ", "It is [9] small.\n\nVery", " small [1]."])
    response = await machine.ask("What is a node?")
    assert machine.shown == response.content


async def test_a_machine_that_answered_is_at_rest() -> None:
    machine = Machine(ANSWER)
    await machine.ask("What is a node?")
    assert await machine.is_at_rest()


async def test_a_machine_can_be_called_without_a_context() -> None:
    machine = Machine(ANSWER)
    values = await machine.graph.ainvoke(InputState(messages=[HumanMessage("What is a node?")]), thread_config("t"))
    assert values["response"]["status"] == "success"


async def test_a_plain_message_of_a_client_is_a_question() -> None:
    machine = Machine(ANSWER)
    question = {"messages": [{"role": "user", "content": "What is a node?"}]}
    values = await machine.graph.ainvoke(question, thread_config("t"))
    assert values["messages"][0].text == "What is a node?"
    assert values["response"]["status"] == "success"


async def test_a_machine_without_a_memory_answers_too() -> None:
    from graph.build import build_graph

    graph = build_graph(Machine(ANSWER).services).compile()
    values = await graph.ainvoke(InputState(messages=[HumanMessage("What is a node?")]))
    assert values["response"]["status"] == "success"


# --- another search -------------------------------------------------------------------------------------------------


async def test_the_model_may_search_again() -> None:
    machine = Machine([tool_call("ros graph")], ANSWER)
    response = await machine.ask("What is a node?")
    assert machine.phases == ["RETRIEVING", "GENERATING", "RETRIEVING", "GENERATING", "IDLE"]
    assert [one[0] for one in machine.searcher.asked] == ["What is a node?", "ros graph"]
    assert (response.llm_calls, len(response.retrievals)) == (2, 2)
    assert response.tool_calls[0].args == {"query": "ros graph"}


async def test_passages_of_a_second_search_are_numbered_on_and_can_be_cited() -> None:
    machine = Machine([tool_call()], "A topic is a bus [2].", later=[[passage(2, "A topic is a bus.")]])
    response = await machine.ask("What is a topic?")
    assert [(citation.marker, citation.title) for citation in response.citations] == [(1, "Page 2")]
    assert [chunk.rank for chunk in response.retrieved_chunks] == [1, 2]


async def test_the_model_reads_the_answer_to_its_call() -> None:
    machine = Machine([tool_call()], ANSWER)
    await machine.ask("What is a node?")
    assert [message.type for message in machine.model.prompts[1]] == ["system", "human", "ai", "tool"]


@pytest.mark.parametrize("rounds", [0, 1, 3])
async def test_the_profile_bounds_how_often_the_model_searches(rounds: int) -> None:
    machine = Machine(*[[tool_call(call_id=str(n))] for n in range(rounds)], ANSWER, profile=with_rounds(rounds))
    assert (await machine.ask("What is a node?")).llm_calls == rounds + 1
    assert ["tools" in options for options in machine.model.options] == [True] * rounds + [False]


@pytest.mark.parametrize("said", [[], ["[1] "]])
async def test_a_model_that_searches_without_end_has_not_said_that_the_book_has_no_answer(said: list[str]) -> None:
    machine = Machine(*[[*said, tool_call(call_id=str(n))] for n in range(5)])
    response = await machine.ask("What is a node?")
    assert response.error is not None
    assert (response.error.code, response.error.recoverable, response.llm_calls) == ("empty_answer", True, 2)
    assert (response.fallback_reason, machine.shown) == (None, "")
    machine.model.assert_complete()


async def test_a_turn_that_fails_reports_the_model_calls_before_its_failure() -> None:
    machine = Machine([tool_call()], final())
    response = await machine.ask("What is a node?")
    assert (response.status, response.llm_calls) == ("error", 1)
    assert response.tokens_used.total > 0
    failed = (await machine.state())["messages"][-1]
    assert isinstance(failed, AIMessage)
    assert failed.usage_metadata is not None
    assert failed.usage_metadata["total_tokens"] == response.tokens_used.total
    machine.model.assert_complete()


async def test_a_turn_whose_first_call_fails_reports_none() -> None:
    response = await Machine(final()).ask("What is a node?")
    assert (response.status, response.llm_calls, response.tokens_used.total) == ("error", 0, 0)


async def test_a_model_that_asks_for_one_search_too_many_is_asked_once_more_to_answer() -> None:
    response = await Machine(*[[tool_call(call_id=str(n))] for n in range(3)], ANSWER).ask("What is a node?")
    assert (response.status, response.plain_content) == ("success", ANSWER)


@pytest.mark.parametrize("broken", [{"args": "{not json"}, {"args": "{}"}, {"name": "no_such_tool", "args": "{}"}])
async def test_a_broken_tool_call_gets_an_answer_and_the_turn_goes_on(broken: dict[str, str]) -> None:
    machine = Machine([tool_call(**broken)], ANSWER, "Again, a node is a process [1].")
    assert (await machine.ask("What is a node?")).status == "success"
    assert [message.type for message in machine.model.prompts[1]][-1] == "tool"
    assert (await machine.ask("And now?")).status == "success"


async def test_tool_calls_stay_out_of_the_conversation() -> None:
    machine = Machine([tool_call()], ANSWER)
    await machine.ask("What is a node?")
    assert [message.type for message in (await machine.state())["messages"]] == ["human", "ai"]


def with_rounds(rounds: int) -> Profile:
    profile = load_profile("default")
    assert profile.tool is not None
    return profile.model_copy(update={"tool": profile.tool.model_copy(update={"max_rounds": rounds})})


# --- what stays of a turn -------------------------------------------------------------------------------------------


async def test_only_question_and_answer_join_the_conversation() -> None:
    machine = Machine(ANSWER)
    response = await machine.ask("What is a node?")
    assert await machine.contents() == ["What is a node?", response.content]


async def test_the_answer_carries_its_citations() -> None:
    machine = Machine(ANSWER)
    response = await machine.ask("What is a node?")
    message = (await machine.state())["messages"][-1]
    assert isinstance(message, AIMessage)
    assert message.response_metadata["citations"] == [one.model_dump(mode="json") for one in response.citations]


async def test_what_belongs_to_a_turn_is_emptied_when_it_closes() -> None:
    machine = Machine([tool_call()], ANSWER)
    await machine.ask("What is a node?")
    state = await machine.state()
    emptied = EMPTY_TURN | {"turn": None, "metadata": None, "aside": None}
    assert {name: state.get(name) for name in emptied if name != "response"} | {"response": None} == emptied
    assert set(AgentState.__annotations__) == {
        "messages",
        "phase",
        "turn_number",
        "past",
        "contexts",
        "unreadable",
        *emptied,
    }


async def test_turns_are_counted() -> None:
    machine = Machine(ANSWER, ANSWER)
    assert [(await machine.ask("What is a node?")).turn_number for _ in range(2)] == [1, 2]


async def test_threads_do_not_know_each_other() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.ask("What is a node?", thread="a")
    assert (await machine.ask("What is a node?", thread="b")).turn_number == 1
    assert len(machine.model.prompts[1]) == 2


async def test_the_next_prompt_has_the_turns_before_without_their_markers() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.ask("What is a node?")
    await machine.ask("And then?")
    texts = [message.text for message in machine.model.prompts[1]]
    assert texts[1:3] == ["What is a node?", "A node is a process."]
    assert "**Sources:**" not in machine.prompt()


async def test_the_next_search_knows_the_turns_before() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.ask("What is a node?")
    await machine.ask("And then?")
    assert machine.searcher.asked[1][4] == [("What is a node?", "A node is a process.")]


async def test_the_passages_of_a_turn_are_not_in_the_prompt_of_the_next() -> None:
    machine = Machine(
        "Paint [1].", "Blue [1].", passages=[passage(1, "The paint dries in an hour.")], later=[[passage()]]
    )
    await machine.ask("What dries?")
    await machine.ask("Which colour?")
    assert "dries in an hour" in machine.prompt(0)
    assert "dries in an hour" not in machine.prompt(1)


async def test_a_refusal_stays_out_of_later_prompts_and_searches() -> None:
    machine = Machine(REFUSAL, ANSWER)
    assert (await machine.ask("Who won the cup?")).fallback_reason == "model_refused"
    await machine.ask("What is a node?")
    assert "cup" not in machine.prompt()
    assert machine.searcher.asked[1][4] == []


async def test_the_metadata_of_a_request_is_echoed_once() -> None:
    machine = Machine(ANSWER, ANSWER)
    start = InputState(messages=[HumanMessage("What is a node?")], metadata={"client": "a"})
    first = await machine.graph.ainvoke(start, thread_config("t"))
    second = await machine.ask("And then?")
    assert (first["response"]["metadata"], second.metadata) == ({"client": "a"}, {})


async def test_the_context_of_one_run_is_gone_in_the_next() -> None:
    machine = Machine(ANSWER, ANSWER)
    await machine.ask("What is a node?", Context(top_k=1, citation_style="chapter"))
    response = await machine.ask("What is a node?")
    assert machine.searcher.asked[1][1] == 5
    assert response.citations[0].formatted == "[1]"


async def test_a_turn_limit_leaves_what_was_said_before() -> None:
    machine = Machine(ANSWER, profile=limited(max_turns=1))
    first = await machine.ask("What is a node?")
    await machine.ask("And then?")
    assert await machine.contents() == ["What is a node?", first.content]


# --- the drawing ----------------------------------------------------------------------------------------------------


def test_the_drawing_in_the_readme_is_the_machine() -> None:
    page = README.read_text(encoding="utf-8")
    drawn = f"<!-- machine -->\n```mermaid\n{draw()}\n```\n<!-- /machine -->"
    assert drawn in page, "run: python -m tests.drawing --write"
    assert in_page(page) == page


def test_the_drawing_shows_where_failures_lead() -> None:
    failed = [line.strip() for line in draw().splitlines() if "failed" in line]
    assert [line.split()[0] for line in failed] == ["GENERATING", "IDLE", "RETRIEVING", "tools"]
    assert all(line.endswith("ERROR;") for line in failed)


def test_no_box_of_the_drawing_stands_apart() -> None:
    drawn = build_graph(FakeServices(ScriptedModel(), FakeSearcher())).compile().get_graph()
    tied = {edge.source for edge in drawn.edges} | {edge.target for edge in drawn.edges}
    apart = set(drawn.nodes) - tied
    assert apart == set(), "add an edge in graph/build.py, or destinations, and run: python -m tests.drawing --write"
    known = {"__start__", "__end__", "IDLE", "RETRIEVING", "GENERATING", "ERROR", "rewrite", "tools"}
    assert set(drawn.nodes) == known, "name the new node here, and run: python -m tests.drawing --write"


def test_every_node_has_a_phase_in_the_log() -> None:
    drawn = build_graph(FakeServices(ScriptedModel(), FakeSearcher())).compile().get_graph()
    assert {*PHASE_OF, "__start__", "__end__"} == set(drawn.nodes), "enter the node in rag/observing/runs.py"


def test_a_page_without_a_place_for_the_drawing_is_refused() -> None:
    with pytest.raises(UsageError):
        in_page("# A page\n")


async def test_a_turn_ends_with_the_texts_of_its_passages_and_its_tokens_for_evaluators() -> None:
    counted = AIMessageChunk(content="", usage_metadata={"input_tokens": 11, "output_tokens": 7, "total_tokens": 18})
    machine = Machine([ANSWER, counted])
    values = await machine.graph.ainvoke({"messages": [("user", "What is a node?")]}, thread_config("t"))
    assert [one["text"] for one in values["contexts"]] == [passage().text]
    assert values["messages"][-1].usage_metadata == {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    stored = await machine.graph.aget_state(thread_config("t"))
    assert "contexts" not in stored.values, "the texts of passages are not stored with a conversation"


async def test_a_run_chooses_a_model_that_the_operator_offers() -> None:
    machine = Machine(ANSWER, ANSWER, ANSWER)
    machine.services.models = ("another",)
    chosen = await machine.ask("What is a node?", Context(model="another"))
    own = await machine.ask("What is a node?", Context(model="scripted"))
    unset = await machine.ask("What is a node?")
    assert [one.model for one in (chosen, own, unset)] == ["another", "scripted", "scripted"]
    assert [options.get("model") for options in machine.model.options] == ["another", None, None]


async def test_a_model_that_is_not_offered_is_an_error_that_lists_those_that_are() -> None:
    machine = Machine()
    machine.services.models = ("another",)
    response = await machine.ask("What is a node?", Context(model="expensive"))
    assert response.error is not None
    assert (response.error.code, response.error.hint) == ("unknown_model", "Models: scripted, another.")


async def test_without_a_key_only_models_that_could_answer_may_be_chosen() -> None:
    machine = Machine(quotes=True)
    machine.services.models = ("another",)
    own = machine.services.parts(None).profile.model.name
    chosen = [await machine.ask("What is a node?", Context(model=name)) for name in (own, "another", "expensive")]
    assert [one.error and one.error.code for one in chosen] == [None, None, "unknown_model"]
    assert [one.status for one in chosen] == ["success", "success", "error"]
