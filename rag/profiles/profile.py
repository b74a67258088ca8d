"""Profiles: the settings of one tutor, as data in `profiles/NAME.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator

from rag.errors import UsageError
from rag.profiles.layers import (
    FOLDER,
    NAME,
    Layer,
    check_endpoint,
    check_trust,
    profile_folders,
    read_layers,
)
from rag.profiles.schema import (
    AnswerSection,
    BookSection,
    BudgetSection,
    LimitsSection,
    Line,
    MemorySection,
    ModelSection,
    PromptSection,
    RetrievalSection,
    Section,
    Text,
    ToolSection,
)
from rag.settings import Settings
from rag.types import CitationStyle, GroundingMode
from rag.validation import allowed

_MAX_SHOWN: Final = 100  # characters of a rejected value in an error message
# The variables that override a profile: the variable, the profile's key and the field of `Settings`.
_VARIABLES: Final = (
    ("OPENAI_MODEL", "model.name", "openai_model"),
    ("AGENT_TOP_K", "retrieval.top_k", "agent_top_k"),
    ("AGENT_SCORE_THRESHOLD", "retrieval.score_threshold", "agent_score_threshold"),
    ("AGENT_MAX_TURNS", "limits.max_turns", "agent_max_turns"),
    ("ASKBOOK_GROUNDING", "answer.grounding", "grounding"),
    ("ASKBOOK_JUDGE", "answer.judge", "judge"),
    ("QDRANT_COLLECTION_NAME", "book.collection", "qdrant_collection_name"),
)


class Profile(Section):
    """The instructions and limits of one tutor. Immutable; `overridden` returns a changed copy."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    display_name: Line | None = None
    description: Line
    instructions: Text
    model: ModelSection = ModelSection()
    prompt: PromptSection = PromptSection()
    retrieval: RetrievalSection = RetrievalSection()
    tool: ToolSection | None = None
    answer: AnswerSection = AnswerSection()
    limits: LimitsSection = LimitsSection()
    budget: BudgetSection | None = None
    memory: MemorySection = MemorySection()
    book: BookSection = BookSection()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        total, window = self.budget.total() if self.budget else 0, self.model.context_window
        if total > window:
            raise ValueError(f"the budget adds up to {total} tokens, more than context_window ({window})")
        return self

    def said(self) -> str:
        """The description, preceded by the display name if there is one."""
        return f"{self.display_name}: {self.description}" if self.display_name else self.description

    def overridden(
        self,
        *,
        top_k: int | None = None,
        score_threshold: float | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        citation_style: CitationStyle | None = None,
        grounding: GroundingMode | None = None,
        judge: Literal["auto", "none"] | None = None,
        max_turns: int | None = None,
        model: str | None = None,
    ) -> Self:
        """A copy with the given values; None keeps the profile's.

        A given `top_k` also sets `neighbours` to 0, so it is the total number of passages.
        """
        changes: dict[str, dict[str, Any]] = {
            "model": {"temperature": temperature, "max_tokens": max_tokens, "name": model},
            "retrieval": {"top_k": top_k, "score_threshold": score_threshold} | ({"neighbours": 0} if top_k else {}),
            "answer": {"citation_style": citation_style, "grounding": grounding, "judge": judge},
            "limits": {"max_turns": max_turns},
        }
        update = {
            section: getattr(self, section).model_copy(update={k: v for k, v in values.items() if v is not None})
            for section, values in changes.items()
        }
        return self.model_copy(update=update)

    def in_environment(self, settings: Settings) -> Self:
        """A copy with the overrides of the environment."""
        return self.overridden(
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            max_turns=settings.agent_max_turns,
            grounding=settings.grounding,
            judge=None if settings.judge is None else "none" if settings.judge == "none" else "auto",
            model=settings.openai_model,
        )


class EffectiveValue(NamedTuple):
    """One value of a profile in this process: its dotted key, the value and its source."""

    key: str
    value: Any
    source: str


def load_profile(name: str, folders: Sequence[Path] = (FOLDER,)) -> Profile:
    """Read and check `NAME.toml` and the files that it extends; a later folder hides an earlier one.

    Raises `UsageError` with one line: for an unknown name the names that exist, for a broken file the file, the key,
    the value and what is allowed.
    """
    return _validated(name, read_layers(name, folders))


def profile_of(settings: Settings, name: str | None = None) -> Profile:
    """The named profile, or the one of the settings. Raises `UsageError` like `load_profile`, and for a file of the
    user's folder that is not trusted although it names an endpoint or replaces a profile of askbook.
    """
    wanted = name or settings.profile
    layers = read_layers(wanted, profile_folders(settings))
    profile = _validated(wanted, layers)
    check_trust(layers)
    return profile


def profile_files(settings: Settings, name: str) -> tuple[Path, ...]:
    """The files that a profile is made of. Raises `UsageError` as `profile_of` does."""
    return tuple(layer.path for layer in read_layers(name, profile_folders(settings)))


def effective(name: str, settings: Settings) -> list[EffectiveValue]:
    """Every value of the profile in this process, each from a variable, a file or a default.

    No API key is among them: a profile holds only the name of the variable with the key.
    """
    profile = profile_of(settings, name)
    layers, overrides = read_layers(name, profile_folders(settings)), _overrides(settings)
    return [
        EffectiveValue(key, *overrides.get(key, (value, _origin(key, layers))))
        for key, value in _flat(profile.model_dump(mode="json"))
    ]


def _overrides(settings: Settings) -> dict[str, tuple[Any, str]]:
    """The values that the environment sets, by dotted key, each with its source."""
    found = [(variable, key, getattr(settings, field)) for variable, key, field in _VARIABLES]
    if settings.agent_top_k is not None:
        found.append(("AGENT_TOP_K", "retrieval.neighbours", 0))
    if settings.openai_api_key and settings.openai_base_url:
        address = urlsplit(settings.openai_base_url)
        shown = address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="").geturl()
        found.append(("OPENAI_BASE_URL", "model.base_url", shown))
        found.append(("OPENAI_BASE_URL", "model.api_key_env", "OPENAI_API_KEY"))
    if settings.embedding_model:
        found.append(("ASKBOOK_EMBEDDING_MODEL", "book.embedding_model", str(settings.embedding_model)))
    elif settings.cohere_api_key and settings.cohere_model:
        found.append(("COHERE_MODEL", "book.embedding_model", settings.cohere_model))
    return {key: (value, f"environment variable {variable}") for variable, key, value in found if value is not None}


def _origin(key: str, layers: Sequence[Layer]) -> str:
    """The first file that sets the key, in words, or "default"."""
    if key == "name":
        return "name of the file"
    for layer in layers:
        if layer.has(key.split(".")):
            own = layer.path.parent == FOLDER
            kind = "extended profile" if layer.extended else "profile"
            return f"{kind} {layer.path.stem} ({f'profiles/{layer.path.name}' if own else layer.path})"
    return "default"


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested tables as pairs of dotted key and value.

    >>> _flat({"model": {"name": "gpt-4o-mini"}, "tool": None})
    [('model.name', 'gpt-4o-mini'), ('tool', None)]
    """
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        nested = isinstance(value, dict) and value
        found += _flat(value, f"{prefix}{name}.") if nested else [(f"{prefix}{name}", value)]
    return found


def _validated(name: str, layers: Sequence[Layer]) -> Profile:
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        check_endpoint(layer)
        values = _merged(values, {key: value for key, value in layer.data.items() if key != "extends"})
    try:
        return Profile.model_validate(values | {"name": name})
    except ValidationError as error:
        raise UsageError(_problem_line(error.errors(include_url=False)[0], layers), code="profile") from error


def _merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of values, key by key, tables recursively; a list counts as one value.

    >>> _merged({"model": {"name": "a", "timeout_seconds": 9.0}}, {"model": {"name": "b"}})
    {'model': {'name': 'b', 'timeout_seconds': 9.0}}
    """
    values = dict(base)
    for key, value in overrides.items():
        old = values.get(key)
        values[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return values


def _problem_line(problem: Any, layers: Sequence[Layer]) -> str:
    """A validation error in one line: the file that causes it, the key, the value and what is allowed."""
    place = problem["loc"]
    while place and not any(layer.has(place) for layer in layers) and problem["type"] != "missing":
        place = place[:-1]  # pydantic appends the member of a union that it tried
    key = ".".join(str(part) if str(part).isprintable() else ascii(part) for part in place)[:200]
    file = next((layer.path.name for layer in layers if place and layer.has(place)), layers[0].path.name)
    where = f"{file}, {key}:" if key else f"{file}:"
    if place and not isinstance(problem["input"], dict) and problem["type"] != "missing":
        where += f" {_shown(problem, str(place[-1]))} is not allowed;"
    top = ["extends", *(field for field in Profile.model_fields if field != "name")]
    return f"{where} {allowed(problem, Profile, top)}."


def _shown(problem: Any, key: str) -> str:
    """The rejected value, or "the value" where it may be an API key or an address with a password."""
    value = problem["input"]
    unknown = problem["type"] == "extra_forbidden" and isinstance(value, str)
    pasted = key == "api_key_env" and not re.fullmatch(r"[A-Z][A-Z0-9_]*", str(value))
    if unknown or pasted or key == "base_url":
        return "the value"
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 1]}…"
