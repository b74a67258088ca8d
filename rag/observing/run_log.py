"""The log: the runs of a turn as records of the logger `askbook`, and a record as one line of JSON or text."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, Literal

from rag.observing.runs import Run, RunObserver

FIELDS: Final = "askbook"  # the attribute of a log record that holds the fields of its line

log: Final = logging.getLogger("askbook")

LogForm = Literal["off", "text", "json"]


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


class LineFormatter(logging.Formatter):
    """One record as one line. Of an exception only its class and its place are written: its text may hold anything."""

    def __init__(self, form: LogForm) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        fields = fields_of(record)
        if self._form == "json":
            return json.dumps(fields, ensure_ascii=False, default=str)
        head = [str(fields.pop(name)) for name in ("time", "level", "event")]
        return " ".join([*head, *(f"{name}={_as_text(value)}" for name, value in fields.items())])


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a line: `time` in UTC, `level`, `event`, and what is known."""
    when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    own = getattr(record, FIELDS, None) or {"event": "message", "message": record.getMessage()}
    fields = {"time": when, "level": record.levelname.lower(), **own}
    if record.exc_info and record.exc_info[0] is not None:
        last = traceback.extract_tb(record.exc_info[2])[-1:]
        fields["exception"] = record.exc_info[0].__name__
        fields["place"] = " ".join(f"{frame.filename}:{frame.lineno}" for frame in last)
    return fields


def _as_text(value: Any) -> str:
    """The value without spaces outside quotes, and without line breaks."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if text.isprintable() and text and not set(text) & {" ", '"', "="} else json.dumps(text)


def start_log(form: LogForm) -> None:
    """Write the records of the logger `askbook` to standard error from now on. Done again, it changes the form."""
    for handler in [one for one in log.handlers if isinstance(one.formatter, LineFormatter)]:
        log.removeHandler(handler)
    if form == "off":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(form))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
