"""`run.py doctor --profile P`: the profile as it runs, and where each value came from."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from rag.services import QUOTED_FROM
from rag.settings import variables
from run import main
from tests.homes import copied


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*variables(), "OPENROUTER_API_KEY"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASKBOOK_HOME", str(tmp_path))


def test_every_value_is_one_line_with_its_source(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "7")
    assert main(["doctor", "--profile", "isaac-sim"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if "  · " in line}
    assert lines["retrieval.top_k"].endswith("7  · environment variable AGENT_TOP_K")
    assert lines["budget.context"].endswith("3992  · profile isaac-sim (profiles/isaac-sim.toml)")
    assert lines["model.timeout_seconds"].endswith("60.0  · default")


def test_the_variable_of_a_key_that_is_not_set_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--profile", "isaac-sim"]) == 0
    assert "set OPENROUTER_API_KEY, the key of the profile's endpoint." in capsys.readouterr().out


def test_a_key_that_cannot_be_one_is_a_finding_that_does_not_show_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    assert main(["doctor", "--profile", "documentation-agent", "--json"]) == 1
    shown = capsys.readouterr().out
    model = next(check for check in json.loads(shown)["checks"] if check["name"] == "model")
    assert (model["ok"], "hunter2" in shown) == (False, False)
    assert model["detail"].startswith('OPENAI_API_KEY is not an OpenAI key: it must start with "sk-"')


def test_json_has_the_profile_whole(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json", "--profile", "documentation-agent"])
    values = {one["key"]: one for one in json.loads(capsys.readouterr().out)["profile"]}
    assert values["instructions"]["value"].startswith("You are a helpful assistant that answers")
    assert values["limits.max_turns"] == {
        "key": "limits.max_turns",
        "value": 20,
        "source": "profile documentation-agent (profiles/documentation-agent.toml)",
    }


def test_ask_says_that_the_key_of_a_profile_is_not_set(
    tiny_book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tiny_book, tmp_path)
    assert main(["ask", "What is a widget?", "--profile", "isaac-sim"]) == 0
    shown = capsys.readouterr()
    assert "OPENROUTER_API_KEY is not set, so the answer quotes the book's own sentences." in shown.err
    assert "(widgets.md)" in shown.out


def test_a_memory_that_cannot_be_written_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    with sqlite3.connect(tmp_path / "memory.sqlite") as connection:
        connection.execute("create trigger full before insert on checkpoints begin select raise(abort, 'no'); end")
    connection.close()
    capsys.readouterr()
    assert main(["doctor"]) == 1
    assert "FAIL  memory" in capsys.readouterr().out


def test_a_broken_setting_is_json_too_where_json_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "99")
    assert main(["doctor", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    said = "AGENT_TOP_K in the environment: '99' is not allowed; it must be from 1 to 20."
    assert (found["ok"], found["profile"], found["error"]["code"]) == (False, [], "settings")
    assert found["error"]["message"] == found["checks"][0]["detail"] == said


@pytest.mark.parametrize(("key", "passages"), [("hunter2", 3), ("", QUOTED_FROM)], ids=["a model", "no model"])
def test_a_profile_is_shown_with_its_own_name_and_the_passages_that_are_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str, passages: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    main(["doctor", "--profile", "robotics-tutor"])
    assert f"robotics-tutor (Robotics Tutor): {passages} passages of score 0 or more" in capsys.readouterr().out


def test_the_help_of_ask_names_the_number_of_passages_without_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["ask", "--help"])
    assert f"the profile's, or {QUOTED_FROM} without a model)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("listed", "code", "said"),
    [
        ("book-agent,isaac-sim", 0, "others may choose book-agent, isaac-sim; the default is book-agent"),
        ("nobody", 1, "ASKBOOK_PROFILES lists 'nobody', but there is no such profile."),
    ],
)
def test_the_list_of_profiles_on_offer_is_checked(
    listed: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASKBOOK_PROFILES", listed)
    assert main(["doctor"]) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value", "code", "said"),
    [
        ("ASKBOOK_API_KEYS", "ann:3f9c81d2,bob:77aa01ce", 0, "2 keys, every book, 0 sites may call it"),
        ("ASKBOOK_API_KEYS", "ann", 1, "Entry 1 of ASKBOOK_API_KEYS is not allowed."),
        ("ASKBOOK_BOOKS", "../x", 1, 'ASKBOOK_BOOKS: "../x" cannot be the name of a collection.'),
        ("ASKBOOK_ALLOWED_ORIGINS", "x/y", 1, "ASKBOOK_ALLOWED_ORIGINS has the entry 'x/y', which is no site."),
    ],
)
def test_the_lists_of_the_server_are_checked(
    name: str, value: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert main(["doctor"]) == code
    assert said in capsys.readouterr().out
