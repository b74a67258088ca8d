"""The support check against any text: it never raises, and a long text costs little."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evidence.verdict import check

_PIECES = """not |never |1,|[1, |`|```\n|five hundred and |U.S. |I do not |the book says |$|%|Bob |more |before |:|?|\n|
#|**|a_b|::|-|'|n't |\u202e|\u200b|é|第三章|5 |3 pm|half past |one o'clock |in the morning|minus |below zero|over |
1/2 |every other |week|twice a day|and a half |between |1990s|13th and |in ten |at least """
PIECES = st.sampled_from(_PIECES.split("|"))
TEXT = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join))


@settings(max_examples=150, deadline=None)
@given(sentence=TEXT, passages=st.lists(TEXT, max_size=3), known=st.text(max_size=40))
def test_any_text_gets_a_verdict_whose_place_is_in_the_passage(sentence: str, passages: list[str], known: str) -> None:
    verdict = check(sentence, passages, known=known)
    assert verdict.supported == (not verdict.reasons)
    assert 0.0 <= verdict.score <= 1.0 + 1e-9
    if verdict.passage is None:
        assert (verdict.start, verdict.end) == (0, 0)
    else:
        assert 0 <= verdict.start < verdict.end <= len(passages[verdict.passage])


@pytest.mark.parametrize("sign", ["¼M", "⅕B", "Ⅻ", "²m", "①k", "½½", "1⁄4T", "$¼M"])
def test_a_number_in_an_unusual_sign_is_no_invention(sign: str) -> None:
    assert check(f"It is {sign}.", [f"It is {sign}."], known=sign).standing != "contradicted"


@pytest.mark.parametrize(
    "piece", ["the river runs not five km before ", "[1, ", "`a ", " and two hundred", "a::", "1,"]
)
def test_what_is_too_long_for_a_sentence_is_not_supported(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert check(text, ["The river runs 5 km."]).kinds == ("distant",)


def test_the_lines_of_a_long_code_block_are_all_looked_for() -> None:
    block = "```\n" + "x = 1\n" * 5000 + "y = 2\n```"
    assert check(block, ["x = 1"]).reasons == ("code: y = 2 is not in the passages",)
