"""What an operator sees of turns: the lines of the log and the spans, and that no text is among them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessageChunk
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from graph.agent import Agent
from rag.errors import AskbookError, UsageError
from rag.observing.run_log import FIELDS, LineFormatter, RunLog
from rag.observing.run_spans import RunSpans
from rag.observing.runs import RunObserver
from rag.services import observers_of
from rag.settings import Settings
from tests.fakes import passage, tool_call
from tests.homes import copied
from tests.machine import ANSWER, Machine
from tests.serving import served
from tests.web import bearer, client

QUESTION = "What is a canary-question node?"
SECRETS = ("canary-question", "canary-passage", "canary-words", "canary-problem")


def machine(*script: Any) -> Machine:
    return Machine(*script, passages=[passage(text="A node is a process. canary-passage")])


def observed(of: Machine, observer: RunObserver) -> Agent:
    return Agent(of.graph, of.services, of.memory, observers=[observer])


def counted_answer() -> list[AIMessageChunk]:
    usage: Any = {"input_tokens": 90, "output_tokens": 8, "total_tokens": 98}
    return [AIMessageChunk(content=ANSWER), AIMessageChunk(content="", usage_metadata=usage)]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """Every record of the log so far as the fields of its JSON line."""
    caplog.set_level(logging.INFO, logger="askbook")
    form = LineFormatter("json")
    return lambda: [json.loads(form.format(record)) for record in caplog.records if record.name == "askbook"]


async def test_a_turn_leaves_a_line_for_each_node_search_tool_and_model_call(lines: Any) -> None:
    agent = observed(machine([tool_call("canary-words")], counted_answer()), RunLog())
    response = await agent.ask(QUESTION, thread_id="reader-7")
    told = lines()
    assert [line["event"] for line in told][:2] == ["turn_begun", "node"]
    assert {line["thread_id"] for line in told} == {"reader-7"}
    assert {line["request_id"] for line in told} == {response.request_id}
    nodes = [(line["node"], line["phase"]) for line in told if line["event"] == "node"]
    assert nodes == [
        ("IDLE", "IDLE"),
        ("RETRIEVING", "RETRIEVING"),
        ("GENERATING", "GENERATING"),
        ("tools", "RETRIEVING"),
        ("GENERATING", "GENERATING"),
        ("IDLE", "IDLE"),
    ]
    assert [line["passages"] for line in told if line["event"] == "search"] == [1, 1]
    assert [line["tool"] for line in told if line["event"] == "tool"] == ["search_book"]
    assert [line.get("output_tokens") for line in told if line["event"] == "model"] == [None, 8]
    end = told[-1]
    assert (end["event"], end["status"], end["citations"], end["model_calls"]) == ("turn", "success", 1, 2)
    assert all(line["ms"] >= 0 for line in told[1:])


async def test_a_failure_is_a_warning_with_its_code_and_without_its_text(lines: Any) -> None:
    failing = machine(AskbookError("api_error", "bad_request", "canary-problem"))
    await observed(failing, RunLog()).ask(QUESTION)
    told = lines()
    failed = [line for line in told if line["level"] == "warning"]
    assert [line.get("error") for line in failed if line["event"] in ("model", "node", "turn")] == ["bad_request"] * 3
    assert not [word for word in SECRETS if word in json.dumps(told)]


@pytest.mark.parametrize("form", ["json", "text"])
async def test_no_text_and_no_exception_is_in_the_log(form: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="askbook")
    await observed(machine([tool_call("canary-words")], ANSWER), RunLog()).ask(QUESTION)
    try:
        raise ValueError("canary-problem\nof two lines")
    except ValueError:
        logging.getLogger("askbook").exception("a request failed")
    written = [LineFormatter(form).format(record) for record in caplog.records if record.name == "askbook"]
    assert "ValueError" in written[-1]
    assert "test_observing.py:" in written[-1]
    assert not [word for word in SECRETS if word in "".join(written)]
    assert not [line for line in written if "\n" in line]


def test_a_value_cannot_pretend_to_be_a_line_or_a_field_of_its_own() -> None:
    record = logging.LogRecord("askbook", logging.INFO, "", 0, "turn", None, None)
    setattr(record, FIELDS, {"event": "turn", "thread_id": "a\n2026 info turn status=error"})
    assert LineFormatter("text").format(record).endswith('info turn thread_id="a\\n2026 info turn status=error"')


async def test_a_stopped_turn_ends_every_line_that_it_began(lines: Any) -> None:
    stuck = asyncio.Event()
    log = RunLog()
    events = observed(machine(["A node ", stuck]), log).stream(QUESTION)
    async for event in events:
        if event.type == "phase" and event.data["phase"] == "GENERATING":
            break
    await events.aclose()
    assert not log._runs
    assert lines()[-1]["event"] == "turn"


async def test_requests_are_logged_by_their_route_and_their_key_s_name(lines: Any) -> None:
    async with client(machine(), keys="ann:key-of-ann-1,bob:key-of-bob-2") as web:
        await web.get("/api/threads/canary-words", headers=bearer("ann"))
        await web.get("/api/book")
    asked, refused = [line for line in lines() if line["event"] == "request"]
    assert (asked["route"], asked["status"], asked["key"]) == ("/api/threads/{thread_id}", 404, "ann")
    assert (refused["status"], "key" in refused) == (401, False)
    assert "canary" not in json.dumps([asked, refused])
    assert "key-of" not in json.dumps([asked, refused])


# --- spans -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunSpans, InMemorySpanExporter]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    made = RunSpans()
    made._tracer = provider.get_tracer("askbook")
    yield made, exporter
    provider.shutdown()


async def test_each_node_search_tool_and_model_call_is_a_span_in_the_turn_s(
    spans: tuple[RunSpans, InMemorySpanExporter],
) -> None:
    observer, exporter = spans
    response = await observed(machine([tool_call("canary-words")], counted_answer()), observer).ask(
        QUESTION, thread_id="reader-7"
    )
    found = exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in found if span.context}

    def path(span: ReadableSpan) -> str:
        above = by_id.get(span.parent.span_id) if span.parent else None
        return f"{path(above)} / {span.name}" if above else span.name

    root = "invoke_agent askbook"
    assert sorted(map(path, found)) == sorted([
        root,
        f"{root} / IDLE",
        f"{root} / RETRIEVING",
        f"{root} / RETRIEVING / retrieval search",
        f"{root} / GENERATING",
        f"{root} / GENERATING / chat scripted",
        f"{root} / tools",
        f"{root} / tools / execute_tool search_book",
        f"{root} / tools / execute_tool search_book / retrieval search",
        f"{root} / GENERATING",
        f"{root} / GENERATING / chat scripted",
        f"{root} / IDLE",
    ])  # fmt: skip
    turn = dict(found[-1].attributes or {})
    assert turn["gen_ai.operation.name"] == "invoke_agent"
    assert turn["gen_ai.conversation.id"] == "reader-7"
    assert turn["askbook.request_id"] == response.request_id
    call = dict(next(span for span in reversed(found) if span.name.startswith("chat")).attributes or {})
    assert (call["gen_ai.operation.name"], call["gen_ai.request.model"]) == ("chat", "scripted")
    assert (call["gen_ai.usage.input_tokens"], call["gen_ai.usage.output_tokens"]) == (90, 8)
    assert not [word for word in SECRETS if word in "".join(span.to_json() for span in found)]


async def test_a_failed_call_has_an_error_type_and_no_text_of_the_failure(
    spans: tuple[RunSpans, InMemorySpanExporter],
) -> None:
    observer, exporter = spans
    await observed(machine(AskbookError("api_error", "bad_request", "canary-problem")), observer).ask(QUESTION)
    failed = [span for span in exporter.get_finished_spans() if span.status.status_code is StatusCode.ERROR]
    assert [span.name for span in failed] == ["chat scripted", "GENERATING", "invoke_agent askbook"]
    assert {dict(span.attributes or {})["error.type"] for span in failed} == {"bad_request"}
    assert "canary" not in "".join(span.to_json() for span in failed)


async def test_the_turn_s_span_continues_the_caller_s(spans: tuple[RunSpans, InMemorySpanExporter]) -> None:
    observer, exporter = spans
    with observer._tracer.start_as_current_span("a request"):
        await observed(machine(ANSWER), observer).ask(QUESTION)
    turn = next(span for span in exporter.get_finished_spans() if span.name == "invoke_agent askbook")
    outer = next(span for span in exporter.get_finished_spans() if span.name == "a request")
    assert turn.parent is not None
    assert outer.context is not None
    assert turn.parent.span_id == outer.context.span_id


# --- settings --------------------------------------------------------------------------------------------------------


def test_nothing_is_observed_unless_a_setting_asks_for_it(tmp_path: Path) -> None:
    assert observers_of(Settings(home=tmp_path)) == []
    both = observers_of(Settings(home=tmp_path, log="json", traces="otel"))
    assert [type(one) for one in both] == [RunLog, RunSpans]


def test_without_the_extra_spans_are_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="ASKBOOK_TRACES=otel needs the extra otel") as caught:
        observers_of(Settings(home=tmp_path, traces="otel"))
    assert caught.value.hint == 'Install it: pip install ".[otel]"'


def test_a_served_turn_writes_its_lines_to_standard_error(tiny_book: Path, tmp_path: Path) -> None:
    with served(copied(tiny_book, tmp_path / "home"), {"ASKBOOK_LOG": "json"}) as server:
        httpx.post(f"{server.address}/api/threads/t/turns", json={"question": "What is a widget?"}, timeout=60)
    said = server.log.read_text(encoding="utf-8")
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    events = {line["event"] for line in told}
    assert {"turn_begun", "node", "search", "turn", "request"} <= events
    assert "model" not in events, "the answer quotes the book"
    assert "widget" not in said.lower()
