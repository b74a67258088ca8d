"""What a failed request says: where a redirect points, and the wait that the service names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from rag.errors import host


def undecoded_body(failure: BaseException) -> BaseException:
    """The failure itself, or a body that cannot be unpacked, which clients take for a broken connection."""
    direct = failure.__cause__
    causes = (direct, direct and direct.__cause__)
    return next((cause for cause in causes if cause is not None and type(cause).__name__ == "DecodingError"), failure)


def redirection(failure: BaseException) -> str:
    """Where a redirect points, without path and query, and that it is not followed."""
    response: Any = getattr(failure, "response", failure)
    location = (getattr(response, "headers", None) or {}).get("location", "")
    absolute = location.startswith(("http://", "https://", "//"))
    place = f"to {host(location)}" if absolute else "to another path"
    return f"it redirects {place}, and askbook follows no redirects"


def retry_after(failure: BaseException) -> float | None:
    """The wait in seconds that the response's headers name, or None."""
    response: Any = getattr(failure, "response", failure)  # Cohere's exceptions hold the headers themselves
    headers = getattr(response, "headers", None)
    return seconds_named(headers) if headers else None


def seconds_named(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The wait in seconds from `now`, 0 or more, that the headers name; None if there is none or it is unreadable.

    `Retry-After` holds seconds or a date (RFC 9110, section 10.2.3). OpenAI's `retry-after-ms` is more exact. The keys
    of `headers` must be lower case, unless the mapping ignores case.
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
