"""Profiles: what differs between tutors, read from files and checked whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.profiles import FOLDER, Profile, load_profile, profile_names
from rag.settings import Settings

LEAST = 'description = "d"\ninstructions = "i"\n'


def written(folder: Path, text: str, name: str = "mine") -> Path:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_that_is_shipped_can_be_loaded(name: str) -> None:
    assert load_profile(name).name == name


def test_the_default_profile_is_as_it_is_announced() -> None:
    profile = load_profile("default")
    assert (profile.retrieval.top_k, profile.limits.max_question_characters) == (5, 2000)
    assert profile.answer.refusal == "I don't have information about that in the book content"


def test_a_profile_needs_only_a_description_and_instructions(tmp_path: Path) -> None:
    assert load_profile("mine", written(tmp_path, LEAST)).tool is None


def test_profiles_are_listed_by_name(tmp_path: Path) -> None:
    written(written(tmp_path, LEAST, "b"), LEAST, "a")
    assert profile_names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("name", ["nobody", "", "../default", "Default", "default.toml", "a/b", "x" * 65])
def test_an_unknown_profile_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile(name)
    assert caught.value.code == "unknown_profile"
    assert "default" in caught.value.hint


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    written(tmp_path, LEAST)
    (tmp_path / "inner").mkdir()
    with pytest.raises(UsageError):
        load_profile("../mine", tmp_path / "inner")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not toml", "mine.toml cannot be read"),
        ('description = "d"\n', "mine.toml, instructions"),
        (LEAST + "[retrieval]\ntop_k = 21\n", "mine.toml, retrieval.top_k: 21 is not allowed; it must be at most 20"),
        (LEAST + '[retrieval]\ntop_k = "many"\n', "mine.toml, retrieval.top_k: 'many' is not allowed"),
        (LEAST + "[retrieval]\ntopk = 3\n", "mine.toml, retrieval.topk: 3 is not allowed; there is no such key"),
        (LEAST + "[retrieval]\nscore_threshold = 1.5\n", "score_threshold: 1.5 is not allowed; it must be at most 1"),
        (LEAST + '[answer]\ncitation_style = "apa"\n', "mine.toml, answer.citation_style: 'apa' is not allowed"),
        (LEAST + '[tool]\nname = "two words"\n', "mine.toml, tool.name"),
        (LEAST + '[answer]\nrefusal = ""\n', "mine.toml, answer.refusal: '' is not allowed; it must not be empty"),
    ],
)
def test_a_broken_profile_is_named_with_its_file_key_and_value(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("mine", written(tmp_path, text))
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_a_profile_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        load_profile("mine", tmp_path)


def test_what_is_given_beats_the_profile() -> None:
    profile = load_profile("default").overridden(top_k=7, score_threshold=0.9, citation_style="title", max_turns=3)
    assert (profile.retrieval.top_k, profile.retrieval.score_threshold) == (7, 0.9)
    assert (profile.answer.citation_style, profile.limits.max_turns) == ("title", 3)


def test_what_is_not_given_stays() -> None:
    assert load_profile("default").overridden() == load_profile("default")


def test_zero_is_a_value_and_not_the_absence_of_one() -> None:
    profile = load_profile("default").overridden(temperature=0.5)
    assert profile.overridden(temperature=0.0, score_threshold=0.0).model.temperature == 0.0


def test_the_environment_beats_the_profile() -> None:
    settings = Settings(
        agent_top_k=9, agent_score_threshold=0.4, agent_max_turns=2, openai_model="other", home=Path("unused")
    )
    profile = load_profile("default").in_environment(settings)
    assert (profile.retrieval.top_k, profile.retrieval.score_threshold) == (9, 0.4)
    assert (profile.limits.max_turns, profile.model.name) == (2, "other")


def test_a_profile_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_profile("default").retrieval.top_k = 3


def test_the_folder_of_profiles_is_the_repositorys() -> None:
    assert Path(__file__).parent.parent / "profiles" == FOLDER
    assert isinstance(load_profile("default"), Profile)
