"""The chat through a pipe, and the conversations that it leaves behind."""

from __future__ import annotations

from cli.commands import COMMANDS
from rag.profiles.profile import profile_names
from tests.command_line import QUESTION, CommandLine, Done

BESIDE = "Who won the 1998 world cup?"


# --- conversations --------------------------------------------------------------------------------------------------


def test_a_conversation_is_listed_shown_exported_and_deleted(run: CommandLine) -> None:
    content = run("ask", QUESTION, "--thread", "kept", "--json").data["plain_content"]
    listed = {one["thread_id"]: one for one in run("threads", "list", "--json").data}
    assert (listed["kept"]["turns"], listed["kept"]["first_question"]) == (1, QUESTION)
    assert listed["kept"]["collections"] == ["book"]
    assert "  book  " in run("threads", "list").out
    shown = run("threads", "show", "kept", "--json").data
    assert [(turn["question"], turn["plain_content"]) for turn in shown["turns"]] == [(QUESTION, content)]
    assert shown["turns"][0]["citations"]
    assert f"## 1. {QUESTION}" in run("threads", "export", "kept").out
    assert run("threads", "delete", "kept").code == 0
    assert run("threads", "show", "kept").code == 2


def test_pruning_leaves_the_conversations(run: CommandLine) -> None:
    chat(run, QUESTION, options=("--thread", "pruned"))
    assert run("threads", "prune", "--json").data["checkpoints_deleted"] > 0
    assert run("ask", QUESTION, "--thread", "pruned", "--json").data["turn_number"] == 2


# --- the chat, through a pipe ---------------------------------------------------------------------------------------


def chat(run: CommandLine, *lines: str, options: tuple[str, ...] = ()) -> Done:
    return run("chat", *options, stdin="\n".join(lines) + "\n")


def test_a_chat_answers_shows_its_sources_and_takes_a_turn_back(run: CommandLine, answered: Done) -> None:
    done = chat(run, "/help", QUESTION, "/sources", "/why", "/show 1", "/undo", "/quit")
    assert done.code == 0
    assert "No model is set, so answers quote the book's own sentences." in done.err
    assert answered.data["content"] in done.out
    assert f"“{answered.data['citations'][0]['quote']}”" in done.out
    assert "searched  How many teeth" in done.out
    assert "weight    1.00  How many teeth" in done.out
    assert "Removed from the conversation: How many teeth" in done.err


def test_no_command_of_a_chat_writes_spaces_at_the_end_of_a_line(run: CommandLine) -> None:
    commands = [f"/{name}" for name in COMMANDS if name not in ("clear", "quit", "retry", "resume", "undo")]
    done = chat(run, QUESTION, *commands)
    assert [line for line in (done.out + done.err).splitlines() if line != line.rstrip()] == []
    assert "default  " in done.out, "the columns stay columns"


def test_a_filter_holds_for_every_question_of_a_chat(run: CommandLine) -> None:
    elsewhere = chat(run, QUESTION, QUESTION, options=("--filter", "https://elsewhere.example"))
    assert elsewhere.out.count("I don't have information about that in the book content") == 2
    assert "Searching only pages that match the filter https://elsewhere.example" in elsewhere.err
    assert chat(run, QUESTION, options=("--filter", "author:me")).code == 2


def test_what_was_taken_back_is_not_in_the_conversation(run: CommandLine) -> None:
    chat(run, QUESTION, BESIDE, "/undo", options=("--thread", "undone"))
    shown = run("threads", "show", "undone", "--json").data
    assert [turn["question"] for turn in shown["turns"]] == [QUESTION]


def test_the_newest_conversation_is_gone_on_with(run: CommandLine) -> None:
    chat(run, QUESTION, options=("--thread", "newest"))
    assert "Continuing conversation newest (1 turn)." in chat(run, "/quit", options=("-c",)).err


def test_a_command_that_cannot_be_done_is_one_line_and_the_chat_goes_on(run: CommandLine) -> None:
    done = chat(run, "/bogus", "/show 1", "/sources", "/undo", "/retry", "/export", "/profile nobody", "/help")
    assert done.code == 0
    assert "/sources" in done.out
    assert done.err.partition("/help.\n\n")[2].splitlines() == [
        "There is no command /bogus. Type /help for a list.",
        "There is no answer yet.",
        "There is no answer yet.",
        "There is no turn to undo.",
        "There is no question to ask again.",
        "/export needs the name of a file.",
        f'There is no profile "nobody". Profiles: {", ".join(profile_names())}.',
    ]


def test_a_conversation_is_exported_to_a_new_file_only(run: CommandLine) -> None:
    done = chat(run, QUESTION, "/export talk.md", "/export talk.md")
    assert QUESTION in (run.folder / "talk.md").read_text()
    assert "talk.md already exists." in done.err


def test_a_failed_turn_in_a_pipe_is_exit_code_1(run: CommandLine) -> None:
    assert chat(run, "x" * 2001).code == 1
