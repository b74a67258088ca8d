from __future__ import annotations

import pytest

from rag.book import SearchFilter
from rag.errors import UsageError
from rag.search.retriever import FIELDS, parse_filter


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("https://book.example/guide", SearchFilter(url_prefix="https://book.example/guide")),
        ("guide/install", SearchFilter(url_prefix="guide/install")),
        ("title:ROS 2", SearchFilter(title="ROS 2")),
        ("Heading: Quality of Service", SearchFilter(heading="Quality of Service")),
        ("file:03-", SearchFilter(file="03-")),
        ("chapter:Chapter 3: ROS", SearchFilter(chapter="Chapter 3: ROS")),
        ("12:30", SearchFilter(url_prefix="12:30")),
    ],
)
def test_a_filter_names_a_field_or_begins_an_address(text: str, where: SearchFilter) -> None:
    assert parse_filter(text) == where


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_text_is_no_filter(text: str | None) -> None:
    assert parse_filter(text) is None


@pytest.mark.parametrize("text", ["sha256:ab", "source:/home", "metadata:x", "title:", "title:  "])
def test_other_fields_and_empty_values_are_refused_with_those_that_may_be_named(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_filter(text)
    assert caught.value.code == "filter"
    assert ", ".join(FIELDS) in caught.value.hint


@pytest.mark.parametrize("text", ["x" * 2_001, "\udcff"])
def test_what_is_no_short_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="at most 2,000 characters"):
        parse_filter(text)


@pytest.mark.parametrize("text", ["guide/", "title:ROS 2"])
def test_a_filter_says_of_itself_what_was_written(text: str) -> None:
    assert str(parse_filter(text)) == text
