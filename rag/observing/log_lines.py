"""The form of the log: one line a record, as JSON or as text, on standard error."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, Literal

FIELDS: Final = "askbook"  # the attribute of a log record that holds the fields of its line

LogForm = Literal["off", "text", "json"]


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
    """Write the records of the logger `askbook` to standard error from now on, in this form. Done again, it changes it.

    A program of its own that uses askbook sets up logging itself, and gets the records like any others.
    """
    log = logging.getLogger("askbook")
    for handler in [one for one in log.handlers if isinstance(one.formatter, LineFormatter)]:
        log.removeHandler(handler)
    if form == "off":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(form))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
