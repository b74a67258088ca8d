"""`run.py eval` as a user runs it: on the tiny book, without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Done

ROWS: list[dict[str, Any]] = [
    {"kind": "whatis", "questions": ["How many teeth does a widget have?"], "pages": "widget", "answer": "teeth"},
    {"kind": "unanswerable", "question": "Who won the world cup?", "pages": None, "answer": None},
    {"kind": "followup", "questions": ["What is a widget?", "How many teeth does a widget have?"], "pages": "widget"},
    {
        "kind": "talked",
        "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
        "question": "How many teeth does a widget have?",
        "relevant": ["widget"],
        "standalone": "How many teeth does a widget have?",
    },
]


@pytest.fixture
def dataset(run: CommandLine) -> Path:
    file = run.folder / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def measured(run: CommandLine) -> Done:
    file = run.folder / "measured.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return run("eval", str(file), "--json", "--report", str(run.folder / "report.html"))


def test_every_question_that_counts_is_asked_and_graded(measured: Done) -> None:
    found = measured.data
    assert measured.code == 0
    assert [(one["kind"], one["right"], one["follow_up"]) for one in found["questions"]] == [
        ("whatis", True, False),
        ("unanswerable", True, False),
        ("followup", True, True),
        ("talked", True, True),
    ]
    figures = found["figures"]
    assert figures["right"]["value"] == figures["exact_refusals"]["value"] == figures["recall@5"]["value"] == 1
    assert figures["followup_ratio"]["n"] == 1
    assert figures["llm_calls"]["value"] == 0


def test_the_ranking_holds_what_was_shown_first_and_then_what_was_not(measured: Done) -> None:
    ranking = measured.data["questions"][0]["ranking"]
    shown = [one["outcome"] == "shown" for one in ranking]
    assert shown[0]
    assert shown == sorted(shown, reverse=True)
    assert ranking[0]["relevant"] == [0]


def test_the_report_is_one_page_that_loads_nothing(run: CommandLine, measured: Done) -> None:
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "Wrote" in measured.err
    assert page.count("<svg") == 3
    assert "<script" not in page
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_no_conversation_is_stored_and_nothing_is_left_of_a_finished_run(run: CommandLine, measured: Done) -> None:
    assert run("threads", "list", "--json").data == []
    assert list((run.home / "evaluations").iterdir()) == []


def test_an_unfinished_run_goes_on_after_its_last_whole_line(
    run: CommandLine, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cli.eval

    asked: list[str] = []
    real = cli.eval.asked

    async def stopped(agent: Any, conversation: Any) -> Any:
        asked.append(conversation.kind)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return await real(agent, conversation)

    monkeypatch.setattr(cli.eval, "asked", stopped)
    stop = run("eval", str(dataset))
    assert (stop.code, stop.out) == (130, "")
    (journal,) = (run.home / "evaluations").iterdir()
    journal.write_bytes(journal.read_bytes() + b'{"half": [{"conv')
    asked += ["again"]
    done = run("eval", str(dataset), "--json")
    assert asked == ["whatis", "unanswerable", "followup", "again", "followup", "talked"]
    assert "2 conversations of an unfinished run are kept" in done.err
    assert [one["kind"] for one in done.data["questions"]] == [row["kind"] for row in ROWS]


def test_two_runs_stand_side_by_side(run: CommandLine, dataset: Path, measured: Done) -> None:
    before = measured.data
    before["questions"][0]["right"] = False
    (run.folder / "before.json").write_text(json.dumps(before), encoding="utf-8")
    done = run("eval", str(dataset), "--against", str(run.folder / "before.json"))
    assert done.code == 0
    assert "4 questions" in done.out
    assert "now right: How many teeth does a widget have?" in done.out


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"question": "a?"}\n{"question": }\n', "bad.jsonl, line 2: this is not JSON"),
        ("", "bad.jsonl has no questions."),
    ],
)
def test_a_bad_dataset_is_one_line_and_code_2(run: CommandLine, content: str, problem: str) -> None:
    file = run.folder / "bad.jsonl"
    file.write_text(content, encoding="utf-8")
    done = run("eval", str(file))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("missing.jsonl",), "missing.jsonl cannot be read."),
        (("questions.jsonl", "--against", "questions.jsonl"), "questions.jsonl is not the result of an evaluation."),
        (("questions.jsonl", "--report", "nowhere/report.html"), "nowhere/report.html cannot be written."),
    ],
)
def test_wrong_usage_is_found_before_a_question_is_asked(
    run: CommandLine, dataset: Path, arguments: tuple[str, ...], problem: str
) -> None:
    done = run("eval", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err


def test_questions_that_end_with_an_error_make_code_1(run: CommandLine) -> None:
    file = run.folder / "long.jsonl"
    file.write_text(json.dumps({"question": "why " * 1000}) + "\n", encoding="utf-8")
    done = run("eval", str(file), "--json")
    assert done.code == 1
    assert done.data["questions"][0]["error"] == "invalid_input/question_too_long"


def test_a_field_that_is_not_used_is_named(run: CommandLine) -> None:
    file = run.folder / "misspelt.jsonl"
    file.write_text('{"question": "How many teeth does a widget have?", "relevent": ["x"]}\n', encoding="utf-8")
    assert "Fields that eval does not use: relevent." in run("eval", str(file)).err


def test_one_question_is_in_one_conversation(run: CommandLine) -> None:
    file = run.folder / "one.jsonl"
    file.write_text(json.dumps(ROWS[0]), encoding="utf-8")
    done = run("eval", str(file), "--report", str(run.folder / "one.html"))
    assert done.out.startswith("1 question in 1 conversation; dataset ")
    assert "1 questions" not in (run.folder / "one.html").read_text(encoding="utf-8")
