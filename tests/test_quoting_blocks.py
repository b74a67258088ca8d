"""What an author wrote as one is quoted as one, in its order, and what is left out leaves a mark."""

from __future__ import annotations

import pytest

from rag.answer.writer import AnswerOptions, AnswerWriter
from rag.quoting.blocks import NumberedPassage, blocks, runs
from rag.quoting.excerpt import LONGEST
from rag.types import OMISSION, Passage
from tests.test_quoting import REFUSAL, section
from tests.test_quoting import ask as ask_book

VERSIONS = """These versions are tested with the tool:

- 3.10
- 3.11

The tool is expected to work with these versions:

- 3.8
- 3.9

We do not recommend using these versions.
"""
STEPS = """To install the widget:

1. Download the archive.
2. Unpack the archive:

   ```sh
   tar -xf widget.tar
   ```

3. Run the installer.
"""


def ask(question: str, text: str, title: str = "Guide") -> str:
    return ask_book(question, [section(1, text, title)])


def shown(question: str, text: str) -> str:
    """The answer as a reader gets it, after every line was checked."""
    source = section(1, text, "Guide")
    writer = AnswerWriter([source], AnswerOptions(refusal=REFUSAL, question=question, footer="none", mode="off"))
    pieces = [*writer.feed(ask(question, text)), *writer.close()]
    return "".join(pieces)


def forms(text: str) -> list[tuple[str, int, int]]:
    return [(block.form, block.lead, len(block.units)) for block in blocks(NumberedPassage(1, "T", text), 0)]


def test_a_list_belongs_to_the_line_above_it_and_code_to_its_sentence() -> None:
    assert forms("One. Two.\n\nIt has:\n- a\n- b\n\nRun it.\n\n```sh\nrun\n```\n\nEnd.") == [
        ("text", 0, 2),
        ("list", 1, 3),
        ("code", 1, 2),
        ("text", 0, 1),
    ]


def test_numbered_steps_keep_what_is_nested_in_them() -> None:
    assert forms(STEPS) == [("steps", 1, 5)]


def test_the_last_sentence_of_a_long_paragraph_leads_alone() -> None:
    assert forms(f"{'A sentence about widgets. ' * 15}Then run:\n\n```sh\nrun\n```") == [
        ("text", 0, 15),
        ("code", 1, 2),
    ]


def test_steps_come_in_their_order_and_with_their_numbers() -> None:
    answer = shown("How do I install the widget?", STEPS)
    places = [answer.index(one) for one in ("1. Download", "2. Unpack", "tar -xf widget.tar", "3. Run the installer")]
    assert places == sorted(places)


def test_no_sentence_is_shown_without_what_it_points_to() -> None:
    answer = ask("Which versions do we not recommend using?", VERSIONS)
    before = answer.partition("We do not recommend using these versions")[0]
    assert "- 3.8 [1]\n- 3.9 [1]" in before


@pytest.mark.parametrize(
    "leaning",
    [
        "This is why it turns.",
        "Will turn the widget.",
        "From there, a widget turns.",
        "Which will turn one widget against another.",
        "With that, it turns.",
        "By turning it, you avoid that kind of risk.",
        "You should instead turn it.",
    ],
)
def test_a_sentence_that_points_to_another_passage_is_left_out(leaning: str) -> None:
    answer = ask("What is a widget?", f"{leaning} A widget is a wheel with teeth.", "Widgets")
    assert answer == "A widget is a wheel with teeth. [1]"


def test_what_a_long_list_leaves_out_has_a_mark() -> None:
    items = "\n".join(f"- Part {n} of the gearbox turns about {'very ' * 8}slowly number {n}" for n in range(30))
    text = f"The gearbox has these parts:\n{items}"
    for answer in (
        ask("What does part 17 of the gearbox do?", text),
        shown("What does part 17 of the gearbox do?", text),
    ):
        assert "Part 17 of the gearbox" in answer
        assert f"- {OMISSION}" in answer
        assert len(answer) < 2 * LONGEST


def test_what_code_leaves_out_has_a_mark_and_is_still_the_books() -> None:
    commands = "\n\n".join(f"# Command {n}\ntool run{n} --fast" for n in range(9))
    answer = shown("How do I start run7 with the tool?", f"Start a run with the tool:\n\n```sh\n{commands}\n```")
    assert "tool run7 --fast" in answer
    assert OMISSION in answer
    assert "[?]" not in answer


def test_the_other_platforms_steps_come_later_or_not_at_all() -> None:
    windows = "On Windows, install the widget with:\n\n```sh\nwinget widget\n```"
    text = f"{windows}\n\nOn macOS, install the widget with:\n\n```sh\nbrew widget\n```"
    answer = ask("How do I install the widget on macOS?", text)
    assert "brew widget" in answer
    assert "winget" not in answer.partition("brew widget")[0]


def test_a_section_in_several_passages_is_read_as_one() -> None:
    shown = [
        NumberedPassage(1, "Guide > Gear", "Then it turns.\n\n## Oil\n\nOil it.", "gear.md", 4),
        NumberedPassage(2, "Other", "Something else.", "other.md", 5),
        NumberedPassage(3, "Guide > Gear", "Wind the gear up.", "gear.md", 3),
    ]
    gear, other = runs(shown)
    assert [(block.passage.number, block.section, block.place, block.first) for block in gear] == [
        (3, 0, 0, True),
        (1, 0, 1, False),
        (1, 1, 2, True),
    ]
    assert [block.passage.number for block in other] == [2]
    apart = [shown[0], shown[1], shown[2]._replace(chunk=1)]
    assert [[block.passage.number for block in run] for run in runs(apart)] == [[1, 1], [2], [3]]


def test_what_follows_in_the_next_passage_of_the_section_is_quoted() -> None:
    def part(number: int, text: str, index: int) -> Passage:
        place = {"chunk_index": index, "source_file_path": "gear.md"}
        return section(number, text, "Widgets > Winding up a gear").model_copy(update=place)

    second = part(1, "This makes the gear turn. It takes a minute to wind up.", 8)
    first = part(2, "To wind up a gear, turn its key three times.", 7)
    answer = ask_book("How do I wind up a gear?", [second, first])
    assert answer.startswith("To wind up a gear, turn its key three times. [2]\n\nThis makes the gear turn. [1]")
    assert "This makes" not in ask_book("How do I wind up a gear?", [second])


def test_a_description_whose_name_ends_the_passage_before_it_is_quoted_with_the_name() -> None:
    def part(number: int, text: str, index: int) -> Passage:
        place = {"chunk_index": index, "source_file_path": "gear.md"}
        return section(number, text, "Widgets > Errors").model_copy(update=place)

    rest = "Raised when the widget jams. Oil it.\n\n`GearError`\n\nRaised when the gear of a widget jams."
    first, second = part(2, "Each is an exception.\n\n`OilError(message)`", 7), part(1, rest, 8)
    answer = ask_book("What is raised when the widget jams?", [second, first])
    assert "`OilError(message)` [2]\n\nRaised when the widget jams. [1]" in answer


@pytest.mark.parametrize(
    "caption", ["Figure 3: The gear", "**Figure 9.3. The gear of the widget**", "Table 2.1. Gears."]
)
def test_a_caption_alone_answers_nothing(caption: str) -> None:
    assert ask("What does the gear of the widget do?", f"{caption}\n\nThe gear turns the widget.") == (
        "The gear turns the widget. [1]"
    )


def test_a_default_above_a_description_is_quoted_with_it() -> None:
    setting = "Default: `12` (a dozen)\n\nHow many teeth the gear has. More turn slowly."
    answer = ask("How many teeth has the gear of the widget?", setting, "Settings of the widget > GEAR_TEETH")
    assert answer.startswith("`GEAR_TEETH` [1]\n\nDefault: `12` (a dozen) [1]\n\nHow many teeth the gear has. [1]")


def test_a_field_of_a_record_is_quoted_and_begins_an_answer_only_if_it_is_asked_for() -> None:
    record = "How many teeth the gear of the widget has.\n\n*Default*: 12\n\n*Required*: No."
    begun = ask("What is the gear of the widget?", record, "Settings of the widget > gear")
    assert begun.startswith("How many teeth")
    assert "*Default*: 12 [1]" in begun
    assert ask("What is the default of the gear?", record, "Settings of the widget > gear").startswith("*Default*: 12")
