"""The time that a service asks to be left alone, read from the headers of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_named(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds from `now`, 0 or more; None where no header names a time that can be read.

    `Retry-After` holds seconds or a date (RFC 9110, 10.2.3); `retry-after-ms` is OpenAI's own and more exact. Names of
    headers are in lower case, or the mapping does not mind.
    """
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
