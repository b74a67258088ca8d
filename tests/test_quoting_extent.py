"""Where a quoted answer begins and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rag.quoting.excerpt import LONGEST
from rag.types import OMISSION
from tests.fakes import passage
from tests.test_quoting import ask, section

TALK = (
    "Shops have sold files for many years, and their customers read them on devices of all kinds. Some of these "
    "devices belong to the shops. Others were made by firms that sell no files. Readers often own several of them."
)
LOCK = "A shop lock is a technique that keeps a file from being opened on other devices."
MORE = (
    "Many readers dislike it, since a file can no longer be read when the shop closes. Shops say that authors want "
    "it, and authors say that the shops want it. Nobody has asked the readers so far, who pay for both of them."
)
OTHER = "The shop window shows what is new this month, and it can be locked in the evening by the last to leave."


def test_a_definition_late_in_a_paragraph_is_what_the_answer_begins_with() -> None:
    answer = ask("What is a shop lock?", [section(1, f"{TALK} {LOCK} {MORE}", "Files > Shops")])
    assert answer.startswith(LOCK)


def test_a_definition_is_not_left_out_of_a_paragraph_that_is_too_long_to_be_quoted_whole() -> None:
    key = "Shop locks differ. Every shop lock has a key, and the shop keeps the key of the lock."
    text = f"{TALK} {LOCK} {MORE} {key} {OTHER}"
    assert len(text) > LONGEST
    assert ask("What is a shop lock?", [section(1, text, "Files > Shops")]).startswith(LOCK)


def test_to_use_a_thing_is_not_what_it_is() -> None:
    use = "Using a shop lock is the usual way to sell files."
    answer = ask(
        "What is a shop lock?", [section(1, use, "Files > Selling"), section(2, f"{LOCK} {MORE}", "Files > Shops")]
    )
    assert answer.startswith(LOCK)


def test_what_stands_before_the_answer_does_not_keep_it_waiting() -> None:
    before = f"{TALK}\n\n{MORE}\n\n"
    lasts = "A lock lasts for two weeks, unless the shop sets another number of days."
    answer = ask("How long does a lock last?", [section(1, f"{before}{lasts}", "Files > Locks")])
    assert answer.startswith(lasts)


def test_a_section_about_something_else_is_not_added_to_a_definition() -> None:
    sections = [section(1, LOCK, "Files > Shop locks"), section(2, OTHER, "Rooms > Windows")]
    assert "window" not in ask("What is a shop lock?", sections)


def test_of_a_short_list_every_item_is_begun_and_what_is_cut_has_a_mark() -> None:
    items = [
        f"- The folder of the files was moved.\n\n  {TALK} The files are then not found. {MORE}\n",
        f"- The list of the files was damaged.\n\n  {MORE} The files are still there.\n",
    ]
    text = "There can be two reasons why the list of files is empty:\n\n" + "\n".join(items)
    answer = ask("Why is my list of files empty?", [section(1, text, "Files > The list is empty")])
    assert "- The folder of the files was moved." in answer
    assert "- The list of the files was damaged." in answer
    assert OMISSION in answer


SENDS = "Opens the files of a shop to readers who have a card."
CODE = "```python\nshop.open_files(readers, card=True)\n```"


def test_code_comes_with_what_its_section_says_before_it_if_that_is_short() -> None:
    question = "How do I open the files of a shop to readers?"
    example = f"A reader is a name in a list:\n\n{CODE}"
    answer = ask(question, [section(1, f"{SENDS}\n\n{example}", "Shops > Open files to readers")])
    assert answer.index(SENDS) < answer.index("shop.open_files")
    long = ask(question, [section(1, f"{TALK} {MORE}\n\n{example}", "Shops > Open files to readers")])
    assert long.startswith("A reader is a name in a list")


def test_what_follows_steps_in_their_section_comes_before_blocks_from_elsewhere() -> None:
    steps = "To lock the shop window:\n\n1. Turn the brass handle twice.\n2. Push every iron bolt into its frame."
    after = "It clicks twice when everything is done well, and a lamp goes on beside the door. " * 3
    others = [
        f"To lock the shop window of floor {name}, turn its key and {' '.join(f'{name}{i}' for i in range(60))}."
        for name in ("north", "south", "eastern")
    ]
    passages = [section(1, f"{steps}\n\n{after}", "Shops > Lock the shop window")]
    passages += [section(n, text, "Shops > Lock the shop window") for n, text in enumerate(others, 2)]
    assert "It clicks twice" in ask("How do I lock the shop window?", passages)


def test_what_leads_straight_to_the_answer_stays_before_it() -> None:
    short = "Deleting a series takes it out of the index of the server."
    code = "If it is successful, the server answers with `204`:\n\n```\nPOST /delete_series\n```"
    answer = ask("How can I delete a series?", [section(1, f"{short}\n\n{code}", "Server > Delete a series")])
    assert answer.startswith(short)
    assert "POST /delete_series" in answer


def test_a_list_behind_here_is_and_a_sentence_behind_unlike_stand_for_themselves() -> None:
    tools = (
        "Here is a quick breakdown of these two tools:\n\n- **Gearbox** is the program that turns the widgets.\n"
        "- **Gearlab** is the window in which people look at the Gearbox.\n"
    )
    lab = "Gearlab shows the Gearbox of one room, and is started by hand."
    asked = "Gearbox and Gearlab, what is the difference?"
    sections = [section(1, tools, "Help > Gearbox or Gearlab?"), section(2, lab, "Parts > Gearlab")]
    assert ask(asked, sections).startswith("Here is a quick breakdown of these two tools: [1]\n- **Gearbox** is")
    unlike = "Unlike pumps, a Gearbox does not check the oil by default. That means:\n\n- Nobody is warned.\n"
    answer = ask("Does a Gearbox check the oil like pumps do?", [section(1, unlike, "Parts > Oil")])
    assert answer.startswith("Unlike pumps, a Gearbox does not check the oil by default. [1]")
    leaning = "Unlike these, a Gearbox does not check the oil by default.\n"
    assert not ask("Does a Gearbox check the oil?", [section(1, leaning, "Parts > Oil")]).startswith("Unlike")


def test_below_the_heading_of_a_message_its_cause_is_quoted_too() -> None:
    message = "Failing suspected call to a stopped widget"
    path = f"Help > Common messages > {message}"
    example = f"The log has lines that look scary:\n\n```\n[W 17:25:19] {message}: /hub/<name>/metrics\n```\n"
    cause = (
        "The widget was stopped while somebody had its window open, and the window went on calling it. "
        "The log is harmless. Nothing needs to be done."
    )
    other = "The hub counts the calls of every widget and prints them once a day."
    sections = [
        section(1, example, f"{path} > Example"),
        section(2, other, "Parts > Hub"),
        section(3, cause, f"{path} > Cause"),
    ]
    answer = ask(f"my log is full of: {message}: /hub/bob/metrics", sections)
    assert "Nothing needs to be done. [3]" in answer


def test_of_two_questions_the_first_one_asks_for_the_definition() -> None:
    build = "Gearling is the backend of Gear, which is never installed by hand."
    speed = "- **Editable installation:** To install a Gearling project makes it editable.\n"
    sections = [section(1, speed, "Why Gear? > Backend"), section(2, build, "Guide > Gearling")]
    assert ask("What is Gearling and do I have to install it myself?", sections).startswith(build)


def test_the_step_before_the_best_one_comes_first() -> None:
    shells = (
        "Bash:\n\n```sh\ngear --completion bash > ~/.gear.bash\n```\n\nSource the file in `~/.bashrc`:\n\n"
        "```sh\n. ~/.gear.bash\n```\n\nZsh:\n\n```sh\ngear --completion zsh > ~/.gear.zsh\n```\n\n"
        "Source the file in `~/.zshrc` for the completion of zsh:\n\n```sh\n. ~/.gear.zsh\n```\n"
    )
    answer = ask("How do I get the completion of zsh?", [section(1, shells, "Guide > Completion")])
    assert answer.index("gear --completion zsh") < answer.index(". ~/.gear.zsh")


FIRST, SECOND = ["keys", "stock"], ["prices", "taxes", *(f"files of {year}" for year in range(1990, 2010))]
HEAD = "| file | holds |\n| --- | --- |\n"


def as_list(names: Sequence[str]) -> str:
    return "\n".join(f"- The file `{name}` holds the {name} of the shop." for name in names)


def as_table(names: Sequence[str]) -> str:
    return HEAD + "\n".join(f"| `{name}` | the {name} of the shop |" for name in names)


@pytest.mark.parametrize(
    ("written", "begin", "end"),
    [
        (as_list, "\n- […]\n- The file `prices`", "\n- […]"),
        (as_table, f"\n\n[…]\n\n{HEAD}| `prices`", "\n\n[…]"),
    ],
)
def test_what_is_left_out_of_a_list_or_table_in_two_passages_has_a_mark(
    written: Callable[[Sequence[str]], str], begin: str, end: str
) -> None:
    lead = "The shop keeps these files:"
    place = {"source_file_path": "shop.md", "breadcrumb": "Shop > Files"}
    first = passage(1, f"{lead}\n\n{written(FIRST)}", chunk_index=0, **place)
    cut = [first, passage(2, written(SECOND), chunk_index=1, **place)]
    later = [passage(1, f"{lead}\n\n{written(['a', 'b'])}", chunk_index=0, **place), cut[1]]
    assert ask("Where are the prices and the taxes?", later).startswith(f"{lead} [1]{begin}")
    assert ask("Which file holds the keys and the stock?", cut).endswith(end)
    whole = [first, passage(2, written(SECOND[:2]), chunk_index=1, **place)]
    assert OMISSION not in ask("Which file holds the keys and the stock?", whole)


def test_a_comparison_shows_the_opening_of_the_section_about_each_side() -> None:
    about = "The server has an HTTP API and a socket API, and both take the same messages and have the same methods."
    post = "The server takes requests. It answers each of them, and it tells nothing of events."
    socket = "The server takes a connection. It answers requests there, and pushes events as they happen."
    passages = [
        section(1, about, "Server > APIs"),
        section(2, f"{post}\n\n{TALK}", "Server > HTTP API"),
        section(3, f"{socket}\n\n{TALK}", "Server > Socket API"),
    ]
    answer = ask("What is the difference between the HTTP API and the socket API?", passages)
    assert "It answers each of them, and it tells nothing of events. [2]" in answer
    assert "It answers requests there, and pushes events as they happen. [3]" in answer


def test_a_step_that_leans_back_twice_comes_with_both_steps_before_it() -> None:
    text = (
        "To open the shop as its owner, use the main key.\n\nIn other words, where a guest would run:\n\n"
        "```\nopen door\n```\n\nYou should instead run:\n\n```\nopen shop --main\n```"
    )
    answer = ask("How do I run open shop --main?", [section(1, text, "Shop > Opening")])
    assert answer.startswith("To open the shop as its owner, use the main key. [1]\n\nIn other words")
    assert answer.rstrip().endswith("```\nopen shop --main\n```\n[1]")


def test_a_sentence_goes_on_behind_a_question_mark_in_parentheses() -> None:
    text = 'Here\'s a rule for a pleasant ("shoppy"?)\nLOCK: if you make one, keep a key of it. The lock is old.'
    answer = ask("What is the rule for a LOCK?", [section(1, text, "Shop > Locks")])
    assert answer.startswith('Here\'s a rule for a pleasant ("shoppy"?) LOCK: if you make one, keep a key of it. [1]')


def test_of_a_long_list_an_item_that_leads_to_code_keeps_it() -> None:
    code = "\n".join(f"  level {2**n} # shows {TALK[n : n + 12]}" for n in range(24))
    notes = f"- **Notes:** The levels of the log are:\n\n  ```\n{code}\n  ```\n"
    text = f"- **Specifies:** A number.\n- **Default:** 0\n{notes}"
    answer = ask("Which levels of the log are there?", [section(1, text, "Shop > Log")])
    assert "- **Notes:** The levels of the log are: [1]\n\n  ```\n  level 1 # shows" in answer


def test_of_a_record_the_short_entries_are_quoted_with_the_long_one_that_was_asked_for() -> None:
    text = (
        "- **Specifies:** How many guests the shop takes.\n- **Type:** a number\n- **Default value:** 128\n"
        f"- **Notes:** Guests are taken until the shop is full. {TALK} {MORE}\n- **History:** {MORE} {TALK}\n"
    )
    answer = ask("Are guests taken until the shop is full?", [section(1, text, "Shop > max-guests")])
    assert answer.startswith(
        "- **Specifies:** How many guests the shop takes. [1]\n- **Type:** a number [1]\n- **Default value:** 128 [1]\n"
        "- **Notes:** Guests are taken until the shop is full. [1]"
    )


@pytest.mark.parametrize("lead", ["For example:", "Here we demonstrate how to open it:", "Here's how it is done:"])
def test_a_line_that_only_leads_to_code_stays_with_it(lead: str) -> None:
    text = f"{lead}\n\n```\nopen shop --main\n```"
    assert ask("How do I run open shop --main?", [section(1, text, "Shop")]).startswith(f"{lead} [1]\n\n```\nopen")


def test_of_two_things_in_one_section_each_is_opened_in_the_order_of_the_text() -> None:
    text = (
        "### copy\n\nEither `yes` or `no`, whether the gears are copied into the box.\n\n"
        "### move\n\nEither `yes` or `no`, whether the gears are moved into the box.\n\n"
        "A gear that you copy and move twice is moved into the box, and no copy and no move is made again.\n"
    )
    answer = ask("What is the difference between copy and move into the box?", [section(1, text, "Options")])
    assert answer.index("are copied") < answer.index("are moved") < answer.index("twice")


def test_a_comparison_begins_with_the_entry_whose_label_names_both() -> None:
    table = "**Table 1. Spin and turn**\n\n| Spin | Turn |\n| --- | --- |\n| Spin and turn of gear A | 9 |\n"
    glossary = (
        "- **Rate**: How fast it is.\n- **Spin vs. turn**: You spin it once, and then it turns.\n- **Teeth**: Hold.\n"
    )
    answer = ask(
        "What is the difference between spin and turn?", [section(1, table, "Gears"), section(2, glossary, "Words")]
    )
    assert answer.startswith("**Spin vs. turn**: You spin it once, and then it turns. [2]")
    assert "Rate" not in answer


def test_a_default_is_read_off_a_table_with_a_column_of_defaults() -> None:
    text = "For `gear-b`, the gear of the widget may be steel or brass.\n"
    table = "| Option | Default |\n| --- | --- |\n| `gear-a` | tin |\n| `gear-b` | steel |\n"
    passages = [section(n, f"{text} It is {word}.", "Gear of the widget") for n, word in enumerate("abcdef", 1)]
    passages.append(section(7, table, "Gear of the widget"))
    answer = ask("Which gear-b does the widget have by default?", passages)
    assert answer.startswith("| Option | Default |")


def test_of_paragraphs_of_a_section_that_are_as_good_the_earlier_one_begins() -> None:
    text = "Gears turn the widget at noon.\n\nIn the box is a lid.\n\nGears turn the {} at night, and widgets stop."
    passages = [section(1, text.format("widget"), "Gears")]
    assert ask("Why do gears turn the widget?", passages).startswith("Gears turn the widget at noon.")
    assert ask("Why do gears turn the widget at night?", passages).startswith("Gears turn the widget at night")
