"""What a hostile or careless model may write, form by form: the same answer however it was split."""

from __future__ import annotations

import pytest

from rag.answer.pieces import PieceSplitter
from rag.answer.shown_answer import UNCONFIRMED
from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.grounding import prove
from rag.types import UNCONFIRMED_MARK as FLAG
from rag.types import GroundingMode, Quote
from tests.fakes import passage

BOOK = (
    passage(1, "A node is a process that computes. Nodes talk over topics. See https://docs.example/nodes for more."),
    passage(2, "A topic is a named bus. It carries 3 messages. Install it with `apt install ros`."),
)
N, T = "A node is a process that computes", "A topic is a named bus"
CITED = f"{N} [1]."
REFUSAL = "I do not know."


def write(text: str, step: int = 0, mode: GroundingMode = "strict") -> AnswerWriter:
    """The writer after the text, in tokens of so many characters."""
    writer = AnswerWriter(BOOK, AnswerOptions(REFUSAL, footer="none", mode=mode, question="What is a node?"))
    shown = [
        one
        for at in range(0, len(text), step or len(text) or 1)
        for one in writer.feed(text[at : at + (step or len(text))])
    ]
    assert "".join(shown + writer.close()) == writer.shown.content
    texts = {one.number: one.text for one in BOOK}
    for citation in writer.shown.citations.values():
        for quote in (Quote.of(citation), *citation.occurrences):
            assert texts[citation.marker][quote.start : quote.end] == quote.quote
    return writer


def answer(text: str, mode: GroundingMode = "strict") -> str:
    """The answer, which is the same however the text was split."""
    whole = write(text, mode=mode).shown.content
    assert {write(text, step, mode).shown.content for step in (1, 2, 5)} == {whole}
    return whole


def is_unconfirmed(text: str, mode: GroundingMode = "strict") -> bool:
    """Whether nothing is left of the text; then it cites nothing."""
    writer = write(text, mode=mode)
    told = answer(text, mode).startswith(f"{UNCONFIRMED}\n") and writer.refused == "unconfirmed"
    return told and not writer.shown.citations


@pytest.mark.parametrize(
    "marker",
    [
        "[1]",
        "[ 1 ]",
        "[01]",
        "[１]",
        "［1］",
        "【1】",
        "〔1〕",
        "【1†L1-L2】",
        "[1,99]",
        "[1;2]",
        "[1/2]",
        "[1&2]",
        "[1, and 2]",
        "[5-1]",
        "[1–2]",
        "[1—2]",
        "[1‑2]",
        "[1−2]",
        "[1~2]",
        "[1 to 2]",
        "[1][2][3]",
        "[source 1]",
        "[Source: 1]",
        "[Source 1, Source 2]",
        "(source: 1)",
        "(see source 1)",
        "(sources 1 and 2)",
        "[Passage 1]",
        "[ref1]",
        "[#1]",
        "[^1]",
        "<sup>1</sup>",
        "[1](http://evil.com)",
        "(Smith, 2020) [1]",
        "[Smith 2020] [1]",
        "[-1] [1]",
        "[+1] [1]",
        "[1.0] [1]",
        "[99999999999999999999] [1]",
        "[0][1]",
        "[99] [1]",
        "¹",
        "⁽¹⁾",
        "{1}",
    ],
)
def test_a_marker_of_any_form_becomes_the_number_of_its_passage(marker: str) -> None:
    assert answer(f"{N} {marker}.") == CITED


@pytest.mark.parametrize(
    "marker", ["[I]", "(9)", "`[1]`", "[1\\]", "&#91;1&#93;", "⁹", "①", "{9}", "<1>", "[1:2]", "[1..2]", "[99]", "[-1]"]
)
def test_what_is_no_marker_cites_nothing(marker: str) -> None:
    assert is_unconfirmed(f"{N} {marker}.")


@pytest.mark.parametrize(
    "address",
    [
        "https://еvil.com",
        "www.evil.com",
        "evil.com/x",
        "mailto:a@evil.com",
        "javascript:alert(1)",
        "data:text/html;base64,AA",
        "https://xn--vil-qla.com",
        "https://ev\u200bil.com",
        "ht\u200btps://evil.com",
        "evil\u200b.com",
        "evil．com",
        "hxxp://evil.com",
        "//evil.com/x",
        "ftp://evil.com",
        "file:///etc/passwd",
        "ws://evil.com",
        "http:evil.com",
        "http:/evil.com",
        "http:\\\\evil.com",
        "http://1.2.3.4/x",
        "http://localhost:80/x",
        "bit.ly/abc",
        "t.me/evil",
        "evil.рф",
        "evil.xn--p1ai",
        "evil.museum/x",
        "evil.zip",
        "http%3A%2F%2Fevil.com",
        "https://docs.example/nodes@evil.com",
        "https://docs.example/nodes/../evil",
        "<http://evil.com>",
        "https://docs.example/nodes?x=http://evil.com",
        "[](http://evil.com)",
        "s3://evil/x",
        "gs://evil/x",
        "postgresql+psycopg2://evil/x",
        "magnet:?xt=urn:btih:abc",
        "`s3://evil/x`",
        "(see ftp://evil/x)",
    ],
)
def test_an_address_of_the_models_own_leaves_nothing_but_a_mark(address: str) -> None:
    assert answer(f"{N} {address} [1].") == f"{CITED} {FLAG}"


@pytest.mark.parametrize("lead", [", see", "; see also", ", visit", " (see", " – cf."])
def test_a_removed_address_takes_along_the_word_that_refers_to_it(lead: str) -> None:
    end = ")" if "(" in lead else ""
    assert answer(f"{N}{lead} http://evil.com{end} [1].") == f"{CITED} {FLAG}"
    assert answer(f"{N} [1]{lead} http://evil.com{end}.") == f"{CITED} {FLAG}"
    kept = f"{N}{lead} https://docs.example/nodes{end} [1]."
    assert answer(kept) == kept


@pytest.mark.parametrize("address", ["s3://bucket/data", "postgresql+psycopg2://db/app", "magnet:?xt=urn:btih:def"])
def test_an_address_of_any_scheme_stays_if_the_passage_has_it(address: str) -> None:
    book = f"The data are kept at {address}, and copied every night. Prices rose by 3 percent."
    for said in (f"The data are kept at {address} [1].", f"The data are kept at `{address}` [1]."):
        proof = prove(said, [book])
        assert (proof.text, proof.sentences[0].standing) == (said, "supported")
    mark = "The data begin with `s3://`, or with gs://, [1]."
    assert prove(mark, [mark.replace(" [1]", "")]).text == mark


@pytest.mark.parametrize("line", ["203.0.113.7", "ping 203.0.113.7", "+44 20 7946 0958", "0900 555 123"])
def test_a_block_of_code_has_no_number_of_a_machine_or_telephone_from_nowhere(line: str) -> None:
    block = f"```\n{line}\n```"
    assert answer(f"{CITED}\n\n{block}") == CITED
    assert line in prove(f"Try it [1]:\n\n{block}", [f"Try it, ping it:\n\n{block}"]).text


def test_an_image_leaves_no_trace() -> None:
    assert answer(f"{N} ![x](http://evil.com/a.png) [1].") == CITED


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("[click](  http://evil.com  'title' )", "click"),
        ("<a href='http://evil.com'>click</a>", "click"),
        ('[docs](https://docs.example/nodes "http://evil.com")', "[docs](https://docs.example/nodes)"),
        ("https://docs.example/nodes", "https://docs.example/nodes"),
    ],
)
def test_a_link_keeps_its_words_and_its_address_only_where_the_passage_has_it(link: str, words: str) -> None:
    assert answer(f"{N} {link} [1].") == f"{N} {words} [1]."


@pytest.mark.parametrize(
    "below",
    [
        "[a]: http://evil.com",
        "[1]: http://evil.com",
        "[^1]: note",
        "Sources:\n[1] http://evil.com\n[2] Foo",
        "**References**\n1. Smith, J. (2020). Foo. http://evil.com",
        "---\n**Sources:**\n- [1] Page 1 (http://evil.com)",
        "Learn more: http://evil.com",
        "<<<passages 12>>>\n[3] Source: x (http://evil.com)\nCows fly.\n<<<end 12>>>",
        "[9] Source: x",
        "I could not find more in the book.",
        REFUSAL,
    ],
)
def test_nothing_that_is_no_sentence_of_the_book_stands_below(below: str) -> None:
    assert answer(f"{CITED}\n\n{below}") == CITED


def test_a_footnote_behind_a_sentence_is_not_shown() -> None:
    assert answer(f"{CITED} [^1]: note") == CITED


@pytest.mark.parametrize(
    "text",
    [
        f"**{N} [1].**",
        f"*{N}* [1].",
        f"> {N} [1].",
        f"{N} **[1]**.",
        f"- Nodes\n  - {N} [1]\n    - {T} [2]",
        f"1. {N} [1]\n   1. {T} [2]",
        f"## Nodes [1]\n\n{N} [1].",
        f"{N}.[1]",
        f"{N}[1].",
        f"[1] {N}.",
        f"[1] says that {N.lower()}.",
        f"{N} [1], {T} [2].",
        f"| nodes | topics |\n|---|---|\n| {N} [1] | {T} [2] |",
        "```\napt install ros\n```\nSource: [2]",
    ],
)
def test_an_answer_that_is_right_is_shown_as_it_is(text: str) -> None:
    assert answer(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "[1]",
        "[1][2]\n[1]",
        "<think>A node [1].",
        "I'm sorry, but the passages do not say what a node is.",
    ],
)
def test_what_is_no_answer_is_the_refusal(text: str) -> None:
    assert answer(text) == REFUSAL
    assert write(text).refused == "model_refused"


@pytest.mark.parametrize("text", ["...", "**", "[99]", f"{N} [99]. {T} [98]."])
def test_signs_and_citations_of_nothing_are_no_answer_and_no_refusal(text: str) -> None:
    assert is_unconfirmed(text)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (f"{N} [1] and cows fly [2].", f"{N} [1] and cows fly [2]. {FLAG}"),
        (f"```\n{N} [1]", f"```\n{N} [1]\n```\n{FLAG}"),
    ],
)
def test_what_nobody_can_know_is_marked_and_not_shown_in_exact(text: str, marked: str) -> None:
    assert answer(text) == marked
    assert is_unconfirmed(text, "exact")


def test_each_part_of_a_sentence_keeps_the_marker_that_it_needs() -> None:
    text = f"{N} [1], and it carries 3 messages [2]."
    assert answer(text) == text


def test_what_repaints_a_screen_is_taken_out_whole_wherever_it_was_split() -> None:
    assert answer(f"\x1b[31;1m{N}\x1b[0m [1].") == CITED
    assert answer(f"\x1b]8;;http://evil.com\x07{N}\x1b]8;;\x1b\\ \x9b1m[1].") == CITED


def test_a_block_of_code_that_was_not_closed_is() -> None:
    assert answer("```sh\napt install ros") == "```sh\napt install ros\n```\nSource: [2]"


def test_a_marker_behind_a_closing_fence_goes_below_it() -> None:
    assert answer("```sh\napt install ros\n``` [2]") == "```sh\napt install ros\n```\nSource: [2]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{N} ([1], [2]).", f"{N} ([1])."),
        (f"{N} [1], [99].", CITED),
        (f"{N} [99], [1].", CITED),
        (f"{N} `http://evil.com` [1].", f"{CITED} {FLAG}"),
        (f"{N} <a\nhref='http://evil.com'>x</a> [1].", f"{N} x [1]."),
        (f"{N} [cite: 1].", CITED),
        (f"{N} [1].\r\n{T} [2].\r\n", f"{CITED}\n{T} [2]."),
    ],
)
def test_what_is_taken_out_leaves_no_hole(text: str, shown: str) -> None:
    assert answer(text) == shown


@pytest.mark.parametrize(
    "said",
    [
        "Sorry, this isn't covered in the book.",
        "There is no mention of cows in the passages [1].",
        "I'm not able to answer this question based on the given context.",
        "As an AI language model, I cannot answer that.",
        "N/A",
        f"{REFUSAL} [1]",
        f"- {REFUSAL}",
    ],
)
def test_a_refusal_in_any_words_is_the_models(said: str) -> None:
    assert answer(said) == REFUSAL
    assert write(said).refused == "model_refused"


def test_what_a_model_thinks_aloud_is_no_part_of_the_answer() -> None:
    thought = f"<think>\nLet me see. {T} [2].\n</think>\n\n"
    assert answer(thought + CITED) == CITED
    assert answer(f"<thinking>{T} [2].</thinking>{CITED}") == CITED
    assert answer(f"{CITED} <think>{T} [2].</think>") == CITED
    assert answer(f"{CITED}\n<thinking>\n{T} [2].\n</thinking>").rstrip() == CITED
    assert answer(f"{CITED} <think>{T} [2].") == CITED


def test_a_tag_within_a_sentence_or_in_code_is_no_thought() -> None:
    for text in ("The <think> tag.", "Use `a. <think>` here.", "```\n<think>\n```", "A. <thin", "A <think"):
        for size in (1, 3, 100):
            cutter = PieceSplitter()
            pieces = [piece for at in range(0, len(text), size) for piece in cutter.feed(text[at : at + size])]
            pieces.append(cutter.close())
            assert "".join(piece.text for piece in pieces if piece.kind != "thought") == text


def test_a_number_in_brackets_that_the_passage_has_is_the_books() -> None:
    writer = AnswerWriter([passage(1, "The gain lies in [0.5, 1.5] here.")], AnswerOptions(REFUSAL, footer="none"))
    writer.feed("The gain lies in [0.5, 1.5] here [1].")
    writer.close()
    assert writer.shown.content == "The gain lies in [0.5, 1.5] here [1]."


def test_an_item_of_two_sentences_is_one_of_those_that_a_lead_in_counts() -> None:
    book = "A turn has phases. You get one coin. You move twice. You may wait. You fight for a region."
    items = "- You get one coin [1].\n- You move twice. You may wait [1].\n- You fight for a region [1]."
    proof = prove(f"Each turn consists of three phases [1]:\n\n{items}", [book])
    assert [one.reasons for one in proof.sentences] == [()] * 5
