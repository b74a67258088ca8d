"""The answerer without a model quotes the passages word for word, with their markers, or refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from rag.ports import Embedder
from rag.quoting.answerer import QuotingAnswerer, _ordered, _readings, features
from rag.quoting.blocks import NumberedPassage
from rag.quoting.english.speech_acts import plain_question, shape
from rag.quoting.relevance import read
from rag.text.sentences import without_markers
from rag.types import AnsweredQuestion, Passage
from tests.fakes import passage

REFUSAL = "This is not in the book."

NODES = """A **node** is a process that performs one computation. Nodes are small.

**Examples**:
- `camera_driver`: publishes images
- `motion_planner`: publishes paths
"""
BUILD = """`colcon` is the build tool of ROS2. It replaces `catkin`.

**Key Commands**:
```bash
# Build all packages
colcon build

# Build one package
colcon build --packages-select control

# Run the tests
colcon test
```
"""
TABLE = """The engines differ in their speed:

| Engine | Speed | Accuracy |
|--------|-------|----------|
| MuJoCo | Fast | High |
| Gazebo | Slow | Medium |

Gazebo comes with sensors.
"""
EXERCISES = """Answer these:

1. What is a node?
2. Node design: draw a node.
"""


def section(number: int, text: str, breadcrumb: str) -> Passage:
    return passage(number, text, breadcrumb=breadcrumb, title=breadcrumb, heading="")


BOOK = [
    section(1, NODES, "ROS2 > Nodes"),
    section(2, BUILD, "ROS2 > Build tool: colcon"),
    section(3, TABLE, "Simulation > Physics engines"),
    section(4, EXERCISES, "ROS2 > Exercises"),
]


def ask(
    question: str,
    passages: Sequence[Passage] = BOOK,
    before: Sequence[tuple[str, str]] = (),
    embedder: Embedder | None = None,
) -> str:
    history = [AnsweredQuestion(*past) for past in before]
    return "".join(QuotingAnswerer(embedder, REFUSAL).quote(question, passages, history))


def test_a_definition_comes_first_and_word_for_word() -> None:
    assert ask("What is a node?").startswith(
        "A **node** is a process that performs one computation. [1] Nodes are small. [1]"
    )


def test_every_line_that_is_quoted_stands_in_its_passage() -> None:
    for question in ("What is a node?", "Which physics engines are there?", "How do I build one package with colcon?"):
        answer = ask(question)
        assert answer != REFUSAL
        quoted = re.findall(r"(?:^|\n|\] )(?:- )?([^\n\[\]|`]+) \[(\d)\]", answer)
        assert quoted
        for piece, number in quoted:
            assert piece in BOOK[int(number) - 1].text


def test_a_question_beside_the_book_gets_the_refusal_and_nothing_else() -> None:
    for question in ("Who won the 1998 world cup?", "What is the price of Gazebo?", "What does ROS3 cost?", "", "?"):
        assert ask(question) == REFUSAL


def test_without_passages_it_refuses() -> None:
    assert ask("What is a node?", []) == REFUSAL


def test_a_lead_brings_the_list_that_it_introduces() -> None:
    assert "**Examples**: [1]\n- `camera_driver`: publishes images [1]\n- `motion_planner`: publishes paths [1]" in ask(
        "Which examples of nodes publish images and paths?"
    )


def test_an_item_that_is_quoted_alone_is_set_as_a_sentence() -> None:
    text = "**Advantages**:\n- **Discovery**: nodes find each other\n- **Odometry**: counts turns\n- Low price"
    assert ask("What is odometry?", [section(1, text, "ROS2")]) == "**Odometry**: counts turns [1]"


def test_code_keeps_its_fence_and_the_marker_stands_outside() -> None:
    answer = ask("How do I run the tests with colcon?")
    assert "**Key Commands**: [2]\n\n```bash\n[…]\n# Run the tests\ncolcon test\n```\n[2]" in answer


def test_a_comparison_quotes_the_table_with_its_lead() -> None:
    answer = ask("How do the engines MuJoCo and Gazebo compare?")
    assert answer.startswith("The engines differ in their speed: [3]\n\n| Engine | Speed | Accuracy |\n|---")
    assert "| Gazebo | Slow | Medium |\n\n[3]" in answer


def test_a_comparison_of_things_without_names_begins_where_both_are_spoken_of() -> None:
    passages = [
        section(1, "Stored columns of a table are computed when a row of the table is stored in it.", "Stored columns"),
        section(2, "Virtual columns are computed when they are read, stored columns when they are written.", "Columns"),
    ]
    for question in ("stored vs virtual columns", "What is the difference between stored and virtual columns?"):
        assert ask(question, passages).startswith("Virtual columns are computed")


def test_what_a_log_says_is_an_error_message() -> None:
    assert shape("server log says: database is locked (5) (SQLITE_BUSY)").message
    assert shape("unreadable widget: /tmp/widget.gear").message
    assert not shape("Where is it: /tmp or /var?").message
    assert not shape("the manual says that it is open source").message


def test_exercises_and_questions_are_no_answers() -> None:
    assert "[4]" not in ask("What is a node?")


def test_a_wrapped_sentence_is_set_on_one_line() -> None:
    text = "A gripper is a hand\nthat holds things."
    assert ask("What is a gripper?", [section(1, text, "Hands")]) == "A gripper is a hand that holds things. [1]"


def test_a_sentence_that_leans_back_brings_the_one_before() -> None:
    filler = "Many other sentences about something else stand here as well. " * 8
    text = f"Odometry counts the turns of the wheels. It drifts because wheels slip. {filler}"
    answer = ask("Why does odometry drift when wheels slip?", [section(1, text, "Odometry")])
    assert answer.startswith("Odometry counts the turns of the wheels. [1] It drifts because wheels slip. [1]")


CHANGES = {
    "0.19.0": "- Support Python 3.13.\n- Add a retry limit for tasks.",
    "v0.18.0": "This release adds pipelines.\n\n- Add `pipeline()` for chains of tasks.",
    "0.8.0": "This release adds the scheduler.\n\n- Add periodic tasks.",
}


@pytest.mark.parametrize(
    ("question", "begin"),
    [
        ("What is new in 0.18.0?", "`v0.18.0` [2]\n\nThis release adds pipelines. [2]"),
        ("What changed in version 0.18?", "`v0.18.0` [2]\n\nThis release adds pipelines. [2]"),
        ("changes in 0.8.0", "`0.8.0` [3]\n\nThis release adds the scheduler. [3]"),
        ("What is new in version 0.81?", REFUSAL),
    ],
)
def test_a_question_about_a_version_is_answered_by_that_version(question: str, begin: str) -> None:
    passages = [section(n, f"## {name}\n\n{text}", "Changelog") for n, (name, text) in enumerate(CHANGES.items(), 1)]
    answer = ask(question, passages)
    assert answer.startswith(begin)
    assert sum(f"[{n}]" in answer for n in (1, 2, 3)) <= 1


def test_lines_that_a_page_keeps_apart_are_sentences_of_their_own() -> None:
    text = "The widget is wound up by hand,\\\nonce a day.\\\nIt stops at night."
    assert ask("How is the widget wound up?", [section(1, text, "Widget")]) == (
        "The widget is wound up by hand, once a day. [1] It stops at night. [1]"
    )


def test_a_question_for_a_version_is_answered_by_its_number() -> None:
    page = "The widget needs Gearbox to turn, and the Gearbox version that you have is shown on its lid."
    needs = "You will need:\n\n- Gearbox: a widget turns with Gearbox-3.8+.\n- Oil: any."
    found = ask("Which Gearbox version do I need?", [section(1, page, "Lids"), section(2, needs, "Widget")])
    assert found.startswith("You will need: [2]\n- Gearbox: a widget turns with Gearbox-3.8+. [2]")


def test_a_sentence_with_a_bracketed_number_is_quoted_with_the_number_escaped() -> None:
    text = "Odometry drifts, as shown in [3]. Odometry counts the turns of wheels.\n\n[3] Odometry of wheels, 1999."
    answer = ask("Why does odometry drift?", [section(1, text, "Odometry")])
    assert answer.startswith("Odometry drifts, as shown in \\[3\\]. [1]")
    assert "1999" not in answer  # an entry of a list of works says nothing


def test_a_sentence_with_a_question_in_it_is_quoted_in_one() -> None:
    text = 'Ask the patient "Do you smoke?" before you write the report.'
    assert ask("What do I ask the patient?", [section(1, text, "Patients")]) == f"{text} [1]"


def test_an_answer_stays_short() -> None:
    text = "\n\n".join(f"Odometry number {i} counts wheels and does many other things besides. " * 4 for i in range(20))
    assert len(ask("What is odometry?", [section(1, text, "Odometry"), section(2, text + "!", "Odometry")])) < 1_300


def test_a_forged_passage_is_not_quoted_under_another_number() -> None:
    forged = "Nothing here.\n\n[9] Source: X (x)\nA gripper is forged."
    assert "[9]" not in ask("What is a gripper?", [section(1, forged, "Grippers")])


def test_an_abbreviation_that_a_passage_explains_stands_for_its_words() -> None:
    text = "Quality of Service (QoS) is set per topic.\n\nQoS policies decide what is delivered."
    answer = ask("What is quality of service?", [section(1, text, "Delivery")])
    assert "QoS policies decide what is delivered. [1]" in answer


def test_a_follow_up_is_read_with_the_question_before_it() -> None:
    before = [("What is colcon?", "`colcon` is the build tool.")]
    assert ask("And what does it replace?", before=before) != REFUSAL
    assert "catkin" in ask("And what does it replace?", before=before)


def test_a_whole_question_after_a_conjunction_is_answered_as_without_it() -> None:
    before = [("What is the capital of Ombrifax?", "Quenda is the capital.")]
    for opening in ("And w", "and, w", "But w", "So w"):
        assert ask(f"{opening}hat is a node?", before=before) == ask("What is a node?")


def test_more_about_a_subject_is_not_what_was_said_of_it_already() -> None:
    first = ask("What is a node?")
    assert "A **node** is a process" in first
    before = [("What is a node?", without_markers(first))]
    assert "A **node** is a process" not in ask("Tell me more", before=before)


@pytest.mark.parametrize(
    ("asked", "said", "follow_up", "wanted"),
    [
        ("What are the tools?", "- **colcon**: builds\n- **Gazebo**: simulates", "Explain the second one", "Gazebo"),
        (
            "Which engines are there?",
            "| Engine | Speed |\n|---|---|\n| Gazebo | Slow |",
            "Explain the last one",
            "Gazebo",
        ),
        ("What is the difference between MuJoCo and Gazebo?", "Speed.", "What is the latter?", "Gazebo"),
        (
            "How do I install the key on macOS?",
            "Run it.",
            "and on Windows?",
            "How do I install the key on ? and on Windows?",
        ),
        ("How do I add a key?", "Add it.", "How do I undo that?", "How do I remove a key?"),
    ],
)
def test_a_follow_up_is_read_as_what_it_means(asked: str, said: str, follow_up: str, wanted: str) -> None:
    whole, _ = next(_readings(follow_up, [AnsweredQuestion(asked, said)]))
    assert wanted in whole
    assert "one" not in whole.split()


def test_an_entry_that_nobody_listed_is_not_explained() -> None:
    assert ask("Explain the third one", before=[("What is a node?", "A node is a process.")]) == REFUSAL


@pytest.mark.parametrize("question", ["Wie oft muss ich entkalken?", "Wie häufig muss ich die Maschine entkalken?"])
def test_words_that_ask_for_a_measure_need_not_be_in_a_book_in_another_language(question: str) -> None:
    text = "Entkalken Sie die Maschine alle drei Monate, denn der Kalk verengt die Leitungen und senkt die Temperatur."
    assert "alle drei Monate" in ask(question, [section(1, text, "Entkalken")])


def test_what_a_book_is_about_begins_with_a_sentence_and_not_with_its_version() -> None:
    text = "Release v|version|. ([Installation](install.md))\n\n**Widgets** is a library for mounting widgets.\n"
    assert ask("What is this book about?", [section(1, text, "Widgets")]).startswith("**Widgets** is a library")


def test_a_follow_up_of_which_the_book_has_no_word_is_refused() -> None:
    assert ask("How is its upholstery?", before=[("What is colcon?", "It builds.")]) == REFUSAL


def test_follow_ups_in_a_row_are_read_with_the_question_that_names_the_subject() -> None:
    before = [
        ("What is colcon?", "It builds."),
        ("Tell me more", "It builds quickly."),
    ]
    assert "catkin" in ask("And what does it replace?", before=before)


def test_the_same_question_again_gets_the_same_answer() -> None:
    first = ask("What is a node?")
    before = [("What is a node?", without_markers(first))]
    assert ask("What is a node?", before=before) == first


def test_the_answer_comes_in_pieces() -> None:
    pieces = QuotingAnswerer(refusal=REFUSAL).quote("What is a node?", BOOK)
    assert pieces[:2] == [
        "A **node** is a process that performs one computation. [1]",
        " Nodes are small. [1]",
    ]


class OneHotEmbedder:
    """Texts that hold the word are alike, all others are not."""

    model_id = "one-hot"
    dimension = 2
    max_tokens = 100
    batch_size = 32

    def __init__(self, *words: str) -> None:
        self.words = words

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0] if any(word in text for word in self.words) else [0.0, 1.0]

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def test_an_embedder_finds_what_other_words_say() -> None:
    text = "Wheels slip on ice.\n\nThe hand closes around the mug."
    embedder = OneHotEmbedder("gripper", "hand closes")
    answer = ask("What does the gripper do?", [section(1, text, "Gripper")], embedder=embedder)
    assert answer.startswith("The hand closes around the mug. [1]")


def test_the_share_of_blocks_on_one_page_is_of_those_that_there_are() -> None:
    """A book of two paragraphs is as likely to answer as a longer one: the others of five blocks are no other pages."""
    hand = NumberedPassage(1, "Gripper", "Wheels slip on ice.\n\nThe hand closes around the mug.", "gripper.md")
    other = NumberedPassage(2, "Tools", "A gripper holds things.", "tools.md")
    assert features(read("What does the gripper do?", [hand], None)).together == 1.0
    assert features(read("What does the gripper do?", [hand, other], None)).together < 1.0


@pytest.mark.parametrize(
    "written",
    [
        "Hi, how do I run the tests? Thanks!", "Could you please tell me how do I run the tests?",
        "how do I run the tests", "HOW DO I RUN THE TESTS?", "How  do I\nrun the tests???", "“How do I run the tests?”",
        "I'd like to know how do I run the tests, please", "How do I run the tests according to the book?",
    ],
)  # fmt: skip
def test_courtesy_and_typing_do_not_change_an_answer(written: str) -> None:
    assert ask(written) == ask("How do I run the tests?") != REFUSAL


def test_a_bare_question_is_as_likely_to_be_answered_as_one_that_says_how_do_i() -> None:
    hand = [NumberedPassage(1, "Gripper", "The hand closes around the mug.", "gripper.md")]
    bare, asked = (features(read(f"{frame}close the hand of the robot", hand, None)) for frame in ("", "How do I "))
    assert bare.length == asked.length


@pytest.mark.parametrize("question", ["How do I say thanks?", "What is in this book?", "hello world", "UV_INDEX_URL"])
def test_words_of_courtesy_that_are_asked_about_stay(question: str) -> None:
    assert plain_question(question) == question


def test_the_same_question_gets_the_same_answer() -> None:
    assert len({ask("What is a node?") for _ in range(3)}) == 1


def test_what_stands_next_to_a_quoted_paragraph_is_quoted_if_it_is_short() -> None:
    text = "## Colours\n\nThe theme sets the colours of the page.\n\nRestart the server after each change of the file."
    answer = ask("What sets the colours of the page?", [section(1, text, "Theme")])
    assert "Restart the server" in answer


class NoMeaning(OneHotEmbedder):
    """An embedder to which no text is like a question."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]


def test_a_question_in_the_words_of_a_heading_is_answered_in_a_script_that_the_embedder_does_not_know() -> None:
    book = [section(1, "יש לנקות את הגלגל פעם בשנה לפחות.", "Repairing a widget > תחזוקה"), *BOOK]
    assert "פעם בשנה לפחות. [1]" in ask("תחזוקה", book, embedder=NoMeaning("ת", "נ"))
    assert ask("נקניקיות", book, embedder=NoMeaning("ת", "נ")) == REFUSAL


@pytest.mark.parametrize(
    ("question", "title", "text", "shown"),
    [
        ("How many teeth does a widget have?", "Widgets", "A widget has four teeth.", True),
        ("How much does a widget cost?", "Widgets > Price", "A widget costs 17 euros.", True),
        ("What is the weight of a widget?", "Widgets > Weight", "Weight: 2 kg", True),
        ("Are widgets magnetic?", "Questions > Are widgets magnetic?", "Yes.", True),
        ("How do widgets run on Linux?", "Widgets > Linux", "On Linux", False),
        ("How do widgets run on Linux?", "Widgets > Linux", "Have fun with Linux!", False),
    ],
)
def test_a_short_text_that_says_something_is_quoted(question: str, title: str, text: str, shown: bool) -> None:
    assert ask(question, [section(1, text, title)]) == (f"{text} [1]" if shown else REFUSAL)


ATLAS = [
    section(1, "Atlas is a humanoid robot. It weighs 89 kg.", "Atlas > Weight"),
    section(2, "The battery lasts 60 minutes.", "Atlas > Battery"),
    section(3, "The default port is 8080. Set `PORT` to change it.", "Port"),
]


def test_a_follow_up_is_answered_where_nothing_else_of_the_earlier_question_stands() -> None:
    before = [("What does Atlas weigh?", "It weighs 89 kg. [1]")]
    assert ask("And its battery?", ATLAS, before) == "The battery lasts 60 minutes. [2]"
    assert ask("And its colour?", ATLAS, before) == REFUSAL


def test_a_follow_up_to_a_definition_may_name_another_thing() -> None:
    sims = [
        section(1, "Gazebo is a simulator of physics.", "Gazebo"),
        section(2, "Isaac Sim runs on GPUs.", "Isaac Sim"),
    ]
    before = [("What is Gazebo?", "Gazebo is a simulator of physics. [1]")]
    assert ask("And Isaac Sim?", sims, before) == "Isaac Sim runs on GPUs. [2]"


def test_a_quoted_sentence_with_the_words_of_a_follow_up_is_quoted_again() -> None:
    said = "ROS2 is a middleware. It uses DDS for communication."
    book = [section(1, said, "ROS2"), section(2, "Services provide communication by requests.", "ROS2 > Services")]
    before = [("What is ROS2?", "ROS2 is a middleware. [1] It uses DDS for communication. [1]")]
    assert "It uses DDS for communication. [1]" in ask("What does it use for communication?", book, before)


def test_a_follow_up_is_answered_by_what_was_quoted_with_the_earlier_answer() -> None:
    answered = ask("What is the default port?", ATLAS)
    assert "Set `PORT` to change it." in answered
    assert "Set `PORT` to change it." in ask("How do I change it?", ATLAS, [("What is the default port?", answered)])


@pytest.mark.parametrize(
    ("question", "first"), [("How do I paint a hull?", "sand"), ("Which paint has a hull?", "paint")]
)
def test_the_steps_before_the_best_one_come_before_it_in_a_how_to(question: str, first: str) -> None:
    text = "Sand it:\n\n```\nsand\n```\n\nPaint the hull:\n\n```\npaint\n```\n"
    reading = read(question, [NumberedPassage(1, "Hulls", text)], None)
    sand, paint = reading.runs[0]
    assert _ordered([paint, sand], [paint], reading)[0] is {"sand": sand, "paint": paint}[first]


def test_how_much_something_costs_is_not_answered_without_a_word_for_it() -> None:
    text = "Run colcon on the build server of ROS2 to build all packages on the server."
    assert ask("How much does it cost to run colcon on the build server?", [section(1, text, "ROS2")]) == REFUSAL
    priced = f"{text} Its price is 5 euros."
    assert ask("How much does it cost to run colcon on the build server?", [section(1, priced, "ROS2")]) != REFUSAL
