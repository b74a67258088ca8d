"""The command line and wrong input: one line that says what to do, exit code 2, and nothing is written."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pexpect
import pytest

from cli.parser import GROUPS, build_parser
from tests.command_line import ROOT, CommandLine, Done

LONG = "x" * 2001


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_every_command_explains_itself(run: CommandLine) -> None:
    commands = ["chat", "ask", "search", "ingest", "passages", "threads", "doctor"]
    whole = run("--help")
    assert whole.code == 0
    assert all(f"    {name} " in whole.out for name in commands)


def test_the_version_is_that_of_the_project(run: CommandLine) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert run("--version") == Done(0, f"askbook {project['version']}\n", "")


def test_help_imports_nothing_that_costs_time(run: CommandLine) -> None:
    done = run.python("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.out.startswith("usage: run.py")
    modules = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    light = {"rag", "rag.system", "rag.system.process", "cli", "cli.parser"}
    imported = {name.split(".")[0] for name in modules - light}
    assert "argparse" in imported
    ours = {path.parent.name for path in ROOT.glob("*/*.py")}
    assert len(ours) > 1
    assert not imported & (ours | {"langgraph", "langchain_core", "pydantic", "numpy", "onnxruntime", "rich"})


@pytest.mark.parametrize("command", ["chat", "ask", "search", "ingest", "passages", "threads", "doctor"])
def test_a_command_has_help(command: str, run: CommandLine) -> None:
    done = run(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: run.py {command}")


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("ask", ""), "Your question couldn't be processed. Please rephrase. The question is empty."),
    (("ask", LONG), "The question has 2,001 characters; at most 2,000 are allowed."),
    (("ask", "Why?", "--threshold", "1.5"), "--threshold must be a number from 0 to 1, not '1.5'."),
    (("ask", "Why?", "--threshold", "nan"), "--threshold must be a number from 0 to 1, not 'nan'."),
    (("ask", "Why?", "-k", "0"), "-k must be a whole number from 1 to 20, not '0'."),
    (("ask", "Why?", "-k", "21"), "-k must be a whole number from 1 to 20, not '21'."),
    (("ask", "Why?", "-k", "abc"), "-k must be a whole number from 1 to 20, not 'abc'."),
    (("ask", "Why?", "-k", "2.5"), "-k must be a whole number from 1 to 20, not '2.5'."),
    (("ask", "Why?", "--profile", "nobody"), 'There is no profile "nobody". Profiles: book-agent, default'),
    (("chat", "--profile", "nobody"), 'There is no profile "nobody".'),
    (("doctor", "--bogus"), "unrecognized arguments: --bogus"),
    (("search", ""), "The question is empty."),
    (("search", "Why?", "-k", "0"), "-k must be a whole number from 1 to 20, not '0'."),
    (("search", "Why?", "--history", "absent.json"), "absent.json cannot be read."),
    (("ask", "Why?", "--collection", "../elsewhere"), '"../elsewhere" cannot be the name of a collection.'),
    (("ingest", "absent"), "There is no absent."),
    (("ingest", ""), "A source is empty."),
    (("ingest", "."), "contains no readable page"),
    (("threads", "show", "nope"), 'There is no conversation "nope".'),
    (("threads", "export", "nope"), 'There is no conversation "nope".'),
    (("threads", "delete", "nope"), 'There is no conversation "nope".'),
    (("threads", "show"), "the following arguments are required: ID"),
    (("threads",), "the following arguments are required: ACTION"),
    (("threads", "prune", "t"), "unrecognized arguments: t"),
    (("threads", "list", "t"), "unrecognized arguments: t"),
    (("threads", "show", "t", "u"), "unrecognized arguments: u"),
    (("bogus",), "invalid choice: 'bogus'"),
    (("ask",), "the following arguments are required: QUESTION"),
    (("ingest", "book", "--collection", ""), "argument --collection: a name must not be empty"),
    (("ask", "Why?", "--profile", " "), "argument --profile: a name must not be empty"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[" ".join(one)[:40] for one, _ in WRONG])
def test_wrong_input_is_one_line_and_writes_nothing(arguments: tuple[str, ...], said: str, run: CommandLine) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("threads", "--json", "show", "x"),
        ("threads", "show", "--json", "x"),
        ("threads", "show", "x", "--json"),
        ("threads", "show", "--json", "--", "-x"),
    ],
)
def test_json_may_stand_before_and_after_the_id_of_a_conversation(arguments: tuple[str, ...], run: CommandLine) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.data["error"]["code"] == "unknown_thread"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("threads", "delete", "nope", "--json"), "unknown_thread"),
        (("verify", "nope", "--json"), "unknown_thread"),
        (("ingest", "absent", "--json"), "source"),
        (("threads", "--json"), "usage"),
        (("search", "--json"), "usage"),
        (("search", "Why?", "--json", "--bogus"), "usage"),
        (("threads", "show", "t", "--json", "u"), "usage"),
    ],
)
def test_a_command_that_fails_prints_its_error_as_json(arguments: tuple[str, ...], code: str, run: CommandLine) -> None:
    done = run(*arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.data["error"]["code"] == code


@pytest.mark.parametrize("arguments", [("ask", "--json"), ("ask", "Why?", "--json", "--bogus")])
def test_arguments_that_ask_does_not_take_print_a_response_as_json(
    arguments: tuple[str, ...], run: CommandLine
) -> None:
    done = run(*arguments)
    assert (done.code, done.err) == (2, "")
    assert (done.data["status"], done.data["phase"], done.data["error"]["code"]) == ("error", "IDLE", "usage")
    assert done.data["content"] == done.data["error"]["user_message"]


def test_an_unknown_profile_of_the_environment_names_the_variable(run: CommandLine) -> None:
    done = run("ask", "Why?", ASKBOOK_PROFILE="nobody")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith('ASKBOOK_PROFILE: There is no profile "nobody". Profiles: book-agent, default')


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "COHERE_BASE_URL"])
def test_an_address_that_is_none_ends_a_question_also_without_its_key(name: str, run: CommandLine) -> None:
    done = run("ask", "Why?", **{name: "ftp://models.example"})
    assert (done.code, done.out, done.err) == (2, "", f"{name} must start with http:// or https://.\n")


def test_a_history_that_no_parser_can_read_is_one_line(run: CommandLine) -> None:
    (run.folder / "deep.json").write_text("[" * 100_000)
    done = run("search", "Why?", "--history", "deep.json", "--json")
    assert (done.code, done.data["error"]["message"]) == (2, "deep.json is not JSON.")


@pytest.mark.parametrize(
    ("stdin", "said"), [(b"", "The question is empty."), (b"caf\xe9?", "The question is not UTF-8 text.")]
)
def test_a_wrong_question_from_standard_input_is_one_line(stdin: bytes, said: str, run: CommandLine) -> None:
    done = run("ask", "-", stdin=stdin)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not run.home.exists()


@pytest.mark.parametrize("command", [("ask", "Why?"), ("search", "Why?"), ("chat",), ("doctor",), ("threads", "list")])
def test_a_broken_number_in_the_env_file_is_named(command: tuple[str, ...], run: CommandLine) -> None:
    (run.folder / ".env").write_text("AGENT_TOP_K=many\n")
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert done.err == "AGENT_TOP_K in .env: 'many' is not allowed; it must be a whole number from 1 to 20.\n"
    assert not run.home.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask", ""), "empty_question"),
        (("ask", LONG), "question_too_long"),
        (("ask", "Why?", "-k", "0"), "out_of_range"),
        (("ask", "Why?", "--profile", "nobody"), "unknown_profile"),
        (("search", ""), "empty_question"),
        (("search", "Why?", "-k", "99"), "out_of_range"),
    ],
)
def test_wrong_input_with_json_still_prints_the_answer_with_its_error(
    arguments: tuple[str, ...], code: str, run: CommandLine
) -> None:
    done = run(*arguments, "--json")
    assert (done.code, done.err) == (2, "")
    assert done.data["error"]["code"] == code
    assert not run.home.exists()


@pytest.mark.parametrize(
    ("options", "variables", "profile"),
    [
        ((), {}, "default"),
        ((), {"ASKBOOK_PROFILE": "book-agent"}, "book-agent"),
        (("--profile", "isaac-sim"), {"ASKBOOK_PROFILE": "book-agent"}, "isaac-sim"),
    ],
)
def test_an_error_with_json_names_the_profile_that_was_chosen(
    options: tuple[str, ...], variables: dict[str, str], profile: str, run: CommandLine
) -> None:
    done = run("ask", "", *options, "--json", **variables)
    assert (done.data["error"]["code"], done.data["profile"]) == ("empty_question", profile)


def test_a_list_of_no_conversations_is_empty_and_makes_no_memory(run: CommandLine) -> None:
    assert run("threads", "list", "--json").data == []
    assert run("threads", "prune", "--json").data == {"checkpoints_deleted": 0}
    assert not run.home.exists()


def test_a_key_is_never_shown(run: CommandLine) -> None:
    done = run("ask", "Why?", OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL="no-address")
    assert done.code == 2
    assert "canary" not in done.out + done.err


def test_a_book_is_not_read_into_the_manual(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Page\n\nText.")
    done = run("ingest", str(tmp_path), "--collection", "manual")
    assert done.code == 2
    assert "manual" in done.err


# --- the shell ------------------------------------------------------------------------------------------------------


def test_the_overview_fits_a_screen_and_names_every_command_once(run: CommandLine) -> None:
    lines = run("--help").out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    commands = _actions(build_parser()).choices
    for name in commands:
        assert sum(f" {name} " in line for line in lines if line.startswith((" ", *GROUPS))) >= 1, name
    assert {name for names in GROUPS.values() for name in names} == set(commands)
    assert sum(line.startswith("  run.py ") for line in lines) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["askbook", "se"], {"search", "serve"}),
        (["askbook", "ask", "--th"], {"--thread", "--threshold"}),
        (["askbook", "--profile", "robo"], {"robotics-tutor"}),
        (["askbook", "books", "re"], {"rename"}),
        (["askbook", "completion", "f"], {"fish"}),
        (["askbook", "search", "--history", "no-such"], set()),
    ],
)
def test_bash_completes_commands_options_and_profiles(run: CommandLine, typed: list[str], offered: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in typed)
    script = f"{run('completion', 'bash').out}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _askbook\n"
    done = subprocess.run(
        ["bash", "-c", f'{script}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == offered
    assert done.stderr == ""


def shell_program(name: str) -> str:
    if (program := shutil.which(name)) is None:
        pytest.skip(f"{name} is not on this machine (Debian: apt-get install {name})")
    return program


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("askbook se", {"search", "serve"}),
        ("askbook ask --th", {"--thread", "--threshold"}),
        ("askbook --profile robo", {"robotics-tutor"}),
        ("askbook books re", {"rename"}),
        ("askbook completion f", {"fish"}),
        ("askbook ask --collection ", set()),
        ("askbook search --history his", {"history.json"}),
        ("askbook trust his", {"history.json"}),
    ],
)
def test_fish_completes_commands_options_profiles_and_files(run: CommandLine, typed: str, offered: set[str]) -> None:
    fish = shell_program("fish")
    script = run("completion", "fish").out
    (run.folder / "history.json").write_text("[]")
    done = subprocess.run(
        [fish, "--no-config", "-c", f"{script}\ncomplete -C {typed!r}"],
        capture_output=True, text=True, check=True, cwd=run.folder, env=os.environ | {"HOME": str(run.folder)},
    )  # fmt: skip
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == offered
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("askbook comp", "askbook completion "),
        ("askbook ask --thres", "askbook ask --threshold "),
        ("askbook --profile robo", "askbook --profile robotics-tutor "),
        ("askbook books ren", "askbook books rename "),
        ("askbook search --history his", "askbook search --history history.json "),
        ("askbook trust his", "askbook trust history.json "),
    ],
)
def test_zsh_completes_commands_options_profiles_and_files(run: CommandLine, typed: str, shown: str) -> None:
    """In a zsh on a terminal: its completion works nowhere else."""
    zsh = shell_program("zsh")
    (run.folder / "history.json").write_text("[]")
    (run.folder / "askbook.zsh").write_text(run("completion", "zsh").out)
    environment = os.environ | {"TERM": "dumb", "PS1": "ready> ", "HOME": str(run.folder)}
    with pexpect.spawn(zsh, ["-f"], cwd=str(run.folder), env=environment, encoding="utf-8", timeout=60) as shell:
        shell.sendline("autoload -Uz compinit; compinit -u -d dump; source askbook.zsh; echo load'ed'")
        shell.expect_exact("loaded\r\n")
        shell.send(f"{typed}\t")
        shell.expect_exact(shown)


def test_an_unknown_shell_is_one_line_and_code_2(run: CommandLine) -> None:
    done = run("completion", "tcsh")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_two_conversations_at_once_are_one_line_and_code_2(run: CommandLine) -> None:
    done = run("-c", "--thread", "other")
    assert (done.code, done.err) == (2, "-c and --thread name two conversations; give one of them.\n")


@pytest.mark.parametrize("module", ["argparse", "cli.parser", "cli.chat", "rag.settings", "langgraph"])
def test_ctrl_c_while_the_program_starts_is_quiet(run: CommandLine, module: str) -> None:
    """The signal comes in the middle of an import, as early as the first one."""
    script = f"""
import os, runpy, signal, sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
for name in [one for one in sys.modules if one == {module!r}]:
    del sys.modules[name]
sys.meta_path.insert(0, Press())
sys.argv = ["run.py"]
runpy.run_path({str(ROOT / "run.py")!r}, run_name="__main__")
"""
    (run.folder / "press.py").write_text(script)
    with run.start(script=str(run.folder / "press.py"), PYTHONPATH=str(ROOT)) as started:
        _, err = started.communicate(timeout=60)
    assert (started.returncode, err.decode()) == (130, "")


def _actions(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    return next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))


UNREADABLE = {"a.md": b"\xff\xfe broken", "b.md": b"\0"}


@pytest.mark.parametrize("sources", [("site",), ("site/a.md",), ("absent", "site"), ("file:///absent/repository",)])
def test_sources_that_cannot_be_read_are_named_with_exit_code_1(sources: tuple[str, ...], run: CommandLine) -> None:
    for name, content in UNREADABLE.items():
        file = run.folder / "site" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    told = run("ingest", *sources)
    assert (told.code, told.out) == (1, "")
    assert told.err.count("\n") == len(sources)
    done = run("ingest", *sources, "--json")
    report = json.loads(done.out)
    assert (done.code, report["chunks"]["total"], report["documents"]["added"]) == (1, 0, 0)
    assert [failure["source"] for failure in report["failures"]] == list(sources)
    assert all(failure["reason"] for failure in report["failures"])
    assert list(run.folder.iterdir()) == [run.folder / "site"]
