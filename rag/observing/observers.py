"""Which observers the settings ask for."""

from __future__ import annotations

from rag.observing.runs import RunObserver
from rag.settings import Settings
from rag.system.installation import need


def observers_of(settings: Settings) -> list[RunObserver]:
    """The callback handlers of an agent. Raises `UsageError` when an extra is missing."""
    observers: list[RunObserver] = []
    if settings.log != "off":
        from rag.observing.run_log import RunLog

        observers.append(RunLog())
    if settings.traces == "otel":
        need("opentelemetry.sdk", "otel", "ASKBOOK_TRACES=otel")
        from rag.observing.run_spans import RunSpans

        observers.append(RunSpans())
    return observers


def start_outputs(settings: Settings) -> None:
    """Send lines and spans out of this process, for the commands. Raises `UsageError` when an extra is missing.

    A program that uses askbook as a library has outputs of its own.
    """
    if settings.log != "off":
        from rag.observing.run_log import start_log

        start_log(settings.log)
    if settings.traces == "otel":
        need("opentelemetry.sdk", "otel", "ASKBOOK_TRACES=otel")
        from rag.observing.run_spans import start_exporter

        start_exporter()
