"""The five designs in their own terms, each through its profile: what is sent to the model and what comes of it."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from qdrant_client.models import Distance, PointStruct, VectorParams

from graph.agent import open_agent
from tests.cohere_server import cohere_server, says, vector
from tests.command_line import CommandLine
from tests.openai_server import OPENAI_KEY, Endpoint, Reply, Request, answer, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH
from tests.outside.test_responses import MODELS, REFUSAL, Asking, Script
from tests.qdrant_server import QdrantServer, refused
from tests.wire import listening

DESIGNS: Final = tomllib.loads((Path(__file__).parent / "designs.toml").read_text(encoding="utf-8"))
DOC, BOOK, ISAAC, TEXTBOOK, TUTOR = list(MODELS)[1:]
FIND: Final = {
    **dict.fromkeys([DOC, BOOK], "retrieve_documentation"),
    **{TEXTBOOK: "search_knowledge_base", TUTOR: "retrieve_textbook_content"},
}
CLEAN: Final = "Clean a gadget with warm water once a month"
CLEANING: Final = {"query": "cleaning a gadget"}
BEFORE: Final = "Before installing, ensure you have Python 3.11 or higher and 8 GB of memory"
PAGE: Final = "https://book.example/docs/install#prerequisites"


@pytest.fixture
def ask(run: CommandLine, model: Endpoint, keys: dict[str, str]) -> Asking:
    return Asking(run, model, keys)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a book of two chapters that has addresses."""
    pages = tmp_path_factory.mktemp("site")
    (pages / "install.md").write_text(f"# Chapter 2: Installation\n\nTwo boxes.\n\n## Prerequisites\n\n{BEFORE}.\n")
    (pages / "run.md").write_text("# Chapter 3: Running\n\nStart the robot with the green button on its back.\n")
    run = CommandLine(tmp_path_factory.mktemp("home"))
    assert run("ingest", str(pages), "--base-url", "https://book.example/docs").code == 0
    return run.home


@pytest.fixture
def ask_site(site: Path, tmp_path: Path, model: Endpoint, keys: dict[str, str]) -> Callable[[str, str], Any]:
    """What comes of an answer to a question about that book."""
    asking = Asking(CommandLine(tmp_path / "site", site), model, keys)
    return lambda profile, text: asking("What are the prerequisites?", [answer(text)], "--profile", profile)


@pytest.mark.parametrize("profile", [*FIND, ISAAC])
def test_the_model_gets_the_prompt_and_the_tool_of_its_design(ask: Asking, profile: str) -> None:
    ask(TEETH, [answer(FOUR_TEETH)], "--profile", profile)
    sent, prompt = ask.sent(), DESIGNS["prompts"].get(profile, "")
    system, user = (message["content"] for message in sent["messages"])
    assert (system.startswith(prompt), "[1]" in system.removeprefix(prompt)) == (True, True)  # our rule comes after
    assert "\n[1] Source: Widgets (widgets.md)\nA widget is a small part that turns a shaft." in user
    assert (user.startswith("Context from book:\n\n"), user.rstrip().endswith(TEETH)) == (profile == ISAAC, True)
    assert (sent["model"], sent["temperature"]) == (MODELS[profile], 0.7 if profile == ISAAC else 0)
    longest = sent.get("max_tokens", sent.get("max_completion_tokens"))
    assert 0 < longest <= 1200 if profile == ISAAC else longest is None
    tools = [one["function"] for one in sent.get("tools", [])]
    if profile == TEXTBOOK:
        assert (tools[0]["name"], tools[0]["parameters"]["required"]) == (FIND[profile], ["query"])
        assert [one["type"] for one in tools[0]["parameters"]["properties"].values()] == ["string"]
    else:
        design = DESIGNS["tools"].get(DOC if profile == BOOK else profile)
        assert tools == ([design] if design else [])


def calls(profile: str, **arguments: Any) -> Reply:
    tool = {"id": "call-1", "name": FIND[profile], "arguments": json.dumps(arguments)}
    return Reply(tool=tool, finish="tool_calls")


def result_of(sent: Any) -> Any:
    """What the model got for its tool call, the last message of a request."""
    assert [message["role"] for message in sent["messages"][-2:]] == ["assistant", "tool"]
    return json.loads(sent["messages"][-1]["content"])


# What a tool gives of one passage, by the names of each design.
D0: Final = {"chunk_text": f"{CLEAN}. Never use alcohol on the paint.", "page_title": "Gadgets", "rank": 1}
D0_OF: Final = D0 | {"section_heading": "Cleaning a gadget", "source_url": "gadgets.md"}
D3: Final = {"content": D0["chunk_text"], "source_url": "gadgets.md", "source_file_path": "gadgets.md"}
D4: Final = {"rank": 1, "url": "gadgets.md", "title": "Gadgets", "text": D0["chunk_text"]}


@pytest.mark.parametrize(("profile", "more", "rest", "passage", "score"), [
    (DOC, {"top_k": 2}, CLEANING | {"total_results": 2}, D0_OF, "similarity_score"),
    (BOOK, {"similarity_threshold": 0.6}, CLEANING | {"total_results": 1}, D0_OF, "similarity_score"),
    (TEXTBOOK, {}, CLEANING, D3 | {"chunk_index": 1}, "score"),
    (TUTOR, {"k": 2}, {"error": None}, D4 | {"heading": "Cleaning a gadget"}, "score"),
])  # fmt: skip
def test_the_result_of_a_tool_has_the_form_of_its_design(
    ask: Asking, profile: str, more: Any, rest: Any, passage: Any, score: str
) -> None:
    def cites_what_was_found(request: Request) -> Reply:
        found = result_of(request.body)
        return answer(f"{CLEAN} [{(found.get('results') or found['chunks'])[0]['number']}].")

    replies: Script = [calls(profile, **CLEANING | more), cites_what_was_found]
    response = ask(TEETH, replies, "--profile", profile, "-k", "1")
    result = result_of(ask.sent())
    results = result.get("results") or result["chunks"]
    assert (results[0] | passage, result | rest) == (results[0], result)
    assert 0 < results[0][score] <= 1
    assert len(results) == more.get("top_k", more.get("k", 1))
    assert response["tool_calls"] == [{"name": FIND[profile], "args": CLEANING | more}]
    assert [one["tool_name"] for one in response["retrievals"]] == [FIND[profile]] * 2
    assert (response["llm_calls"], response["retrieval_count"]) == (2, len(response["retrieved_chunks"]))
    assert [cited["heading"] for cited in response["citations"]] == ["Cleaning a gadget"]
    if profile == TEXTBOOK:
        assert (result["total_chunks_found"] >= len(results), result["retrieval_time_ms"] >= 0) == (True, True)
    if profile == DOC:
        assert ask.sent()["messages"][-1]["content"] == json.dumps(result, indent=2)


WRONG: Final = "an error in words"


@pytest.mark.parametrize(("profile", "arguments", "result"), [
    (DOC, {"query": ""}, {"error": WRONG, "query": ""}),
    (DOC, {"query": "a", "top_k": 0}, {"error": WRONG, "query": "a"}),
    (DOC, {"query": "a", "top_k": 21}, {"error": WRONG, "query": "a"}),
    (BOOK, {"query": "a", "similarity_threshold": 1.1}, {"error": WRONG, "query": "a"}),
    (TEXTBOOK, {"query": " "}, {"error": WRONG, "query": " "}),
    (TUTOR, {"query": ""}, {"error": WRONG, "results": []}),
    (TUTOR, {"query": "a", "k": 0}, {"error": WRONG, "results": []}),
    (TUTOR, {"query": "a", "k": 11}, {"error": WRONG, "results": []}),
    (TUTOR, {"query": "zzz"}, {"error": None, "results": []}),
    (BOOK, {"query": "zzz"}, {"results": [], "total_results": 0, "query": "zzz"}),
])  # fmt: skip
def test_a_call_that_is_wrong_or_finds_nothing_gets_the_designs_result(
    ask: Asking, profile: str, arguments: Any, result: Any
) -> None:
    replies = [calls(profile, **arguments), answer(FOUR_TEETH)]
    response = ask(TEETH, replies, "--profile", profile, AGENT_SCORE_THRESHOLD="0.6")
    got = result_of(ask.sent())
    assert got | ({"error": WRONG} if got.get("error") else {}) == result
    assert (response["status"], len(response["retrievals"])) == ("success", 1 if got.get("error") else 2)


# A point of each collection as the designs' own scripts write it.
ROS: Final = "To install ROS 2 Humble on Ubuntu, use apt"
WEEK: Final = "https://textbook.example/module1/week1"
THEIRS: Final[dict[str, Any]] = {
    "robotics_textbook": {"url": WEEK, "title": "ROS 2 Setup", "heading": "Installation", "text": ROS},
    "documentation": {"source_url": WEEK, "page_title": "ROS 2 Setup", "section_heading": "Installation"},
}
STRINGS: Final = ("Embedding generation failed", "Textbook search unavailable")


@pytest.mark.parametrize(("profile", "collection", "embedding", "errors"), [
    (TUTOR, "robotics_textbook", "embed-multilingual-v3.0", [{"results": [], "error": why} for why in STRINGS]),
    (DOC, "documentation", "embed-english-v3.0", [{"error": WRONG, "query": "node"}] * 2),
])  # fmt: skip
def test_a_design_asks_its_own_collection_and_survives_a_failing_search(
    ask: Asking, profile: str, collection: str, embedding: str, errors: Any
) -> None:
    with listening(QdrantServer()) as qdrant, cohere_server() as cohere:
        qdrant.engine.create_collection(collection, vectors_config=VectorParams(size=1024, distance=Distance.COSINE))
        payload = {"chunk_text": ROS, "chunk_index": 0} | THEIRS[collection]
        qdrant.engine.upsert(collection, [PointStruct(id=1, vector=vector(ROS, 1024), payload=payload)])

        def asked(first: Any) -> Any:
            services = {"QDRANT_URL": qdrant.address, "COHERE_BASE_URL": cohere.address, "COHERE_API_KEY": "co-012345"}
            return ask("How to install ROS?", [*first, answer(f"{ROS} [1].")], "--profile", profile, **services)

        (cited,) = asked([])["citations"]
        assert (cited["title"], cited["heading"]) == ("ROS 2 Setup", "Installation")
        assert (cited["url"], cited["quote"]) == (WEEK, ROS)
        assert cohere.embedded == [("search_query", "How to install ROS?")]
        assert cohere.requests[0].body["model"] == embedding
        failures: Any = [(cohere, "/embed", says(400, "no")), (qdrant, "/query", refused(400, "no"))]
        for (server, path, reply), result in zip(failures, errors, strict=True):

            def breaks(_: Request, faults: Any = server.faults, path: str = path, reply: Any = reply) -> Reply:
                faults[path] = reply
                return calls(profile, query="node")

            assert asked([breaks])["status"] == "success"
            got = result_of(ask.sent())
            assert got | ({"error": WRONG} if profile == DOC and got["error"] else {}) == result
            server.faults.clear()


@pytest.mark.parametrize(("profile", "content"), [
    (DOC, r" \(from Chapter 2: Installation(, Prerequisites)?\)\."),
    (ISAAC, rf" \[Source: Chapter 2: Installation\]\({PAGE}\)\."),
    (TUTOR, rf" \[Chapter 2: Installation - Prerequisites\]\({PAGE}\)\."),
    (BOOK, rf" \[1\]\.\n+---\n\*\*Sources:\*\*\n\[1\] {PAGE} \(score: SCORE\)"),
    (TEXTBOOK, r" \[1\]\.\n+---\n\*\*Sources:\*\*\n- \[1\] Chapter 2: Installation > Prerequisites, install\.md .*"),
    ("default", rf" \[1\]\.\n+---\n\*\*Sources:\*\*\n- \[1\] Chapter 2: Installation > Prerequisites \({PAGE}\)"),
])  # fmt: skip
def test_a_citation_and_the_footer_have_the_form_of_the_design(ask_site: Any, profile: str, content: str) -> None:
    response = ask_site(profile, f"{BEFORE} [1].")
    (cited,) = response["citations"]
    assert re.fullmatch(BEFORE + content.replace("SCORE", f"{cited['score']:.2f}"), response["content"])
    assert (cited["url"], cited["source_file_path"]) == (PAGE, "install.md")
    assert (cited["chapter"], response["plain_content"]) == ("Chapter 2: Installation", f"{BEFORE} [1].")


@pytest.mark.parametrize(("profile", "form"), [
    (DOC, "(from Chapter 2: Installation)"),
    (ISAAC, f"[Source: Chapter 2: Installation]({PAGE})"),
    (TUTOR, f"[Chapter 2: Installation]({PAGE})"),
    (TUTOR, f"[Chapter 2: Installation - Prerequisites]({PAGE})"),
    *((TEXTBOOK, f"({name})") for name in ("Chapter 2", "see Chapter 2", "install.md")),
    (TEXTBOOK, "[Chapter 2]"),
    ("default", "(from Chapter 2: Installation)"),
])  # fmt: skip
def test_a_models_own_form_of_a_citation_is_one(ask_site: Any, profile: str, form: str) -> None:
    response = ask_site(profile, f"{BEFORE} {form}.")
    assert (response["plain_content"], response["citations"][0]["url"]) == (f"{BEFORE} [1].", PAGE)


@pytest.mark.parametrize(("profile", "name"), [(ISAAC, "Source: Chapter 2: Installation"), (TUTOR, "Installation")])
def test_no_address_that_a_model_invents_is_shown(ask_site: Any, profile: str, name: str) -> None:
    assert "evil" not in ask_site(profile, f"{BEFORE} [{name}](https://evil.example/install).")["content"]


TOO_LONG: Final = "Your conversation is too long. Type 'clear' to start fresh."


@pytest.mark.parametrize(("profile", "limit"), [(DOC, 20), (BOOK, 50)])
def test_a_conversation_ends_at_the_designs_number_of_turns(settings_of: Any, profile: str, limit: int) -> None:
    async def turns() -> list[Any]:
        async with open_agent(settings_of(), profile=profile, checkpointer=InMemorySaver()) as agent:
            return [await agent.ask("Hello!", thread_id="a") for _ in range(limit + 1)]

    *finished, last = asyncio.run(turns())
    assert ({turn.status for turn in finished}, finished[-1].turn_number) == ({"fallback"}, limit)
    assert (last.error.error_type, last.error.code, last.content) == ("context_overflow", "turn_limit", TOO_LONG)
    if profile == BOOK:  # with the system message, 50 of each side are more than 100
        assert [any("100" in notice for notice in turn.notices) for turn in finished[-2:]] == [False, True]


def test_the_environment_sets_count_threshold_and_turns(ask: Asking) -> None:
    limits = {"AGENT_TOP_K": "3", "AGENT_SCORE_THRESHOLD": "0.4", "AGENT_MAX_TURNS": "1"}
    found = ask(TEETH, [answer(FOUR_TEETH)], "--profile", BOOK, "--thread", "a", **limits)["retrieved_chunks"]
    assert (1 <= len(found) <= 3, all(one["score"] >= 0.4 for one in found)) == (True, True)
    assert ask(TEETH, [], "--profile", BOOK, "--thread", "a", **limits)["error"]["code"] == "turn_limit"


@pytest.mark.parametrize(("reply", "error_type", "sentence"), [
    (refuses(403), "auth_error", "Authentication failed. Please check your API keys."),
    (refuses(429, retry_after="60"), "rate_limit", "The service is busy. Please wait 60 seconds and try again."),
    (refuses(404), "api_error", "There was a problem connecting to the AI service. Please try again."),
    (refuses(400, code="content_filter"), "invalid_input", "Your question couldn't be processed. Please rephrase."),
    (refuses(413), "context_overflow", TOO_LONG),
    (None, "retrieval_error", "Could not search the book content. Please try again."),
])  # fmt: skip
def test_each_type_of_error_has_its_sentence(ask: Asking, reply: Any, error_type: str, sentence: str) -> None:
    where = () if reply else ("--collection", "missing")
    done = ask.done(TEETH, [reply] if reply else [], "--profile", ISAAC, *where)
    error = done.data["error"]
    assert (done.code, error["error_type"], done.data["content"]) == (1, error_type, sentence)
    assert error["retry_after"] == (60 if error_type == "rate_limit" else None)


def test_an_openai_key_has_the_form_that_the_design_demands(ask: Asking) -> None:
    done = ask.done(TEETH, None, "--profile", DOC, OPENAI_API_KEY="sk-short")
    assert (done.code, done.data["retrievals"]) == (2, [])
    assert '"sk-" and have at least 40 characters' in done.data["error"]["message"]


def test_openais_key_goes_to_no_endpoint_of_a_profile(ask: Asking) -> None:
    done = ask.done(TEETH, None, "--profile", ISAAC, OPENAI_API_KEY=OPENAI_KEY)
    assert (done.code, done.data["llm_calls"], "OPENROUTER_API_KEY" in done.err) == (0, 0, True)


@pytest.mark.parametrize(("section", "key", "values"), [
    ("model", "temperature", (-0.1, 1.1)), ("model", "max_tokens", (0, 8192)),
    ("retrieval", "top_k", (0, 21)), ("retrieval", "score_threshold", (-0.1, 1.1)),
])  # fmt: skip
def test_a_configuration_out_of_its_bounds_is_refused(ask: Asking, section: str, key: str, values: Any) -> None:
    (ask.run.home / "profiles").mkdir()
    for value in values:
        (ask.run.home / "profiles" / "mine.toml").write_text(f'extends = "{ISAAC}"\n[{section}]\n{key} = {value}\n')
        done = ask.done(TEETH, None, "--profile", "mine")
        assert (done.code, key in done.data["error"]["message"]) == (2, True)


def test_the_oldest_messages_leave_the_prompt_first(ask: Asking) -> None:
    for number in range(7):
        question = f"Question {number}: {TEETH} {'Tell me about shafts. ' * 85}"  # 500 tokens
        ask(question, [answer(FOUR_TEETH)], "--profile", ISAAC, "--thread", "a")
    there = [f"Question {number}:" in json.dumps(ask.sent()) for number in range(7)]
    assert (there, there[0], there[5:]) == (sorted(there), False, [True, True])


def test_the_tutors_conversation_goes_on_in_the_next_program(ask: Asking) -> None:
    for question, reply in ((TEETH, FOUR_TEETH), ("And where are gadgets painted?", REFUSAL)):
        response = ask(question, [answer(reply)], "--profile", TUTOR)
    assert (response["thread_id"], response["turn_number"]) == ("robotics_chatbot", 2)
    question, earlier = (message["content"] for message in ask.sent()["messages"][1:3])
    assert (question, earlier.startswith("Every widget has exactly four teeth")) == (TEETH, True)
    stored, again = ask.run("threads", "export", "robotics_chatbot", "--json").data["turns"]
    assert (stored["question"], stored["turn_number"], again["turn_number"]) == (TEETH, 1, 2)
    assert stored["content"] == "Every widget has exactly four teeth [Widgets](widgets.md)."
    assert sorted(stored["retrieved_chunks"][0]) == ["chunk_id", "heading", "rank", "score", "title", "url"]


def test_the_documentation_agent_remembers_nothing_after_the_program(ask: Asking) -> None:
    turns = [ask(TEETH, [answer(FOUR_TEETH)], "--profile", DOC, "--thread", "a")["turn_number"] for _ in range(2)]
    assert (turns, ask.run("threads", "list", "--json").data) == ([1, 1], [])


def test_a_failed_request_is_retried_as_the_same_one(settings_of: Any, model: Endpoint, keys: dict[str, str]) -> None:
    async def turns() -> list[Any]:
        async with open_agent(settings_of(**keys), profile=TEXTBOOK) as agent:
            return [await agent.ask(TEETH, thread_id="a"), await agent.retry("a")]

    model.script.extend([refuses(401), answer(FOUR_TEETH)])
    failed, again = asyncio.run(turns())
    assert (failed.processing_state, again.processing_state) == ("failed", "response_generated")
    assert (failed.request_id, again.status, again.turn_number) == (again.request_id, "success", 1)
