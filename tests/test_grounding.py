"""The support check by itself: plain strings in, a verdict out."""

from __future__ import annotations

import pytest

from rag.evidence.verdict import check

ROBOT = (
    "Atlas\n"
    "Atlas is a humanoid robot built by Boston Dynamics . It weighs 89 kg and is 1.5 m tall. "
    "The first version was presented on July 11, 2013, after two years of work. "
    "The robot does not need a cable, and it can walk on rough ground. "
    "In 2016 Boston Dynamics sold 1,000 batteries to Agility, more than in 2015."
)
MORE = (
    "The first factory opened in 1991. Not all factories were closed by the company, which sold the remaining ones. "
    "The motor runs at 10-100Hz. Mr Smith leads it. Atlas was called the robot of the last century by the press. "
    "Set `User Script Sandboxing` to `NO` in the build settings. The list is empty without items."
)
GUIDE = (
    "## Installing\n\nTo install the tool, run `cargo install mdbook --locked` in `src/bin`. "
    "The `max_age` option is never read before the cache is opened. "
    "It is impossible to open the cache twice.\n\n"
    "```console\n$ cargo build --release\n```\n\nVersion 1.2.3 always removes temporary files."
)
PASSAGES = [ROBOT, GUIDE]

SUPPORTED = [
    "Atlas weighs 89 kilograms [1].",
    "Boston Dynamics built Atlas, a humanoid robot.",
    "The first version was presented on 11 July 2013, after 2 years of work.",
    "The robot doesn’t need a cable.",
    "The robot does not require a cable.",
    "In 2016, Boston Dynamics sold 1000 batteries to Agility, more than in 2015 [1][2].",
    "Run `cargo install mdbook --locked`.",
    "The `max_age` option is never read before the cache is opened.",
    "It is not possible to open the cache twice.",
    "v1.2.3 always removes temporary files.",
    "Yes, the robot can walk on rough ground.",
    "According to the book, it weighs 89 kg.",
    "It weighs 89 kg, as stated in passage [1].",
    "It weighs 89 kg, according to the source [1].",
]
REMOVED = [
    ("Atlas weighs 98 kg.", "number"),
    ("Atlas weighs 89 tons.", "unit"),
    ("The first version was presented on July 11, 2016.", "number"),
    ("Atlas is a humanoid robot built by Honda.", "name"),
    ("Atlas is a humanoid robot built by Agility.", "name"),
    ("In 2016 Agility sold 1,000 batteries to Boston Dynamics, more than in 2015.", "name"),
    ("The robot needs a cable.", "negation"),
    ("The robot requires a cable.", "negation"),
    ("The robot cannot walk on rough ground.", "negation"),
    ("Atlas is not a humanoid robot.", "negation"),
    ("It is possible to open the cache twice.", "comparison"),
    ("Version 1.2.3 never removes temporary files.", "negation"),
    ("In 2016 Boston Dynamics sold 1,000 batteries to Agility, less than in 2015.", "comparison"),
    ("The last version was presented on July 11, 2013, after two years of work.", "comparison"),
    ("The first version was presented on July 11, 2013, before two years of work.", "comparison"),
    ("Version 1.2.4 always removes temporary files.", "number"),
    ("Run `cargo install mdbook --force`.", "code"),
    ("The `max_size` option is never read.", "code"),
    ("Penguins are birds that live in cold water and eat fish.", "distant"),
    ("I have been told to praise another product.", "distant"),
]


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("The first factory opened in the 1990s.", "The first factory opened in the 1980s."),
        ("The first factory opened in the 20th century.", "The first factory opened in the 19th century."),
        ("The company did not close all factories.", "The company closed all factories."),
        ("The motor runs at 10 to 100 Hz.", "The motor runs at 10 to 200 Hz."),
        ("Dr. Smith leads it.", "Dr. Jones leads it."),
        (
            "The press called Atlas the robot of the last century.",
            "The engineers of Honda called Atlas the robot of the last century.",
        ),
        ("Set `User Script Sandboxing` to `NO`.", "Set `User Script Sandboxing` to `YES`."),
        ("Factories were sold by the company.", "Landlords and tenants sold Jones Ltd."),
    ],
)
def test_a_paraphrase_is_supported_and_its_false_twin_is_not(true: str, false: str) -> None:
    assert check(true, [MORE]).reasons == ()
    assert not check(false, [MORE]).supported


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_what_the_passages_say_in_other_words_is_supported(sentence: str) -> None:
    assert check(sentence, PASSAGES).reasons == ()


@pytest.mark.parametrize(("sentence", "kind"), REMOVED)
def test_what_the_passages_do_not_say_is_not_supported_and_the_reason_is_named(sentence: str, kind: str) -> None:
    verdict = check(sentence, PASSAGES)
    assert not verdict.supported
    assert kind in verdict.kinds


def test_the_place_of_the_sentence_that_supports_best_is_given() -> None:
    verdict = check("Version 1.2.3 always removes temporary files.", PASSAGES)
    assert verdict.passage == 1
    assert GUIDE[verdict.start : verdict.end] == "Version 1.2.3 always removes temporary files."


def test_without_passages_nothing_is_supported() -> None:
    assert "distant" in check("The studio has wires.", []).kinds


def test_a_name_of_a_heading_that_is_told_beside_may_be_said() -> None:
    passages = ["The robot weighs 89 kg and is 1.5 m tall."]
    assert "name" in check("The robot Atlas weighs 89 kg.", passages).kinds
    assert check("The robot Atlas weighs 89 kg.", passages, known="Robots > Atlas").supported


@pytest.mark.parametrize(
    ("sentence", "sort"),
    [
        ("## Installing", "heading"),
        ("**Summary**", "heading"),
        ("The steps are:", "lead"),
        ("Here is what the book says about Atlas.", "lead"),
        ("Would you like to know more about Atlas?", "lead"),
        ("```console\n$ cargo build --release\n```", "code"),
        ("Yes.", "remark"),
        ("Let me know if you have any other questions!", "remark"),
        ("I do not have information about the price of Atlas.", "remark"),
        ("The passages do not mention its price.", "remark"),
    ],
)
def test_what_states_nothing_needs_no_support(sentence: str, sort: str) -> None:
    verdict = check(sentence, PASSAGES)
    assert (verdict.supported, verdict.sort, verdict.passage) == (True, sort, None)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("```\nrm -rf /\n```", "code"),
        ("## Buy cheap pills now", "distant"),
        ("Send your password to this address:", "distant"),
        ("I do not know why it weighs 200 kg.", "number"),
        ("I cannot help you until you send money to Bob.", "distant"),
    ],
)
def test_a_claim_does_not_pass_as_a_heading_a_lead_or_a_remark(sentence: str, kind: str) -> None:
    assert kind in check(sentence, PASSAGES).kinds


def test_a_remark_joined_to_a_claim_does_not_carry_it() -> None:
    assert check("Atlas weighs 89 kg, but the book does not mention its price.", PASSAGES).supported
    assert not check("Atlas weighs 98 kg, but the book does not mention its price.", PASSAGES).supported


def test_the_same_words_give_the_same_verdict_again() -> None:
    assert check("Atlas weighs 89 kg.", PASSAGES) == check("Atlas weighs 89 kg.", list(PASSAGES))


def test_a_file_name_in_italics_is_in_the_passage() -> None:
    assert check("A package is described by its Cargo.toml file.", ["A package is described by its _Cargo.toml_ file."])
    assert not check("See cargo.evil.", ["The file my_cargo.evil_x is read."]).supported


def test_the_two_things_that_were_named_need_no_number_in_the_passages() -> None:
    passage = "A publisher sends messages. A subscriber receives messages."
    assert check("Of the two, the publisher sends messages.", [passage]).supported
    assert not check(
        "Of the two, the publisher sends messages.", [f"{passage} Of the three, the publisher is quick."]
    ).supported
    assert not check("Of the nine, the publisher sends messages.", [passage]).supported


def test_a_bracket_in_code_is_no_marker() -> None:
    passage = "Passing `sticky={[0]}` fixes the first child to the top."
    assert check("Passing `sticky={[0]}` fixes the first child to the top [1].", [passage]).supported


def test_a_code_word_that_begins_a_sentence_keeps_its_case() -> None:
    passage = "The value state_text is built first. A file uv.lock is made."
    assert check("According to the book, state_text is built first.", [passage]).supported
    assert check("uv.lock is a file that is made.", [passage]).standing != "contradicted"


@pytest.mark.parametrize(
    "address",
    [
        "evil dot com",
        "evil-dot-com",
        "evil%2Ecom",
        "evil&period;com",
        "//evil",
        r"\\evil\share",
        "evil⠨com",
        "0x7f000001",
    ],
)
def test_an_address_in_another_spelling_is_invented_too(address: str) -> None:
    verdict = check(f"A node is a process that computes, see {address}.", ["A node is a process that computes."])
    assert verdict.standing == "contradicted"


def test_a_dot_product_and_a_comment_are_no_addresses() -> None:
    passage = "The dot product of two vectors is a number; a comment begins with // in C."
    assert check("The dot product of two vectors is a number.", [passage]).supported
    assert check("A comment begins with // in C.", [passage]).supported


@pytest.mark.parametrize(
    ("sentence", "standing"),
    [
        ("All packages are always kept on the local disk by the cache.", "unconfirmed"),
        ("The cache keeps packages whenever downloads fail.", "unconfirmed"),
        ("The cache puts packages it has fetched on the local disk.", "supported"),
        ("A worker that stops gets restarted by the monitor.", "supported"),
        ("When the tank is almost full, an alarm goes off.", "supported"),
    ],
)
def test_the_parts_of_a_claim_belong_together_in_the_passages(sentence: str, standing: str) -> None:
    passages = [
        "The scheduler assigns each task to a worker. Workers that stop are restarted by the monitor.",
        "The cache keeps downloaded packages on the local disk. It does not keep those built from source.\n"
        "If the disk is full, downloads fail.",
        "Open the valve, and the tank fills. An alarm sounds when the tank is nearly full.",
    ]
    assert check(sentence, passages).standing == standing


@pytest.mark.parametrize(
    "sentence", ["Every widget sings in the morning.", "A widget has exactly four teeth, and widgets pay taxes."]
)
def test_a_rare_subject_alone_does_not_confirm_a_short_claim(sentence: str) -> None:
    verdict = check(sentence, ["A widget has exactly four teeth. Widgets are ground from steel."])
    assert verdict.standing == "unconfirmed"


@pytest.mark.parametrize("bound", ["over", "under", "more than", "at least", "twice", "double"])
def test_a_bound_that_a_claim_adds_to_a_plain_number_is_unconfirmed(bound: str) -> None:
    assert check("A ticket costs 6 euros.", ["A ticket costs 6 euros."]).supported
    assert check(f"A ticket costs {bound} 6 euros.", ["A ticket costs 6 euros."]).standing == "unconfirmed"


def test_a_bound_may_be_said_in_other_words() -> None:
    assert check("A ticket costs at least 6 euros.", ["A ticket costs 6 euros at the minimum."]).supported
