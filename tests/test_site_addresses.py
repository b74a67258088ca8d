"""The address that a user gives for a site is checked before it stands in every citation."""

from __future__ import annotations

import pytest

from rag.errors import UsageError
from rag.ingest.links import checked_base_url

BAD = (
    "", "x.org/docs", "ftp://x.org", "file:///etc", "https://", "http://[", "https://x.org?q=1",
    "https://x org", "https://x.org/my docs", "https://x.org/a\tb", "https://x.org/<b>", 'https://x.org/"', "https://x.org/`a`",
    "https://x.org/[1]", "https://x.org/a|b", "https://x.org\\a", "https://x.org/%zz", "https://x.org:port",
    "https://.", "https://x.org/\u202ea",
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_base_url_that_is_no_web_address_is_wrong_usage(bad: str) -> None:
    with pytest.raises(UsageError, match="not a plain web address"):
        checked_base_url(bad)


@pytest.mark.parametrize(
    "good", ["http://[::1]:8080/a", "https://bücher.example/%20a(b)", "https://x.org:443/~a/@b;c,d'e"]
)
def test_any_web_address_without_a_question_is_plain(good: str) -> None:
    assert checked_base_url(good) == good


def test_a_base_url_loses_its_last_slash() -> None:
    assert checked_base_url(" https://x.org/docs/ ") == "https://x.org/docs"


def test_a_base_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as caught:
        checked_base_url("https://user:hunter2@example.org/docs")
    assert "hunter2" not in str(caught.value)
