"""What is written is true: the manual, the README and the guide for contributors against the program itself."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest

from cli.commands import COMMANDS
from cli.parser import build_parser
from rag.errors import RATE_LIMIT_SECONDS, USER_MESSAGES
from rag.settings import variables
from tests.manual import DOCS, EVERYTHING, PAGES, ROOT, commands, raised_codes, section, sections, tokens

_VARIABLE = re.compile(r"\b(?:OPENAI|QDRANT|AGENT|ASKBOOK|COHERE)_(?!_)[A-Z_]+\b")  # QDRANT__ is of Qdrant
_OF_TESTS = {"QDRANT_TEST_URL", "QDRANT_TEST_API_KEY"}  # read by tests alone
# Words that lean on a sentence before them: quoted alone, such a sentence says nothing.
_LEANS = re.compile(r"(?:it|its|this|that|these|those|they|their|then|therefore|also|here|however|both|such)\b", re.I)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_every_variable_that_is_read_has_a_heading_in_the_manual_and_no_other_has() -> None:
    headings = {one.heading for one in sections(DOCS / "settings.md") if _VARIABLE.fullmatch(one.heading)}
    assert headings == set(variables())


def test_the_table_of_settings_has_one_row_for_each_variable() -> None:
    cells = section("settings.md", "Which variables are there?").first_cells()
    assert sorted(cells) == sorted(variables())


@pytest.mark.parametrize("page", EVERYTHING, ids=_name)
def test_no_page_names_a_variable_that_is_not_read(page: Path) -> None:
    assert set(_VARIABLE.findall(page.read_text(encoding="utf-8"))) <= set(variables()) | _OF_TESTS


PARSER = build_parser()  # parsing leaves it as it is


def _subparsers() -> dict[str, argparse.ArgumentParser]:
    action = next(one for one in PARSER._actions if isinstance(one, argparse._SubParsersAction))
    return dict(action.choices)


def _options(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize("name", _subparsers())
def test_the_manual_lists_exactly_the_options_of_each_command(name: str) -> None:
    cells = section("commands.md", name).first_cells()
    assert {cell.split()[0] for cell in cells} == _options(_subparsers()[name])


def test_the_manual_names_every_action_of_threads() -> None:
    action = next(one for one in _subparsers()["threads"]._actions if one.dest == "action")
    shown = {
        arguments[1] for arguments in commands(DOCS / "commands.md", ("python", "run.py")) if "threads" in arguments
    }
    assert shown >= set(action.choices or [])


def test_the_manual_lists_exactly_the_commands_of_the_chat() -> None:
    cells = section("chat.md", "Which commands does the chat have?").first_cells()
    assert [cell.split()[0] for cell in cells] == [f"/{name}" for name in COMMANDS]


def test_the_manual_lists_the_targets_of_make() -> None:
    cells = section("commands.md", "Which make targets are there?").first_cells()
    assert {cell.split()[1] for cell in cells} == _targets() - {"help"}


def test_every_error_type_has_a_heading_with_its_exact_sentence() -> None:
    for name, sentence in USER_MESSAGES.items():
        fences = [token.content.strip() for token in section("errors.md", name).tokens if token.type == "fence"]
        assert fences == [sentence.format(retry_after=RATE_LIMIT_SECONDS)]


def _listed_codes() -> set[tuple[str | None, str]]:
    found: set[tuple[str | None, str]] = set()
    for name in USER_MESSAGES:
        found |= {(name, code) for code in section("errors.md", name).first_cells()}
    return found


def test_every_code_of_an_error_is_listed_under_its_type() -> None:
    raised = raised_codes()
    listed = _listed_codes()
    assert not {(kind, code) for kind, code in raised if kind and (kind, code) not in listed}
    assert {code for _, code in raised} <= {code for _, code in listed}


def test_no_code_is_listed_that_the_program_does_not_know() -> None:
    known = {code for _, code in raised_codes()}
    assert {code for _, code in _listed_codes()} <= known


def test_every_dependency_has_its_reason_in_a_decision_record() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[<>=!~]", dependency)[0] for dependency in project["dependencies"]}
    record = (DOCS / "decisions" / "0005-dependencies.md").read_text(encoding="utf-8")
    assert names <= set(re.findall(r"^\| ([\w-]+) \|", record, re.M))


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", EVERYTHING, ids=_name)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for token in tokens(page):
        for child in token.children or []:
            target = str(child.attrs.get("href") or child.attrs.get("src") or "")
            if not target or "://" in target:
                continue
            name, _, anchor = unquote(target).partition("#")
            file = (page.parent / name) if name else page
            assert file.exists(), target
            assert not anchor or anchor in {_slug(one.heading) for one in sections(file)}, target


def test_every_file_that_the_tour_of_a_turn_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", (DOCS / "how-it-works.md").read_text(encoding="utf-8"))
    assert len(named) > 12
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", EVERYTHING, ids=_name)
def test_every_command_line_that_is_shown_is_understood(page: Path) -> None:
    for arguments in commands(page, ("python", "run.py")):
        if not {"--help", "--version"} & {*arguments}:  # they end the program
            assert PARSER.parse_args(arguments)


def _targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.parametrize("page", EVERYTHING, ids=_name)
def test_every_make_target_that_is_shown_exists(page: Path) -> None:
    for arguments in commands(page, ("make",)):
        assert {word for word in arguments if "=" not in word} <= _targets(), arguments


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_section_of_the_manual_opens_with_a_paragraph(page: Path) -> None:
    for one in sections(page):
        assert not one.tokens or one.tokens[0].type == "paragraph_open", one.heading


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_sentence_of_the_manual_leans_on_the_one_before(page: Path) -> None:
    for token in tokens(page):
        for line in token.content.splitlines() if token.type == "inline" else []:
            assert not _LEANS.match(line), line


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_of_code_list_and_table_follows_a_line_that_leads_in(page: Path) -> None:
    before = ""
    for one, after in pairwise(tokens(page)):
        if one.type == "inline" and one.level == 1:
            before = one.content
        if one.type == "paragraph_close" and after.type in ("fence", "bullet_list_open"):
            assert before.endswith((":", ".")), before


def test_the_program_in_the_manual_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "docs"
    book.mkdir()
    (book / "index.md").write_text("# Words\n\nA passage is a piece of a page of the book.\n", encoding="utf-8")
    monkeypatch.setattr("rag.ingest.manual.DOCS", book)
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path / "home"))
    example = section("python.md", "How do I use askbook from Python?")
    code = next(token.content for token in example.tokens if token.type == "fence")
    exec(compile(code, "python.md", "exec"), {"__name__": "example"})
    assert "A passage is a piece of a page of the book. [1]" in capsys.readouterr().out


def test_every_example_in_python_can_be_parsed() -> None:
    for token in tokens(DOCS / "python.md"):
        if token.type == "fence" and token.info == "python":
            compile(token.content, "python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
