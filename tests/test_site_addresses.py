"""The address that a user gives for a site is checked before it stands in every citation."""

from __future__ import annotations

import pytest

from rag.errors import UsageError
from rag.ingest.links import checked_base_url


@pytest.mark.parametrize(
    "bad", ["", "x.org/docs", "ftp://x.org", "file:///etc", "https://", "http://[", "https://x.org?q=1"]
)
def test_a_base_url_that_is_no_web_address_is_wrong_usage(bad: str) -> None:
    with pytest.raises(UsageError, match="not a plain web address"):
        checked_base_url(bad)


def test_a_base_url_loses_its_last_slash() -> None:
    assert checked_base_url(" https://x.org/docs/ ") == "https://x.org/docs"


def test_a_base_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as caught:
        checked_base_url("https://user:hunter2@example.org/docs")
    assert "hunter2" not in str(caught.value)
