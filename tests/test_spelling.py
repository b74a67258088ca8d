"""A misspelt word is searched as the book spells it, in addition to what was typed."""

from __future__ import annotations

import pytest

from nodes.retrieve import merge_results
from rag.book import SearchQuery, SearchResult, Trace
from rag.quoting.terms import keys, respelt_terms, terms
from rag.quoting.vocabulary import correct_spelling, nearest, vocabulary
from tests.fakes import passage, retrieval
from tests.machine import ANSWER, Machine

WORDS = vocabulary(["Install a specific Python version with Immer, and update the dependencies."])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("how to instal a speciffic pyton version", "how to install a specific python version"),
        ("use imer to updte it", "use immer to update it"),
        ("how to pythen", "how to python"),
        ("How do I installing Python?", ""),
        ("How do I install Python?", ""),
        ("the vuex plugin", ""),
        ("What does UV_INDX do?", ""),
        ("3.12.1", ""),
    ],
)
def test_only_rare_words_are_respelt(typed: str, meant: str) -> None:
    assert correct_spelling(typed, WORDS) == meant


def test_a_rare_word_is_taken_for_a_misspelt_one_if_the_book_has_only_that() -> None:
    words = vocabulary(["Jupyter notebooks, and a RedirectResponse."])
    assert correct_spelling("jupiter notbooks redirekt", words) == "jupyter notebooks redirect"
    assert correct_spelling("jupiter", {**words, "jupiter": 1}) == ""


def test_of_equally_close_words_the_one_that_the_book_has_most_often_is_meant() -> None:
    words = vocabulary(["Pyston is another Python.", "Python, Python and Python again."])
    assert correct_spelling("which pyton version", words) == "which python version"


def test_a_word_that_the_vocabulary_has_in_another_form_is_left_alone() -> None:
    assert nearest("cat", {"car"}) == ""
    assert nearest("python", {"python", "pythons"}) == ""
    assert nearest("konfigurieren", {"konfiguriert"}) == "konfiguriert"


async def test_the_corrected_question_is_one_more_query() -> None:
    machine = Machine(ANSWER, ANSWER, passages=[passage(1, "Install the widget with its installer.")])
    await machine.ask("How do I instal the widget?")
    assert [question for question, *_ in machine.searcher.asked] == [
        "How do I instal the widget?",
        "How do I install the widget?",
    ]
    response = await machine.ask("How do I install the widget?")
    assert [question for question, *_ in machine.searcher.asked][2:] == ["How do I install the widget?"]
    assert response.retrievals[0].query == "How do I install the widget?"


async def test_a_question_about_the_whole_book_is_not_searched_in_another_spelling() -> None:
    machine = Machine(ANSWER, passages=[passage(1, "Summaries of the widgets.")])
    await machine.ask("Summarise the book")
    assert [question for question, *_ in machine.searcher.asked] == ["Summarise the book"]


def test_the_passages_of_both_searches_count() -> None:
    def found(*ids: str) -> SearchResult:
        passages = [passage(n, f"text {one}", chunk_id=one) for n, one in enumerate(ids, start=1)]
        return SearchResult(
            passages, retrieval("typed"), Trace((SearchQuery("question", "typed"),), ("dense",), 0.2, ())
        )

    both = merge_results(found("a", "b", "c"), found("x", "a"))
    assert [(one.number, one.chunk_id) for one in both.passages] == [(1, "a"), (2, "x"), (3, "b")]
    assert both.retrieval.query == "typed"
    assert both.retrieval.results_count == 3


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("does the widget lissen to it", "does the widget listen to it"),
        ("chanje the gear of the programm", "change the gear of the program"),
        ("does the widget know Lissen", "does the widget know Lissen"),  # a name
        ("does the widget know vuex", "does the widget know vuex"),
    ],
)
def test_a_word_that_no_passage_has_in_any_spelling_is_taken_for_a_common_word(typed: str, meant: str) -> None:
    text = "The widget has a gear."
    assert respelt_terms(terms(typed), typed, [text], keys(text))[1] == meant
