"""What a model refuses is left out from then on."""

from __future__ import annotations

from typing import Any

import pytest

from rag.ports import RejectedOptions

OPTIONS: dict[str, Any] = {"max_tokens": 99, "temperature": 0.0, "tools": ["t"]}


def after(*refused: str, model: str = "m") -> dict[str, Any]:
    rejected = RejectedOptions()
    for option in refused:
        assert rejected.add("m", option)
    return rejected.accepted(model, OPTIONS)


def test_a_model_that_refused_nothing_is_asked_as_the_profile_says() -> None:
    assert after() == OPTIONS


@pytest.mark.parametrize("option", ["temperature", "tools"])
def test_what_was_refused_is_left_out(option: str) -> None:
    assert option not in after(option)


def test_the_length_of_an_answer_has_two_names_and_then_none() -> None:
    assert after("max_tokens")["max_completion_tokens"] == 99
    assert not {"max_tokens", "max_completion_tokens"} & after("max_completion_tokens").keys()
    assert not {"max_tokens", "max_completion_tokens"} & after("max_tokens", "max_completion_tokens").keys()


def test_a_model_that_does_not_count_tokens_is_not_asked_to() -> None:
    assert after("stream_options")["stream_usage"] is False


def test_what_one_model_refused_another_may_know() -> None:
    assert after("tools", model="other") == OPTIONS


def test_a_second_refusal_of_the_same_is_no_news() -> None:
    rejected = RejectedOptions()
    assert [rejected.add("m", "tools"), rejected.add("m", "tools")] == [True, False]
