"""The profile's fallback model: who is asked when the first model has failed, and what the response says of it."""

from __future__ import annotations

from typing import Any

import pytest

from rag.answer.render import WORDS_ONLY
from rag.errors import AskbookError
from rag.profiles.profile import Profile, load_profile
from rag.profiles.schema import ModelSection
from tests.machine import ANSWER, Machine


def profile(fallback: str | None = "second") -> Profile:
    one = load_profile("default")
    return one.model_copy(update={"model": one.model.model_copy(update={"fallback": fallback})})


def machine(*script: Any, fallback: str | None = "second", **more: Any) -> Machine:
    return Machine(*script, profile=profile(fallback), **more)


def busy() -> AskbookError:
    return AskbookError("rate_limit", "rate_limit", "It answered 429.", retryable=True)


def gone() -> AskbookError:
    return AskbookError("api_error", "model_not_found", "It answered 404.")


def models(one: Machine) -> list[str | None]:
    """The model that each call asked for; None is the first, which the client knows."""
    return [options.get("model") for options in one.model.options]


async def test_the_fallback_answers_when_the_retries_of_the_first_are_spent() -> None:
    one = machine(busy(), busy(), busy(), ANSWER)
    response = await one.ask("What is a node?")
    assert (response.status, response.model) == ("success", "second")
    assert models(one) == [None, None, None, "second"]
    assert response.notices == ["scripted failed (rate_limit), so second was asked.", WORDS_ONLY]


async def test_a_failure_that_will_not_pass_leads_to_the_fallback_at_once() -> None:
    one = machine(gone(), ANSWER)
    assert (await one.ask("What is a node?")).model == "second"
    assert models(one) == [None, "second"]


async def test_the_next_turn_begins_with_the_first_model_again() -> None:
    one = machine(gone(), ANSWER, ANSWER)
    await one.ask("What is a node?")
    response = await one.ask("What is a node?")
    assert (response.model, response.notices) == ("scripted", [WORDS_ONLY])
    assert models(one)[-1] is None


async def test_the_fallback_is_retried_too_and_then_the_turn_has_failed() -> None:
    one = machine(gone(), busy(), busy(), busy())
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.error.code, response.model) == ("rate_limit", "second")
    assert await one.is_at_rest()


@pytest.mark.parametrize("error_type", ["auth_error", "invalid_input", "context_overflow"])
async def test_what_another_model_cannot_mend_is_told(error_type: Any) -> None:
    one = machine(AskbookError(error_type, "code", "No."), ANSWER)
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.status, response.error.error_type, response.error.code) == ("error", error_type, "code")
    assert models(one) == [None]


async def test_after_a_shown_sentence_no_other_model_is_asked() -> None:
    one = machine(["A node is a process [1]. And ", busy()], ANSWER)
    assert (await one.ask("What is a node?")).status == "error"
    assert models(one) == [None]
    assert one.types == ["retrieval", "sentence", "retract"]


async def test_a_bug_is_told_as_one() -> None:
    one = machine(AskbookError("api_error", "internal", "GENERATING raised KeyError."), ANSWER)
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.status, response.error.code) == ("error", "internal")
    assert models(one) == [None]


async def test_without_a_fallback_a_failure_is_told() -> None:
    one = machine(gone(), ANSWER, fallback=None)
    response = await one.ask("What is a node?")
    assert response.error is not None
    assert (response.status, response.error.code, response.model) == ("error", "model_not_found", "scripted")
    assert models(one) == [None]


def test_the_fallback_is_another_model() -> None:
    with pytest.raises(ValueError, match="must be another model"):
        ModelSection(name="one", fallback="one")
