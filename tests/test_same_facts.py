"""The same fact in another form is no invention, and another fact in nearly the same words is doubted."""

from __future__ import annotations

import pytest

from rag.evidence.verdict import check

RELEASES = "Version 3.0.0 was released on 2020-07-07. Its support ended on 31/12/2023."
BAKERY = "The dough is folded every half hour. The starter is fed twice a day. A quarter of the flour is rye."
TOWN = "The diet first met in 1356 and last in 1669. About 12,400 people live in the town, 10 km from the sea."
PUMP = "The pump moves 40 litres a minute. Its tank is half a metre high and holds 1.5 GB of records."
OVEN = "The oven is heated to 240 °C, for one and a half hours. Two thirds of the loaves are sold."


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Version 3.0.0 was released on July 7, 2020.", RELEASES),
        ("Version 3.0.0 was released on 7 Jul 2020.", RELEASES),
        ("Version 3.0.0 was released in July 2020.", RELEASES),
        ("Its support ended on December 31, 2023.", RELEASES),
        ("The first factory opened on 1999-03-05.", "The first factory opened on 5 March 1999."),
        ("The dough is folded every 30 minutes.", BAKERY),
        ("The dough is folded twice an hour.", BAKERY),
        ("The starter is fed every 12 hours.", BAKERY),
        ("25% of the flour is rye.", BAKERY),
        ("The pump moves 2,400 litres an hour.", PUMP),
        ("The tank is 0.5 m high.", PUMP),
        ("The tank is 50 cm high.", PUMP),
        ("The tank holds 1536 MB of records.", PUMP),
        ("The oven is heated to 464 °F.", OVEN),
        ("The oven is heated to 240 degrees Celsius.", OVEN),
        ("The oven is heated for 90 minutes.", OVEN),
        ("The dough rests for 4–6 hours.", "The dough rests for four to six hours."),
        ("The dough rests for 240 to 360 minutes.", "The dough rests for four to six hours."),
        ("The lake holds 12\u202f000 fish.", "The lake holds 12,000 fish."),
        ("The jam is boiled at 105 °C.", "The jam is boiled at 105 degrees Celsius."),
    ],
)
def test_an_equal_number_or_date_is_supported_however_it_is_written(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).reasons == ()


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The diet met for more than 300 years.", TOWN),
        ("The diet met for 313 years.", TOWN),
        ("More than 12,000 people live in the town.", TOWN),
        ("The town is 6.2 miles from the sea.", TOWN),
        ("The tank holds 1500 MB of records.", PUMP),
        ("67% of the loaves are sold.", OVEN),
        ("The oven is heated to 450 °F.", OVEN),
    ],
)
def test_a_rounded_or_derived_number_is_doubted_and_not_removed(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "unconfirmed"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Version 3.0.0 was released on July 8, 2020.", RELEASES),
        ("Version 3.0.0 was released on August 7, 2020.", RELEASES),
        ("Its support ended on November 31, 2023.", RELEASES),
        ("The dough is folded every 35 minutes.", BAKERY),
        ("The starter is fed every 8 hours.", BAKERY),
        ("35% of the flour is rye.", BAKERY),
        ("The pump moves 3,600 litres an hour.", PUMP),
        ("The tank is 60 cm high.", PUMP),
        ("The town is 9 miles from the sea.", TOWN),
        ("13,900 people live in the town.", TOWN),
        ("80% of the loaves are sold.", OVEN),
    ],
)
def test_another_number_or_date_is_contradicted(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "contradicted"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("All coasts have two high tides.", "Most coasts have two high tides."),
        ("The player reads all formats.", "The player reads all common formats except MP3."),
        ("Every member voted for the treaty.", "Some members of the council voted for the treaty."),
        ("Each student gets a grant.", "Each student gets a grant unless the parents are rich."),
        ("The queue always keeps its order.", "Usually the queue keeps its order."),
    ],
)
def test_a_whole_that_the_passage_limits_is_doubted(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "unconfirmed"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("All members vote.", "Every member votes, and some members speak."),
        ("The player reads all formats except MP3.", "The player reads all common formats except MP3."),
    ],
)
def test_a_whole_that_the_passage_states_is_supported(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).reasons == ()


NETS = "Bed nets are widely used against malaria. They are treated with insecticides, which kill mosquitoes."


@pytest.mark.parametrize("sentence", ["Bed nets are useless.", "Malaria is harmless.", "Insecticides cause cancer."])
def test_a_short_claim_that_ends_with_a_word_of_its_own_is_doubted(sentence: str) -> None:
    assert check(sentence, [NETS]).standing == "unconfirmed"


STARTER = (
    "# Sourdough\n\nA pink streak is a sign of spoilage, and such a starter should be discarded. Copper pans must not "
    "be used, because the acid reacts with the metal; enamel is safe.\n\nSalt slows it down. The yeasts produce a gas."
)


@pytest.mark.parametrize(
    "sentence",
    [
        "Throw the starter out if you see a pink streak, because it shows that it has gone off.",
        "Use enamel, and stay away from copper, because the acid attacks it.",
        "Salt slows sourdough down.",
    ],
)
def test_a_paraphrase_with_words_of_its_own_for_a_reason_or_a_denial_is_supported(sentence: str) -> None:
    assert check(sentence, [STARTER]).reasons == ()


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Without a token the request is refused.", "If no token is sent, the request is refused."),
        ("Nothing has to be built twice.", "This avoids building anything twice, so no work is lost."),
        ("Run `lint --no-cache` and the image needs less space.", "The image needs less space with `lint --no-cache`."),
        ("There are no errors at runtime.", "It works with a warning but without errors at runtime."),
    ],
)
def test_a_denial_in_other_words_is_no_reversal(sentence: str, passage: str) -> None:
    assert not any("opposite" in reason for reason in check(sentence, [passage]).reasons)


ROBOTS = (
    "## Robots\n\n**Spot**\n\nSpot comes from Boston.\n\nLimits: slower than wheeled rivals from Berlin.\n\n"
    "| Aspect | Atlas | Digit |\n|---|---|---|\n| Drive | hydraulic | electric |\n"
)


def test_a_line_speaks_of_what_its_heading_names() -> None:
    assert check("Spot is slower than wheeled rivals from Berlin.", [ROBOTS]).reasons == ()
    assert not check("Digit comes from Boston.", [ROBOTS]).supported


ATLAS = "Atlas is a humanoid robot. It weighs 89 kg and has 28 joints. Every interval of 30 minutes the state is saved."


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("Atlas weighs 89 kg and has 28 joints.", "supported"),
        ("The state is saved every half hour.", "supported"),
        ("Atlas weighs 89 tons.", "contradicted"),
        ("Spot weighs 89 kg.", "unconfirmed"),
        ("Spot has 28 joints.", "unconfirmed"),
    ],
)
def test_a_statement_is_about_what_the_passage_speaks_of(sentence: str, standing: str) -> None:
    """The word "it" stands for what the sentence before it names, and a measure of another size is another measure."""
    assert check(sentence, [ATLAS]).standing == standing


KITCHEN = "The mixer weighs 89 kg. Add 1/2 teaspoon of salt and 250 ml of milk. The timer counts 30000 milliseconds."
TOUR = (
    "The tour starts at 15:00. The hall is newer than World War II. One in four visitors pays. It opened on 3 May 2021."
)


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("The mixer weighs 89 kg (196 lb).", "unconfirmed"),
        ("The mixer weighs roughly 196 pounds.", "unconfirmed"),
        ("The mixer weighs 89 lb.", "contradicted"),
        ("The mixer weighs 260 pounds.", "contradicted"),
        ("Add 0.5 tsp of salt.", "supported"),
        ("Add ½ teaspoon of salt.", "supported"),
        ("Add 1/2 tablespoon of salt.", "contradicted"),
        ("Add 1/4 litre of milk.", "supported"),
        ("The timer counts 30s.", "supported"),
        ("The timer counts 40s.", "contradicted"),
    ],
)
def test_an_amount_of_the_kitchen_is_compared_in_any_unit(sentence: str, standing: str) -> None:
    assert check(sentence, [KITCHEN]).standing == standing


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("The tour starts at 3 pm.", "supported"),
        ("The tour starts at 3:00 p.m.", "supported"),
        ("The tour starts at 4 pm.", "contradicted"),
        ("The tour starts at 7 am.", "contradicted"),
        ("The hall is newer than World War 2.", "supported"),
        ("The hall is newer than World War 6.", "contradicted"),
        ("25% of the visitors pay.", "supported"),
        ("45% of the visitors pay.", "contradicted"),
        ("It opened on 03/05/2021.", "unconfirmed"),
        ("It opened on 05/03/2021.", "unconfirmed"),
        ("It opened on 08/09/2021.", "contradicted"),
    ],
)
def test_a_time_a_share_and_a_date_are_compared_in_any_form(sentence: str, standing: str) -> None:
    assert check(sentence, [TOUR]).standing == standing


def test_pounds_of_money_and_of_weight_are_told_by_the_sign() -> None:
    assert check("The book costs 89 pounds.", ["The book costs £89."]).supported
    assert check("The book was printed in the 30s.", ["The book was printed in the 30s."]).supported


@pytest.mark.parametrize(
    ("sentence", "passage", "standing"),
    [
        ("The tool needs 8 GB of memory.", "The tool needs 8 GiB of memory.", "unconfirmed"),
        ("The tool needs 8 GiB of memory.", "The tool needs 8 GB of memory.", "unconfirmed"),
        ("The tool needs 8 gigabytes of memory.", "The tool needs 8 gibibytes of memory.", "unconfirmed"),
        ("The tool needs 8.6 GB of memory.", "The tool needs 8 GiB of memory.", "unconfirmed"),
        ("The tool needs 8 gibibytes of memory.", "The tool needs 8 GiB of memory.", "supported"),
        ("The tool needs 8192 MiB of memory.", "The tool needs 8 GiB of memory.", "supported"),
        ("The tool needs 8 gigabytes of memory.", "The tool needs 8 GB of memory.", "supported"),
        ("The tool needs 8 TiB of memory.", "The tool needs 8 GiB of memory.", "contradicted"),
        ("The tool needs 9 GB of memory.", "The tool needs 4 GiB of memory.", "contradicted"),
    ],
)
def test_bytes_in_powers_of_1000_and_of_1024_are_doubted_for_each_other(
    sentence: str, passage: str, standing: str
) -> None:
    assert check(sentence, [passage]).standing == standing


TARIFF = "A card costs 60 cents. The shift lasts seven and one-half hours. Cards in hand are worth nothing."
HOURS = "Lunch is from half past twelve to half past two. Few kitchens open before seven, and all have seven tables."


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("A card costs €0.60.", TARIFF),
        ("The shift lasts 7.5 hours.", TARIFF),
        ("The shift lasts 7 1/2 hours.", TARIFF),
        ("The shift lasts 7.5 hours.", "The shift lasts 7 and a half hours."),
        ("He earns 20.5 days.", "He earns twenty and one-half days."),
        ("He earns 2 1/12 days.", "He earns two and one-twelfth days."),
        ("Days he earns: 2 1/12", "He earns two and one-twelfth days."),
    ],
)
def test_a_number_with_a_part_and_an_amount_in_cents_are_supported(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).reasons == ()


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Lunch is from 12:30 to 14:30.", HOURS),
        ("Few kitchens open before 7 pm.", HOURS),
        ("| Cards in hand | 0 |", TARIFF),
    ],
)
def test_an_hour_of_either_half_of_the_day_and_0_for_nothing_are_doubted(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "unconfirmed"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("A card costs €0.70.", TARIFF),
        ("A card costs €60.", TARIFF),
        ("The shift lasts 8.5 hours.", TARIFF),
        ("Lunch is from 12:30 to 15:30.", HOURS),
        ("Few kitchens open before 8 pm.", HOURS),
        ("The card has 0 corners.", "The card has four corners."),
    ],
)
def test_another_amount_hour_or_count_is_contradicted(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "contradicted"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Don't forget to validate the card before each ride.", "You need a card; validate it before every ride."),
        ("Close the valve before you leave.", "Do not forget to close the valve before you leave."),
        ("Not really: it is made for small tables.", "It is made for small tables."),
        ("If no format is given, it reads ISO 8601 first.", "If you leave out `format`, it reads ISO 8601 first."),
        (
            "The employee, alone or with a steward, speaks to the supervisor.",
            "The employee, with or without a steward, speaks to the supervisor.",
        ),
        (
            "It ends when a player fills all ten warehouse spaces.",
            "It ends when a player fills all ten spaces of the warehouse.",
        ),
        ("Customary gifts are not taxed.", "Tax on gifts is high. Usual gifts are not taxed."),
    ],
)
def test_a_phrase_that_denies_or_counts_nothing_is_no_difference(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).reasons == ()


def test_an_activity_at_the_beginning_is_no_name_of_a_title() -> None:
    said, passage = "Filing an objection does not help by itself.", "An objection by itself does not help."
    assert check(said, [passage], known="Filing deadlines", beside=["Filing deadlines"]).reasons == ()


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Do not close the valve.", "Do not forget to close the valve before you leave."),
        ("A player owns three boats in the harbour.", "A player owns three coins. Boats lie in the harbour."),
        ("The robot does not start if no key is given.", "The robot starts if a key is given, by default at noon."),
    ],
)
def test_another_denial_or_another_thing_is_doubted(sentence: str, passage: str) -> None:
    assert check(sentence, [passage]).standing == "unconfirmed"


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The frame of the portrait is original.", "A man holds a letter. The frame is not original."),
        (
            "The patch at the edge of the mosaic was destroyed.",
            "The patch at the edge was not destroyed; couches stood there.",
        ),
    ],
)
def test_a_statement_that_a_passage_denies_as_a_whole_is_doubted(sentence: str, passage: str) -> None:
    assert "negation: the passages deny it" in check(sentence, [passage]).reasons


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The original frame is lost.", "The frame is not original. The original frame is lost."),
        (
            "If the frame is original, the price is high.",
            "Is the frame not original? If it is original, the price is high.",
        ),
    ],
)
def test_a_denial_of_something_else_raises_no_such_doubt(sentence: str, passage: str) -> None:
    assert "negation: the passages deny it" not in check(sentence, [passage]).reasons


HOTEL = "The Hotel Brandt stands by the river. It has 48 rooms, of which 12 look at the water. Breakfast is at 7."


@pytest.mark.parametrize("end", ["is closed for renovation", "was sold to investors", "will be rebuilt after a fire"])
def test_a_second_statement_of_the_same_subject_is_judged_by_itself(end: str) -> None:
    verdict = check(f"The Hotel Brandt has 48 rooms and {end}.", [HOTEL])
    assert verdict.standing == "unconfirmed"
    assert "distant: the passages say nothing like one of its clauses" in verdict.reasons


def test_a_second_statement_that_the_passage_makes_is_supported() -> None:
    assert check("The Hotel Brandt has 48 rooms and stands by the river.", [HOTEL]).reasons == ()
    assert check("The hotel has 48 rooms and is by the river.", [HOTEL]).reasons == ()
