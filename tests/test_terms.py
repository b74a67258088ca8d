"""Words are made comparable: stems, compounds, code words, rarity."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer

from rag.quoting.terms import keys, refers_back, respelt_terms, terms, weigh, whole_question
from rag.quoting.vocabulary import rarity, stem


def words(question: str) -> list[str]:
    return [term.word for term in terms(question)]


def test_words_that_carry_no_meaning_are_left_out() -> None:
    assert words("What is the Quality of Service in the system?") == ["Quality", "Service", "system"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is ROS2?", "ROS 2 is a middleware."),
        ("What is ROS 2?", "ROS2 is a middleware."),
        ("What is RT-2?", "RT2 is a model."),
        ("How do I use the flatlist?", "`FlatList` renders items."),
        ("What is sim-to-real transfer?", "Transfer from sim to real."),
        ("What is realtime?", "It runs in real-time."),
        ("Which nodes are running?", "A node runs."),
        ("How do I visualise data?", "Visualize the data."),
        ("What is base_link?", "The frame `base_link`."),
        ("Does Ctrl-C stop it?", "Press ^C (control-C)."),
        ("What does Control-Z do?", "Ctrl-Z puts it to sleep."),
        ("How tall is Atlas?", "Atlas has a height of 1.5 m."),
        ("什么是机器人", "机器人是什么？"),
        ("What is new in 0.18.0?", "v0.18.0"),
        ("What changed in version 2.5?", "Release 2.5.3 is faster."),
    ],
)
def test_a_question_and_a_text_meet_in_spite_of_their_spelling(question: str, text: str) -> None:
    found = keys(text)
    assert [t.word for t in terms(question) if t.within(found)]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is ROS 3?", "ROS 2 is a middleware."),
        ("What is RT-1?", "RT-2 is a model. It came in 1 year."),
        ("What is FlatList?", "A flat list of names."),
        ("What is a Digit?", "A digital twin."),
        ("What is new in 3.1?", "31 things, as in 3.10 and in 13.1."),
    ],
)
def test_a_name_is_met_only_whole(question: str, text: str) -> None:
    assert not any(t.within(keys(text)) for t in terms(question))


def test_a_number_after_a_common_word_stays_by_itself() -> None:
    assert words("Can it move 5 meters?") == ["move", "5", "meters"]


def test_names_and_code_words_weigh_more_than_common_words() -> None:
    weight = {term.word: term.weight for term in terms("What is the world record of Service at base_link?")}
    assert weight["world"] < weight["record"] < weight["Service"] <= weight["base_link"]


def test_capitals_mean_nothing_where_every_word_has_one() -> None:
    assert not any(term.named for term in terms("What Are The Common Pitfalls Of Robot Simulation?"))


def test_rarity_follows_the_vocabulary() -> None:
    assert rarity("world") < rarity("quality") < rarity("actuator") == 1.0


def test_a_fact_that_is_asked_for_weighs_full_and_a_list_word_little() -> None:
    weight = {term.word: term.weight for term in terms("price rules")}
    assert weight["price"] == 1.0
    assert weight["rules"] < 0.5


def test_an_idle_word_counts_in_backticks_or_as_a_keyword() -> None:
    assert words("What does `use` do?") == ["use"]
    assert "use" in words("What does the use keyword do?")


def test_general_words_are_looked_for_only_where_there_are_no_others() -> None:
    found = terms("How do I use my own book?")
    assert [term.word for term in found] == ["use", "own", "book"]
    assert weigh(found) > sum(term.weight for term in found)
    assert words("How do I use my own robot?") == ["robot"]


def test_words_that_only_ask_are_no_terms_unless_there_are_no_others() -> None:
    assert words("Wouldn't somebody else rather use pydantic instead?") == ["pydantic"]
    assert words("What is never?") == ["never"]


def test_a_vague_word_weighs_little() -> None:
    (tried,) = [term for term in terms("How can I try an upload first?") if term.word == "try"]
    assert tried.weight <= 0.35


def test_nothing_to_look_for_gives_no_terms() -> None:
    assert terms("What is it?") == terms("") == terms("?!") == []


@pytest.mark.parametrize(
    "question",
    [
        "Tell me more",
        "and on Windows?",
        "What about services?",
        "Why is that?",
        "How does it work?",
        "What are the restrictions on that?",
        "Give me an example",
        "How does that work?",
        "What's the difference?",
        "How do I undo that?",
        "Is this safe?",
        "What if that fails?",
        "in TypeScript?",
        "same for Windows",
        "More details please",
        "What's the default?",
        "What are the steps?",
        "Explain the third one",
        "Und für die Dichtung?",
    ],
)
def test_a_follow_up_leans_on_the_question_before(question: str) -> None:
    assert refers_back(question)


@pytest.mark.parametrize(
    "question", ["What is a node?", "How do I use my own book?", "Which DDS vendors are there?", "Is this book free?"]
)
def test_a_question_of_its_own_does_not(question: str) -> None:
    assert not refers_back(question)


def test_stems_join_forms_of_a_word() -> None:
    assert stem("actuators") == stem("actuator")
    assert stem("behaviour") == stem("behavior")


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("And what is a thread?", "what is a thread?"),
        ("but how do I delete a book?", "how do I delete a book?"),
        ("and on Windows?", ""),
        ("And how does it work?", ""),
        ("So why is that?", ""),
        ("What is a thread?", ""),
    ],
)
def test_a_question_may_be_whole_without_its_conjunction(question: str, whole: str) -> None:
    assert whole_question(question) == whole


def test_threads_do_not_mix_up_the_words_that_they_stem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stemmer keeps a word in itself while it works on it: here it lets the other threads in at that moment."""
    inner = Stemmer.Stemmer("english")

    class Slow:
        def stemWord(self, word: str) -> str:  # noqa: N802  # as in the library
            self.current = word
            time.sleep(0.001)
            return str(inner.stemWord(self.current))

    slow = Slow()
    monkeypatch.setattr("rag.quoting.vocabulary._stemmer", lambda _: slow)
    stem.cache_clear()
    words = [f"{chr(97 + number)}walking" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(stem, words))
    stem.cache_clear()
    assert found == [word.removesuffix("ing") for word in words]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("sort in decending order", "sort in descending order"),  # a letter is left out; "defending" has another one
        ("close the programm", "close the program"),
        ("what dose it print", "what does it print"),
        ("clean the oven", "clean the oven"),  # not "over"
        ("conda-forge channels", "conda-forge channels"),  # not "force"
    ],
)
def test_a_word_is_corrected_if_it_is_misspelt_and_not_if_the_book_lacks_it(question: str, meant: str) -> None:
    assert respelt_terms(terms(question), question, ["Force is applied."], keys("Force is applied."))[1] == meant
