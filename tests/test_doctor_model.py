"""`run.py doctor` asks the model for real, and says what to do about each way in which it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.doctor_checks import check_model
from rag.errors import AskbookError
from rag.profiles.profile import Profile, load_profile
from rag.settings import Settings
from rag.system import transport
from run import main
from tests.fakes import FakeEmbedder
from tests.openai_server import Endpoint, Reply, answer, refuses
from tests.test_endless_answers import ENDLESS
from tests.wire import EVENTS, flooding
from tests.wire import Reply as AnyReply

YES = answer("Yes.")


async def checked(endpoint: Endpoint, *script: AnyReply, profile: Profile | None = None) -> tuple[str, str]:
    endpoint.script += script
    detail, hint, _ = await check_model(Settings.from_env(None), profile or load_profile("default"), FakeEmbedder())
    return detail, hint


async def test_a_model_that_answers_is_named_with_its_endpoint(endpoint: Endpoint) -> None:
    assert await checked(endpoint, YES) == ("gpt-4o-mini at 127.0.0.1 answers", "")
    (request,) = endpoint.requests
    assert (request.body["max_tokens"], request.body["stream"]) == (16, True)


@pytest.mark.parametrize("reply", [answer("", finish="length"), answer("Yes", finish="length")])
async def test_a_model_that_only_began_has_answered(reply: Reply, endpoint: Endpoint) -> None:
    assert (await checked(endpoint, reply))[0].endswith("answers")


async def test_a_model_without_tools_is_said_to_have_none(endpoint: Endpoint) -> None:
    detail, hint = await checked(endpoint, refuses(400, "x does not support tools"), YES)
    assert detail.endswith("answers")
    assert hint == "It does not support tools, so the book is searched once per question."


async def test_the_fallback_is_asked_too(endpoint: Endpoint) -> None:
    one = load_profile("default")
    profile = one.model_copy(update={"model": one.model.model_copy(update={"fallback": "second"})})
    detail, _ = await checked(endpoint, YES, YES, profile=profile)
    assert detail.endswith("answers, and so does second")
    assert [request.body["model"] for request in endpoint.requests] == ["gpt-4o-mini", "second"]


@pytest.mark.parametrize(
    ("reply", "code", "hint"),
    [
        (refuses(401), "wrong_key", "Check OPENAI_API_KEY, and that it belongs to OPENAI_BASE_URL."),
        (refuses(404), "model_not_found", "Check OPENAI_MODEL and OPENAI_BASE_URL."),
        (refuses(402), "quota", "Waiting does not help: check the account that OPENAI_API_KEY belongs to."),
        (
            refuses(429, retry_after="7"),
            "rate_limit",
            "If it keeps happening, check the limits of the account that OPENAI_API_KEY belongs to.",
        ),
        (Reply(raw="<html></html>"), "bad_response", "Check the network, and OPENAI_BASE_URL."),
    ],
)
async def test_a_failure_is_a_finding_with_what_to_do_and_is_not_retried(
    reply: Reply, code: str, hint: str, endpoint: Endpoint
) -> None:
    with pytest.raises(AskbookError) as caught:
        await checked(endpoint, reply)
    assert (caught.value.code, caught.value.hint, len(endpoint.requests)) == (code, hint, 1)


async def test_without_a_key_it_says_which_one_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = Settings(openai_api_key=None)
    detail, hint, _ = await check_model(settings, load_profile("default"), FakeEmbedder())
    assert detail == "none; answers quote the book's own sentences"
    assert "OPENAI_API_KEY" in hint


async def test_a_model_that_says_nothing_for_ever_is_a_finding(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST", 2**20)  # the real limit takes seconds
    with pytest.raises(AskbookError) as caught:
        await checked(endpoint, flooding(ENDLESS["comments"] * 10_000, EVENTS))
    assert caught.value.code == "endless_answer"


def test_a_malformed_address_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@[bad?x")
    monkeypatch.setenv("ASKBOOK_HOME", "h")
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--json"]) == 1
    printed = capsys.readouterr().out
    assert "OPENAI_BASE_URL is not a web address." in printed
    assert '"http://[bad"' in printed
    assert "secret" not in printed
