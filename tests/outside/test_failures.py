"""What fails around a turn ends as a typed error with its sentence, and the conversation goes on."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from askbook import Context, Response
from graph.agent import open_agent
from rag.settings import Settings
from tests import openai_server, postgres
from tests.cohere_server import SHORT, CohereServer, says
from tests.command_line import CommandLine
from tests.homes import copied
from tests.openai_server import OPENAI_KEY, Endpoint, answer, calls_tool, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, VARIABLES
from tests.qdrant_server import QdrantServer, refused
from tests.wire import Reply, WireServer, away, cut_off, drops, html, listening, malformed

SENTENCES: Final = {
    "rate_limit": "The service is busy. Please wait {retry_after} seconds and try again.",
    "api_error": "There was a problem connecting to the AI service. Please try again.",
    "retrieval_error": "Could not search the book content. Please try again.",
    "auth_error": "Authentication failed. Please check your API keys.",
    "invalid_input": "Your question couldn't be processed. Please rephrase.",
    "context_overflow": "Your conversation is too long. Type 'clear' to start fresh.",
    "memory_error": "Your conversation could not be read or saved. Please try again.",
}
RECOVERABLE: Final = {"rate_limit", "api_error", "retrieval_error", "memory_error"}
AWAY: Final = Reply(status=0)  # nobody listens
CUT: Final = answer("Every widget has exactly", finish=None, usage=None)
SHOWN: Final = answer(f"{FOUR_TEETH}\n\n", "A widget is a small", finish=None, usage=None)
SILENT: Final = openai_server.Reply(hang=True, silent=True)
BODY: Final = "Rate limit reached. Please try again in 59.5s."
WRECK: Final = "What colour is the paint of a gadget, please?"


@dataclass(frozen=True)
class Outcome:
    failed: Response
    requests: int  # of the failed turn to the service that failed
    after: Response  # the next turn on the thread, when the service works again
    prompt: list[dict[str, Any]]  # what the model got in that next turn
    stored: dict[str, Any]


Outcomes = dict[str, Outcome]

# What a service says to every request of a turn, and the turn's error: its type, `retry_after`, and "once" where asking
# again makes no sense, "again" where it does.
# fmt: off
CASES: Final[dict[str, tuple[Reply, str, int | None, str]]] = {
    "model 401": (refuses(401, "Incorrect API key", "invalid_api_key"), "auth_error", None, "once"),
    "model 403": (refuses(403, "not for you"), "auth_error", None, "once"),
    "model 429": (refuses(429), "rate_limit", 10, "again"),
    "model 429, long wait": (refuses(429, retry_after="44.2"), "rate_limit", 45, "once"),
    "model 429, wait in the body": (refuses(429, BODY), "rate_limit", 60, "once"),
    "model 400": (refuses(400, "unknown parameter: foo"), "api_error bad_request", None, ""),
    "model 422": (refuses(422, "unprocessable"), "api_error bad_request", None, ""),
    "model 400, context": (refuses(400, "long", "context_length_exceeded"), "context_overflow", None, "once"),
    "model 400, filter": (refuses(400, "no", "content_filter"), "invalid_input", None, "once"),
    "model 413": (refuses(413), "context_overflow", None, "once"),
    "model 500": (refuses(500), "api_error", None, "again"),
    "model timeout": (SILENT, "api_error", None, "again"),
    "model cut stream": (CUT, "api_error", None, "again"),
    "model cut after a sentence": (SHOWN, "api_error", None, "once"),
    "model empty answer": (answer(), "api_error", None, ""),
    "model garbage": (html(), "api_error", None, ""),
    "model away": (AWAY, "api_error", None, ""),
    "embedder 401": (says(401, "invalid api token"), "auth_error", None, "once"),
    "embedder 403": (says(403, "no"), "auth_error", None, "once"),
    "embedder 429": (says(429, "trial"), "rate_limit", 10, "again"),
    "embedder 429, long wait": (says(429, "trial", retry_after="45"), "rate_limit", 45, "once"),
    "embedder 400": (says(400, "bad"), "retrieval_error", None, ""),
    "embedder 500": (says(500, "broken"), "retrieval_error", None, "again"),
    "embedder cut answer": (cut_off("{"), "retrieval_error", None, ""),
    "embedder garbage": (malformed(), "retrieval_error", None, ""),
    "embedder away": (AWAY, "retrieval_error", None, ""),
    "index 401": (refused(401, "no"), "auth_error", None, ""),
    "index 403": (refused(403, "no"), "auth_error", None, ""),
    "index 429": (refused(429, "busy"), "rate_limit", 10, ""),
    "index 429, long wait": (refused(429, "busy", retry_after="45"), "rate_limit", 45, ""),
    "index 400": (refused(400, "bad"), "retrieval_error", None, ""),
    "index 500": (refused(500, "broken"), "retrieval_error", None, ""),
    "index reset": (drops(), "retrieval_error", None, ""),
    "index garbage": (html(), "retrieval_error", None, ""),
    "index away": (AWAY, "retrieval_error", None, ""),
}
# fmt: on


@dataclass(frozen=True)
class Stage:
    """A book that is in a folder, embedded by Cohere, and on a Qdrant server, each in a home of its own."""

    homes: dict[str, Path]
    qdrant: QdrantServer

    def server(self, part: str) -> WireServer:
        """A service of one's own, to let it fail; the Qdrant servers hold the same book."""
        if part == "index":
            return QdrantServer(engine=self.qdrant.engine, lock=self.qdrant.lock, indexes=self.qdrant.indexes)
        return CohereServer() if part == "embedder" else Endpoint()

    def settings(self, part: str, model: str, service: str) -> Settings:
        environment = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": model, "ASKBOOK_JUDGE": "none"}
        home = self.homes.get(part, self.homes["model"])
        environment |= {"ASKBOOK_HOME": str(home)} | variables(part, service)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home)  # no `.env` of this checkout
            for name in VARIABLES:
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            return Settings.from_env()


def variables(part: str, address: str) -> dict[str, str]:
    if part == "embedder":
        return {"COHERE_API_KEY": "cohere-canary-0123456789", "COHERE_MODEL": SHORT, "COHERE_BASE_URL": address}
    return {"index": {"QDRANT_URL": address}, "memory": {"ASKBOOK_DATABASE_URL": address}}.get(part, {})


@pytest.fixture(scope="module")
def stage(book: Path, pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    runs = {part: CommandLine(tmp_path_factory.mktemp(part)) for part in ("model", "embedder", "index")}
    copied(book, runs["model"].home)
    (runs["model"].home / "profiles").mkdir()
    hasty = 'extends = "default"\n[model]\ntimeout_seconds = 0.3\n'
    (runs["model"].home / "profiles" / "hasty.toml").write_text(hasty, encoding="utf-8")
    with listening(CohereServer()) as cohere, listening(QdrantServer()) as qdrant:
        for part, server in (("embedder", cohere), ("index", qdrant)):
            done = runs[part].process("ingest", str(pages), **variables(part, server.address))
            assert done.code == 0, done.err
    return Stage({part: run.home for part, run in runs.items()}, qdrant)


@pytest.fixture(scope="module")
def outcomes(stage: Stage) -> Outcomes:
    """What becomes of each case. All happen at once: the waits before another try are real."""

    async def all_at_once() -> Outcomes:
        return dict(zip(CASES, await asyncio.gather(*(_outcome(stage, name) for name in CASES)), strict=True))

    return asyncio.run(all_at_once())


async def _outcome(stage: Stage, name: str) -> Outcome:
    part, reply = name.split()[0], CASES[name][0]
    with listening(Endpoint()) as model, listening(stage.server(part)) as other:
        server = model if part == "model" else other
        async with open_agent(stage.settings(part, model.address, other.address)) as agent:
            server.faults[""] = reply
            with away(server) if reply is AWAY else nullcontext():
                context = Context(profile="hasty") if reply is SILENT else None
                failed = await agent.ask(WRECK, thread_id=name, context=context)
            server.faults.clear()
            requests = len(server.requests)
            model.script[:] = [answer(FOUR_TEETH)]
            after = await agent.ask(TEETH, thread_id=name)
            return Outcome(failed, requests, after, model.requests[-1].body["messages"], await agent.conversation(name))


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_an_error_of_its_type_with_its_sentence_and_a_hint(name: str, outcomes: Outcomes) -> None:
    (_, kind, retry_after, tries), outcome = CASES[name], outcomes[name]
    failed = outcome.failed
    assert (failed.status, failed.phase, failed.processing_state) == ("error", "IDLE", "failed")
    error, (error_type, *code) = failed.error, kind.split()
    assert error is not None
    assert (error.error_type, error.retry_after) == (error_type, retry_after)
    assert code in ([], [error.code])
    assert error.user_message == SENTENCES[error_type].format(retry_after=retry_after)
    assert failed.content == failed.plain_content == error.user_message
    assert "" not in (error.code, error.message, error.hint)
    if error_type not in RECOVERABLE or "500" in name or "429" in name or "away" in name:
        assert error.recoverable is (error_type in RECOVERABLE)
    assert not tries or (outcome.requests == 1) is (tries == "once")
    assert "Traceback" not in failed.model_dump_json()
    assert "canary" not in failed.model_dump_json()


@pytest.mark.parametrize("name", CASES)
def test_the_conversation_goes_on_without_the_wreck(name: str, outcomes: Outcomes) -> None:
    outcome = outcomes[name]
    assert (outcome.after.status, outcome.after.turn_number, outcome.after.error) == ("success", 2, None)
    assert [message["role"] for message in outcome.prompt] == ["system", "user"]
    assert WRECK not in str(outcome.prompt)
    assert outcome.failed.content not in str(outcome.prompt)
    turns = [(turn["question"], turn["status"]) for turn in outcome.stored["turns"]]
    assert turns == [(WRECK, "error"), (TEETH, "success")]


async def test_a_search_for_the_model_that_fails_is_an_answer_to_the_model(stage: Stage, model: Endpoint) -> None:
    with listening(CohereServer()) as cohere:
        cohere.at[2] = says(401, "invalid api token")
        async with open_agent(stage.settings("embedder", model.address, cohere.address)) as agent:
            model.script[:] = [calls_tool("paint"), answer(FOUR_TEETH)]
            response = await agent.ask(TEETH)
    assert (response.status, response.error) == ("success", None)
    (told,) = (message["content"] for message in model.requests[1].body["messages"] if message["role"] == "tool")
    assert (bool(told), "gadget" in told) == (True, False)


@pytest.mark.parametrize("kind", ["auth_error", "retrieval_error", "memory_error", "context_overflow"])
def test_a_command_says_the_sentence_without_a_traceback_and_the_next_one_works(
    kind: str, run: CommandLine, keys: dict[str, str], model: Endpoint
) -> None:
    model.script[:] = [answer(FOUR_TEETH), *([refuses(401)] if kind == "auth_error" else []), answer(FOUR_TEETH)]
    broken = {"retrieval_error": {"QDRANT_URL": "http://127.0.0.1:1"}, "context_overflow": {"AGENT_MAX_TURNS": "1"}}
    ask = ("ask", TEETH, "--thread", "t", "--json")
    assert run(*ask, **keys).code == 0
    memory, whole = run.home / "memory.sqlite", (run.home / "memory.sqlite").read_bytes()
    if kind == "memory_error":
        memory.write_bytes(b"no database" * 1000)
    failed = run(*ask, **keys, **broken.get(kind, {}))
    if kind == "memory_error":
        memory.write_bytes(whole)
    assert (failed.code, failed.data["status"], failed.data["content"]) == (1, "error", SENTENCES[kind])
    error = failed.data["error"]
    assert (error["error_type"], error["recoverable"], bool(error["hint"])) == (kind, kind in RECOVERABLE, True)
    assert (error["code"] == "turn_limit") is (kind == "context_overflow")
    assert "Traceback" not in failed.err
    after = run(*ask, **keys)
    assert (after.code, after.data["status"], after.data["turn_number"] > 1) == (0, "success", True)


async def test_a_conversation_goes_on_when_postgresql_is_back(stage: Stage, model: Endpoint) -> None:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres.cluster(programs) as cluster:
        settings = stage.settings("memory", model.address, cluster.url().get_secret_value())
        async with open_agent(settings) as agent:
            model.script[:] = [answer(FOUR_TEETH), answer(FOUR_TEETH)]
            await agent.ask(TEETH, thread_id="t")
            cluster.stop()
            failed = await agent.ask(WRECK, thread_id="t")
            cluster.start()
            after = await agent.ask(TEETH, thread_id="t")
    assert failed.error is not None
    assert (failed.error.error_type, failed.content) == ("memory_error", SENTENCES["memory_error"])
    assert (failed.error.recoverable, failed.error.hint != "") == (True, True)
    assert postgres.PASSWORD not in failed.model_dump_json()
    assert (after.status, after.turn_number) == ("success", 2)
    assert len(model.requests[-1].body["messages"]) == 4  # the rules, the first turn, the question
