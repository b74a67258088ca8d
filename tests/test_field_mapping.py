"""A point of somebody else's as a chunk, the mapping that is proposed for it, and the profile that says it."""

from __future__ import annotations

import hashlib
import tomllib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.errors import UsageError
from rag.index.collection_schema import LANGCHAIN, LONGEST, FieldMap, fields_of, value_at
from rag.index.mapping_proposal import payload_section, propose
from rag.profiles.profile import load_profile
from rag.profiles.schema import BookSection

TEXT = "A node is a process that computes, and every node has a name of its own."


@pytest.mark.parametrize(
    ("payload", "path", "found"),
    [
        ({"a": 1}, "a", 1),
        ({"a": {"b": {"c": 2}}}, "a.b.c", 2),
        ({"a.b": 3}, "a.b", 3),
        ({"a": {"b.c": 4}}, "a.b.c", 4),
        ({"a": [1]}, "a.b", None),
        ({"a": None}, "a.b", None),
        ({}, "a", None),
    ],
)
def test_a_path_leads_into_a_payload(payload: dict[str, Any], path: str, found: Any) -> None:
    assert value_at(payload, path) == found


def test_the_first_path_that_says_something_counts() -> None:
    fields = FieldMap(text=("content", "meta.text"), title=("page", "meta.title"))
    chunk = fields.chunk(1, {"content": "  ", "page": "", "meta": {"text": TEXT, "title": "Nodes"}})
    assert (chunk.text, chunk.title) == (TEXT, "Nodes")


def test_the_hash_is_of_the_text_and_never_one_that_is_stored() -> None:
    chunk = FieldMap(text=("text",)).chunk("a", {"text": TEXT, "sha256": "0" * 64, "metadata": {"sha256": "1" * 64}})
    assert chunk.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()


def test_the_text_is_kept_to_the_last_code_point() -> None:
    text = " naïve\n\n“中文” 🤖\t e\u0301 "
    assert FieldMap(text=("text",)).chunk("a", {"text": text}).text == text


@pytest.mark.parametrize(
    ("values", "title"),
    [
        ({"title": "Given", "url": "https://a.example/x"}, "Given"),
        ({"url": "https://a.example/docs/ros2/nodes.html#top"}, "nodes"),
        ({"url": "https://a.example/docs/ros%202/"}, "ros 2"),
        ({"source_file_path": "docs/01-intro.md"}, "01-intro"),
        ({"heading": "Only a heading"}, "Only a heading"),
        ({"url": "http://[broken"}, "[broken"),
        ({}, "Untitled"),
    ],
)
def test_a_chunk_without_a_title_is_named_after_where_it_stands(values: dict[str, str], title: str) -> None:
    fields = FieldMap(**{name: (name,) for name in ("text", "title", "url", "source_file_path", "heading")})
    assert fields.chunk(1, {"text": TEXT} | values).title == title


def test_the_anchor_of_an_address_is_no_part_of_its_page() -> None:
    chunk = FieldMap(text=("text",), url=("url",)).chunk(1, {"text": TEXT, "url": "https://a.example/nodes#names"})
    assert (chunk.url, chunk.link) == ("https://a.example/nodes", "https://a.example/nodes#names")


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), ("12", 12), (4.0, 4), (4.5, None), (-1, None), ("x", None), (True, None), (None, None), ([1], None)],
)
def test_a_number_that_is_none_is_left_out(value: Any, number: int | None) -> None:
    fields = FieldMap(text=("text",), page_number=("page",), chunk_index=("page",))
    chunk = fields.chunk(1, {"text": TEXT, "page": value})
    assert (chunk.page_number, chunk.chunk_index) == (number, number or 0)


@pytest.mark.parametrize(
    ("value", "chapter"), [("2", "2"), (2, "2"), (2.5, "2.5"), (["A", "B"], "A > B"), ({"n": 1}, None), (False, None)]
)
def test_a_field_of_another_type_becomes_a_line_of_text(value: Any, chapter: str | None) -> None:
    assert FieldMap(text=("text",), chapter=("c",)).chunk(1, {"text": TEXT, "c": value}).chapter == chapter


def test_a_title_of_a_megabyte_and_a_number_that_no_state_holds_become_small() -> None:
    fields = FieldMap(
        text=("text",),
        title=("title",),
        breadcrumb=("path",),
        url=("url",),
        chapter=("chapter",),
        page_number=("page",),
    )
    for page in (1e308, 10**400, "9" * 5_000, float("nan"), float("inf"), 2**63):
        long = {
            "title": "T" * 1_000_000,
            "url": "u" * 1_000_000,
            "path": ["p" * 1_000] * 1_000,
            "page": page,
            "chapter": page,
        }
        chunk = fields.chunk(1, {"text": TEXT, **long})
        assert [len(chunk.title), len(chunk.url), len(chunk.breadcrumb)] == [LONGEST] * 3
        assert chunk.page_number is None
        assert (chunk.chapter is None) == (not isinstance(page, str))


@pytest.mark.parametrize("payload", [None, {}, {"text": ""}, {"text": " \n"}, {"text": 5}, {"text": ["a"]}])
def test_a_point_without_a_text_is_no_chunk(payload: dict[str, Any] | None) -> None:
    fields = FieldMap(text=("text",))
    assert fields.text_of(payload) == ""
    with pytest.raises(ValueError, match="no text"):
        fields.chunk(1, payload)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["text", "title", "url", "source", "section", "chunk_id", "page", "metadata", "path", "ü.ö"])


@settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(NAMES, JSON, max_size=6), max_size=4))
def test_whatever_a_payload_holds_a_mapping_is_proposed_or_none_and_it_can_be_read(
    payloads: list[dict[str, Any]],
) -> None:
    fields = propose(payloads)
    if fields is not None:
        section = tomllib.loads("\n".join(payload_section(fields)))["book"]["payload"]
        assert FieldMap(**BookSection.model_validate({"payload": section}).payload.model_dump()) == fields  # type: ignore[union-attr]  # it is given
        for payload in payloads:
            if fields.text_of(payload):
                assert fields.chunk(1, payload).title


def test_a_copy_of_a_nested_field_on_the_top_level_is_named_once() -> None:
    payload = {"content": TEXT, "metadata": {"section": "Nodes"}, "section": "Nodes"}
    fields = propose([payload])
    assert fields is not None
    assert fields.paths() == {"text": ("content",), "heading": ("section",)}


def test_a_field_that_only_some_points_have_is_followed_by_what_the_others_have() -> None:
    fields = propose([{"text": TEXT, "url": "https://a.example/1"}, {"text": TEXT, "link": "https://a.example/2"}])
    assert fields is not None
    assert fields.url == ("url", "link")


def test_a_text_of_an_unknown_name_is_told_by_its_length() -> None:
    fields = propose([{"snippet": TEXT, "note": "short one", "pageTitle": "Nodes"}])
    assert fields is not None
    assert (fields.text, fields.title) == (("snippet",), ("pageTitle",))


def test_points_without_anything_to_read_get_no_proposal() -> None:
    assert propose([]) is None
    assert propose([None, {}, {"image": "a.png", "width": 3}]) is None


def test_without_a_mapping_the_fields_are_those_of_langchain() -> None:
    fields = fields_of(BookSection())
    assert fields is LANGCHAIN
    metadata = {"title": "T", "url": "https://a.example", "page_number": 3, "chapter": "2"}
    chunk = fields.chunk("id", {"page_content": TEXT, "metadata": metadata})
    assert (chunk.text, chunk.title, chunk.url, chunk.page_number, chunk.chapter) == (
        TEXT,
        "T",
        "https://a.example",
        3,
        "2",
    )


def test_the_profile_of_a_flat_collection_maps_it() -> None:
    fields = fields_of(load_profile("robotics-tutor").book)
    payload = {"url": "https://a.example/n", "title": "Nodes", "heading": "What", "text": TEXT, "chunk_index": 4}
    chunk = fields.chunk("id", payload)
    assert (chunk.text, chunk.title, chunk.heading, chunk.url, chunk.chunk_index) == (
        TEXT,
        "Nodes",
        "What",
        "https://a.example/n",
        4,
    )


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[book.payload]\ntitle = 'title'", "book.payload.text: it is required"),
        ("[book.payload]\ntext = []", "book.payload.text"),
        ("[book.payload]\ntext = 'text'\nauthor = 'a'", "there is no such key"),
        ("[book.payload]\ntext = 3", "book.payload.text"),
        ("[book]\nquantization = 'tiny'", "book.quantization"),
    ],
)
def test_a_mapping_with_a_mistake_names_the_key(tmp_path: Any, toml: str, says: str) -> None:
    (tmp_path / "theirs.toml").write_text(f'description = "d"\ninstructions = "i"\n{toml}\n', encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_profile("theirs", (tmp_path,))
    assert says in caught.value.message
