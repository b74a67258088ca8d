"""The fault matrix for the model: its endpoint fails over real HTTP in every way, on a first and on a later turn."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from graph.agent import open_agent
from rag.settings import Settings, variables
from rag.types import ErrorType
from tests.fakes import AT_ONCE
from tests.fault_matrix import Fault, Stage, check, refuses_connections, replies
from tests.homes import copied
from tests.openai_server import Endpoint, Reply, answer, refuses
from tests.profile_wire import calls
from tests.wire import Reply as Any200
from tests.wire import Request, cut_off, drops, empty, hangs, html, listening, malformed

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-canary-0123456789"
GOOD = answer("A widget is a small part that turns a shaft [1].")
TOO_LONG = "This model's maximum context length is 8192 tokens."
_threads = count()


class Model(Endpoint):
    def answer(self, request: Request) -> Any200:
        return GOOD


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """The agent as `open_agent` gives it, without waits between attempts; one profile is impatient with its model."""
    home = tmp_path_factory.mktemp("matrix") / "home"
    copied(tiny_book, home)
    (home / "profiles").mkdir()
    profile = 'extends = "default"\n[model]\ntimeout_seconds = 0.2\n'
    (home / "profiles" / "impatient.toml").write_text(profile, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, listening(Model()) as model:
        for name in variables():
            patch.delenv(name, raising=False)
        patch.setenv("ASKBOOK_HOME", str(home))
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("OPENAI_BASE_URL", model.address)
        async with open_agent(Settings.from_env(None), retries=AT_ONCE) as agent:
            yield Stage(agent, home, {"model": model}, (KEY,))


def fault(name: str, reply: Any200, error_type: str, code: str, asked: int, retry_after: int | None = None) -> Fault:
    return Fault(name, replies(reply), error_type, code, retry_after, asked)  # type: ignore[arg-type]  # a literal


def status(number: int, message: str = "no", code: str | None = None, **headers: str) -> Reply:
    """A refusal whose words repeat the key, as those of some providers do."""
    return refuses(number, f"{message} (key {KEY})", code, **headers)


LATE: tuple[ErrorType, str] = ("api_error", "timeout")
BUSY = ("rate_limit", "rate_limit")
MODEL_FAULTS = [
    fault("400", status(400), "api_error", "bad_request", 1),
    fault("401", status(401), "auth_error", "wrong_key", 1),
    fault("402", status(402), "api_error", "quota", 1),
    fault("403", status(403), "auth_error", "forbidden", 1),
    fault("404 model", status(404, code="model_not_found"), "api_error", "model_not_found", 1),
    fault("408", status(408), "api_error", "timeout", 3),
    fault("409", status(409), "api_error", "conflict", 3),
    fault("413", status(413), "context_overflow", "too_large", 1),
    fault("422", status(422), "api_error", "bad_request", 1),
    fault("429", status(429), *BUSY, 3, 10),
    fault("429 with seconds", status(429, retry_after="7"), *BUSY, 3, 7),
    fault("429 with a date gone by", status(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), *BUSY, 3, 0),
    fault("429 for ten minutes", status(429, retry_after="600"), *BUSY, 1, 600),
    fault("429 without quota", status(429, code="insufficient_quota"), "rate_limit", "quota", 1),
    fault("500", status(500), "api_error", "server_error", 3),
    fault("503", status(503), "api_error", "server_error", 3),
    fault("503 with seconds", status(503, retry_after="2"), "api_error", "server_error", 3, 2),
    fault("proxy's page with 502", html(502), "api_error", "server_error", 3),
    Fault("hang", replies(hangs()), *LATE, asked=3, profile="impatient"),
    Fault(
        "hang in the middle",
        replies(Reply(texts=("A wid",), hang=True, finish=None)),
        *LATE,
        asked=3,
        profile="impatient",
    ),
    Fault("refused", refuses_connections(), "api_error", "unreachable", asked=0),
    fault("dropped", drops(), "api_error", "unreachable", 3),
    fault("cut in the middle", Reply(texts=("A wid",), finish=None), "api_error", "stream_cut", 3),
    fault("dropped in the middle", Reply(texts=("A wid",), finish=None, cut=True), "api_error", "stream_cut", 3),
    fault("malformed JSON", malformed(), "api_error", "bad_response", 1),
    fault("malformed event", Reply(raw="data: {not json\n\n"), "api_error", "bad_response", 1),
    fault("half an object", cut_off('{"choices": ['), "api_error", "unreachable", 3),
    fault("a page", html(), "api_error", "bad_response", 1),
    fault("no body", empty(), "api_error", "bad_response", 1),
    fault("no choices", Reply(raw='data: {"id": "x", "choices": null}\n\n'), "api_error", "empty_answer", 3),
    fault("empty answer", answer(""), "api_error", "empty_answer", 3),
    fault("only thoughts", answer("", finish="length"), "api_error", "empty_answer", 1),
    fault("context too long", status(400, TOO_LONG), "context_overflow", "context_length", 1),
    fault("content filter", status(400, code="content_filter"), "invalid_input", "content_filter", 1),
    fault("filtered answer", answer("A wid", finish="content_filter"), "invalid_input", "content_filter", 1),
    fault(
        "error in the stream",
        Reply(raw=f'data: {{"error": {{"message": "key {KEY}", "code": 429}}}}\n\n'),
        *BUSY,
        3,
        10,
    ),
    fault(
        "overflow in the stream",
        Reply(raw=f'data: {{"error": {{"message": "{TOO_LONG}", "code": 400}}}}\n\n'),
        "context_overflow",
        "context_length",
        1,
    ),
]


@pytest.mark.parametrize("fault", MODEL_FAULTS, ids=lambda one: one.name)
async def test_a_model_that_fails_is_told_as_what_it_is_and_the_thread_goes_on(
    fault: Fault, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, logger="aiosqlite")  # it logs what the checkpoints hold, which is looked at anyway
    await check(stage, fault, f"thread-{next(_threads)}", caplog)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([calls("search_book", "widgets, please"), GOOD], None),
        ([calls("search_book", {"query": 7, "depth": "deep"}), GOOD], None),
        ([calls("launch_rocket", {"query": "widgets"}), GOOD], None),
        ([calls("search_book", {"query": "widgets"})] * 5, "empty_answer"),
    ],
    ids=["arguments that are no JSON", "arguments that are none", "a tool that there is not", "calls without end"],
)
async def test_a_model_that_calls_its_tool_badly_ends_its_turn_and_the_thread_goes_on(
    script: list[Reply], code: str | None, stage: Stage
) -> None:
    """On the first turn of its thread, and on a later one."""
    thread = f"thread-{next(_threads)}"
    for _ in range(2):
        stage.servers["model"].script += script
        response = await stage.ask(thread)
        assert (response.error and response.error.code, stage.servers["model"].script) == (code, [])
        assert response.status == ("error" if code else "success")
        assert stage.normal(await stage.ask(thread))
