"""The state machine as LangGraph's own users meet it: its drawing, its streams, its interrupts and its forks."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph

from askbook import Agent, Context, Response, UsageError, open_services
from graph.agent import open_agent
from graph.build import build_graph
from rag.settings import Settings
from tests.command_line import ROOT, CommandLine
from tests.openai_server import Endpoint, Reply, answer, calls_tool, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, UNKNOWN

NODES: Final = {"__start__", "IDLE", "rewrite", "RETRIEVING", "GENERATING", "tools", "ERROR", "__end__"}
# fmt: off
EDGES: Final = {
    ("__start__", "IDLE"), ("IDLE", "RETRIEVING"), ("IDLE", "rewrite"), ("rewrite", "RETRIEVING"),
    ("RETRIEVING", "GENERATING"), ("GENERATING", "tools"), ("tools", "GENERATING"), ("GENERATING", "IDLE"),
    ("IDLE", "ERROR"), ("RETRIEVING", "ERROR"), ("GENERATING", "ERROR"), ("tools", "ERROR"), ("ERROR", "IDLE"),
    ("IDLE", "__end__"),
}
# Small talk needs no search, a fallback model is the same state, and whether a rewrite can fail is its own affair.
MAY_BE_DRAWN: Final = {("IDLE", "GENERATING"), ("GENERATING", "GENERATING"), ("rewrite", "ERROR")}

WHAT: Final = "What is a widget?"
SHAFT: Final = "A widget is a small part that turns a shaft [1]."
REPLY: Final = answer(FOUR_TEETH)
STRAIGHT: Final = "IDLE RETRIEVING GENERATING IDLE"
SEARCHED: Final = [("RETRIEVING", "processing"), ("GENERATING", "processing")]
ANSWERED: Final = [*SEARCHED, ("IDLE", "response_generated")]
FAILED: Final = [*SEARCHED, ("ERROR", "failed"), ("IDLE", "failed")]
LOOPED: Final = [*SEARCHED, ("RETRIEVING", "tool_call_needed"), ("GENERATING", "tool_executed"), ANSWERED[-1]]
LOOP: Final = "IDLE RETRIEVING GENERATING tools GENERATING IDLE"
SEARCHES: Final = calls_tool("colour of a gadget")

# name: question, replies, nodes that send updates, phases, types of the other custom events, status
TURNS: Final[dict[str, tuple[str, list[Reply], str, list[tuple[str, str]], str, str]]] = {
    "answered": (TEETH, [REPLY], STRAIGHT, ANSWERED, "retrieval sentence", "success"),
    "refused": (UNKNOWN, [], STRAIGHT, ANSWERED, "retrieval sentence", "fallback"),
    "failed": (TEETH, [refuses(401)], "IDLE RETRIEVING ERROR IDLE", FAILED, "retrieval", "error"),
    "retried": (TEETH, [refuses(500), REPLY], STRAIGHT, ANSWERED, "retrieval waiting sentence", "success"),
    "tool-calling": (TEETH, [SEARCHES, REPLY], LOOP, LOOPED, "retrieval retrieval sentence", "success"),
    "small talk": ("Thank you!", [], "IDLE GENERATING IDLE", ANSWERED[1:], "sentence", "fallback"),
}
# fmt: on
ON: Final[Any] = {"configurable": {"thread_id": "t"}}


def asks(question: str, **fields: str) -> dict[str, Any]:
    """The input of the graph, as any LangGraph client sends it."""
    return {"messages": [{"role": "user", "content": question, **fields}]}


def of_type(kind: str, events: list[Any]) -> list[Any]:
    return [event for event in events if event["type"] == kind]


def drawn_edges(mermaid: str) -> set[tuple[str, str]]:
    """The edges of a drawing, without the boxes that LangGraph adds for error handlers."""
    found = re.findall(r"^\s*(\w+) -(?:->|\.->|\..*\.->) (\w+);$", mermaid, re.MULTILINE)
    return {(source, target) for source, target in found if "handler" not in source + target}


@pytest.fixture
async def agent(settings_of: Callable[..., Settings], keys: dict[str, str]) -> AsyncIterator[Agent]:
    async with open_agent(settings_of(**keys)) as opened:
        yield opened


@pytest.fixture
async def services(settings_of: Callable[..., Settings], keys: dict[str, str]) -> AsyncIterator[Any]:
    """What somebody needs who builds and compiles the graph himself."""
    async with open_services(settings_of(**keys)) as opened:
        yield opened


async def test_the_graph_has_a_node_for_each_state_and_a_way_to_error_from_each(agent: Agent) -> None:
    drawn = agent.graph.get_graph()
    assert {node for node in drawn.nodes if "handler" not in node} == NODES
    assert drawn_edges(drawn.draw_mermaid()) - MAY_BE_DRAWN == EDGES


async def test_the_picture_in_the_readme_is_the_graph_that_runs(agent: Agent) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = readme.partition("```mermaid")[2].partition("```")[0]
    assert drawn_edges(picture) == drawn_edges(agent.graph.get_graph().draw_mermaid())
    assert set(re.findall(r"^\t(\w+)\(", picture, re.MULTILINE)) == NODES


@pytest.mark.parametrize("turn", TURNS)
async def test_a_turn_sends_an_update_for_each_state_and_an_event_for_each_step(
    turn: str, agent: Agent, model: Endpoint
) -> None:
    question, replies, nodes, phases, others, status = TURNS[turn]
    model.script[:] = [*replies, *replies]
    updates, events, last = list[str](), list[dict[str, Any]](), dict[str, Any]()
    async for mode, sent in agent.graph.astream(asks(question), ON, stream_mode=["updates", "custom"]):
        if mode == "custom":
            events.append(sent)
        else:
            updates += [node for node in sent if "handler" not in node]
            last = next(iter(sent.values()))
    assert updates == nodes.split()
    sent_phases = ((one["phase"], one["processing_state"]) for one in of_type("phase", events))
    assert [phase for phase, _ in groupby(sent_phases)] == phases  # an attempt that is repeated sends it again
    kinds = " ".join(one["type"] for one in events if one["type"] not in ("phase", "checking"))
    assert re.sub("sentence( sentence)+", "sentence", kinds) == others
    assert len(model.requests) == len(replies)
    response = last["response"]
    assert (response["status"], response["phase"], response["processing_state"]) == (status, *phases[-1])
    assert last["messages"][-1].content == response["content"]
    if status != "error":
        assert "".join(one["text"] for one in of_type("sentence", events)) == response["content"]

    streamed = [event async for event in agent.stream(question, thread_id="u")]
    assert [event.type for event in streamed] == [*(event["type"] for event in events), "response"]
    final = streamed[-1].data
    assert (final["status"], final["content"], final["thread_id"]) == (status, response["content"], "u")
    assert streamed[-1].response == Response.model_validate(final)


async def test_the_events_carry_what_the_manual_says(agent: Agent, model: Endpoint) -> None:
    model.script[:] = [refuses(503), SEARCHES, REPLY]
    events = [event async for event in agent.graph.astream(asks(TEETH), ON, stream_mode="custom")]
    first, second = of_type("retrieval", events)
    assert (first["query"], second["query"]) == (TEETH, "colour of a gadget")
    assert (first["tool_name"], first["results_count"], first["links"]["1"]) == ("search_book", 4, "widgets.md")
    (waiting,) = of_type("waiting", events)
    assert (waiting["seconds"] > 0, bool(waiting["reason"])) == (True, True)


async def test_the_rewrite_of_a_follow_up_is_searched_beside_it(
    settings_of: Callable[..., Settings], keys: dict[str, str], model: Endpoint
) -> None:
    settings = settings_of(**keys)
    own = Path(settings.home) / "profiles" / "rewriting.toml"
    own.parent.mkdir()
    own.write_text('extends = "default"\n[retrieval]\nfollowup = "rewrite"\n', encoding="utf-8")
    async with open_agent(settings, profile="rewriting") as agent:
        model.script[:] = [REPLY, answer("What does a widget turn?"), answer(SHAFT)]
        await agent.ask(TEETH, thread_id="t")
        sent = agent.graph.astream(asks("And what does it turn?"), ON, stream_mode="updates")
        updates = " ".join([node async for update in sent for node in update])
    assert updates == "IDLE rewrite RETRIEVING GENERATING IDLE"
    assert model.requests[-1].body["messages"][-1]["content"].endswith("And what does it turn?")


async def test_a_model_that_only_searches_is_stopped_after_two_searches(agent: Agent, model: Endpoint) -> None:
    model.faults["completions"] = SEARCHES
    response = await agent.ask(TEETH)
    assert (response.status, len(response.retrievals)) == ("error", 3)


async def test_the_state_holds_questions_and_answers_and_nothing_of_the_tool(agent: Agent, model: Endpoint) -> None:
    model.script[:] = [SEARCHES, REPLY, answer(SHAFT)]
    first = await agent.graph.ainvoke(asks(TEETH), ON)
    assert "turns a shaft" in json.dumps(first["contexts"])
    second = await agent.graph.ainvoke(asks(WHAT), ON)
    messages = (await agent.graph.aget_state(ON)).values["messages"]
    assert [type(message) for message in messages] == [HumanMessage, AIMessage, HumanMessage, AIMessage]
    assert [message.content for message in messages[::2]] == [TEETH, WHAT]
    assert [message.content for message in messages[1::2]] == [run["response"]["content"] for run in (first, second)]
    (cited,) = messages[1].response_metadata["citations"]
    assert (cited["url"], cited["quote"]) == ("widgets.md", "Every widget has exactly four teeth.")
    searches = [(len(run["response"]["retrievals"]), len(run["response"]["tool_calls"])) for run in (first, second)]
    assert searches == [(2, 1), (1, 0)]
    sent = [message["role"] for message in model.requests[-1].body["messages"]]
    assert sent == ["system", "user", "assistant", "user"]


@pytest.mark.xfail(strict=True, reason="machine issue: citations are also annotations of type url_citation")
async def test_the_citations_of_a_message_are_annotations_too(agent: Agent, model: Endpoint) -> None:
    model.script[:] = [REPLY]
    message = (await agent.graph.ainvoke(asks(TEETH), ON))["messages"][-1]
    (annotation,) = message.additional_kwargs["annotations"]
    assert (annotation["type"], "widgets.md" in json.dumps(annotation)) == ("url_citation", True)


@pytest.mark.xfail(strict=True, reason="machine issue: an edited question under its old id is asked again")
async def test_a_question_that_is_edited_under_its_old_id_is_asked_again(services: Any, model: Endpoint) -> None:
    graph = build_graph(services).compile(checkpointer=InMemorySaver())
    model.script[:] = [REPLY, answer(SHAFT)]
    await graph.ainvoke(asks(TEETH, id="q1"), ON)
    edited = await graph.ainvoke(asks(WHAT, id="q1"), ON)
    assert (edited["response"]["status"], edited["messages"][-2].content) == ("success", WHAT)
    assert edited["response"]["plain_content"].startswith(SHAFT)


async def test_build_graph_returns_a_fresh_graph_to_compile(services: Any, model: Endpoint) -> None:
    one, other = build_graph(services), build_graph(services)
    assert (isinstance(one, StateGraph), one is other) == (True, False)
    model.script[:] = [REPLY]
    response = (await one.compile().ainvoke(asks(TEETH), context=Context(top_k=1)))["response"]
    assert (response["status"], response["retrieval_count"]) == ("success", 1)


async def test_a_turn_stops_before_generating_and_answers_from_edited_passages(services: Any, model: Endpoint) -> None:
    graph = build_graph(services).compile(checkpointer=InMemorySaver(), interrupt_before=["GENERATING"])
    await graph.ainvoke(asks(TEETH), ON)
    state = await graph.aget_state(ON)
    assert (state.next, state.values["phase"], model.requests) == (("GENERATING",), "GENERATING", [])
    first, *others = state.values["passages"]
    edited = [{**first, "text": "Every widget has exactly nine teeth."}, *others]
    await graph.aupdate_state(ON, {"passages": edited})
    model.script[:] = [answer("Every widget has exactly nine teeth [1].")]
    response = (await graph.ainvoke(None, ON))["response"]
    prompt = model.requests[0].body["messages"][-1]["content"]
    assert ("exactly nine teeth" in prompt, "exactly four teeth" in prompt) == (True, False)
    assert response["plain_content"] == "Every widget has exactly nine teeth [1]."
    assert response["citations"][0]["quote"] == "Every widget has exactly nine teeth."


async def test_an_earlier_step_runs_again_as_a_branch_and_the_thread_goes_on(services: Any, model: Endpoint) -> None:
    graph = build_graph(services).compile(checkpointer=InMemorySaver())
    model.script[:] = [REPLY, answer(SHAFT), REPLY]
    first = (await graph.ainvoke(asks(TEETH), ON))["messages"][-1].content
    history = [state async for state in graph.aget_state_history(ON)]
    steps = " ".join(step for state in history for step in state.next)
    assert steps == "IDLE GENERATING RETRIEVING IDLE __start__"
    branch = await graph.ainvoke(None, history[2].config)
    assert [message.content for message in branch["messages"]] == [TEETH, branch["response"]["content"]]
    assert (branch["response"]["turn_number"], branch["response"]["plain_content"]) == (1, SHAFT)
    later = await graph.ainvoke(asks("How many teeth does it have?"), ON)
    assert later["response"]["turn_number"] == 2
    prompt = [message["content"] for message in model.requests[-1].body["messages"]]
    assert ("turns a shaft" in prompt[2], "four teeth" in prompt[2]) == (True, False)
    ended = [state async for state in graph.aget_state_history(ON) if not state.next]
    assert first in {state.values["messages"][-1].content for state in ended}


# What LangGraph's development server does: it calls the factory, and refuses a node that blocks its event loop.
SERVER: Final = """
import asyncio, json
from blockbuster import BlockBuster
from graph.server import make_graph

async def main():
    graph = make_graph()
    blocker = BlockBuster(excluded_modules=[])
    for name in [*blocker.functions]:
        if name.startswith(("os.path.", "io.", "os.stat", "os.listdir", "os.remove", "threading.")):
            blocker.functions.pop(name)
    blocker.activate()
    question = {"messages": [{"role": "user", "content": "How many teeth does a widget have?"}]}
    result = await graph.ainvoke(question, {"configurable": {"thread_id": "t"}})
    print(json.dumps([graph.checkpointer, result["response"]["thread_id"], result["response"]["error"]]))

asyncio.run(main())
"""


FRESH: Final = pytest.param(
    "nothing", marks=pytest.mark.xfail(strict=True, reason="machine issue: Studio's first turn in a fresh clone blocks")
)


@pytest.mark.parametrize("home", ["a book", FRESH])
def test_the_server_gets_a_graph_without_a_checkpointer_that_never_blocks(home: str, run: CommandLine) -> None:
    assert json.loads((ROOT / "langgraph.json").read_text())["graphs"]["agent"] == "graph.server:make_graph"
    where = str(run.home if home == "a book" else run.folder / home)
    (run.folder / "server.py").write_text(SERVER, encoding="utf-8")
    done = run.python(script=str(run.folder / "server.py"), PYTHONPATH=str(ROOT), ASKBOOK_HOME=where)
    assert done.data == [None, "t", None]


async def test_retry_asks_the_last_question_again_and_replaces_its_answer(agent: Agent, model: Endpoint) -> None:
    model.script[:] = [refuses(401), REPLY, answer(SHAFT), REPLY]
    failed = await agent.ask(WHAT, thread_id="t", metadata={"page": 7})
    first, again = await agent.retry("t"), await agent.retry("t")
    assert [one.processing_state for one in (failed, first, again)] == ["failed", *["response_generated"] * 2]
    assert {(one.request_id, one.turn_number) for one in (failed, first, again)} == {(failed.request_id, 1)}
    assert (again.metadata, again.error, again.plain_content.startswith(SHAFT)) == ({"page": 7}, None, True)
    assert len({failed.id, first.id, again.id}) == 3
    await agent.ask(TEETH, thread_id="t")
    prompt = [message["content"] for message in model.requests[-1].body["messages"]]
    assert (prompt[1], "turns a shaft" in prompt[2], len(prompt)) == (WHAT, True, 4)


async def test_undo_takes_the_last_turn_back_and_returns_its_question(agent: Agent, model: Endpoint) -> None:
    model.script[:] = [REPLY, answer(SHAFT)]
    first = await agent.ask(TEETH, thread_id="t")
    await agent.ask(WHAT, thread_id="t")
    with pytest.raises(UsageError) as raised:
        await agent.undo("t", last=first.request_id)
    assert raised.value.code == "other_turn"
    assert await agent.undo("t") == WHAT
    assert [turn["question"] for turn in (await agent.conversation("t"))["turns"]] == [TEETH]
    assert await agent.undo("t", last=first.request_id) == TEETH
    for command, code in ((agent.undo, "nothing_to_undo"), (agent.retry, "nothing_to_retry")):
        with pytest.raises(UsageError) as raised:
            await command("t")
        assert (raised.value.error_type, raised.value.code) == ("invalid_input", code)
