"""Profiles: what differs between tutors, read from files and checked whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from rag.errors import UsageError
from rag.profiles.effective_values import effective
from rag.profiles.profile import FOLDER, Profile, load_profile, profile_folders, profile_names, profile_of
from rag.settings import Settings
from rag.system.trusted_files import trust

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
    assert load_profile("mine", [written(tmp_path, LEAST)]).tool is None


def test_profiles_are_listed_by_name(tmp_path: Path) -> None:
    written(written(tmp_path, LEAST, "b"), LEAST, "a")
    assert profile_names([tmp_path]) == ["a", "b"]


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
        load_profile("../mine", [tmp_path / "inner"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not toml", "mine.toml cannot be read"),
        ('description = "d"\n', "mine.toml, instructions"),
        (LEAST + "[retrieval]\ntop_k = 21\n", "mine.toml, retrieval.top_k: 21 is not allowed; it must be from 1 to 20"),
        (LEAST + '[retrieval]\ntop_k = "many"\n', "mine.toml, retrieval.top_k: 'many' is not allowed"),
        (LEAST + "[retrieval]\ntopk = 3\n", "mine.toml, retrieval.topk: 3 is not allowed; there is no such key"),
        (LEAST + "[retrieval]\nscore_threshold = 1.5\n", "score_threshold: 1.5 is not allowed; it must be from 0 to 1"),
        (LEAST + '[answer]\ncitation_style = "apa"\n', "mine.toml, answer.citation_style: 'apa' is not allowed"),
        (LEAST + '[tool]\nname = "two words"\n', "mine.toml, tool.name"),
        (
            LEAST + "[retrieval]\ntop_k = true\n",
            "retrieval.top_k: True is not allowed; it must be a whole number",
        ),
        (
            LEAST + '[retrieval]\ntop_k = "5"\n',
            "top_k: '5' is not allowed; it must be a whole number from 1 to 20",
        ),
        (LEAST + "[model]\ntemperature = 1.1\n", "model.temperature: 1.1 is not allowed; it must be from 0 to 1"),
        (LEAST + '[model]\nname = "two words"\n', "mine.toml, model.name: 'two words' is not allowed"),
        (LEAST + "[model]\nmax_tokens = 9000\n", "mine.toml, model: max_tokens must be less than context_window, 8192"),
        (LEAST + "[limits]\nmax_turns = 0\n", "limits.max_turns: 0 is not allowed; it must be from 1 to 100000"),
        (LEAST + "[model]\ntimeout_seconds = inf\n", "inf is not allowed; it must be more than 0 and at most 3600."),
        (LEAST + "[model]\nmax_tokens = 0\n", "max_tokens: 0 is not allowed; it must be from 1 to 1000000."),
        (LEAST + f"[limits]\nmax_turns = {'9' * 400}\n", "9… is not allowed; it must be from 1 to 100000."),
        (LEAST + f"[limits]\nmax_turns = {'9' * 5000}\n", "mine.toml cannot be read: a value in it is too large."),
        (LEAST + "retrieval = 7\n", "mine.toml, retrieval: 7 is not allowed; it must be a table."),
        (LEAST + "[model]\nname = 2020-01-01\n", "is not allowed; it must be a string."),
        (LEAST + "[book.payload]\ntext = 7\n", "book.payload.text: 7 is not allowed; it must be a list."),
        (LEAST + '[answer]\naccepts = "source"\n', "answer.accepts: the value is not allowed; there is no such key"),
        (LEAST + '[memory]\nthread = "a/b"\n', "memory.thread: 'a/b' is not allowed; it must match pattern"),
        (LEAST + '[book]\ncollection = " "\n', "book.collection: ' ' is not allowed; it must not be empty."),
        (LEAST + 'name = "other"\n', "mine.toml, name: this key is not allowed; a profile is named after its file."),
        (LEAST + '"a\\nb" = 1\n', "mine.toml, 'a\\nb': 1 is not allowed; there is no such key; the keys are extends, "),
        (
            'description = "a\\u001b[2J"\ninstructions = "i"\n',
            "description: 'a\\x1b[2J' is not allowed; it must be one",
        ),
        (LEAST + 'display_name = ""\n', "display_name: '' is not allowed; it must not be empty."),
        (LEAST + "x = [\n", "mine.toml cannot be read: Invalid value (at end of document)."),
        (LEAST + '[answer]\nrefusal = ""\n', "mine.toml, answer.refusal: '' is not allowed; it must not be empty"),
    ],
)
def test_a_broken_profile_is_named_with_its_file_key_and_value(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("mine", [written(tmp_path, text)])
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_an_unknown_key_of_a_section_is_told_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"there is no such key; the keys are top_k, neighbours, score_threshold, followup\.$"
    ):
        load_profile("mine", [written(tmp_path, LEAST + "[retrieval]\ntopk = 3\n")])


@pytest.mark.parametrize("bound", ["default = 2.5", "minimum = 1.0", "maximum = 9.5"])
def test_a_count_has_whole_numbers_for_its_default_and_bounds(bound: str, tmp_path: Path) -> None:
    query = 'sets = "query"\ntype = "string"\ndescription = "q"\nrequired = true\n'
    count = f'sets = "top_k"\ntype = "integer"\ndescription = "k"\n{bound}\n'
    text = f"{LEAST}[tool.parameters.q]\n{query}[tool.parameters.k]\n{count}"
    with pytest.raises(
        UsageError, match=r"tool\.parameters\.k: its default, minimum and maximum must be whole numbers"
    ):
        load_profile("mine", [written(tmp_path, text)])


@pytest.mark.parametrize(
    "lines",
    [
        'api_key = "sk-hunter2"',
        'base_url = "https://elsewhere.example"\napi_key_env = "sk-hunter2"',
        'base_url = "https://me:hunter2@elsewhere.example"\napi_key_env = "GROQ_API_KEY"',
    ],
)
def test_a_key_that_was_written_into_a_profile_is_not_shown(lines: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("mine", [written(tmp_path, f"{LEAST}[model]\n{lines}\n")])
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"
    assert "the value is not allowed" in caught.value.message


def test_a_profile_that_is_no_text_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(LEAST.encode() + b"# caf\xe9\n")
    with pytest.raises(UsageError, match=r"^mine\.toml cannot be read: line 3 is not UTF-8 text\.$"):
        load_profile("mine", [tmp_path])


def test_the_mark_and_line_ends_of_other_systems_are_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode())
    assert load_profile("mine", [tmp_path]).description == "d"


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").mkdir()
    assert profile_names([tmp_path]) == []


def test_a_profile_may_have_a_name_of_its_own_to_be_shown_under(tmp_path: Path) -> None:
    profile = load_profile("mine", [written(tmp_path, LEAST + 'display_name = "Ada"\n')])
    assert (profile.name, profile.said()) == ("mine", "Ada: d")
    assert load_profile("default").said() == load_profile("default").description


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


def test_a_profile_says_only_what_it_does_otherwise(tmp_path: Path) -> None:
    written(tmp_path, LEAST + "[retrieval]\ntop_k = 7\nscore_threshold = 0.5\n", "base")
    profile = load_profile("mine", [written(tmp_path, 'extends = "base"\n[retrieval]\ntop_k = 3\n')])
    assert (profile.name, profile.retrieval.top_k, profile.retrieval.score_threshold) == ("mine", 3, 0.5)


def test_a_profile_may_extend_one_that_extends_another(tmp_path: Path) -> None:
    written(written(tmp_path, LEAST, "a"), 'extends = "a"\n[limits]\nmax_turns = 9\n', "b")
    assert load_profile("mine", [written(tmp_path, 'extends = "b"\n')]).limits.max_turns == 9


def test_profiles_that_extend_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    written(written(tmp_path, 'extends = "b"\n', "a"), 'extends = "a"\n', "b")
    with pytest.raises(
        UsageError, match=r"b\.toml, extends: 'a' is not allowed; the profiles extend each other in a circle: a → b → a"
    ):
        load_profile("a", [tmp_path])


def test_a_profile_cannot_extend_itself(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="circle: mine → mine"):
        load_profile("mine", [written(tmp_path, 'extends = "mine"\n')])


def test_a_profile_cannot_extend_what_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml, extends: there is no profile 'nobody'"):
        load_profile("mine", [written(tmp_path, 'extends = "nobody"\n')])


def test_a_mistake_is_named_with_the_file_that_makes_it(tmp_path: Path) -> None:
    written(tmp_path, LEAST + "[retrieval]\ntop_k = 30\n", "base")
    with pytest.raises(UsageError, match=r"^base\.toml, retrieval\.top_k"):
        load_profile("mine", [written(tmp_path, 'extends = "base"\n')])


def at_home(tmp_path: Path, text: str, name: str = "mine") -> Settings:
    (tmp_path / "profiles").mkdir(exist_ok=True)
    written(tmp_path / "profiles", text, name)
    return Settings(home=tmp_path)


def test_a_users_own_profile_is_found_in_the_home_folder(tmp_path: Path) -> None:
    settings = at_home(tmp_path, 'extends = "default"\n[retrieval]\ntop_k = 8\n')
    assert profile_of(settings, "mine").retrieval.top_k == 8
    assert "mine" in profile_names(profile_folders(settings))


def test_a_users_own_profile_wins_over_the_one_of_that_name_and_may_extend_it(tmp_path: Path) -> None:
    settings = at_home(tmp_path, 'extends = "default"\n[retrieval]\ntop_k = 8\n', "default")
    file = tmp_path / "profiles" / "default.toml"
    trust(file, file.read_bytes())
    assert profile_of(settings).retrieval.top_k == 8
    assert profile_of(settings).instructions == load_profile("default").instructions


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('base_url = "https://elsewhere.example/v1"', "base_url and api_key_env are only allowed together"),
        ('api_key_env = "GROQ_API_KEY"', "base_url and api_key_env are only allowed together"),
        ('base_url = "ftp://elsewhere.example"\napi_key_env = "GROQ_API_KEY"', "it must be an http"),
        ('base_url = "https://me:pass@elsewhere.example"\napi_key_env = "GROQ_API_KEY"', "without a user name"),
        ('base_url = "https://elsewhere.example"\napi_key_env = "OPENAI_API_KEY"', "is the key of another service"),
        ('base_url = "https://elsewhere.example"\napi_key_env = "PATH"', "api_key_env: 'PATH' is not allowed"),
    ],
)
def test_a_profile_cannot_send_a_key_where_it_does_not_belong(lines: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("mine", [written(tmp_path, f"{LEAST}[model]\n{lines}\n")])
    assert said in caught.value.message


def test_the_parts_of_a_budget_fit_into_the_window(tmp_path: Path) -> None:
    text = LEAST + "[budget]\nsystem = 500\ncontext = 4000\nhistory = 2500\nexchange = 1200\n"
    with pytest.raises(
        UsageError, match=r"mine\.toml: the budget adds up to 8200 tokens, more than context_window \(8192\)"
    ):
        load_profile("mine", [written(tmp_path, text)])


def test_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    settings = at_home(tmp_path, 'extends = "default"\n[retrieval]\ntop_k = 8\n').model_copy(
        update={"agent_max_turns": 4}
    )
    found = {value.key: (value.value, value.source) for value in effective("mine", settings)}
    assert found["retrieval.top_k"] == (8, f"profile mine ({tmp_path / 'profiles' / 'mine.toml'})")
    assert found["retrieval.score_threshold"] == (0.2, "extended profile default (profiles/default.toml)")
    assert found["limits.max_turns"] == (4, "environment variable AGENT_MAX_TURNS")
    assert found["model.timeout_seconds"] == (60.0, "default")


def test_an_endpoint_of_the_environment_is_shown_without_its_password() -> None:
    settings = Settings(openai_api_key=SecretStr("sk-secret"), openai_base_url="https://me:pass@llm.example/v1")
    found = {value.key: value.value for value in effective("isaac-sim", settings)}
    assert found["model.base_url"] == "https://llm.example/v1"
    assert "secret" not in str(found)
