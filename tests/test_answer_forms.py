"""Forms in which models write answers: markers before sentences, labels, tags that break lines, open emphasis."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.grounding import prove
from rag.types import REFUSAL
from tests.fakes import passage

ATLAS = "Atlas is a robot made in Boston. It weighs 89 kg and walks on two legs."
SPOT = "Spot is a dog-like machine. It climbs stairs quickly and carries 14 kg."


def cited(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    """The supported sentences with their passages."""
    proof = prove(answer, [ATLAS, SPOT])
    return [(one.text, one.passages) for one in proof.sentences if one.standing == "supported"]


@pytest.mark.parametrize(
    "answer",
    [
        "[1] Atlas weighs 89 kg. [2] Spot climbs stairs quickly.",
        "[1]Atlas weighs 89 kg. [2]Spot climbs stairs quickly.",
        "【1】 Atlas weighs 89 kg. 【2】 Spot climbs stairs quickly.",
        "[Passage 1] Atlas weighs 89 kg. [Passage 2] Spot climbs stairs quickly.",
        "[1]: Atlas weighs 89 kg. [2]: Spot climbs stairs quickly.",
        "[1]: Atlas weighs 89 kg.\n[2]: Spot climbs stairs quickly.",
        "- [1]: Atlas weighs 89 kg.\n- [2]: Spot climbs stairs quickly.",
        "Here are the facts:\n\n[1]: Atlas weighs 89 kg.\n\n[2]: Spot climbs stairs quickly.",
        "[1] Atlas weighs 89 kg.\n[2] Spot climbs stairs quickly.",
        "Atlas weighs 89 kg. [1] Spot climbs stairs quickly. [2]",
    ],
)
def test_a_marker_before_every_sentence_counts_for_the_sentence_behind_it(answer: str) -> None:
    assert cited(answer) == [("Atlas weighs 89 kg.", (1,)), ("Spot climbs stairs quickly.", (2,))]
    assert all(f"[{number}]" in prove(answer, [ATLAS, SPOT]).text for number in (1, 2))


def test_a_sentence_behind_one_with_its_marker_in_front_has_that_marker() -> None:
    said = "[1] Atlas weighs 89 kg. It walks on two legs. [2] Spot climbs stairs quickly. It carries 14 kg."
    assert [numbers for _, numbers in cited(said)] == [(1,), (1,), (2,), (2,)]


def test_a_marker_before_a_sentence_does_not_lend_it_the_passage_of_the_next() -> None:
    proof = prove("[1] Atlas weighs 89 kg. [2] Spot flies at 900 km/h. [2] It carries 14 kg.", [ATLAS, SPOT])
    assert [one.standing for one in proof.sentences] == ["supported", "contradicted", "supported"]


def test_a_marker_at_the_end_of_a_paragraph_belongs_to_its_last_sentence() -> None:
    assert cited("[1] Atlas weighs 89 kg. [2]") == [("Atlas weighs 89 kg.", (1,))]


@pytest.mark.parametrize("note", ["[1]: Atlas manual, 2020", "[1]: Atlas weighs 89 kg.", "[1]: https://a.example"])
def test_a_line_with_a_label_below_an_answer_is_a_footnote(note: str) -> None:
    assert prove(f"Spot climbs stairs quickly [2].\n\n{note}", [ATLAS, SPOT]).text == "Spot climbs stairs quickly [2]."


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_markers_before_sentences_are_read_however_they_are_streamed(step: int) -> None:
    text = "[1] Atlas weighs 89 kg. [2] Spot climbs stairs quickly.<br>[2] It carries 14 kg."
    writer = AnswerWriter([passage(1, text=ATLAS), passage(2, text=SPOT)], AnswerOptions(REFUSAL, footer="none"))
    shown = [piece for at in range(0, len(text), step) for piece in writer.feed(text[at : at + step])]
    shown += writer.close()
    assert "".join(shown) == "[1] Atlas weighs 89 kg. [2] Spot climbs stairs quickly.\n[2] It carries 14 kg."


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("Atlas weighs 89 kg [1]<br/>Spot climbs stairs quickly [2]",
         "Atlas weighs 89 kg [1]\nSpot climbs stairs quickly [2]"),
        ("Atlas weighs 89 kg [1]<br>Spot flies at 900 km/h [2]", "Atlas weighs 89 kg [1]"),
        ("<ul><li>Atlas weighs 89 kg [1]</li><li>Spot flies at 900 km/h [2]</li></ul>",
         "- Atlas weighs 89 kg [1]\n- (left out: the cited passages do not say this)"),
        ("<p>Atlas weighs 89 kg [1].</p><p>Spot climbs stairs quickly [2].</p>",
         "Atlas weighs 89 kg [1].\n\nSpot climbs stairs quickly [2]."),
        ("| Robot | Weight |\n|---|---|\n| Atlas<br>robot | 89 kg [1] |",
         "| Robot | Weight |\n|---|---|\n| Atlas robot | 89 kg [1] |"),
    ],
)  # fmt: skip
def test_a_tag_that_breaks_a_line_parts_sentences(answer: str, shown: str) -> None:
    assert prove(answer, [ATLAS, SPOT]).text == shown


@pytest.mark.parametrize("said", ["The <br> tag breaks a line [1].", "`<br>` breaks a line [1]."])
def test_a_tag_that_a_passage_has_or_that_is_code_breaks_no_line(said: str) -> None:
    assert prove(said, ["The <br> tag breaks a line. It is void."]).text == said


@pytest.mark.parametrize("sign", ["**", "*", "__", "_", "***"])
@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("~Atlas weighs 89 kg [1]. It flies at 900 km/h [1].~", "~Atlas weighs 89 kg [1].~"),
        ("~It flies at 900 km/h [1]. Atlas weighs 89 kg [1].~", "~Atlas weighs 89 kg [1].~"),
        ("~Atlas weighs 89 kg [1]. It flies at 900 km/h [1]. It walks on two legs [1].~",
         "~Atlas weighs 89 kg [1]. It walks on two legs [1].~"),
        ("~It flies at 900 km/h [1]. Atlas weighs 89 kg [1]. It walks on two legs [1].~ Spot carries 14 kg [2].",
         "Atlas weighs 89 kg [1]. ~It walks on two legs [1].~ Spot carries 14 kg [2]."),
        ("- ~Atlas weighs 89 kg [1]. It flies at 900 km/h [1].~\n- Spot carries 14 kg [2].",
         "- ~Atlas weighs 89 kg [1].~\n- Spot carries 14 kg [2]."),
        ("~Atlas weighs 89 kg [1].~ ~It flies at 900 km/h [1].~ It walks on two legs [1].",
         "~Atlas weighs 89 kg [1].~ It walks on two legs [1]."),
    ],
)  # fmt: skip
def test_emphasis_is_whole_where_a_sentence_inside_it_was_removed(sign: str, answer: str, shown: str) -> None:
    assert prove(answer.replace("~", sign), [ATLAS, SPOT]).text == shown.replace("~", sign)


def test_code_over_two_lines_is_closed_where_the_second_was_removed() -> None:
    assert prove("`Atlas weighs 89 kg\nIt flies at 900 km/h [1].`", [ATLAS]).text == "`Atlas weighs 89 kg [1]`"


def test_a_star_that_emphasizes_nothing_is_not_repeated() -> None:
    said = "Atlas takes *args at 900 km/h [1]. Atlas weighs 89 kg [1]."
    assert prove(said, [ATLAS]).text == "Atlas weighs 89 kg [1]."
    assert prove("Atlas weighs 89 kg [1]. 2 * 900 km are a * flight [1].", [ATLAS]).text == "Atlas weighs 89 kg [1]."


@pytest.mark.parametrize(
    "answer",
    [
        "Atlas weighs 89 kg.¹ Spot climbs stairs quickly.²",
        "Atlas weighs 89 kg¹. Spot climbs stairs quickly².",
        "Atlas weighs 89 kg ¹. Spot climbs stairs quickly ².",
        "Atlas weighs 89 kg.⁽¹⁾\nSpot climbs stairs quickly.⁽²⁾",
        "Atlas weighs 89 kg {1}. Spot climbs stairs quickly {2}.",
        "Atlas weighs 89 kg【1】. Spot climbs stairs quickly【2】.",
        "Atlas weighs 89 kg (1). Spot climbs stairs quickly (2).",
        "Atlas weighs 89 kg [^1]. Spot climbs stairs quickly [^2].",
        "Atlas weighs 89 kg [Passage 1]. Spot climbs stairs quickly [passage 2].",
    ],
)
def test_footnotes_and_other_brackets_cite_passages(answer: str) -> None:
    assert cited(answer) == [("Atlas weighs 89 kg.", (1,)), ("Spot climbs stairs quickly.", (2,))]


def test_raised_numbers_cite_in_the_middle_of_a_sentence_and_behind_a_quotation() -> None:
    said = "“Atlas weighs 89 kg.”¹ Spot, a dog-like machine², climbs stairs quickly.¹,²"
    shown = "“Atlas weighs 89 kg.” [1] Spot, a dog-like machine [2], climbs stairs quickly. [2]"
    assert prove(said, [ATLAS, SPOT]).text == shown


FORMULAS = (
    "The hall covers 200 m². The force is 9.8 m/s². Its energy grows with speed². E = mc². The room is 5 metres² wide."
)


@pytest.mark.parametrize(
    "said",
    [
        "The hall covers 200 m².",
        "The hall covers 200 metres².",
        "The force is 9.8 m/s².",
        "The force is 9.8 metres per second².",
        "Its energy grows with speed².",
        "Its energy grows with height².",
        "The energy is sin².",
        "The energy is x ².",
        "The energy is E = speed².",
    ],
)
def test_a_power_is_no_citation(said: str) -> None:
    assert "²" in "".join(one.text for one in prove(said, [FORMULAS, "Energy is in the hall."]).sentences)


@pytest.mark.parametrize("said", ["Spot climbs stairs quickly.⁷", "Spot climbs stairs quickly {7}."])
def test_a_raised_or_braced_number_that_names_no_passage_cites_none(said: str) -> None:
    assert "Spot" not in prove(said, [ATLAS, SPOT]).text


def test_a_raised_number_beside_markers_is_none() -> None:
    said = "Atlas weighs 89 kg [1]. Spot climbs stairs quickly²."
    assert prove(said, [ATLAS, SPOT]).sentences[1].text == "Spot climbs stairs quickly²."
