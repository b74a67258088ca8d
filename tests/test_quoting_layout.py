"""What is quoted reads as the book does: tables below their head, code without settings, options alone."""

from __future__ import annotations

import pytest

from rag.prompt.passage_format import as_data, format_passages
from rag.quoting.snippet import OUTPUT_LINES, SESSION_LINES, snippet
from rag.quoting.terms import terms
from rag.types import OMISSION
from tests.prompt_reader import parse_passages
from tests.test_quoting import ask as ask_book
from tests.test_quoting import section
from tests.test_quoting_blocks import ask, shown

ROWS = "\n".join(f"| `--gear-{n}` | turns gear number {n} of the {'big ' * 9}widget |" for n in range(20))
TABLE = f"The widget has these switches:\n\n| Switch | Meaning |\n| --- | --- |\n{ROWS}\n"


def test_of_a_long_list_of_options_only_the_one_that_is_asked_for_is_quoted() -> None:
    options = "\n".join(f"- `{name}`: sets the {name} of the gear, in turns a minute" for name in "abcdefghijk")
    text = f"Options of the widget:\n\n{options}\n- `oil`: fills in the lubricant when the gear is dry\n"
    answer = ask("How is the lubricant filled in?", text)
    assert f"- {OMISSION}\n- `oil`: fills in the lubricant when the gear is dry [1]" in answer
    assert "`a`" not in answer


def test_every_sentence_of_an_item_has_its_marker_behind_its_full_stop() -> None:
    text = "A widget has parts:\n\n- The gear turns. It has four teeth.\n- The shaft holds it.\n"
    assert "- The gear turns. [1] It has four teeth. [1]\n" in shown("Which parts does a widget have?", text)


def test_of_the_settings_of_a_fence_only_the_name_of_its_file_is_shown() -> None:
    text = 'Write the widget down:\n\n```toml title="widget.toml" hl_lines="1"\n[widget]\nteeth = 4\n```\n'
    answer = shown("How do I write the widget down?", text)
    assert "`widget.toml`: [1]\n\n```toml\n[widget]\nteeth = 4\n```" in answer
    assert "hl_lines" not in answer


def test_code_in_a_quotation_is_shown_without_its_signs() -> None:
    text = "> Turn the widget:\n>\n> ```python\n> widget.turn()\n> ```\n"
    assert "```python\nwidget.turn()\n```" in shown("How do I turn the widget?", text)


def test_the_talk_of_a_tutorial_is_not_added_to_an_answer() -> None:
    text = "A widget turns when it is wound up.\n\nNow let's move on to the gear.\n"
    assert ask("When does a widget turn?", text) == "A widget turns when it is wound up. [1]"


def test_the_label_of_a_tab_is_not_quoted_and_one_version_is_enough() -> None:
    code = '```python\nwidget.turn("{}")\n```'
    text = f"Turn the widget with `turn`.\n\nPython 3.9+:\n\n{code.format('a')}\n\nPython 3.6+:\n\n{code.format('b')}\n"
    answer = ask("How do I turn the widget?", text)
    assert answer.count("widget.turn(") == 1
    assert "Python 3" not in answer


def test_tabs_that_are_quoted_together_keep_their_labels() -> None:
    code = "```sh\nsource widget/bin/{}\n```"
    tabs = "\n\n".join(f"{shell}:\n\n{code.format('activate.' + shell)}" for shell in ("fish", "csh"))
    answer = ask("How do I activate the widget?", f"## Activating the widget\n\nActivate the widget with:\n\n{tabs}\n")
    assert "fish: [1]" in answer
    assert "csh: [1]" in answer


def test_the_line_before_a_command_stays_if_what_it_points_to_is_quoted() -> None:
    commands = (
        ("But if you turn it fast:", "turn --fast"),
        ("Then the widget turns:", "spin wheel"),
        ("And then:", "stop"),
    )
    rest = "\n\n".join(f"{line}\n\n```sh\n{command}\n```" for line, command in commands)
    text = f"## Turning the widget\n\nTo turn the widget, run:\n\n```sh\nturn widget\n```\n\n{rest}\n"
    for answer in (ask("How do I turn the widget?", text), shown("How do I turn the widget?", text)):
        assert all(f"{line} [1]\n\n```sh\n{command}\n" in answer for line, command in commands)


def test_numbered_sections_come_in_their_order() -> None:
    first = section(2, "Put the widget on the table and connect its power cable.", "Widgets > Start > 1. Connect it")
    second = section(1, "To start the widget, press the start button of the widget.", "Widgets > Start > 2. Press it")
    answer = ask_book("How do I start the widget?", [second, first])
    assert 0 <= answer.find("Put the widget on the table") < answer.find("press the start button")


def test_a_sentence_that_points_to_its_title_is_quoted() -> None:
    text = "## Log statements\n\nIn a release these statements slow the widget down.\n"
    assert "these statements slow the widget down" in ask("Do log statements slow the widget down?", text)


def test_the_rest_of_a_sentence_behind_a_list_does_not_stand_alone() -> None:
    text = "and everything else that a widget may turn.\n\nA widget may turn a wheel of the gear.\n"
    answer = ask("What may a widget turn?", text, "Widgets")
    assert answer == "A widget may turn a wheel of the gear. [1]"


def test_a_session_is_cut_between_commands_and_keeps_the_output() -> None:
    commands = "\n".join(f"$ tool run{n}\nline a of {n}\nline b of {n}" for n in range(8))
    text = snippet(f"```console\n{commands}\n```", terms("run5"))
    assert text == f"```console\n{OMISSION}\n$ tool run5\nline a of 5\nline b of 5\n{OMISSION}\n```"


def test_a_short_session_is_quoted_whole_and_a_long_output_is_cut() -> None:
    output = "\n".join(f"line {n}" for n in range(40))
    short = "```console\n$ tool one\n" + "done\n" * (SESSION_LINES - 1) + "```"
    assert snippet(short, terms("tool")) == short
    cut = snippet(f"```console\n$ tool one\n{output}\n```", terms("tool one"))
    assert cut.splitlines()[1:-1] == ["$ tool one", *(f"line {n}" for n in range(OUTPUT_LINES - 1)), OMISSION]


@pytest.mark.parametrize("word", ["user", "system", "assistant"])
def test_a_key_below_a_blank_line_is_read_back_as_it_was_written(word: str) -> None:
    text = f"_secret:\n  - password\n\n{word}: joe"
    prompt = format_passages([section(1, text, "Guide")], "abc123")
    assert parse_passages(prompt)[0][0].text == text
    assert f"\\{word}: joe" in as_data(text)


def test_release_notes_come_after_the_page_about_a_thing() -> None:
    text = "Set the `oil` option to grease the gear of the widget."
    notes, guide = section(1, text, "Release notes > Gear"), section(2, text, "Guide > Gear")
    answer = ask_book("How do I grease the gear of the widget?", [notes, guide])
    assert answer.startswith("Set the `oil` option to grease the gear of the widget. [2]")


def test_the_name_of_a_function_belongs_to_its_description_and_is_not_quoted_alone() -> None:
    text = "`widget.Gear`\n\n`widget.oil(gear)`\n\nGreases a gear of the widget with oil.\n"
    answer = ask("How do I grease a gear with oil?", text, "API")
    assert answer == "`widget.oil(gear)` [1]\n\nGreases a gear of the widget with oil. [1]"


def test_a_sentence_that_says_what_is_possible_points_to_nothing() -> None:
    text = "It's possible to grease the gear by calling `oil()`:\n\n```python\nwidget.oil()\n```\n"
    assert ask("How do I grease the gear?", text).startswith("It's possible to grease the gear by calling `oil()`: [1]")


def test_a_sentence_that_begins_with_a_small_letter_has_its_own_marker() -> None:
    text = "A widget finds breaks by the length of lines. calibrator will first attempt to find the breaks of widgets."
    assert "of lines. [1] calibrator will" in shown("How does a widget find breaks of lines?", text)


def test_the_entry_of_a_reference_is_quoted_with_its_name() -> None:
    text = "## Options\n\n### gearLimit\n\nThe largest number of teeth of a gear. The default is 40.\n"
    question = "How many teeth may a gear have?"
    for answer in (ask(question, text, "Widgets"), shown(question, text)):
        assert answer.startswith("`gearLimit` [1]\n\nThe largest number of teeth")
    named = text.replace("The largest", "`gearLimit` is the largest")
    assert ask(question, named, "Widgets").startswith("`gearLimit` is the largest")
    assert "Limits" not in ask(question, text.replace("gearLimit", "Limits"), "Widgets")


@pytest.mark.parametrize("first", ["    turn(widget)", "\n    turn(widget)", f"{OMISSION}\nturn(widget)"])
def test_code_that_begins_in_the_middle_comes_after_whole_code(first: str) -> None:
    cut = section(1, f"```js\n{first}\n  }}\n}}\n```", "Widgets > Turning the widget")
    whole = section(2, "Turn it:\n\n```js\nwidget.turn()\n```", "Widgets > Turning the widget")
    assert ask_book("How do I turn the widget?", [cut, whole]).startswith("Turn it: [2]")


LONG = "It is a part that is seen in most of the widgets that are sold, " * 5
NESTED = f"""- **The widget is stuck**: {LONG}and it may get stuck when it is cold. Warm the widget up.

  A stuck widget is loud. It is also hot.

  Solutions:

  - Oil the widget.
  - Wind the widget up.
- **The gear is lost**: Buy another gear.
"""


def test_the_paragraphs_of_an_item_stay_in_it_and_their_sentences_have_a_space_between_them() -> None:
    answer = ask("What do I do when the widget is stuck?", NESTED)
    assert "when it is cold. [1] Warm the widget up. [1]\n\n  A stuck widget is loud. [1] It is also hot. [1]" in answer
    assert "\n\n  Solutions: [1]\n  - Oil the widget. [1]\n  - Wind the widget up. [1]" in answer
    assert OMISSION not in answer
