from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.evaluation.dataset import Dataset, Labels, Place, matches, read_dataset

ID = "00000000-0000-5000-8000-000000000000"
PLACE = Place(ID, "https://x.org/guide", "https://x.org/guide#install", "guide/index.md")


def read(folder: Path, *lines: str) -> Dataset:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return read_dataset(file)


def labels(folder: Path, row: str) -> Labels:
    found = read(folder, row).conversations[0].questions[-1].labels
    assert found is not None
    return found


def test_the_last_question_of_a_thread_counts(tmp_path: Path) -> None:
    one = read(tmp_path, '{"questions": ["a?", "b?"], "pages": "guide", "answer": "x"}').conversations[0]
    assert [question.labels for question in one.questions] == [None, Labels(("guide",), "guide", "x")]


def test_an_earlier_question_with_labels_counts_too(tmp_path: Path) -> None:
    dataset = read(tmp_path, '{"questions": [{"question": "a?", "pages": "one"}, "b?"], "pages": "two"}')
    first, last = dataset.conversations[0].questions
    assert dataset.questions == 2
    assert first.labels
    assert last.labels
    assert (first.labels.pages, last.labels.pages) == ("one", "two")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, separator: str) -> None:
    written = separator if separator.isprintable() or separator > "\x1f" else f"\\u{ord(separator):04x}"
    dataset = read(tmp_path, f'{{"question": "a{written}b?"}}', '{"question": "c?"}')
    assert [one.line for one in dataset.conversations] == [1, 2]


@pytest.mark.parametrize(
    ("row", "answerable"),
    [
        ('{"question": "a?"}', True),
        ('{"question": "a?", "pages": null, "answer": null}', False),
        ('{"question": "a?", "relevant": []}', False),
        ('{"question": "a?", "relevant": [], "answer": "yes"}', True),
        ('{"question": "a?", "pages": "x", "answerable": false}', False),
    ],
)
def test_a_question_is_unanswerable_if_its_line_says_so_or_names_no_page(
    tmp_path: Path, row: str, answerable: bool
) -> None:
    assert labels(tmp_path, row).answerable is answerable


def test_a_sentence_as_an_answer_is_a_reference_and_not_a_pattern(tmp_path: Path) -> None:
    found = labels(tmp_path, '{"question": "a?", "answer": "It opens the gate at noon."}')
    assert (found.answer, found.reference) == (None, "It opens the gate at noon.")
    assert labels(tmp_path, '{"question": "a?", "answer": "the gate|a door that is open"}').reference is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (ID, True),
        (ID.replace("5", "6"), False),
        ("https://x.org/guide/", True),
        ("https://x.org/guide#install", True),
        ("https://x.org/guide#other", False),
        ("https://x.org/gui", False),
        ("^GUIDE/", True),
        ("missing", False),
    ],
)
def test_a_passage_is_meant_by_its_id_its_address_or_a_pattern_of_its_page(wanted: str, found: bool) -> None:
    assert matches(wanted, PLACE) is found


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"question": ', "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("[]", "this is not a JSON object"),
        ("{}", "it needs either `question` or `questions`"),
        ('{"question": "a?", "questions": ["b?"]}', "it needs either `question` or `questions`"),
        ('{"questions": []}', "`questions` is not a list with at least one question"),
        ('{"question": 3}', "question 1: the question is not text"),
        ('{"question": "\\ud800"}', "question 1: the question is not UTF-8 text"),
        ('{"questions": ["a?", " "]}', "question 2: the question is empty"),
        ('{"questions": [{"question": "a?", "page": "x"}]}', "question 1 has the unknown field `page`"),
        ('{"question": "a?", "pages": "("}', "`pages` is not a regular expression"),
        ('{"question": "a?", "relevant": ["["]}', "`relevant` is not a regular expression"),
        ('{"question": "a?", "relevant": [1]}', "`relevant` is not a list of"),
        ('{"question": "a?", "answerable": "no"}', "`answerable` is neither true nor false"),
        ('{"question": "a?", "kind": 1}', "`kind` is not text"),
        ('{"question": "a?", "history": [{"role": "pope", "content": "x"}]}', "message 1 of the history has the role"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(tmp_path, '{"question": "fine?"}', "", line)
    assert f"questions.jsonl, line 3: {problem}" in raised.value.message
    assert "\n" not in raised.value.message


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b'{"question": "a?"}\n{"question": "\xff"}\n')
    with pytest.raises(UsageError, match="line 2: this is not UTF-8"):
        read_dataset(file)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_dataset_without_questions_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(UsageError, match="has no questions"):
        read(tmp_path, content)


def test_fields_that_nobody_reads_are_known_by_name(tmp_path: Path) -> None:
    assert read(tmp_path, '{"question": "a?", "relevent": ["x"]}').unused == ("relevent",)


def test_the_same_conversation_twice_has_two_ids_and_labels_do_not_change_them(tmp_path: Path) -> None:
    first = [one.id for one in read(tmp_path, '{"question": "a?"}', '{"question": "a?"}').conversations]
    again = [one.id for one in read(tmp_path, '{"question": "a?", "pages": "x"}').conversations]
    assert len(set(first)) == 2
    assert again == first[:1]
