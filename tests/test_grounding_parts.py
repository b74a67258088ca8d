"""Numbers, words, negation and opposites as the support check reads them."""

from __future__ import annotations

import pytest

from rag.evidence.analyzed_text import opposites, scopes
from rag.evidence.mentions import code_words
from rag.evidence.numbers import quantities
from rag.evidence.verdict import check
from rag.evidence.words import key_of, tokens
from rag.grounding import prove


def read(text: str) -> list[tuple[str, str]]:
    return [(quantity.value, quantity.unit) for quantity in quantities(tokens(text))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("three", "3"),
        ("50%", "50 percent"),
        ("50 per cent", "50 %"),
        ("$5 million", "5,000,000 dollars"),
        ("2.50 km", "2.5 kilometres"),
        ("twenty-five", "25"),
        ("two hundred and six", "206"),
        ("3rd", "third"),
        ("5km", "5 km"),
        ("two-thirds", "two thirds"),
        ("v1.2.3", "1.2.3"),
        ("the 1990s", "1990s"),
        ("1.8×10⁻⁵", "1.8e-5"),
        ("1.8 x 10^-5", r"1.8 \times 10^{-5}"),
        ("10<sup>6</sup>", "1 million"),
        ("10⁶", "1,000,000"),
        ("1:2", "one part lime to two parts"),
        ("a ratio of one to two", "1:2"),
        ("one part of slaked lime and ten parts of water", "1:10"),
        ("0.5s", "0.5 s"),
        ("half past nine in the morning", "9:30 am"),
        ("a quarter past six in the evening", "6:15 pm"),
        ("three o'clock in the afternoon", "15:00"),
        ("the 12th century", "the 1100s"),
        ("between the 13th and 15th centuries", "the 1200s and 1400s"),
        ("4.2B USD", "4.2 billion dollars"),
        ("$3.5M", "3.5 million dollars"),
        ("5 µg", "5 mcg"),
        ("10 kΩ", "10 kohm"),
        ("every other week", "2 weeks"),
        ("three of the five", "3 out of 5"),
        ("5 kilowatt-hours", "5 kWh"),
        ("a thousand", "1,000"),
        ("24 000 ha", "24,000 hectares"),
        ("5 m in length", "5 m long"),
        ("from 5 to 6 pm", "from 5 pm to 6 pm"),
    ],
)
def test_a_number_is_the_same_however_it_is_written(one: str, other: str) -> None:
    assert read(one) == read(other)


@pytest.mark.parametrize("one", ["weekdays", "Monday to Friday", "Mondays through Fridays", "working days", "Mon–Fri"])
@pytest.mark.parametrize("other", ["weekdays", "Monday-Friday", "working days"])
def test_a_set_of_days_is_the_same_however_it_is_named(one: str, other: str) -> None:
    assert check(f"The surgery is open on {one}.", [f"The surgery is open on {other} only."]).supported


@pytest.mark.parametrize(
    ("sentence", "passage", "standing"),
    [
        ("It is open Monday to Saturday.", "It is open on weekdays.", "contradicted"),
        ("It is open on weekends.", "It is open on weekdays.", "unconfirmed"),
        ("Mix lime and sand 2:1.", "Mix lime and sand, one part to two parts.", "contradicted"),
        ("Mix lime and sand 1:2.", "Mix lime and sand one to two.", "unconfirmed"),
        ("It takes one to two hours.", "It takes 1-2 hours.", "supported"),
        ("The constant of the acid is 1.9e-5.", "The constant of the acid is 1.8×10⁻⁵.", "contradicted"),
        ("A match has 50 minutes of play.", "A match has two 25-minute halves of play.", "contradicted"),
        ("A match has 50 minutes of play in total.", "A match has two 25-minute halves of play.", "unconfirmed"),
        ("The dough has 700 g of flour.", "The dough has 300 g of flour, and 400 g of flour later.", "contradicted"),
        ("The test has a power of 80%.", "The test has a power of 0.8.", "supported"),
        ("The test has a power of 80%.", "The test has a power of 0.9.", "contradicted"),
        ("It is cooled to minus 25 degrees.", "It is cooled to -25 °C.", "supported"),
        ("It is cooled to minus 25 °F.", "It is cooled to -25 °C.", "contradicted"),
        ("It takes 8 vs. 4 weeks.", "It takes 8 weeks or 4 weeks.", "supported"),
        ("The rent is due on 1 May.", "The landlord may enter. The rent is due on 1 June.", "unconfirmed"),
        ("The rent is due on 1 May.", "The landlord may enter. The rent is due on 1 May.", "supported"),
        ("It cost 1.600 guilders.", "It cost 1,600 guilders.", "unconfirmed"),
        ("It weighs 1.5 kg.", "It weighs 15 kg.", "contradicted"),
        ("Two people may come in.", "Two visitors may come in. People are ill.", "supported"),
        ("Possible grounds are debts and damage.", "The grounds are debts and damage.", "supported"),
    ],
)
def test_what_is_certain_of_numbers_and_days_is_told_from_what_is_not(
    sentence: str, passage: str, standing: str
) -> None:
    assert check(sentence, [passage]).standing == standing


@pytest.mark.parametrize("form", ["- **{}**: {} [1]", "| {} | {} |", "- {} (all year): {}"])
@pytest.mark.parametrize(
    "passage",
    [
        "A return ticket costs £38 for adults and £19 for children all year; under fives travel free.",
        "All year, adults pay £38 and children £19 for a ticket.",
        "| Ticket, all year | Price |\n|---|---|\n| Adults | £38 |\n| Children | £19 |",
    ],
)
def test_a_value_beside_its_label_is_that_of_the_label_on_whichever_side_it_stands(form: str, passage: str) -> None:
    for label, value, standing in (
        ("Adults", "£38", "supported"),
        ("Children", "£19", "supported"),
        ("Adults", "£19", "unconfirmed"),
        ("Children", "£38", "unconfirmed"),
    ):
        assert check(form.format(label, value), [passage]).standing == standing, (label, value)


def test_a_name_with_a_digit_is_no_number() -> None:
    assert read("the H1N1 virus in 3D") == []


@pytest.mark.parametrize("text", ["did not see", "didn't see", "didn’t see", "did n't see"])
def test_a_negation_is_read_however_it_is_written(text: str) -> None:
    assert [token.word for token in tokens(text)] == ["did", "not", "see"]


@pytest.mark.parametrize(("one", "other"), [("went", "goes"), ("British", "Britain"), ("decision", "decide")])
def test_forms_of_one_word_are_compared_as_one(one: str, other: str) -> None:
    assert key_of(one.lower()) == key_of(other.lower())


def test_accents_and_dots_of_abbreviations_do_not_matter() -> None:
    assert [token.key for token in tokens("Perú U.S.")] == [token.key for token in tokens("Peru US")]


def test_a_negation_denies_the_next_words_and_not_only_denies_nothing() -> None:
    text = tokens("It does not render threads, not only files.")
    assert {text[index].word for index in scopes(text)} == {"render", "threads"}


def test_a_negated_whole_denies_the_whole_and_not_the_rest() -> None:
    text = tokens("Not all states allowed it, and they do not always agree.")
    assert [text[index].word for index in sorted(scopes(text))] == ["all", "always"]


def test_a_plural_at_the_beginning_of_a_sentence_is_no_name() -> None:
    text = tokens("Landlords pay. Kubernetes runs.")
    assert [token.word for token in text if token.is_name] == ["kubernetes"]


def test_opposites_hold_both_ways() -> None:
    table = opposites()
    assert table
    for key, (_, others) in table.items():
        assert all(key in table[other][1] or key in table[other][0] for other in others)


def test_code_words_are_spans_paths_flags_and_calls() -> None:
    words = code_words("Run `cargo new` in _src/main.rs_, call main() with --release and base_link.")
    assert words == ["cargo new", "src/main.rs", "main()", "--release", "base_link"]


def test_quotation_marks_of_two_backticks_are_no_code() -> None:
    assert code_words("They called it ``Grenade'' and ``Runaway''.") == []


SYSTEMS = "The tool runs on Linux, Windows and macOS. It knows two modes, fast and safe, and paints boxes red."


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("The tool runs on three systems: Linux, Windows, and macOS.", True),
        ("The tool runs on four systems: Linux, Windows, and macOS.", False),
        ("The tool runs on three systems: Linux, Windows, and Android.", False),
        ("The tool runs on 3 km: Linux, Windows, and macOS.", False),
        ("The tool knows three modes: fast, safe and red.", False),
        ("The tool runs on three systems.", False),
    ],
)
def test_a_number_may_count_what_the_sentence_lists(sentence: str, supported: bool) -> None:
    assert check(sentence, [SYSTEMS]).supported == supported


ATLAS, SPOT = (
    "Atlas is a humanoid robot. It weighs 89 kg.",
    "Spot is a quadruped robot with four legs. It weighs 32 kg.",
)


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("Spot weighs 32 kg.", "supported"),
        ("Robots have four legs.", "supported"),  # "robot" is an ordinary word of the passages
        ("Atlas weighs 32 kg.", "unconfirmed"),
        ("Atlas's weight is 32 kg.", "unconfirmed"),
        ("Atlas has four legs.", "unconfirmed"),
        ("Smith says that Spot has four legs.", "unconfirmed"),
    ],
)
def test_the_subject_at_the_beginning_stands_in_the_cited_passages(sentence: str, standing: str) -> None:
    assert check(sentence, [SPOT], beside=[ATLAS, SPOT, "How heavy are they?"]).standing == standing


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Darwin designed the bridge over the Orne.", "Clara Vonn designed the bridge over the Orne."),
        ("Robert's bridge was built in 1652.", "The bridge was built in 1652."),
        ("Google designed the bridge over the Orne.", "Clara Vonn designed the bridge over the Orne."),
        ("Atlas weighs 89 kg.", "Spot weighs 89 kg."),
    ],
)
def test_a_well_known_name_at_the_beginning_stands_in_the_cited_passages_too(sentence: str, passage: str) -> None:
    verdict = check(sentence, [passage])
    assert (verdict.standing, verdict.kinds) == ("unconfirmed", ("name",))


@pytest.mark.parametrize("first", ["Users", "Developers", "Overall, they", "Mark, for example,", "Running tools"])
def test_an_ordinary_word_at_the_beginning_is_no_name(first: str) -> None:
    assert check(f"{first} set the port in the file `a.toml`.", ["Set the port in the file `a.toml`."]).supported


def test_a_subject_that_a_title_names_is_known() -> None:
    assert check("Atlas weighs 89 kg.", ["It weighs 89 kg."], known="Robots > Atlas", beside=[ATLAS]).supported


@pytest.mark.parametrize("code", ["void *zalloc(void **code)", "__init__"])
def test_code_is_found_where_the_passage_escapes_its_signs(code: str) -> None:
    passage = r"It is declared as void \*zalloc(void \*\*code) and \_\_init\_\_ runs. So is `a\*b`."
    assert check(f"It is declared as `{code}`.", [passage]).standing == "supported"
    assert check("So is `a*b`.", [passage]).standing != "supported"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Countess Ilse poisoned her husband.", "Countess Ilse founded the university at Holt in 1652."),
        ("The youth hostel has a swimming pool.", "The youth hostel at Mell has 24 beds and costs 22 a night."),
        ("The youth hostel at Mell offers breakfast and bicycles.", "The youth hostel at Mell has 24 beds."),
        ("Green tea prevents baldness.", "Green tea is picked in April and dried at once."),
    ],
)
def test_what_is_said_of_a_known_subject_stands_in_the_passages_too(sentence: str, passage: str) -> None:
    verdict = check(sentence, [passage])
    assert (verdict.standing, verdict.kinds) == ("unconfirmed", ("distant",))
    assert check(passage, [passage]).supported


COLD = "Store the vaccine at -20 °C. The function returns 1. Water freezes at 0 °C."


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("Store the vaccine at −20 °C.", True),
        ("Store the vaccine at minus 20 °C.", True),
        ("Store the vaccine at 20 °C below zero.", True),
        ("Store the vaccine at 20 °C.", False),
        ("The function returns -1.", False),
        ("The function returns negative 1.", False),
        ("Water freezes at -0 °C.", True),
    ],
)
def test_the_sign_of_a_number_counts(sentence: str, supported: bool) -> None:
    numbers = [reason for reason in check(sentence, [COLD]).reasons if reason.startswith("number")]
    assert (not numbers) is supported


def test_a_hyphen_of_a_range_or_a_word_is_no_sign() -> None:
    passage = "In 2020-2021 the fee was 5-7 euros, on pages 10–20 of ISO-8601, for a-5 and --5."
    assert [one.value for one in quantities(tokens(passage))] == [
        "2020",
        "2021",
        "5",
        "7",
        "10",
        "20",
        "8601",
        "5",
        "5",
    ]


@pytest.mark.parametrize(
    ("sentence", "passage", "reason"),
    [
        ("Take 5 mcg in the morning.", "Take 5 mg in the morning.", "unit: 5 mcg"),
        ("Take 5 µg in the morning.", "Take 5 mg in the morning.", "unit: 5 μg"),
        ("Take 5 tablets in the morning.", "Take 5 mg in the morning.", "unit: 5 tablets"),
        ("The motor has 150 kg.", "The motor has 150 PS.", "unit: 150 kg"),
        ("The drive spins at 4000 rps.", "The drive spins at 4000 rpm.", "unit: 4000 rps"),
    ],
)
def test_a_number_with_another_unit_is_doubted_also_if_one_of_the_units_is_strange(
    sentence: str, passage: str, reason: str
) -> None:
    assert f"{reason} is not in the passages" in check(sentence, [passage]).reasons


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The crate weighs 150 kg.", "| part | weight (kg) |\n|---|---|\n| crate | 150 |"),
        ("The walk takes 2 full hours.", "The walk takes 2 hours."),
        ("The film is from the 1990s.", "The film is from 1991."),
    ],
)
def test_a_unit_may_stand_elsewhere(sentence: str, passage: str) -> None:
    assert not [reason for reason in check(sentence, [passage]).reasons if reason.startswith("unit")]


RENT = "The lease runs for five years and six months' notice is needed to end it."
LEAP = "Take a tablet each day with food. Dry it for an hour. The hall opens at noon. Oil the chain three times daily."


@pytest.mark.parametrize(
    ("sentence", "passage", "standing"),
    [
        ("The lease runs for 5 years.", RENT, "supported"),
        ("The lease runs for 6 years.", RENT, "contradicted"),
        ("The record was 2 hours and 35 seconds.", "The record was two hours and 35 seconds.", "supported"),
        ("Take 1 tablet a day with food.", LEAP, "supported"),
        ("Dry it for 1 hour.", LEAP, "supported"),
        ("The hall opens at 12:00.", LEAP, "supported"),
        ("Oil the chain every 8 hours.", LEAP, "supported"),
        ("Oil the chain twice daily.", LEAP, "contradicted"),
        ("Oil the chain every 2 days.", "Oil the chain every other day.", "supported"),
        ("The comet returns after 10 years.", "The comet returns after a decade.", "supported"),
        ("It is the third-line drug.", "It is the first-line drug.", "unconfirmed"),
        ("The fair opens on Sat, 7 Jun 2025.", "On Saturday, June 7th, 2025, the fair opens.", "supported"),
        ("He fought in WWII.", "He fought in World War 2.", "supported"),
    ],
)
def test_amounts_and_times_are_equal_however_they_are_said(sentence: str, passage: str, standing: str) -> None:
    assert check(sentence, [passage]).standing == standing


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("5 mg", "5 µg"),
        ("5 g", "5 mcg"),
        ("18 mA", "18 µA"),
        ("3.3 mV", "3.3 V"),
        ("30 l/h", "30 ml/h"),
        ("10 mg", "10 IU"),
        ("4 mol/l", "4 mmol/l"),
        ("20 W", "20 dBm"),
        ("1200 Ah", "1200 mAh"),
        ("100 MB/s", "100 Mbit/s"),
        ("140 cmHg", "140 mmHg"),
        ("100 pF", "100 nF"),
        ("5 mW", "5 MW"),
        ("15 MPa", "15 kPa"),
        ("900 euros a week", "900 euros a month"),
    ],
)
def test_the_same_number_with_another_unit_is_wrong(said: str, written: str) -> None:
    verdict = check(f"The value of the pump is {said}.", [f"The value of the pump is {written}."])
    assert verdict.standing == "contradicted"
    assert verdict.kinds[0] == "unit"
    assert check(f"The value of the pump is {written}.", [f"The value of the pump is {written}."]).supported


@pytest.mark.parametrize(
    "label",
    ["**Step 1:** ", "Step 1 — ", "Phase 1 – ", "Option A: ", "#1: ", "1️⃣ ", "(1) ", "Day 1: ", "| 1 | ", "Second, "],
)
def test_what_an_answer_numbers_by_itself_is_no_number_of_the_passages(label: str) -> None:
    passage = "Press the reset button. Copy the file to the drive."
    assert check(f"{label}Press the reset button.", [passage]).supported
    assert check("There are two steps: (1) press the reset button; (2) copy the file.", [passage]).standing != (
        "contradicted"
    )
    assert "Press" in prove(f"{label}Press the reset button [1].", [passage]).text


def test_a_label_that_the_passages_number_is_a_claim() -> None:
    assert check("Day 2: Rack the beer.", ["On day 3 rack the beer."]).standing == "contradicted"
    assert check("Day 3: Rack the beer.", ["On day 3 rack the beer."]).supported


@pytest.mark.parametrize(
    "sentence",
    [
        "For example, 5 lessons cost 40 euros.",
        "Lessons cost 8 euros, i.e. 40 euros for 5 lessons.",
        "5 × 8 euros = 40 euros.",
        "If you take 5 lessons, you pay 40 euros.",
        "Lessons cost 8 euros, so five of them cost 40 euros.",
    ],
)
def test_a_number_that_a_reader_may_have_computed_is_not_certainly_wrong(sentence: str) -> None:
    assert check(sentence, ["Members pay 8 euros for each lesson."]).standing == "unconfirmed"


def test_a_number_that_follows_from_two_others_of_the_sentence_is_not_certainly_wrong() -> None:
    passage = "The dough has 500 g of flour and 70% hydration."
    assert check("The dough has 70% hydration (350 ml for 500 g).", [passage]).standing == "unconfirmed"
    assert check("The dough has 70% hydration (380 ml for 500 g).", [passage]).standing == "contradicted"


ROBOTS = (
    "Atlas is a robot. Atlas weighs 89 kg. Spot is a robot dog. Spot weighs 32 kg and climbs stairs. Atlas cannot swim."
)


@pytest.mark.parametrize(
    ("answer", "standing"),
    [
        ("Spot weighs\n89 kg [1].", "unconfirmed"),
        ("Atlas can\nswim [1].", "unconfirmed"),
        ("Atlas\nweighs\n12 kg [1].", "contradicted"),
        ("It is a robot dog that\nclimbs stairs [1].", "supported"),
        ("- Spot weighs\n  32 kg [1].", "supported"),
    ],
)
def test_a_line_break_within_a_paragraph_is_a_space(answer: str, standing: str) -> None:
    (sentence,) = prove(answer, [ROBOTS]).sentences
    assert sentence.standing == standing


@pytest.mark.parametrize(
    "answer",
    [
        "Robots\n1. Atlas weighs 89 kg [1]\n2. Spot weighs 32 kg [1]",
        "## Robots\natlas weighs 89 kg [1]\n\nspot weighs 32 kg [1]",
        "| atlas | 89 kg [1] |\n| spot | 32 kg [1] |\nspot is a robot dog [1]",
    ],
)
def test_items_headings_and_rows_end_with_their_line(answer: str) -> None:
    assert len(prove(answer, [ROBOTS]).sentences) == 3


def test_the_end_of_a_claim_in_the_words_of_a_line_is_denied_as_there() -> None:
    text = (
        "A p-value is the probability, if the null hypothesis is true, of a result as extreme as the one observed. "
        "It is not the probability that the null hypothesis is true. A null hypothesis may be true."
    )
    assert check("A p-value is not the probability that the null hypothesis is true.", [text]).supported
    assert not check("A p-value is the probability that the null hypothesis is true.", [text]).supported


def test_of_two_clauses_with_a_semicolon_each_says_what_it_says() -> None:
    text = "A cog carries 2 cubes and moves 4 spaces; a carrack carries 4 cubes and moves 3 spaces."
    assert check("A carrack carries 4 cubes and moves 3 spaces.", [text]).supported
    assert check("A cog carries 2 cubes and moves 4 spaces.", [text]).supported
    assert not check("A carrack carries 2 cubes and moves 4 spaces.", [text]).supported
    assert not check("A cog carries 4 cubes and moves 3 spaces.", [text]).supported


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("A tenant who stays after the order may be removed only by a bailiff.", True),
        ("A landlord who stays after the order may be removed only by a bailiff.", False),
        ("A tenant who remains after the order may be removed only by a bailiff.", True),  # a synonym, nowhere else
        ("Beginners should leave out the red cards in their game.", False),
        ("Beginners should leave out the blue cards in their game.", True),
    ],
)
def test_a_near_copy_with_another_word_of_the_passages_is_doubted(sentence: str, supported: bool) -> None:
    text = (
        "A tenant who stays after the order may be removed only by a bailiff. The landlord pays. "
        "Beginners should leave out the blue cards in their game. The red ones are easy."
    )
    assert check(sentence, [text]).supported == supported


@pytest.mark.parametrize(
    ("sentence", "passage", "supported"),
    [
        ("Over 5 people came on Monday.", "Over 5 people came on Monday.", True),
        ("Over 5 people came on Monday.", "Under 5 people came on Monday.", False),
        ("Some 5 people came on Monday.", "Over 5 people came on Monday.", True),
    ],
)
def test_a_bound_may_be_the_first_word(sentence: str, passage: str, supported: bool) -> None:
    assert check(sentence, [passage]).supported == supported
