"""The runs of a turn as lines of the logger `askbook`."""

from __future__ import annotations

import logging
from typing import Any, Final

from rag.observing.log_lines import FIELDS
from rag.observing.runs import Run, RunObserver

log: Final = logging.getLogger("askbook")


class RunLog(RunObserver):
    """Writes one line when a turn begins, and one when a turn, a node, a search, a tool or a model call has ended."""

    def begun(self, run: Run) -> None:
        if run.kind == "turn":
            write("turn_begun", run.facts)

    def ended(self, run: Run, problem: str) -> None:
        whose: dict[str, Any] = {} if run.kind == "turn" else {run.kind: run.name}
        ids: dict[str, Any] = {
            name: run.turn.facts[name] for name in ("request_id", "thread_id") if name in run.turn.facts
        }
        facts = {**ids, **whose, **run.facts, "ms": run.milliseconds}
        if problem:
            facts["error"] = problem
        write(run.kind, facts, failed=bool(problem) or facts.get("status") == "error")


def write(event: str, facts: dict[str, Any], *, failed: bool = False) -> None:
    """Write one line. The fields are in the record's attribute `FIELDS`, for formatters and other handlers."""
    level = logging.WARNING if failed else logging.INFO
    log.log(level, "%s", event, extra={FIELDS: {"event": event, **facts}})
