"""The answer as it streams: what was streamed is the final text, whatever a model writes; and what its status is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.answer.render import LEFT_OUT, UNCONFIRMED
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import REFUSAL, SMALLTALK, GroundingMode
from tests.fakes import passage
from tests.growth import is_linear

BOOK = (
    passage(
        1,
        "A node is a process that computes. Nodes talk over topics.\n\n"
        "```sh\nros2 run demo talker\n```\n\nStart it with care.",
    ),
    passage(2, "A topic is a named bus.\n\n| Tool | Use |\n|---|---|\n| apt | Debian |\n| dnf | Fedora |\n"),
)
NODE, TALK, TOPIC = "A node is a process that computes", "Nodes talk over topics", "A topic is a named bus"
WRONG = "Nodes talk over 47 topics"
AIMLESS = "Its friends admire it for patience"


def write(text: str, mode: GroundingMode = "strict", *, step: int = 5, cut: bool = False) -> AnswerWriter:
    writer = AnswerWriter(BOOK, AnswerOptions(REFUSAL, footer="none", mode=mode, question="What are nodes?"))
    pieces = [piece for at in range(0, len(text), step) for piece in writer.feed(text[at : at + step])]
    pieces += writer.close(cut=cut)
    assert "".join(pieces) == writer.shown.content
    return writer


def shown(text: str, mode: GroundingMode = "strict", *, step: int = 5) -> str:
    return write(text, mode, step=step).shown.content


PARTS = [
    f"{NODE} [1]. ", f"{TALK}. ", f"{WRONG} [1]. ", f"{AIMLESS} [1]. ", "\n\n", "\n", "- ", "  - ", "1. ",
    "## Node\n",
    "Do it:\n",
    "```sh\nros2 run demo talker\n```\n", "| Tool | Use |\n|---|---|\n| apt | Debian |\n| apt | 99 |\n", "> ",
    "**", "`",
    "[2]",
    "[7]", "(see Chapter 2)", "[x](http://evil.com)", "<b>", "\ud800", "\u200b", "字。", "...", f"**{TOPIC}.**",
    "<think>no</think>",
]  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
    st.integers(1, 40),
    st.sampled_from(["strict", "exact", "flag", "off"]),
)
def test_what_was_streamed_is_the_answer_however_it_was_cut_into_tokens(
    text: str, step: int, mode: GroundingMode
) -> None:
    streamed = write(text, mode, step=step)  # compares what was streamed with the answer
    assert "evil" not in streamed.shown.content
    assert "\ud800" not in streamed.shown.content
    markers = [citation.marker for citation in streamed.shown.citations]
    assert markers == list(range(1, len(markers) + 1))
    assert (streamed.fallback is None) == bool(markers)


def test_a_sentence_is_shown_as_soon_as_the_next_one_begins() -> None:
    writer = AnswerWriter(BOOK, AnswerOptions(REFUSAL))
    assert "".join(writer.feed(f"{NODE} [1]. Nodes talk over")) == f"{NODE} [1]."


def test_a_sentence_without_a_marker_has_that_of_its_paragraph() -> None:
    assert shown(f"{NODE}. {TALK} [1].") == f"{NODE} [1]. {TALK} [1]."
    assert shown(f"{NODE} [1]. {TALK}.") == f"{NODE} [1]. {TALK} [1]."


def test_an_item_without_a_marker_has_that_of_its_lead_in() -> None:
    assert [one.citations for one in write(f"Facts [1]:\n\n- {NODE}\n- {TALK}").grounding.checked[1:]] == [[1], [1]]


def test_a_line_of_sources_below_belongs_to_what_stands_above_and_is_not_shown() -> None:
    writer = write(f"{NODE}. {TALK}.\n\nSources: [1]")
    assert writer.shown.content == f"{NODE} [1]. {TALK} [1]."


def test_a_heading_or_a_lead_in_goes_with_what_stands_under_it() -> None:
    text = f"## Lost\n\n{WRONG} [1].\n\n## Kept\n\nDo it:\n\n- {WRONG} [1]\n\nSo:\n\n- {NODE} [1]"
    assert shown(text) == f"## Kept\n\nSo:\n\n- {NODE} [1]"


def test_lists_and_tables_say_where_something_was_left_out() -> None:
    assert shown(f"1. {NODE} [1]\n2. {WRONG} [1]\n3. {TALK} [1]") == f"1. {NODE} [1]\n2. {LEFT_OUT}\n3. {TALK} [1]"
    table = "| Tool | Use |\n|---|---|\n| apt | Debian [2] |\n| apt | 99 [2] |"
    assert shown(table) == f"| Tool | Use |\n|---|---|\n| apt | Debian [1] |\n| {LEFT_OUT} | |"


def test_code_that_a_passage_has_is_shown_and_other_code_is_not() -> None:
    code = "```sh\nros2 run demo talker\n```"
    assert shown(f"Start it:\n\n{code}") == f"Start it [1]:\n\n{code}"
    assert write("Start it:\n\n```sh\nrm -rf /\n```").fallback == "unconfirmed"


@pytest.mark.parametrize(
    "thought", ["<think>{}</think>", "<thinking>{}</thinking>\n", "<reasoning>{}</reasoning>", "[THINK]{}[/THINK]"]
)
def test_what_a_model_thinks_aloud_before_its_answer_is_not_shown(thought: str) -> None:
    assert shown(thought.format(f"{TALK} [1].") + f"{NODE} [1].") == f"{NODE} [1]."


def test_an_unfinished_sentence_at_the_end_is_left_out() -> None:
    writer = write(f"{NODE} [1]. Nodes talk over", cut=True)
    assert writer.shown.content == f"{NODE} [1]."
    assert any("unfinished" in notice for notice in writer.notices)


def test_what_was_removed_is_said_once_in_plain_words() -> None:
    assert write(f"{NODE} [1]. {WRONG} [1].").notices == ["1 sentence was removed: the book does not have its number."]


@pytest.mark.parametrize(
    ("text", "reason", "content"),
    [
        (REFUSAL, "model_refused", REFUSAL),
        ("The passages do not mention that.", "model_refused", REFUSAL),
        ("Hello!", "smalltalk", SMALLTALK),
        ("It costs $2,500.", "unconfirmed", UNCONFIRMED),
        (f"{AIMLESS}.", "unconfirmed", f"{AIMLESS}. [?]"),
        (f"{WRONG} [1].", "unconfirmed", UNCONFIRMED),
    ],
)
def test_an_answer_without_a_citation_is_a_fallback(text: str, reason: str, content: str) -> None:
    writer = write(text)
    assert writer.fallback == reason
    assert writer.shown.content.startswith(content)
    assert writer.shown.citations == []


def test_an_answer_with_a_citation_is_none() -> None:
    assert write(f"{NODE} [1]. {REFUSAL}.").fallback is None


@pytest.mark.parametrize("mode", ["strict", "flag", "off"])
def test_no_image_no_tag_and_no_strange_address_is_shown(mode: GroundingMode) -> None:
    text = f'{NODE} ![x](https://evil.com/p.png) <img src="https://evil.com"> [1]. {TALK} at evil[.]com [1].'
    assert "evil" not in shown(text, mode)
    assert "<img" not in shown(text, mode)


HOSTILE = [
    "a", "- ", "> ", "[", "[1, ", "[a](", "<a ", "<!--", "a. ", "A. ", "`", "` `` ", "**a", "- a\n", "- 7\n",
    "- a:\n",
    "# a\n",
    "# a\n## b\n", "Really?\n\n", "(a", "```\n", "|", "a\n", "1", "1,000 ", "a.", "a@", "http://", "<think>",
    "\ud800",
    "\u200b", "\x1b[", "字", "字。", "(see Chapter ", "(a)", "a:\n\n", "_a", "[1]", "<sup>", " \n", "  - b\n",
    "Aa ", "1 a; ",
    "\n",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_nothing_that_a_model_repeats_takes_more_than_linear_time(part: str) -> None:
    assert is_linear(lambda text: write(text, step=len(text) // 3 + 1), part * (8_000 // len(part)))


@pytest.mark.parametrize(
    "text", ["- " * 5000 + "x", "".join("  " * n + "- a\n" for n in range(300)), "[1]" * 5000, "\ud83d" * 100]
)
def test_no_form_of_input_ends_in_anything_but_an_answer(text: str) -> None:
    assert write(text, step=1000).shown.content
