"""Citations: what a model writes as a marker, and what a reader gets of it."""

from __future__ import annotations

import io
import random
import re
from functools import cache

import pytest
from rich.console import Console
from rich.markdown import Markdown

from rag.answer.cited_passage import LONGEST_QUOTE, best_quote
from rag.answer.shown_answer import make_citation, sources_footer, unconfirmed_answer
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.text.markup import without_markers
from rag.types import CitationStyle, Footer, Passage, Quote
from tests.fakes import passage

REFUSAL = "I don't have information about that in the book content"
NODE = passage(1, "A node is a process. Nodes talk over topics. Code is in `src`.")
TOPIC = passage(2, "A topic is a bus. It carries messages 日本語 and more.")
STYLES: tuple[CitationStyle, ...] = ("numbered", "source", "title", "chapter")
ANSWERS = [
    "A node is a process [1]. It talks over topics [1][2].",
    "Nodes talk [1, 2]. Topics [2–3] carry [1-2] messages [7].",
    "A node [[9]1] is [1[9]] a [1[9]2] process [[1]].",
    "First.\n\n```py\nx = a[1]\n```\n[1]\n\nThen `b[2]` and [2](https://evil.example) end【1】.",
    "- A node is a process. [1]\n- A topic is a bus. [2]\n\n1. Next [1; 2]",
    "[9]",
    "[1]",
    "A [1",
    "~~~\n[1]\n~~~\nA topic is a bus [2].",
]


def written(
    text: str, *tokens: str, style: CitationStyle = "numbered", passages: tuple[Passage, ...] = (NODE, TOPIC)
) -> tuple[AnswerWriter, list[str]]:
    """The writer after the whole text, and the pieces that it gave out."""
    writer = AnswerWriter(passages, AnswerOptions(REFUSAL, style, mode="off"))
    shown = [piece for token in tokens or (text,) for piece in writer.feed(token)]
    return writer, shown + writer.close()


written_at_once = cache(written)  # what several tests look at


def plain(text: str) -> str:
    return written(text)[0].shown.plain


# --- whatever a model writes ----------------------------------------------------------------------------------------


def random_answer(chance: random.Random) -> str:
    words = [
        "A node is a process", "It carries", "[1]", "[2]", "[9]", "[1, 2]", "[2-9]", "[", "]", "1", ", ", ". ", " ",
        "\n", "\n\n", "`", "```", "```\n", "~~~\n", "[1](u)", "【1】", "[0]", "**", "- ", "?", "[1;", "–",
    ]  # fmt: skip
    return "".join(chance.choices(words, k=chance.randint(1, 25)))


@cache
def random_answers() -> list[str]:
    chance = random.Random(3)
    return ANSWERS + [random_answer(chance) for _ in range(600)]


def answers_in(style: CitationStyle) -> list[str]:
    """The written answers, and a quarter of the random ones: each random one is written in one style."""
    return ANSWERS + random_answers()[len(ANSWERS) + STYLES.index(style) :: len(STYLES)]


@pytest.mark.parametrize("style", STYLES)
def test_the_pieces_that_were_shown_are_the_content(style: CitationStyle) -> None:
    for text in answers_in(style):
        writer, shown = written_at_once(text, style=style)
        assert "".join(shown) == writer.shown.content, repr(text)


@pytest.mark.parametrize("style", STYLES)
def test_the_content_does_not_depend_on_the_tokens(style: CitationStyle) -> None:
    for text in answers_in(style):
        whole, by_letter = written_at_once(text, style=style)[0], written(text, *text, style=style)[0]
        assert (by_letter.shown.content, by_letter.shown.plain) == (whole.shown.content, whole.shown.plain), repr(text)


def test_a_quote_is_the_slice_of_its_passage() -> None:
    texts, cited = {one.number: one.text for one in (NODE, TOPIC)}, set()
    for text in random_answers():
        for citation in written_at_once(text, style="numbered")[0].shown.citations.values():
            cited.add(citation.marker)
            first = Quote(quote=citation.quote, start=citation.start, end=citation.end)
            for quote in (first, *citation.occurrences):
                assert texts[citation.marker][quote.start : quote.end] == quote.quote, repr(text)
    assert cited == texts.keys()


def test_every_marker_of_the_plain_answer_has_its_citation() -> None:
    looked = 0
    for text in random_answers():
        writer, _ = written_at_once(text, style="numbered")
        if "`" in text or "~~~" in text or writer.refused:
            continue
        markers = {int(one) for one in re.findall(r"\[(\d+)\](?!\()", writer.shown.plain)}
        assert markers == set(writer.shown.citations), repr(text)
        looked += bool(markers)
    assert looked > 50


def test_a_megabyte_of_unfinished_markers_is_no_answer() -> None:
    writer, shown = written("[1, " * 250_000)
    assert (writer.refused, "".join(shown)) == ("unconfirmed", unconfirmed_answer([NODE, TOPIC]))


# --- markers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "resolved"),
    [
        ("[1]", "[1]"),
        ("[ 1 ]", "[1]"),
        ("[01]", "[1]"),
        ("[1, 2]", "[1][2]"),
        ("[1;2]", "[1][2]"),
        ("[1-2]", "[1][2]"),
        ("[1–2]", "[1][2]"),
        ("[2, 2]", "[2]"),
        ("【1】", "[1]"),
        ("[[1]]", "[1]"),
        ("[2, 9]", "[2]"),
    ],
)
def test_a_marker_is_written_in_one_form(marker: str, resolved: str) -> None:
    said = "A node is a process, and a topic is a bus"
    assert plain(f"{said} {marker}.") == f"{said} {resolved}."


@pytest.mark.parametrize("marker", ["[9]", "[0]", "[3-8]", "[1000, 2000]"])
def test_a_marker_of_no_passage_is_taken_out_with_its_space(marker: str) -> None:
    assert plain(f"A node is a process {marker}.") == "A node is a process."


def test_unknown_markers_are_counted() -> None:
    assert written("One [9]. Two [1, 7, 8].")[0].grounding.unknown_markers == 3


@pytest.mark.parametrize("nested", ["[[9]1]", "[1[9]]", "[1[9]2]", "[ 1, [9] ]", "[1[9][8]2]", "[1 [9]]"])
def test_taking_an_unknown_marker_out_makes_no_new_one(nested: str) -> None:
    writer, _ = written(f"A node {nested} is.", style="title")
    assert writer.shown.citations == {}
    assert not re.search(r"\[\s*\d+\s*\]", writer.shown.plain)


@pytest.mark.parametrize(
    "code", ["`a[1]`", "``a ` [1]``", "`a. B [9]`", "```py\na[1]\n```", "~~~\na[9]\n~~~", "- a\n  ```\n  b[1]\n  ```"]
)
@pytest.mark.parametrize("style", STYLES)
def test_markers_in_code_are_left_alone(code: str, style: CitationStyle) -> None:
    writer, _ = written(f"Like this:\n\n{code}\n\nDone.", style=style)
    assert code in writer.shown.content
    assert writer.shown.citations == {}


def test_a_marker_below_a_block_of_code_cites_the_code() -> None:
    book = passage(1, "Install it with:\n\n```sh\nsudo apt install ros\n```\n\nThen go on. Be quick.")
    writer, _ = written("Do:\n\n```sh\nsudo apt install ros\n```\n[1]", passages=(book,))
    assert "sudo apt install ros" in writer.shown.citations[1].quote


def test_a_marker_behind_the_full_stop_quotes_its_own_sentence() -> None:
    writer, _ = written("A node is a process. [1] Nodes talk over topics. [1]")
    assert writer.shown.citations[1].quote == "A node is a process."
    assert [one.quote for one in writer.shown.citations[1].occurrences] == ["Nodes talk over topics."]


def test_citations_stand_in_the_order_of_first_use() -> None:
    assert list(written("A topic [2]. A node [1]. A topic [2].")[0].shown.citations) == [2, 1]


def test_a_further_sentence_with_the_same_source_is_an_occurrence() -> None:
    citation = written("A node is a process [1]. Nodes talk over topics [1].")[0].shown.citations[1]
    assert citation.quote == "A node is a process."
    assert [one.quote for one in citation.occurrences] == ["Nodes talk over topics."]


def test_the_same_sentence_twice_is_one_citation_without_occurrences() -> None:
    assert written("A node is a process [1]. A node is a process [1].")[0].shown.citations[1].occurrences == []


def test_a_citation_holds_where_the_passage_stands() -> None:
    citation = written("A node is a process [1].")[0].shown.citations[1]
    assert (citation.title, citation.url, citation.chunk_id) == (NODE.title, NODE.link, NODE.chunk_id)
    assert citation.chunk_sha256 == NODE.chunk_sha256
    assert (citation.score, citation.confidence_score) == (NODE.score, NODE.score)


# --- styles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "rendered"),
    [
        ("source", "[Source: Page 1](https://book.example/page-1#nodes)"),
        ("title", "[Page 1 - Nodes](https://book.example/page-1#nodes)"),
        ("chapter", "(from Page 1, Nodes)"),
    ],
)
def test_a_style_says_how_a_citation_is_written(style: CitationStyle, rendered: str) -> None:
    writer, _ = written("A node is a process [1].", style=style)
    assert writer.shown.content == f"A node is a process {rendered}."
    assert writer.shown.citations[1].formatted == rendered


def test_only_the_numbered_style_has_a_footer() -> None:
    assert written("A node [1].")[0].shown.content.endswith(
        "\n\n---\n**Sources:**\n- [1] Page 1 > Nodes (https://book.example/page-1#nodes)"
    )


def test_passages_of_one_section_share_a_line_of_the_footer() -> None:
    book = [passage(number, f"A node runs {number} times.", title="Nodes", heading="") for number in (1, 2)]
    place = {"url": "nodes.md", "link": "nodes.md", "breadcrumb": "Nodes"}
    same = tuple(one.model_copy(update=place) for one in book)
    shown = written("A node runs 1 times [1]. A node runs 2 times [2].", passages=same)[0].shown
    assert shown.content.endswith("\n\n---\n**Sources:**\n- [1] [2] Nodes (nodes.md)")
    assert list(shown.citations) == [1, 2]


def test_the_plain_answer_has_no_footer() -> None:
    assert plain("A node [1].") == "A node [1]."


def test_an_answer_without_citations_has_no_footer() -> None:
    assert written("Cows fly.")[0].shown.content == "Cows fly."
    assert sources_footer([]) == ""


def test_brackets_in_a_title_cannot_break_out_of_the_link() -> None:
    book = passage(1, "Text.", title="a](https://evil.example) [b", heading="")
    content = written("Text [1].", style="title", passages=(book,))[0].shown.content
    assert content == r"Text [a\](https://evil.example) \[b](https://book.example/page-1#nodes)."


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [REFUSAL, REFUSAL + ".", f"  {REFUSAL.upper()}!\n", f"{REFUSAL}. You're welcome!"])
def test_an_answer_that_only_is_the_refusal_is_the_refusal(said: str) -> None:
    writer, shown = written(said)
    assert writer.refused
    assert writer.shown.content == writer.shown.plain == "".join(shown) == REFUSAL


@pytest.mark.parametrize(
    ("said", "reason"),
    [("", "model_refused"), ("  \n", "model_refused"), ("[9]", "unconfirmed"), (" [9] [8] ", "unconfirmed")],
)
def test_an_answer_in_which_nothing_is_left_is_the_refusal_or_names_passages(said: str, reason: str) -> None:
    writer, shown = written(said)
    assert writer.refused == reason
    left = REFUSAL if reason == "model_refused" else unconfirmed_answer([NODE, TOPIC])
    assert writer.shown.content == "".join(shown) == left


def test_a_refusal_behind_an_answer_is_part_of_it() -> None:
    assert not written(f"A node is a process [1]. {REFUSAL}.")[0].refused


# --- quotes ---------------------------------------------------------------------------------------------------------


def test_a_sentence_that_stands_in_the_passage_is_its_own_quote() -> None:
    assert best_quote("Nodes talk over topics.", NODE.text).start == NODE.text.index("Nodes talk")


def test_another_sentence_quotes_the_unit_that_shares_most_words() -> None:
    assert best_quote("Talking is done over topics by nodes.", NODE.text).quote == "Nodes talk over topics."


def test_a_quote_is_at_most_200_characters_and_ends_with_a_word() -> None:
    text = "word " * 100
    quote = best_quote("word " * 100, text)
    assert len(quote.quote) <= LONGEST_QUOTE
    assert quote.quote.endswith("word")
    assert text[quote.start : quote.end] == quote.quote


def test_an_empty_passage_gives_an_empty_quote() -> None:
    assert tuple(best_quote("Anything.", "").model_dump().values()) == ("", 0, 0)


def test_markers_can_be_taken_out_of_a_text() -> None:
    assert without_markers("A node [1] is [2, 3] a `p[1]`【4】.") == "A node is a `p[1]`."


@pytest.mark.parametrize("form", ["list", "files"])
def test_a_footer_is_a_rule_and_a_line_for_each_source_where_markdown_is_shown(form: Footer) -> None:
    made = [make_citation(passage(n), best_quote("A node", "A node is a process."), "numbered") for n in (1, 2)]
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(Markdown("A node is a process [1][2]." + sources_footer(made, form)))
    first, _, rule, *lines = [line.strip() for line in console.export_text().splitlines()]
    assert first == "A node is a process [1][2]."
    assert len(rule) == 100
    listed = [line.removeprefix("• ") for line in lines if line]
    assert [line[:3] for line in listed] == ["Sou", "[1]", "[2]"]


def test_a_footer_with_files_names_the_file_beside_an_address() -> None:
    page = passage(1, source_file_path="ros/nodes.md")
    file = passage(2, url="ros/nodes.md", link="ros/nodes.md#n", source_file_path="ros/nodes.md")
    quote = best_quote("A node", "A node is a process.")
    lines = sources_footer([make_citation(one, quote, "numbered") for one in (page, file)], "files").splitlines()
    assert lines[-2:] == [
        "- [1] Page 1 > Nodes, ros/nodes.md (https://book.example/page-1#nodes)",
        "- [2] Page 2 > Nodes (ros/nodes.md#n)",
    ]
