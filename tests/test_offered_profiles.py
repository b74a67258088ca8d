"""The profiles that an operator offers to people who are not at the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph import server
from graph.assistants import descriptions
from graph.build import build_graph
from graph.server import SharedServices
from rag.errors import UsageError
from rag.profiles.offered_profiles import Offer, offer_of
from rag.profiles.profile import profile_names
from rag.settings import Settings, variables
from state import Context
from tests.fakes import FakeSearcher, FakeServices, ScriptedModel, passage
from tests.machine import ANSWER

Offering = Callable[..., Settings]


@pytest.fixture
def offering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offering:
    """Settings with these values, and none of the environment's."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    return lambda **values: Settings(home=tmp_path, **values)


def test_without_a_list_every_profile_is_on_offer(offering: Offering) -> None:
    assert offer_of(offering()) == Offer(tuple(profile_names()), "default")


def test_a_list_is_what_is_on_offer_in_its_order(offering: Offering) -> None:
    offer = offer_of(offering(profiles=" isaac-sim, default,isaac-sim,"))
    assert offer == Offer(("isaac-sim", "default"), "default")


def test_a_users_own_profile_may_be_on_offer(offering: Offering, tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text('extends = "default"\n')
    assert offer_of(offering(profiles="mine")).choose("mine") == "mine"


def test_the_first_of_the_list_answers_where_the_usual_profile_is_not_on_it(offering: Offering) -> None:
    assert offer_of(offering(profiles="book-agent,isaac-sim")).choose(None) == "book-agent"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"profiles": ","}, "ASKBOOK_PROFILES lists no profile."),
        ({"profiles": "default,nobody"}, "ASKBOOK_PROFILES lists 'nobody', but there is no such profile."),
        (
            {"profiles": "book-agent", "profile": "isaac-sim"},
            "ASKBOOK_PROFILE is 'isaac-sim', which ASKBOOK_PROFILES does not list.",
        ),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(values: dict[str, str], said: str, offering: Offering) -> None:
    with pytest.raises(UsageError) as caught:
        offer_of(offering(**values))
    assert (caught.value.message, caught.value.code) == (said, "settings")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["robotics-tutor", "nobody", "", "../default"])
def test_a_profile_that_is_not_on_offer_is_as_unknown_as_one_that_does_not_exist(name: str, offering: Offering) -> None:
    with pytest.raises(UsageError) as caught:
        offer_of(offering(profiles="default")).choose(name)
    assert (caught.value.code, caught.value.hint) == ("unknown_profile", "Profiles: default.")


def test_only_profiles_on_offer_become_assistants(offering: Offering) -> None:
    told: list[UsageError] = []
    said = descriptions(offering(profiles="robotics-tutor,book-agent"), told.append)
    assert (list(said), told) == (["robotics-tutor", "book-agent"], [])


def test_an_assistant_is_described_under_the_profiles_own_name(offering: Offering) -> None:
    said = descriptions(offering(), print)
    assert said["robotics-tutor"].startswith("Robotics Tutor: An expert tutor")
    assert said["default"].startswith("Answers questions")


def test_a_profile_whose_file_is_broken_takes_no_other_with_it(offering: Offering, tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text("[model", encoding="utf-8")
    told: list[UsageError] = []
    said = descriptions(offering(), told.append)
    assert set(said) == set(profile_names())
    assert "mine.toml" in told[0].message


class _Built(FakeServices):
    """What the server builds, over fakes."""

    async def aclose(self) -> None:
        raise AssertionError("the services of a server live as long as it does")


async def test_the_server_refuses_a_profile_that_is_not_on_offer_and_the_thread_goes_on(
    offering: Offering, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def build(*_: Any, **__: Any) -> _Built:
        return _Built(ScriptedModel(script=[ANSWER]), FakeSearcher([passage()]))

    monkeypatch.setattr(server, "build_services", build)
    monkeypatch.setattr(Settings, "from_env", lambda: offering(profiles="default"))
    graph = build_graph(SharedServices()).compile()
    asked: Any = {"messages": [{"role": "user", "content": "What is a node?"}]}
    refused = await graph.ainvoke(asked, context=Context(profile="isaac-sim"))
    answered = await graph.ainvoke(asked)
    assert refused["response"]["error"]["code"] == "unknown_profile"
    assert answered["response"]["status"] == "success"


def test_the_offered_models_are_a_list_without_repetition() -> None:
    assert Settings(models=" a, b,,a ").model_names == ("a", "b")
    assert Settings().model_names == ()
