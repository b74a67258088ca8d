"""Pieces: where an answer may be cut while it arrives."""

from __future__ import annotations

import random

import pytest

from rag.answer.pieces import PieceSplitter

FENCED = "Do this:\n```py\nx = a[1]\n\n# Done. [1]\n```\n[1] shows it. Then rest.\n"
TEXTS = [
    "One. Two! Three? Four… Five",
    "A node is a process [1]. It talks [2][3].\n\n- first [1]\n- second. [2] Third.\n",
    "A sentence. [1] Another one. [2, 3] A third.",
    FENCED,
    "- item\n  ```\n  code [1]\n  ```\n  after [1].\n",
    "````\n```\n[1]\n```\n````\nafter [1].",
    "```x``` is inline [1]. And `a. b [1]` too. ``c ` d. e`` end.",
    "~~~\ncode [1]\n~~~\nafter [1].",
    "```\nnever closed [1]. Really.\n",
    "  leading space. \n\n\n  And lines   \n with spaces  ",
    "„Zitat.“ Danach. (In brackets.) *Emphasis.* [Done.](https://a.example) Next.",
    "日本語。 【1】 次の文。\n改行 [1]",
    "One [1].Two [2].**Three**[3].four.[1]Five.[2] Six rows[0].Name rows[0].name [1].",
    "`" * 7 + " [1] " + "`" * 3,
    "[1] One runs. [2][3] Two runs.\n\nThree. [4] Four. [1]\n- [1] Five. [2] Six.\n[1]: Seven. [2]: Eight.",
    "",
    "\n",
    "[1]",
]


def pieces(text: str, *tokens: str) -> list[tuple[str, bool]]:
    cutter = PieceSplitter()
    found = [piece for token in tokens or (text,) for piece in cutter.feed(token)]
    return [(piece.text, piece.kind == "code") for piece in [*found, cutter.close()]]


def texts(text: str) -> list[str]:
    return [piece for piece, _ in pieces(text)]


def random_tokens(text: str, chance: random.Random) -> list[str]:
    cuts = sorted(chance.sample(range(len(text) + 1), k=min(len(text), chance.randint(0, 12))))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(texts(text)) == text


def test_a_sentence_ends_behind_its_marker_without_white_space() -> None:
    assert texts("A node runs [1].The topic waits [2][3].“Both” stop.[1]Then they go.") == [
        "A node runs [1].", "The topic waits [2][3].", "“Both” stop.[1]", "Then they go.",
    ]  # fmt: skip


def test_code_behind_brackets_is_no_new_sentence() -> None:
    assert texts("Take rows[0].name and `rows[0].Name` or v[1].2.") == [
        "Take rows[0].name and `rows[0].Name` or v[1].2."
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_the_cuts_do_not_depend_on_the_tokens(text: str) -> None:
    whole = pieces(text)
    assert pieces(text, *text) == whole
    chance = random.Random(7)
    for _ in range(50):
        assert pieces(text, *random_tokens(text, chance)) == whole


def test_the_cuts_of_any_text_do_not_depend_on_the_tokens() -> None:
    chance = random.Random(11)
    alphabet = [
        "a",
        "B",
        ". ",
        " ",
        "\n",
        "`",
        "```",
        "~~~",
        "[1]",
        "[",
        "]",
        "!",
        "\n\n",
        "  ",
        "(",
        ")",
        "*",
        "…",
        "1",
    ]
    for _ in range(1500):
        text = "".join(chance.choices(alphabet, k=chance.randint(1, 30)))
        assert pieces(text, *random_tokens(text, chance)) == pieces(text), repr(text)


def test_a_sentence_is_a_piece() -> None:
    assert texts("One is here. Two is there.") == ["One is here. ", "Two is there."]


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence() -> None:
    assert texts("One is here. [1] Two is there. [2, 3]") == ["One is here. [1] ", "Two is there. [2, 3]"]


def test_markers_before_the_first_sentence_of_a_paragraph_are_before_each() -> None:
    assert texts("[1] A runs. [2][3] B runs. C runs. [1] D runs. [2]\n\nE runs. [1] F runs. [2]") == [
        "[1] A runs. ", "[2][3] B runs. ", "C runs. ", "[1] D runs. [2]\n\n", "E runs. [1] ", "F runs. [2]",
    ]  # fmt: skip


@pytest.mark.parametrize("tokens", [1, 2, 7, 100])
def test_a_tag_that_breaks_a_line_is_a_line_break(tokens: int) -> None:
    text = "A runs.<br />B runs<br>\n<ul class='x'><li>C</li>\n<li>D</li></ul>E `<br>` F\n| G<br>H |\n```\n<br>\n```\n"
    found = pieces(text, *(text[at : at + tokens] for at in range(0, len(text), tokens)))
    joined = "".join(piece for piece, _ in found)
    assert joined == "A runs.\nB runs\n\n- C\n- D\n\nE `<br>` F\n| G<br>H |\n```\n<br>\n```\n"


def test_a_line_is_a_piece() -> None:
    assert texts("- one\n- two") == ["- one\n", "- two"]


def test_a_marker_on_the_next_line_is_a_piece() -> None:
    assert texts("- one\n[1]\n- two") == ["- one\n", "[1]\n", "- two"]


def test_a_full_stop_in_inline_code_ends_nothing() -> None:
    assert texts("Use `a. b [1]` here. Then go.") == ["Use `a. b [1]` here. ", "Then go."]


def test_a_block_of_code_is_one_piece_that_is_marked() -> None:
    assert pieces(FENCED)[1] == ("```py\nx = a[1]\n\n# Done. [1]\n```\n", True)


def test_what_follows_a_block_of_code_is_text_again() -> None:
    assert pieces(FENCED)[2] == ("[1] shows it. ", False)


def test_a_shorter_fence_inside_does_not_end_the_block() -> None:
    assert pieces("````\n```\n[1]\n```\n````\nafter.") == [("````\n```\n[1]\n```\n````\n", True), ("after.", False)]


def test_an_indented_block_of_code_ends_at_its_indented_fence() -> None:
    found = pieces("- a\n  ```\n  b\n  ```\n  after.")
    assert found[-1] == ("after.", False)


def test_a_block_that_is_never_closed_is_code_to_the_end() -> None:
    assert pieces("```\ncode [1]. More.")[-1] == ("```\ncode [1]. More.", True)


def test_three_backticks_around_words_of_a_line_are_inline_code() -> None:
    assert pieces("```x``` is code [1].") == [("```x``` is code [1].", False)]


def test_a_fence_behind_a_sentence_on_its_line_is_no_fence() -> None:
    assert [code for _, code in pieces("Say this. ```x\ny``` [1].\nMore.")] == [False] * 4


@pytest.mark.parametrize("unit", ["[1, ", "\n", " ", "`", "[", '."', "`a``", "word ", "a. [1] ", "[1[9]", "1 ", "``\n"])
def test_200_kb_of_anything_are_cut_in_one_pass(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert "".join(texts(text)) == text


def test_a_long_line_is_cut_token_by_token() -> None:
    cutter = PieceSplitter()
    found = [piece for _ in range(20_000) for piece in cutter.feed("word ")]
    assert "".join(piece.text for piece in [*found, cutter.close()]) == "word " * 20_000


@pytest.mark.parametrize(
    "sentence",
    [
        'Ask the patient "Do you smoke?" before you write the report [1].',
        "Yahoo [1]! is big.",
        "It waits [1]... then it goes on.",
        'He said "Stop." and left [1].',
    ],
)
def test_a_sentence_goes_on_in_lower_case_behind_other_signs_than_a_full_stop(sentence: str) -> None:
    cutter = PieceSplitter()
    assert [piece.text for piece in cutter.feed(f"{sentence} It ends.")] == [f"{sentence} "]
    assert [piece.text for piece in PieceSplitter().feed("pip installs it [1]. uv does so. So")] == [
        "pip installs it [1]. ",
        "uv does so. ",
    ]
