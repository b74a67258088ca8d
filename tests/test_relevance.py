"""Whether the passages answer is one probability from plain features."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.embedding.local import OnnxEmbeddings
from rag.quoting.answerer import (
    THRESHOLD,
    WITH_TOKENS,
    WITH_VECTORS,
    WORDS_ONLY,
    ConfidenceWeights,
    Features,
    answers,
    choose,
    excerpt,
    features,
    probability,
)
from rag.quoting.blocks import NumberedPassage
from rag.quoting.relevance import read
from tests.fakes import FakeEmbedder

NOTHING = Features(0.0, 5, 1.0, 0.0, weakest=0.2, there=0.2, together=0.2, missing_there=1.0)
EVERYTHING = Features(1.8, 5, 0.0, 0.0, weakest=0.9, there=0.9, together=1.0, missing_there=0.0)


@pytest.mark.parametrize("weights", [WITH_TOKENS, WITH_VECTORS, WORDS_ONLY])
def test_all_for_it_answers_and_nothing_refuses(weights: ConfidenceWeights) -> None:
    assert probability(EVERYTHING, weights) > 0.9
    assert probability(NOTHING, weights) < 0.05


@pytest.mark.parametrize("name", ["joint", "length", "weakest", "there", "together"])
def test_more_of_a_feature_is_more_likely(name: str) -> None:
    middle = Features(0.9, 6, 0.5, 0.0, 0.4)
    more = replace(middle, **{name: getattr(middle, name) + 0.2})
    assert probability(more, WITH_TOKENS) > probability(middle, WITH_TOKENS)


def test_a_rare_word_that_is_missing_speaks_against_and_a_name_more_so() -> None:
    without_word = replace(EVERYTHING, missing=1.0)
    assert probability(without_word, WITH_TOKENS) < probability(EVERYTHING, WITH_TOKENS)
    without_name = replace(without_word, missing_name=1.0)
    assert probability(without_name, WITH_TOKENS) < probability(without_word, WITH_TOKENS)


def test_only_a_name_or_a_code_word_counts_as_a_missing_name() -> None:
    shown = [NumberedPassage(1, "Password", "Ask for a password with `prompt`.")]
    assert features(read("How do I ask for a secret?", shown, None)).missing_name == 0.0
    assert features(read("How do I ask for it with PyInstaller?", shown, None)).missing_name > 0.8


def test_the_question_is_embedded_once() -> None:
    """A hosted embedder is asked, and paid, for each time."""

    class Counting(FakeEmbedder):
        questions = 0

        def embed_query(self, text: str) -> list[float]:
            self.questions += 1
            return super().embed_query(text)

    embedder = Counting()
    read("What is a node?", [NumberedPassage(1, "ROS2 > Nodes", "A node computes one thing well.")], embedder)
    assert embedder.questions == 1


def test_features_of_a_reading_are_shares() -> None:
    passages = [
        NumberedPassage(1, "ROS2 > Nodes", "A node computes one thing well."),
        NumberedPassage(2, "Other", "Nothing of it."),
    ]
    seen = features(read("What is a node of Kubernetes?", passages, None))
    assert 0 < seen.joint < 1
    assert seen.length == 6
    assert seen.missing == 1.0
    assert seen.weakest == 0.0


def test_blocks_from_one_page_and_the_words_of_one_passage_speak_for_an_answer() -> None:
    texts = ("The visitor has an address.", "Each request of a visitor names it.", "A log keeps the address of each.")
    apart = [NumberedPassage(n, f"Part {n}", text, f"{n}.md") for n, text in enumerate(texts, 1)]
    joined = [NumberedPassage(1, "Part 1", "\n\n".join(texts), "1.md")]
    question = "How do I log the address of a visitor?"
    one, many = features(read(question, joined, None)), features(read(question, apart, None))
    assert one.together > many.together
    assert one.missing == many.missing == 0.0
    assert one.missing_there < many.missing_there


@pytest.mark.usefixtures("every_vector_is_made")
def test_code_of_another_section_does_not_come_before_the_section_that_was_found_first() -> None:
    answer = "Attach a task to the response: the mail is sent after the response."
    shown = [
        NumberedPassage(1, "Tasks", answer),
        NumberedPassage(2, "Streams", "Write a response in parts:\n\n```python\nawait write(response)\n```"),
    ]
    embedder = OnnxEmbeddings(threads=1)
    assert read("How do I send a mail after the response?", shown, embedder).ranked[0].text == answer


def test_no_passage_is_never_answered() -> None:
    reading = read("What is a node?", [], None)
    assert features(reading).joint == 0.0
    assert not answers(reading, words_only=True)
    assert 0 < THRESHOLD < 1


ERRORS = NumberedPassage(
    1, "Errors", "A `BorrowMutError` is raised when a value that is borrowed already is borrowed to be changed."
)
PANIC = "thread 'main' panicked at 'already borrowed: BorrowMutError', src/cache.rs:60:53"


def test_an_error_message_is_found_by_its_identifier_whatever_else_it_names() -> None:
    assert read(PANIC, [ERRORS], None).missing == 0.0
    assert answers(read(PANIC, [ERRORS], None), words_only=True)
    question = read("Why does BorrowMutError appear in src/cache.rs?", [ERRORS], None)
    assert question.missing == 1.0  # a question says itself what it is about


def test_an_error_message_of_another_program_is_refused() -> None:
    other = read("ORA-12154: TNS:could not resolve the connect identifier of the value", [ERRORS], None)
    assert other.missing > 0.5
    assert not answers(other, words_only=True)


def test_commands_that_differ_in_one_word_are_both_quoted() -> None:
    one, every = "```console\n$ tool upgrade ruff\n```", "```console\n$ tool upgrade --all\n```"
    text = f"To upgrade one tool:\n\n{one}\n\nTo upgrade all tools:\n\n{every}"
    chosen = choose(read("How do I upgrade tools?", [NumberedPassage(1, "Upgrading", text)], None))
    assert {block.units[-1].text.splitlines()[1] for block in chosen} == {"$ tool upgrade ruff", "$ tool upgrade --all"}


def test_what_is_about_another_platform_than_the_one_asked_for_is_left_out_and_platforms_are_named() -> None:
    unix, windows = (
        "macOS and Linux:\n\n```console\n$ curl x.sh | sh\n```",
        "Windows:\n\n```console\nPS> irm x.ps1\n```",
    )
    passage = NumberedPassage(1, "Installing tool", f"{unix}\n\n{windows}")
    mac = "".join(excerpt(read("How do I install tool on macOS?", [passage], None)))
    assert "curl" in mac
    assert "irm" not in mac
    assert "Windows: [1]" in "".join(excerpt(read("How do I install tool?", [passage], None)))


def test_a_misspelt_word_weighs_what_the_right_one_does() -> None:
    shown = [NumberedPassage(1, "Names", "An alias of an argument, which prevents a clash.")]
    reading = read("how do I chnage the alias to avoyd a clash", shown, None)
    assert reading.question == "how do I change the alias to avoid a clash"
    weights = {term.word: term.weight for term in reading.terms}
    assert weights["chnage"] <= 0.35
    assert reading.missing == weights["chnage"]


def test_a_line_of_a_linter_is_an_error_message() -> None:
    shown = [NumberedPassage(1, "Linters", "It raises `E203 whitespace before ':'` warnings. Disable them.")]
    reading = read("src/utils.py:41:22: E203 whitespace before ':'", shown, None)
    assert reading.shape.message
    assert reading.missing == 0.0
    assert answers(reading, words_only=True)


def first(question: str, *passages: NumberedPassage) -> str:
    return read(question, list(passages), None).ranked[0].text


@pytest.mark.usefixtures("every_vector_is_made")
def test_how_to_asks_for_code_and_what_is_for_the_opening_of_a_page() -> None:
    prose = "The cache of the server is emptied by its clear command, whatever the cache holds."
    code = "Use this:\n\n```sh\nserver drop\n```"
    both = NumberedPassage(1, "Cache", f"{prose}\n\n{code}")
    assert read("How do I clear the cache?", [both], OnnxEmbeddings(threads=1)).ranked[0].form == "code"
    opening = "The cache holds what was fetched, so that it need not be fetched again."
    page = NumberedPassage(1, "Cache", f"{opening}\n\n{prose}")
    assert first("What is the cache?", page) == opening


def test_a_page_for_contributors_comes_behind_one_for_users() -> None:
    text = "Build the pages with `make pages`, and look at them."
    contributing = NumberedPassage(1, "Contributing > Pages", text)
    using = NumberedPassage(2, "Usage > Pages", "Build pages with the command `build`.")
    assert "build`." in first("How do I build pages?", contributing, using)
    assert "make" in first("How do I build pages as a contributor?", contributing, using)


def test_a_definition_with_links_comes_before_what_is_only_said_of_the_thing() -> None:
    said = NumberedPassage(1, "Rules", "Middleware is composable by means of functions of the store.")
    links = (
        "[dispatch function](understanding/of/the/dispatching-function.md) and [actions](understanding/of/actions.md)"
    )
    defined = NumberedPassage(2, "Glossary", f"A middleware is a function that wraps a {links}.")
    assert "is a function" in first("What is middleware?", said, defined)
