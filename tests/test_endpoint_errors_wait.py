"""The time that a service asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rag.http.http_failures import seconds_named

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:09 GMT"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:00:00 GMT"}, 0.0),
        ({"retry-after": "7", "retry-after-ms": "6250"}, 6.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_a_time_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_named(headers, NOW) == seconds
