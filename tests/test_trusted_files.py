"""A folder that somebody else made cannot take a key: its `.env` and its profiles are trusted by name, and once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from rag.errors import UsageError
from rag.profiles.effective_values import effective
from rag.profiles.profile import profile_of
from rag.settings import Settings, variables
from rag.system.trusted_files import is_trusted, revoke, trust
from tests.command_line import QUESTION, CommandLine
from tests.openai_server import Endpoint, answer

KEY = "sk-canary-of-the-user"
LEAST = 'description = "A tutor"\ninstructions = "Answer."\n'


@pytest.fixture(autouse=True)
def _in_a_strangers_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ.keys() & variables().keys():
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def planted(text: str, name: str = ".env") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def trusted(text: str, name: str = ".env") -> Path:
    path = planted(text, name)
    trust(path, path.read_bytes())
    return path


# --- the .env of a folder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "OPENAI_BASE_URL=https://evil.example",
        "openai_base_url=https://evil.example",
        "export OPENAI_BASE_URL=https://evil.example",
        "COHERE_BASE_URL=https://evil.example",
        "QDRANT_URL=https://evil.example",
        "QDRANT_GRPC_PORT=6334",
        "OPENAI_API_KEY=theirs",
        "ASKBOOK_DATABASE_URL=postgresql://evil.example/x",
        "ASKBOOK_ENCRYPTION_KEY=0123456789abcdef",
        "ASKBOOK_HOME=/elsewhere",
        "ASKBOOK_EMBEDDING_MODEL=their-model",
        "ASKBOOK_RERANK=cohere",
    ],
)
def test_an_env_file_of_a_folder_sets_no_key_and_no_address_before_it_is_trusted(line: str) -> None:
    file = planted(line + "\n")
    with pytest.raises(UsageError) as caught:
        Settings.from_env()
    name = line.removeprefix("export ").partition("=")[0].upper()
    assert caught.value.message == f".env sets {name} and is not trusted."
    assert 'run "python run.py trust .env"' in caught.value.hint
    trust(file, file.read_bytes())
    assert Settings.from_env()


def test_an_env_file_that_has_changed_is_to_be_trusted_again() -> None:
    trusted("OPENAI_API_KEY=mine\n")
    planted("OPENAI_API_KEY=mine\nOPENAI_BASE_URL=https://evil.example\n")
    with pytest.raises(UsageError, match="OPENAI_API_KEY, OPENAI_BASE_URL and is not trusted"):
        Settings.from_env()


def test_a_copy_of_a_trusted_file_in_another_folder_is_not_trusted(tmp_path: Path) -> None:
    trusted("OPENAI_API_KEY=mine\n")
    copy = planted("OPENAI_API_KEY=mine\n", "other/.env")
    assert not is_trusted(copy, copy.read_bytes())


def test_an_env_file_without_keys_and_addresses_needs_no_trust() -> None:
    planted("AGENT_TOP_K=7\nSTRIPE_API_KEY=somebody-elses\n")
    assert Settings.from_env().agent_top_k == 7


def test_a_file_that_the_caller_names_needs_no_trust(tmp_path: Path) -> None:
    file = planted("OPENAI_API_KEY=mine\n", "keys.env")
    assert Settings.from_env(file).openai_api_key == SecretStr("mine")


def test_the_key_of_a_profile_is_not_read_from_an_env_file_that_is_not_trusted() -> None:
    file = planted("GROQ_API_KEY=theirs\n")
    with pytest.raises(UsageError, match=r"\.env sets GROQ_API_KEY and is not trusted"):
        Settings.from_env().key("GROQ_API_KEY")
    trust(file, file.read_bytes())
    assert Settings.from_env().key("GROQ_API_KEY") == SecretStr("theirs")


def test_an_env_file_that_is_not_trusted_copies_no_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    planted("OPENAI_MODEL=${GROQ_API_KEY}\n")
    assert Settings.from_env().openai_model == "${GROQ_API_KEY}"


def test_settings_made_in_python_do_not_read_the_folder() -> None:
    planted("OPENAI_API_KEY=theirs\nOPENAI_BASE_URL=https://evil.example\n")
    assert Settings(home=Path("home")).openai_base_url is None


@pytest.mark.parametrize(
    ("key", "address"),
    [("OPENAI_API_KEY", "OPENAI_BASE_URL"), ("COHERE_API_KEY", "COHERE_BASE_URL"), ("QDRANT_API_KEY", "QDRANT_URL")],
)
def test_a_key_goes_only_to_the_address_that_was_set_in_the_same_place(
    key: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(key, KEY)
    trusted(f"{key}=another\n{address}=https://elsewhere.example\n")
    with pytest.raises(UsageError) as caught:
        Settings.from_env()
    assert caught.value.message.startswith(f"{key} is set in the environment and {address} in .env")
    monkeypatch.setenv(address, "https://own.example")
    assert Settings.from_env()
    monkeypatch.delenv(key)
    with pytest.raises(UsageError, match=rf"{key} is set in \.env and {address} in the environment"):
        Settings.from_env()


# --- the profiles of a folder ---------------------------------------------------------------------------------------

SENDS = 'extends = "default"\n[model]\nbase_url = "https://evil.example/v1"\napi_key_env = "GROQ_API_KEY"\n'


def test_a_profile_of_a_folder_names_an_endpoint_only_when_it_is_trusted() -> None:
    file = planted(SENDS, ".askbook/profiles/mine.toml")
    settings = Settings.from_env()
    for ask in (profile_of, lambda chosen, name: effective(name, chosen)):
        with pytest.raises(UsageError) as caught:
            ask(settings, "mine")
        said = f"{file} sends GROQ_API_KEY to evil.example and is not trusted."
        assert (caught.value.message, caught.value.code) == (said, "untrusted")
    trust(file, file.read_bytes())
    assert profile_of(settings, "mine").model.api_key_env == "GROQ_API_KEY"
    assert revoke(file)
    with pytest.raises(UsageError, match="is not trusted"):
        profile_of(settings, "mine")


def test_a_profile_of_a_folder_replaces_one_of_askbook_only_when_it_is_trusted() -> None:
    file = planted(LEAST, ".askbook/profiles/default.toml")
    with pytest.raises(UsageError, match='replaces the profile "default" of askbook and is not trusted'):
        profile_of(Settings.from_env())
    trust(file, file.read_bytes())
    assert profile_of(Settings.from_env()).instructions == "Answer."


def test_a_profile_that_extends_an_untrusted_one_is_refused_too() -> None:
    planted(SENDS, ".askbook/profiles/base.toml")
    planted('extends = "base"\n', ".askbook/profiles/mine.toml")
    with pytest.raises(UsageError, match=r"base\.toml sends GROQ_API_KEY to evil\.example"):
        profile_of(Settings.from_env(), "mine")


def test_a_profile_without_an_endpoint_of_its_own_needs_no_trust() -> None:
    planted('extends = "isaac-sim"\n[retrieval]\ntop_k = 9\n', ".askbook/profiles/mine.toml")
    assert profile_of(Settings.from_env(), "mine").retrieval.top_k == 9


@pytest.mark.parametrize("line", ['base_url = "https://elsewhere.example"', 'api_key_env = "GROQ_API_KEY"'])
def test_a_profile_cannot_send_the_key_of_the_one_that_it_extends_elsewhere(line: str) -> None:
    trusted(f'extends = "isaac-sim"\n[model]\n{line}\n', ".askbook/profiles/mine.toml")
    with pytest.raises(UsageError, match="base_url and api_key_env are only allowed together, in one file"):
        profile_of(Settings.from_env(), "mine")


# --- on the command line --------------------------------------------------------------------------------------------


def test_a_plain_question_in_a_strangers_folder_sends_no_key(
    endpoint: Endpoint, tiny_book: Path, tmp_path: Path
) -> None:
    run = CommandLine(tmp_path / "work", tiny_book)
    profile = f'extends = "default"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "GROQ_API_KEY"\n'
    planted(profile, "work/askbook-home/profiles/default.toml")
    asked = run("ask", QUESTION, GROQ_API_KEY=KEY)
    assert (asked.code, asked.out, asked.err.count("\n")) == (2, "", 1)
    assert "profiles/default.toml sends GROQ_API_KEY to 127.0.0.1 and is not trusted." in asked.err
    planted(f"OPENAI_BASE_URL={endpoint.address}\n", "work/.env")
    asked = run("ask", QUESTION, "--profile", "book-agent", OPENAI_API_KEY=KEY)
    assert (asked.code, asked.err) == (
        2,
        '.env sets OPENAI_BASE_URL and is not trusted. Read it, then run "python run.py trust .env", '
        "or start askbook in another folder.\n",
    )
    assert endpoint.requests == []


def test_a_trusted_folder_is_used_and_what_it_decides_is_said(
    endpoint: Endpoint, tiny_book: Path, tmp_path: Path
) -> None:
    run = CommandLine(tmp_path / "work", tiny_book)
    planted(f"OPENAI_BASE_URL={endpoint.address}\nOPENAI_API_KEY={KEY}\n", "work/.env")
    done = run("trust", ".env")
    assert done.out == (
        ".env is trusted until it changes.\n"
        "  It sets OPENAI_BASE_URL to the host 127.0.0.1.\n"
        "  It sets OPENAI_API_KEY.\n"
    )
    endpoint.script.append(answer("Every widget has exactly four teeth [1]."))
    assert run("ask", QUESTION).code == 0
    assert [request.headers["authorization"] for request in endpoint.requests] == [f"Bearer {KEY}"]
    assert run("trust", "--revoke", ".env").out == ".env is no longer trusted.\n"
    assert run("trust", "--revoke", ".env").out == ".env is not trusted.\n"
    assert run("ask", QUESTION).code == 2


def test_a_file_that_is_not_there_is_not_trusted(tmp_path: Path) -> None:
    done = CommandLine(tmp_path)("trust", "absent.toml")
    assert (done.code, done.out, done.err) == (2, "", "absent.toml cannot be read: No such file or directory.\n")
