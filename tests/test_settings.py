"""Settings: the environment and `.env`, read in one place and by exact names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from rag.errors import UsageError
from rag.settings import Settings, variables

ROOT = Path(__file__).parent.parent


pytestmark = pytest.mark.usefixtures("no_variables")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_folder_is_dot_askbook_whatever_the_users_home_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert Settings.from_env(None).home == Path(".askbook")


@pytest.mark.parametrize("name", ["PROFILE", "HOME", "EMBEDDING_MODEL"])
def test_a_variable_without_its_prefix_is_not_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Settings.from_env(None)
    monkeypatch.setenv(name, "something-else")
    assert Settings.from_env(None) == usual


def test_python_sets_a_setting_by_its_field_name() -> None:
    assert Settings(home=Path("elsewhere")).home == Path("elsewhere")


def test_the_caller_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBOOK_HOME", "from-the-environment")
    assert Settings(home=Path("from-the-caller")).home == Path("from-the-caller")


def test_the_environment_beats_the_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "from-the-environment")
    file = written(tmp_path / ".env", "OPENAI_MODEL=from-the-file\nASKBOOK_PROFILE=filed\n")
    settings = Settings.from_env(file)
    assert (settings.openai_model, settings.profile) == ("from-the-environment", "filed")


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("AGENT_TOP_K", "")
    settings = Settings.from_env(None)
    assert settings.openai_api_key is None
    assert settings.agent_top_k is None


def test_other_lines_of_the_env_file_are_left_to_their_programs(tmp_path: Path) -> None:
    file = written(tmp_path / ".env", "SOMEBODY_ELSES=1\nAGENT_TOP_K=3\n")
    assert Settings.from_env(file).agent_top_k == 3


def test_a_missing_env_file_is_no_error(tmp_path: Path) -> None:
    assert Settings.from_env(tmp_path / "absent").profile == "default"


def test_a_key_is_not_shown_by_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("QDRANT_API_KEY", "qd-canary")
    assert "canary" not in repr(Settings.from_env(None))


def test_credentials_in_an_address_are_not_shown_by_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://user:canary@models.example/v1")
    shown = repr(Settings.from_env(None))
    assert "canary" not in shown
    assert "https://***@models.example/v1" in shown


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "COHERE_BASE_URL", "QDRANT_URL"])
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:canary@host:1/v1", "https://***@host:1/v1"),
        ("https://user:can@ary/canary@host", "https://***@host"),
        ("user:canary@host:6333", "***@host:6333"),
        ("https://host/v1", "https://host/v1"),
    ],
)
def test_credentials_in_an_address_are_used_and_never_printed(
    name: str, address: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, address)
    settings = Settings.from_env(None)
    printed = [repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json()]
    assert all(shown in text and "canary" not in text for text in printed)
    assert address in settings.model_dump().values()
    assert Settings(**settings.model_dump()) == settings


def test_the_password_of_a_database_is_never_printed() -> None:
    settings = Settings(database_url=SecretStr("postgresql://user:canary@host/askbook"))
    printed = [repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json()]
    assert not any("canary" in text for text in printed)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("AGENT_TOP_K", "agent_top_k"),
        ("AGENT_MAX_TURNS", "agent_max_turns"),
        ("QDRANT_GRPC_PORT", "qdrant_grpc_port"),
        ("ASKBOOK_KEEP_TURNS", "keep_turns"),
        ("ASKBOOK_TURNS_PER_MINUTE", "turns_per_minute"),
        ("ASKBOOK_CONCURRENT_TURNS", "concurrent_turns"),
    ],
)
def test_a_whole_number_may_have_a_point_and_a_zero(name: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "7.0")
    assert getattr(Settings.from_env(None), field) == 7
    monkeypatch.setenv(name, "7.5")
    with pytest.raises(UsageError, match=f"{name} in the environment: '7.5' is not allowed; it must be a whole number"):
        Settings.from_env(None)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("AGENT_TOP_K", "abc", "it must be a whole number"),
        ("AGENT_TOP_K", "0", "it must be from 1 to 20"),
        ("AGENT_TOP_K", "21", "it must be from 1 to 20"),
        ("AGENT_SCORE_THRESHOLD", "1.5", "it must be from 0 to 1"),
        ("AGENT_SCORE_THRESHOLD", "high", "it must be a number from 0 to 1"),
        ("AGENT_MAX_TURNS", "0", "it must be from 1 to 100000"),
    ],
)
def test_a_broken_value_is_named_with_its_place_and_what_is_allowed(
    name: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        Settings.from_env(None)
    assert caught.value.message.startswith(f"{name} in the environment: '{value}' is not allowed; {allowed}")
    assert "\n" not in caught.value.message


def test_a_broken_value_of_the_file_is_said_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"AGENT_TOP_K in \.env: 'many' is not allowed"):
        Settings.from_env(written(tmp_path / ".env", "AGENT_TOP_K=many\n"))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"OPENAI_MODEL=\xff\xfe\n")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        Settings.from_env(file)


def test_the_example_file_lists_exactly_the_variables_that_are_read() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    listed = [found[1] for line in lines if (found := re.fullmatch(r"# ([A-Z_]+)=.*", line))]
    assert listed == list(variables())


def test_the_example_file_can_be_used_as_it_stands() -> None:
    assert Settings.from_env(ROOT / ".env.example") == Settings.from_env(None)


def test_the_key_of_a_profiles_endpoint_is_read_from_the_file_and_the_environment_beats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOMEBODYS_API_KEY", raising=False)
    settings = Settings.from_env(written(tmp_path / ".env", "SOMEBODYS_API_KEY=file\nOTHER=x\n"))
    assert settings.key("SOMEBODYS_API_KEY") == SecretStr("file")
    monkeypatch.setenv("SOMEBODYS_API_KEY", "environment")
    assert settings.key("SOMEBODYS_API_KEY") == SecretStr("environment")


def test_a_key_that_is_nowhere_is_none() -> None:
    assert Settings.from_env(None).key("NOBODYS_API_KEY") is None


def test_a_giant_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n" * 2_000_000)
    with pytest.raises(UsageError, match="larger than 100 kilobytes"):
        Settings.from_env(tmp_path / ".env")


@pytest.mark.parametrize(
    "name", ["ASKBOOK_EMBEDDING_MODEL", "ASKBOOK_HOME", "OPENAI_MODEL", "QDRANT_URL", "AGENT_TOP_K"]
)
def test_an_endless_value_is_refused_in_one_line_that_does_not_repeat_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "a" * 100_000)
    with pytest.raises(UsageError, match=name) as raised:
        Settings.from_env(None)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_none_in_python_is_a_setting_that_is_not_given(name: str) -> None:
    unset: Any = {name: None}
    assert getattr(Settings(**unset), name) == getattr(Settings(), name)
