"""Which endpoint answers, and which key goes to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from rag.errors import UsageError
from rag.model.chat_model import EndpointChatModel
from rag.model.endpoint import QUOTING, AnswerSource, build_model, check_key, endpoint_of, is_openai
from rag.profiles.profile import FOLDER, load_profile
from rag.settings import Settings
from rag.system.network import OPENAI
from tests.fakes import FakeEmbedder
from tests.openai_server import answer, openai_server

OPENROUTER = "https://openrouter.ai/api/v1"
LONG = "sk-" + "a" * 40


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)


def settings(key: str | None = None, base_url: str | None = None) -> Settings:
    return Settings(openai_api_key=SecretStr(key) if key else None, openai_base_url=base_url)


def key_of(answerer: AnswerSource) -> str:
    """The key that a model sends."""
    assert isinstance(answerer.model, EndpointChatModel)
    assert isinstance(answerer.model.openai_api_key, SecretStr)
    return answerer.model.openai_api_key.get_secret_value()


def test_the_key_of_openai_goes_to_openai() -> None:
    endpoint = endpoint_of(load_profile("default"), settings("key"))
    assert (endpoint.base_url, endpoint.variable, endpoint.key) == (OPENAI, "OPENAI_API_KEY", SecretStr("key"))


def test_the_key_of_openai_never_goes_to_the_endpoint_of_a_profile() -> None:
    endpoint = endpoint_of(load_profile("isaac-sim"), settings("key"))
    assert (endpoint.base_url, endpoint.key) == (OPENROUTER, None)


def test_a_profiles_endpoint_gets_the_key_that_the_profile_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "theirs")
    endpoint = endpoint_of(load_profile("isaac-sim"), settings("ours"))
    assert (endpoint.base_url, endpoint.key) == (OPENROUTER, SecretStr("theirs"))


def test_the_address_of_the_environment_beats_the_profiles_with_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "theirs")
    endpoint = endpoint_of(load_profile("isaac-sim"), settings("ours", "http://127.0.0.1:1/v1"))
    assert (endpoint.base_url, endpoint.key) == ("http://127.0.0.1:1/v1", SecretStr("ours"))


def test_an_address_of_the_environment_without_its_key_has_no_effect() -> None:
    endpoint = endpoint_of(load_profile("isaac-sim"), settings(None, "http://127.0.0.1:1/v1"))
    assert (endpoint.base_url, endpoint.variable) == (OPENROUTER, "OPENROUTER_API_KEY")


def test_a_profile_whose_key_is_not_set_quotes() -> None:
    assert build_model(load_profile("isaac-sim"), settings("key"), FakeEmbedder()).name == QUOTING


@pytest.mark.parametrize("key", ["sk-short", "a" * 60, "sk-" + "a" * 36])
def test_the_documentation_agent_refuses_what_is_no_key_of_openai_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_model(load_profile("documentation-agent"), settings(key), FakeEmbedder())
    assert caught.value.code == "key_form"
    assert 'it must start with "sk-" and have at least 40 characters' in caught.value.message
    assert key not in f"{caught.value.message}{caught.value.hint}{caught.value.__cause__}"


def test_a_key_of_openai_is_accepted() -> None:
    assert build_model(load_profile("documentation-agent"), settings(LONG), FakeEmbedder()).name == "gpt-3.5-turbo"


def test_keys_of_other_endpoints_have_other_forms() -> None:
    profile, own = load_profile("documentation-agent"), settings("any", "http://127.0.0.1:1/v1")
    check_key(endpoint_of(profile, own), profile)
    assert key_of(build_model(profile, own, FakeEmbedder())) == "any"


def test_the_other_profiles_take_a_key_as_it_is() -> None:
    profile = load_profile("book-agent")
    check_key(endpoint_of(profile, settings("any")), profile)
    assert key_of(build_model(profile, settings("any"), FakeEmbedder())) == "any"


async def test_only_the_profiles_own_key_reaches_its_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "theirs")
    with openai_server() as endpoint:
        endpoint.script.append(answer("Yes."))
        text = f'extends = "isaac-sim"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "OPENROUTER_API_KEY"\n'
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        answerer = build_model(load_profile("mine", [FOLDER, tmp_path]), settings("ours"), FakeEmbedder())
        assert answerer.model is not None
        said = "".join([chunk.text async for chunk in answerer.model.astream("Really?")])
    assert said == "Yes."
    (request,) = endpoint.requests
    assert request.headers["authorization"] == "Bearer theirs"
    assert "ours" not in str(request)
    assert request.body["model"] == "meta-llama/llama-3.2-3b-instruct:free"


# What the client, or what it is made of, reads from the environment by itself.
AMBIENT = {
    "OPENAI_ORG_ID": "org-canary",
    "OPENAI_ORGANIZATION": "org-canary",
    "OPENAI_PROJECT_ID": "project-canary",
    "OPENAI_CUSTOM_HEADERS": "x-company: header-canary\nAuthorization: Bearer header-canary",
    "OPENAI_ADMIN_KEY": "admin-canary",
    "OPENAI_API_KEY": "key-canary",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/elsewhere",
    "OPENAI_API_BASE": "http://127.0.0.1:1/elsewhere",
    "OPENAI_PROXY": "http://127.0.0.1:1",
    "LANGSMITH_GATEWAY": "http://127.0.0.1:1/gateway",
    "LANGSMITH_GATEWAY_API_KEY": "gateway-canary",
}


@pytest.fixture
def _ambient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_ambient")
async def test_the_environment_of_openai_neither_redirects_a_profiles_endpoint_nor_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "theirs")
    with openai_server() as endpoint:
        endpoint.script.append(answer("Yes."))
        text = f'extends = "isaac-sim"\n[model]\nbase_url = "{endpoint.address}"\napi_key_env = "OPENROUTER_API_KEY"\n'
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        answerer = build_model(load_profile("mine", [FOLDER, tmp_path]), settings(), FakeEmbedder())
        assert answerer.model is not None
        async for _ in answerer.model.astream("Really?"):
            pass
    (request,) = endpoint.requests
    assert request.headers["authorization"] == "Bearer theirs"
    assert "canary" not in str(request)
    assert not [name for name in request.headers if name.startswith("openai-")]


@pytest.mark.usefixtures("_ambient")
def test_openais_own_endpoint_is_the_address_whatever_else_is_set_and_knows_the_organisation() -> None:
    model = build_model(load_profile("default"), settings("ours"), FakeEmbedder()).model
    assert isinstance(model, EndpointChatModel)
    assert (model.openai_api_base, model.openai_proxy) == (OPENAI, "")
    assert str(model.root_async_client.base_url).rstrip("/") == OPENAI
    assert model.root_async_client.organization == "org-canary"


@pytest.mark.parametrize(
    ("address", "own"),
    [
        (OPENAI, True),
        ("https://eu.api.openai.com/v1", True),
        (OPENROUTER, False),
        ("https://api.openai.com.example.org/v1", False),
        ("https://notopenai.com/v1", False),
        ("http://localhost:11434/v1", False),
    ],
)
def test_an_endpoint_is_openais_by_its_host(address: str, own: bool) -> None:
    assert is_openai(address) is own


def test_openais_own_endpoint_gets_the_newer_name_for_the_length_of_an_answer() -> None:
    model = build_model(load_profile("default"), settings(LONG), FakeEmbedder()).model
    assert isinstance(model, EndpointChatModel)
    payload = model._get_request_payload("Really?", max_tokens=9)
    assert (payload.get("max_completion_tokens"), payload.get("max_tokens")) == (9, None)


def test_a_connection_is_waited_for_shorter_than_an_answer() -> None:
    model = build_model(load_profile("default"), settings(LONG), FakeEmbedder()).model
    assert isinstance(model, EndpointChatModel)
    timeout: Any = model.request_timeout
    assert (timeout.connect, timeout.read) == (10.0, 60.0)
