"""Citations in a profile's own form: resolved to passages of this turn, or removed when they name none."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.types import CitationStyle, Passage
from tests.fakes import passage

REFUSAL = "I do not know."
TWO = [
    passage(1, title="Chapter 2: Installation", heading="Prerequisites"),
    passage(2, title="What is ROS? A guide", heading=""),
]
SAME_PAGE = [
    passage(1, title="Setup", heading="Ubuntu", url="https://b.example/s", link="https://b.example/s#ubuntu"),
    passage(2, title="Setup", heading="Windows", url="https://b.example/s", link="https://b.example/s#windows"),
]


def written(
    text: str, form: CitationStyle, passages: list[Passage] = TWO, style: CitationStyle = "numbered", step: int = 0
) -> AnswerWriter:
    writer = AnswerWriter(passages, AnswerOptions(REFUSAL, style, footer="none", accepts=(form,), mode="off"))
    shown: list[str] = []
    for begin in range(0, len(text), step or len(text)):
        shown += writer.feed(text[begin : begin + (step or len(text))])
    shown += writer.close()
    assert "".join(shown) == writer.shown.content
    return writer


@pytest.mark.parametrize(
    ("form", "text", "plain"),
    [
        ("chapter", "It is so (from Chapter 2: Installation).", "It is so [1]."),
        ("chapter", "It is so. (from chapter 2:  installation)", "It is so. [1]"),
        ("chapter", "It is so (from Chapter 2: Installation, Prerequisites).", "It is so [1]."),
        ("chapter", "It is so (from What is ROS? A guide).", "It is so [2]."),
        ("source", "It is [Source: Chapter 2: Installation](https://book.example/page-1).", "It is [1]."),
        ("source", "So. [Source: What is ROS? A guide](https://book.example/page-2) More [1].", "So. [2] More [1]."),
        ("title", "It is so [Chapter 2: Installation](https://book.example/page-1).", "It is so [1]."),
        ("title", "So [Chapter 2: Installation - Prerequisites](https://book.example/page-1#nodes).", "So [1]."),
        ("title", "It is so [here](https://book.example/page-2/).", "It is so [2]."),
    ],
)
@pytest.mark.parametrize("step", [0, 1, 7])
def test_a_form_that_names_one_passage_is_resolved_however_it_is_streamed(
    form: CitationStyle, text: str, plain: str, step: int
) -> None:
    writer = written(text, form, step=step)
    assert (writer.shown.plain, writer.grounding.unknown_markers) == (plain, 0)
    assert writer.shown.citations


@pytest.mark.parametrize(
    ("form", "text", "plain"),
    [
        ("chapter", "It is so (from Chapter 9: Dreams).", "It is so."),
        ("source", "It is so [Source: Dreams](https://elsewhere.example/x).", "It is so."),
        ("title", "It is so [Chapter 2: Installation](https://elsewhere.example/x).", "It is so."),
    ],
)
def test_a_form_that_names_no_passage_is_taken_out_and_counted(form: CitationStyle, text: str, plain: str) -> None:
    writer = written(text, form)
    assert (writer.shown.plain, writer.grounding.unknown_markers, writer.shown.citations) == (plain, 1, {})


@pytest.mark.parametrize(
    ("form", "citation"),
    [
        ("chapter", "(from Setup)"),
        ("source", "[Source: Setup](https://b.example/s)"),
        ("title", "[Setup](https://b.example/s)"),
    ],
)
def test_a_form_that_names_a_page_cites_those_of_its_passages_that_say_the_sentence(
    form: CitationStyle, citation: str
) -> None:
    found = [
        SAME_PAGE[0].model_copy(update={"text": "Run the installer with sudo on Ubuntu."}),
        SAME_PAGE[1].model_copy(update={"text": "Open the graphical wizard on Windows."}),
    ]
    manner = AnswerOptions(REFUSAL, "numbered", footer="none", accepts=(form,), mode="strict")
    writer = AnswerWriter(found, manner)
    shown = [*writer.feed(f"Open the graphical wizard on Windows {citation}."), *writer.close()]
    assert "".join(shown) == "Open the graphical wizard on Windows [2]."
    assert (writer.grounding.unknown_markers, list(writer.shown.citations)) == (0, [2])


def test_a_form_that_names_two_pages_cites_the_one_that_says_the_sentence() -> None:
    pages = [SAME_PAGE[0], SAME_PAGE[1].model_copy(update={"url": "https://b.example/t", "text": "It is so."})]
    writer = written("It is so (from Setup).", "chapter", pages)
    assert (writer.shown.plain, writer.grounding.unknown_markers) == ("It is so [2].", 0)


INSTALL = passage(
    1,
    "Install the package with `pip install rob`.",
    title="Chapter 2: Installation",
    chapter="Chapter 2: Installation",
    heading="Quick start",
    breadcrumb="Chapter 2: Installation > Quick start",
    source_file_path="docs/02-install.md",
    url="https://book.example/install",
    link="https://book.example/install#quick-start",
)
NODES = passage(2, title="Chapter 3: Nodes", heading="", breadcrumb="Chapter 3: Nodes", source_file_path="03-nodes.md")
REEF = passage(
    1, "Reef the sail early.", title="Reefing", chapter="Part II: Heavy weather", source_file_path="x/reefing.md"
)


@pytest.mark.parametrize(
    "names",
    ["Chapter 2", "Ch. 2", "chapter 2", "Chapter 2, Quick start", "Chapter 2 - Installation", "Chapter 2: Quick start",
     'Chapter 2: Installation, section "Quick start"', "Chapters 2 and 3", "Chapter 2: Installation, Chapter 3: Nodes",
     "Chapter 3: Nodes; Chapter 2: Installation", "Installation", "the Installation chapter", "02-install.md",
     "docs/02-install.md", "install.md", "Section Quick start", "Chapter 2: Installation."],
)  # fmt: skip
def test_a_chapter_title_heading_or_file_names_the_passages_that_say_the_sentence(names: str) -> None:
    writer = AnswerWriter([INSTALL, NODES], AnswerOptions(REFUSAL, footer="none", accepts=("chapter",)))
    writer.feed(f"Install it with `pip install rob` (from {names}).")
    writer.close()
    assert (writer.shown.plain, writer.notices) == ("Install it with `pip install rob` [1].", [])


@pytest.mark.parametrize(
    "names", ["Part II", "Heavy weather", "Part II: Heavy weather, Reefing", "the file reefing.md"]
)
def test_a_chapter_apart_from_the_title_is_named_too(names: str) -> None:
    assert written(f"Reef the sail early (from {names}).", "chapter", [REEF, NODES]).shown.plain.endswith("early [1].")


@pytest.mark.parametrize("names", ["Chapter 4", "Part 2", "Chapter 9, page 9", "the quick brown fox"])
def test_what_names_no_passage_is_taken_out_and_a_sentence_that_a_passage_says_stays(names: str) -> None:
    writer = AnswerWriter([INSTALL, NODES], AnswerOptions(REFUSAL, footer="none", accepts=("chapter",)))
    writer.feed(f"A node is a process (from {names}). Nodes were invented by cows (from {names}).")
    writer.close()
    assert writer.shown.plain == "A node is a process [2]."
    assert "they name no passage of this turn." in writer.notices[0]


@pytest.mark.parametrize(
    "url", ["http://book.example/install", "https://www.book.example/install/", "https://book.example/install#install"]
)
def test_an_address_means_its_page_whatever_scheme_or_anchor_it_has(url: str) -> None:
    assert written(f"Install it [Installation]({url}).", "title", [INSTALL, NODES]).shown.plain == "Install it [1]."


@pytest.mark.parametrize("link", ["[Setup - Windows](https://b.example/s)", "[Setup](https://b.example/s#windows)"])
def test_heading_or_anchor_tell_passages_of_one_page_apart(link: str) -> None:
    assert written(f"It is so {link}.", "title", SAME_PAGE).shown.plain == "It is so [2]."


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("According to passage 1, it is so.", "According to passage [1], it is so."),
        ("Source 2 says that it is so [1].", "Source [2] says that it is so [1]."),
        ("It is so, as passages 1 and 2 say.", "It is so, as passages [1][2] say."),
        ("Passage 7 says so [1].", "Passage 7 says so [1]."),
        ("See source 1.5 and passage 1-3 [1].", "See source 1.5 and passage 1-3 [1]."),
        ("It is so, see source (1).", "It is so [1]."),
        ("It is so, passage (1).", "It is so [1]."),
        ("It is of the source (1).", "It is of the source [1]."),
        ("Call `passage 1` now [1].", "Call `passage 1` now [1]."),
        ("The voltage of source 2 is so [1].", "The voltage of source 2 is so [1]."),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
def test_a_passage_that_a_sentence_names_by_its_number_is_cited(text: str, plain: str, step: int) -> None:
    book = [passage(1), passage(2, "Connect Source 2 last." if "voltage" in text else "A topic is a bus.")]
    assert written(text, "source", book, step=step).shown.content == plain


@pytest.mark.parametrize("form", ["chapter", "source", "title"])
def test_code_is_left_alone(form: CitationStyle) -> None:
    text = "Write `(from Chapter 2: Installation)` or `[Source: x](y)` [1]."
    assert written(text, form).shown.plain == text


def test_a_link_that_stands_in_a_passage_stays_a_link() -> None:
    book = [passage(1, "See [the docs](https://docs.example/a).")]
    text = "See [the docs](https://docs.example/a) [1]."
    assert written(text, "title", book).shown.plain == text


def test_a_link_of_the_book_to_one_of_its_pages_cites_only_where_nothing_else_does() -> None:
    book = [passage(1), passage(2, "A topic is a bus. Read [Page 1](https://book.example/page-1) first.")]
    for written_, shown in (
        (
            "Read [Page 1](https://book.example/page-1) first [2].",
            "Read [Page 1](https://book.example/page-1) first [2].",
        ),
        ("A node is a process [Page 1](https://book.example/page-1).", "A node is a process [1]."),
    ):
        writer = AnswerWriter(book, AnswerOptions(REFUSAL, footer="none"))
        writer.feed(written_)
        writer.close()
        assert writer.shown.plain == shown


def test_words_in_brackets_that_stand_in_a_passage_stay() -> None:
    book = [passage(1, "Take it (from the shelf) now.")]
    text = "Take it (from the shelf) now [1]."
    assert written(text, "chapter", book).shown.plain == text


@pytest.mark.parametrize("said", ["from each parent", "from 6 to 9 am", "from Monday to Friday"])
def test_a_parenthesis_that_says_what_a_passage_says_is_no_citation(said: str) -> None:
    book = [passage(1, "Money from each parent is free of tax. From Monday to Friday, the office opens at 6 am.")]
    text = f"Money is free of tax ({said}) [1]."
    answer = written(text, "chapter", book)
    assert f"({said})" in answer.shown.plain
    assert answer.grounding.unknown_markers == 0


@pytest.mark.parametrize("name", ["from the money chapter", "From Money", "from money.md", "from the book"])
def test_a_parenthesis_that_names_no_page_is_taken_out(name: str) -> None:
    book = [passage(1, "Money is free of tax. The chapter of this book is on money.")]
    answer = written(f"Money is free of tax ({name}) [1].", "chapter", book)
    assert answer.shown.plain == "Money is free of tax [1]."


def test_a_bracket_behind_a_citation_makes_no_link_of_it() -> None:
    text = "So [here](https://book.example/page-2)(https://elsewhere.example)."
    assert written(text, "title").shown.plain == "So [2]."


def test_a_link_is_no_citation_where_the_profile_cites_otherwise() -> None:
    text = "See [the docs](https://docs.example/a) [1]."
    writer = written(text, "source")
    assert (writer.shown.plain, writer.grounding.unknown_markers) == ("See the docs [1].", 0)


def test_without_a_form_of_its_own_a_profile_leaves_all_as_it_is() -> None:
    writer = AnswerWriter(TWO, AnswerOptions(REFUSAL, footer="none", mode="off"))
    text = "It is so (from Chapter 2: Installation) [1]."
    writer.feed(text)
    writer.close()
    assert writer.shown.plain == text


@pytest.mark.parametrize(
    ("style", "rendered"),
    [
        ("chapter", "So (from Chapter 2: Installation, Prerequisites)."),
        ("source", "So [Source: Chapter 2: Installation](https://book.example/page-1#nodes)."),
        ("title", "So [Chapter 2: Installation - Prerequisites](https://book.example/page-1#nodes)."),
        ("numbered", "So [1]."),
    ],
)
def test_what_was_resolved_is_written_in_the_style_of_the_answer(style: CitationStyle, rendered: str) -> None:
    assert written("So (from Chapter 2: Installation).", "chapter", style=style).shown.content == rendered


def test_the_address_that_is_shown_is_the_passages_own() -> None:
    writer = written("So [Chapter 2: Installation](https://book.example/page-1/).", "title", style="source")
    assert "(https://book.example/page-1#nodes)" in writer.shown.content


def test_an_answer_that_ends_within_a_form_is_shown_as_far_as_it_goes() -> None:
    assert (
        written("It is so [1]. And [Source: What is", "source", step=3).shown.plain
        == "It is so [1]. And [Source: What is"
    )


def test_a_block_of_code_after_an_open_bracket_is_kept() -> None:
    text = "Look (from here? no\n\n```\nx = 1\n```\n\nIt is so [1]."
    assert written(text, "chapter", step=1).shown.plain == text


def test_many_open_brackets_take_little_time() -> None:
    assert written("[Source: a? " * 3000 + "b [1].", "source", step=50).shown.citations


@pytest.mark.parametrize(
    ("style", "own"),
    [("chapter", "(from Page 1)"), ("source", "[Source: Page 1](https://book.example/page-1)"),
     ("title", "[Page 1 - Nodes](https://book.example/page-1#nodes)")],
)  # fmt: skip
@pytest.mark.parametrize(
    "pair", ["{own}{own}", "{own} {own}", "[1]{own}", "[1] {own}", "{own} [1]", "{own}, [1]", "[1] [1] [1]", "[1][1]"]
)
def test_a_passage_is_cited_once_in_one_place(style: CitationStyle, own: str, pair: str) -> None:
    writer = AnswerWriter([passage(1)], AnswerOptions(REFUSAL, style, footer="none", accepts=(style,)))
    writer.feed(f"A node is a process {pair.format(own=own)}.")
    writer.close()
    assert (writer.shown.plain, writer.grounding.unknown_markers) == ("A node is a process [1].", 0)
    assert writer.shown.content == f"A node is a process {writer.shown.citations[1].formatted}."


def test_two_passages_of_a_section_are_named_once_where_the_style_names_the_section() -> None:
    page = [passage(1), passage(2, "A node has a name.", title="Page 1")]
    writer = AnswerWriter(page, AnswerOptions(REFUSAL, "chapter", footer="none", mode="off"))
    writer.feed("A node is a process with a name [1][2]. A node has a name [2] and is a process [1].")
    writer.close()
    assert writer.shown.content == (
        "A node is a process with a name (from Page 1, Nodes). A node has a name (from Page 1, Nodes) "
        "and is a process (from Page 1, Nodes)."
    )
    assert writer.shown.plain == "A node is a process with a name [1][2]. A node has a name [2] and is a process [1]."


@pytest.mark.parametrize(
    ("form", "unknown"),
    [("(from Page 1)", 0), ("(From page 1)", 0), ("(from **Page 1**)", 0), ("(from [1])", 0), ("(from source 1)", 0),
     ("(from Page 1, [1])", 0), ("(from Page 1; Page 9)", 1), ("(from Page 1 and Page 9)", 1), ("(from ) [1]", 1),
     ("(from) [1]", 1), ("(from Page 9) [1]", 1)],
)  # fmt: skip
def test_chapters_are_named_in_many_ways_and_what_names_none_is_counted(form: str, unknown: int) -> None:
    writer = AnswerWriter([passage(1)], AnswerOptions(REFUSAL, footer="none", accepts=("chapter",)))
    writer.feed(f"A node is a process {form}.")
    writer.close()
    assert (writer.shown.content, writer.grounding.unknown_markers) == ("A node is a process [1].", unknown)


def test_a_source_without_its_address_counts_where_it_names_one_passage() -> None:
    writer = AnswerWriter([passage(1)], AnswerOptions(REFUSAL, footer="none", accepts=("source",)))
    writer.feed("A node is a process [Source: Page 1]. A node is a process [Source: Cows].")
    writer.close()
    assert writer.shown.content == "A node is a process [1]. A node is a process [1]."
    assert writer.grounding.unknown_markers == 1


ATLAS = [
    passage(1, "Atlas is a robot. Atlas weighs 89 kg. The battery lasts one hour.", title="Atlas", heading=""),
    passage(2, "Spot weighs 32 kg.", title="Spot", heading="Weights"),
]


@pytest.mark.parametrize(
    ("form", "cite"),
    [
        ("title", "[Atlas](https://book.example/page-1)"),
        ("source", "[Source: Atlas](https://book.example/page-1)"),
        ("chapter", "(from Atlas)"),
    ],
)
@pytest.mark.parametrize("step", [1, 0])
def test_a_citation_in_words_behind_a_full_stop_belongs_to_the_sentence_before(
    form: CitationStyle, cite: str, step: int
) -> None:
    text = f"Atlas weighs 89 kg. {cite} The battery lasts one hour. {cite}\n\n- Atlas is a robot. {cite}"
    writer = AnswerWriter(ATLAS, AnswerOptions(REFUSAL, footer="none", accepts=(form,)))
    for begin in range(0, len(text), step or len(text)):
        writer.feed(text[begin : begin + (step or len(text))])
    writer.close()
    assert writer.shown.plain == "Atlas weighs 89 kg. [1] The battery lasts one hour. [1]\n\n- Atlas is a robot. [1]"
    assert (writer.notices, writer.grounding.sentences, writer.grounding.removed) == ([], 3, 0)


OURS, SPOT = "[Atlas](https://book.example/page-1)", "[Spot](https://book.example/page-2)"


@pytest.mark.parametrize("accepts", [(), ("source",), ("title",), ("chapter",)])
@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"Atlas is a robot. {OURS} weighs 89 kg.", "Atlas is a robot [1]. Atlas weighs 89 kg [1]."),
        (f"{OURS} weighs 89 kg, and {SPOT} weighs 32 kg.", "Atlas weighs 89 kg, and Spot weighs 32 kg [1][2]."),
        (f"The robot that weighs 89 kg is {OURS}.", "The robot that weighs 89 kg is Atlas [1]."),
        (f"**{OURS}** weighs 89 kg [1].", "**Atlas** weighs 89 kg [1]."),
        (f"- {OURS}: It weighs 89 kg.\n- {SPOT}", "- Atlas: It weighs 89 kg [1].\n- Spot [2]"),
        (f"| Robot | Weight |\n|---|---|\n| {SPOT} | 32 kg |", "| Robot | Weight |\n|---|---|\n| Spot | 32 kg [2] |"),
        (f"Atlas weighs 89 kg {OURS}.", "Atlas weighs 89 kg [1]."),
        (f"Atlas weighs 89 kg. {OURS} The battery lasts one hour. {OURS}",
         "Atlas weighs 89 kg. [1] The battery lasts one hour. [1]"),
        (f"Atlas weighs 89 kg, and Spot 32 kg {OURS}{SPOT}.", "Atlas weighs 89 kg, and Spot 32 kg [1][2]."),
        (f"Atlas weighs 89 kg {OURS}{SPOT}.", "Atlas weighs 89 kg [1]."),
    ],
)  # fmt: skip
def test_a_link_to_a_passage_cites_it_and_keeps_its_words_where_they_are_of_the_sentence(
    accepts: tuple[CitationStyle, ...], text: str, plain: str
) -> None:
    writer = AnswerWriter(ATLAS, AnswerOptions(REFUSAL, footer="none", accepts=accepts))
    writer.feed(text)
    writer.close()
    assert (writer.shown.plain, writer.notices) == (plain, [])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Atlas weighs 89 kg [1], see [Atlas page](/local).", "Atlas weighs 89 kg [1], see Atlas page."),
        ("Atlas weighs 89 kg [1]. See [the docs](https://evil.example).", "Atlas weighs 89 kg [1]. See the docs."),
        ("![x](https://evil.example/x.png) Atlas weighs 89 kg [1].", "Atlas weighs 89 kg [1]."),
    ],
)
def test_a_link_among_the_words_is_reduced_to_its_text_and_an_image_leaves_nothing(text: str, plain: str) -> None:
    writer = written(text, "title", ATLAS)
    assert writer.shown.plain.replace(" [?]", "") == plain
    assert writer.notices[0].startswith("1 link was taken out")


@pytest.mark.parametrize("accepts", [(), ("title",), ("chapter",)])
@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"Atlas weighs 89 kg, see {OURS}.", "Atlas weighs 89 kg [1]."),
        (f"Atlas weighs 89 kg [1], see {OURS}.", "Atlas weighs 89 kg [1]."),
        (f"Atlas weighs 89 kg [1]. See {OURS}.", "Atlas weighs 89 kg [1]. See Atlas [1]."),
        (f"Atlas weighs 89 kg [1]. For more details, see also {OURS}.",
         "Atlas weighs 89 kg [1]. For more details, see also Atlas [1]."),
        (f"Atlas weighs 89 kg. Read more in {OURS}.", "Atlas weighs 89 kg [1]. Read more in Atlas [1]."),
    ],
)  # fmt: skip
def test_a_link_behind_see_to_the_page_of_a_passage_cites_it_without_a_notice(
    accepts: tuple[CitationStyle, ...], text: str, plain: str
) -> None:
    writer = AnswerWriter(ATLAS, AnswerOptions(REFUSAL, footer="none", accepts=accepts))
    writer.feed(text)
    writer.close()
    assert (writer.shown.plain, writer.notices) == (plain, [])


def test_a_sentence_that_sends_to_a_page_and_claims_something_is_checked() -> None:
    writer = AnswerWriter(ATLAS, AnswerOptions(REFUSAL, footer="none"))
    writer.feed(f"Atlas weighs 89 kg [1]. See {OURS} for 47 batteries.")
    writer.close()
    assert (writer.shown.plain, writer.grounding.removed) == ("Atlas weighs 89 kg [1].", 1)


@pytest.mark.parametrize("cite", ["(from Weights)", "[Source: Weights]"])
def test_the_heading_of_one_passage_names_it(cite: str) -> None:
    assert written(f"Spot weighs 32 kg {cite}.", "chapter", ATLAS).shown.plain == "Spot weighs 32 kg [2]."


WIDGETS = [passage(1, "A widget has four teeth, as told here.", title="Widgets", url="https://b.example/w", link="")]


@pytest.mark.parametrize("form", ["title", "source", "chapter"])
@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A widget has [four teeth](https://b.example/w) [1].", "A widget has four teeth [1]."),
        ("A widget has [four teeth](https://b.example/w).", "A widget has four teeth [1]."),
        ("A widget [has four teeth](https://evil.example) [1].", "A widget has four teeth [1]."),
        ("A widget has four teeth [here](https://b.example/w).", "A widget has four teeth [1]."),
        ("A widget has four teeth [Widgets](https://b.example/w).", "A widget has four teeth [1]."),
    ],
)
def test_a_link_whose_words_say_what_the_passage_says_keeps_them(form: CitationStyle, text: str, plain: str) -> None:
    assert written(text, form, WIDGETS).shown.plain == plain


def test_no_empty_parentheses_are_left_of_a_strange_citation() -> None:
    text = "A widget has four teeth ([source](https://evil.example)) [1]."
    assert written(text, "title", WIDGETS).shown.plain == "A widget has four teeth [1]."


@pytest.mark.parametrize("words", ["Installation", "installation", "quick start", "chapter 2"])
def test_a_link_with_a_name_of_its_passage_is_a_citation_in_any_case(words: str) -> None:
    said = f"Run the package [{words}](https://book.example/install)."
    assert written(said, "title", [INSTALL, NODES]).shown.plain == "Run the package [1]."
