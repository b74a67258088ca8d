"""The runs of a turn as spans of OpenTelemetry, by opentelemetry.io/docs/specs/semconv/gen-ai/.

Facts that it does not name are under `askbook.*`. Prompts, answers, passages and questions are left out.
"""

from __future__ import annotations

import os
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from rag.observing.runs import Run, RunObserver

_OPERATION: Final = {"turn": "invoke_agent", "search": "retrieval", "tool": "execute_tool", "model": "chat"}
# Facts of a run that the conventions name, by kind.
_STANDARD: Final = {
    "turn": {"thread_id": "gen_ai.conversation.id", "model": "gen_ai.request.model"},
    "model": {
        "provider": "gen_ai.provider.name",
        "temperature": "gen_ai.request.temperature",
        "max_tokens": "gen_ai.request.max_tokens",
    },
}
_EVERYWHERE: Final = {"input_tokens": "gen_ai.usage.input_tokens", "output_tokens": "gen_ai.usage.output_tokens"}


class RunSpans(RunObserver):
    """Makes a span of each run. The span of a turn continues the span in which the turn was asked for, if any."""

    def __init__(self) -> None:
        super().__init__()
        self._tracer = trace.get_tracer("askbook")
        self._spans: dict[int, Span] = {}

    def begun(self, run: Run) -> None:
        above = self._spans.get(id(run.parent)) if run.parent else None
        kind = SpanKind.CLIENT if run.kind == "model" else SpanKind.INTERNAL
        context = trace.set_span_in_context(above) if above else None
        operation = _OPERATION.get(run.kind)
        name = f"{operation} {run.name}" if operation else run.name
        self._spans[id(run)] = self._tracer.start_span(name, context, kind, attributes=_named(run))

    def ended(self, run: Run, problem: str) -> None:
        span = self._spans.pop(id(run), None)
        if span is None:
            return
        problem = problem or str(run.facts.get("error") or "")
        span.set_attributes(_attributes(run))
        if problem:
            span.set_attribute("error.type", problem)
            span.set_status(Status(StatusCode.ERROR, problem))
        span.end()


def _named(run: Run) -> dict[str, Any]:
    """What a span says from its beginning, so that a sampler can decide by it."""
    attributes = {"gen_ai.operation.name": _OPERATION[run.kind]} if run.kind in _OPERATION else {}
    own = {
        "turn": "gen_ai.agent.name",
        "node": "askbook.node",
        "tool": "gen_ai.tool.name",
        "model": "gen_ai.request.model",
    }
    if run.kind in own:
        attributes[own[run.kind]] = run.name
    return attributes | _attributes(run)


def _attributes(run: Run) -> dict[str, Any]:
    names = _EVERYWHERE | _STANDARD.get(run.kind, {})
    return {names.get(name, f"askbook.{name}"): value for name, value in run.facts.items() if name != "error"}


def start_exporter() -> None:
    """Send spans where the variables of OpenTelemetry say, if they do, unless this program has a provider already."""
    from opentelemetry.sdk.trace import TracerProvider

    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if isinstance(trace.get_tracer_provider(), TracerProvider) or not any(map(os.environ.get, endpoints)):
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    usual = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "askbook"}
    provider = TracerProvider(resource=Resource.create(usual))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
