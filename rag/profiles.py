"""Profiles: what differs between one tutor and another, as data in `profiles/NAME.toml`.

A profile holds the persona, the model, retrieval, the tool, the citation style, the refusal and the limits. It is
validated whole when it is loaded, so a node can rely on every value being in range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator

from rag.errors import UsageError
from rag.profile_loader import FOLDER, NAME, Layer, merged, profile_folders, read_layers, says
from rag.profile_sections import (
    AnswerSection,
    BookSection,
    BudgetSection,
    LimitsSection,
    MemorySection,
    ModelSection,
    RetrievalSection,
    Section,
    Text,
    ToolSection,
    clipped,
)
from rag.settings import Settings, allowed
from rag.types import CitationStyle


class Profile(Section):
    """One agent's character and limits. Immutable; `overridden` gives a changed copy."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    description: Text
    instructions: Text
    model: ModelSection = ModelSection()
    retrieval: RetrievalSection = RetrievalSection()
    tool: ToolSection | None = None
    answer: AnswerSection = AnswerSection()
    limits: LimitsSection = LimitsSection()
    budget: BudgetSection | None = None
    memory: MemorySection = MemorySection()
    book: BookSection = BookSection()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.instructions.strip():
            raise ValueError("the instructions must not be empty")
        if self.budget and self.budget.total() > self.model.context_window:
            window = self.model.context_window
            raise ValueError(f"the parts of the budget are {self.budget.total()} tokens, the window {window}")
        return self

    def overridden(
        self,
        *,
        top_k: int | None = None,
        score_threshold: float | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        citation_style: CitationStyle | None = None,
        max_turns: int | None = None,
        model: str | None = None,
    ) -> Self:
        """The profile with the given values instead of its own; None keeps the profile's."""
        changes: dict[str, dict[str, Any]] = {
            "model": {"temperature": temperature, "max_tokens": max_tokens, "name": model},
            "retrieval": {"top_k": top_k, "score_threshold": score_threshold},
            "answer": {"citation_style": citation_style},
            "limits": {"max_turns": max_turns},
        }
        update = {
            section: getattr(self, section).model_copy(update={k: v for k, v in values.items() if v is not None})
            for section, values in changes.items()
        }
        return self.model_copy(update=update)

    def in_environment(self, settings: Settings) -> Self:
        """The profile as this process runs it: the environment beats the profile."""
        return self.overridden(
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            max_turns=settings.agent_max_turns,
            model=settings.openai_model,
        )


def load_profile(name: str, folders: Sequence[Path] = (FOLDER,)) -> Profile:
    """Read and check `NAME.toml` and what it extends; see `rag.profile_loader` for the order of the folders.

    Raises `UsageError` in one line: for an unknown name with the names there are, for a broken file with the file,
    the key, the value and what is allowed.
    """
    return _validated(name, read_layers(name, folders))


def profile_of(settings: Settings, name: str | None = None) -> Profile:
    """The named profile, or the settings', from the folders of this process. Raises `UsageError` as `load_profile`."""
    return load_profile(name or settings.profile, profile_folders(settings))


class EffectiveValue(NamedTuple):
    """One value of a profile as it runs, by its dotted key, and where it came from."""

    key: str
    value: Any
    source: str


# The variables that beat a profile, with the key that each of them sets and the setting that holds it.
_VARIABLES: Final = (
    ("OPENAI_MODEL", "model.name", "openai_model"),
    ("AGENT_TOP_K", "retrieval.top_k", "agent_top_k"),
    ("AGENT_SCORE_THRESHOLD", "retrieval.score_threshold", "agent_score_threshold"),
    ("AGENT_MAX_TURNS", "limits.max_turns", "agent_max_turns"),
    ("QDRANT_COLLECTION_NAME", "book.collection", "qdrant_collection_name"),
)


def effective(name: str, settings: Settings) -> list[EffectiveValue]:
    """Every value that the profile has in this process, and whether a variable, a file or a default gave it.

    No value is a key: of the model's key only the variable's name is part of a profile.
    """
    layers = read_layers(name, profile_folders(settings))
    from_environment = {
        key: (getattr(settings, field), f"environment variable {variable}")
        for variable, key, field in _VARIABLES
        if getattr(settings, field) is not None
    }
    if settings.openai_api_key and settings.openai_base_url:
        address = urlsplit(settings.openai_base_url)
        shown = address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="").geturl()
        from_environment["model.base_url"] = (shown, "environment variable OPENAI_BASE_URL")
        from_environment["model.api_key_env"] = ("OPENAI_API_KEY", "environment variable OPENAI_BASE_URL")
    if settings.embedding_model:
        chosen = (str(settings.embedding_model), "environment variable ASKBOOK_EMBEDDING_MODEL")
        from_environment["book.embedding_model"] = chosen
    elif settings.cohere_api_key and settings.cohere_model:
        from_environment["book.embedding_model"] = (settings.cohere_model, "environment variable COHERE_MODEL")
    found = []
    for key, value in _flat(_validated(name, layers).model_dump(mode="json")):
        given = from_environment.get(key)
        found.append(EffectiveValue(key, *given) if given else EffectiveValue(key, value, _origin(key, layers)))
    return found


def _origin(key: str, layers: Sequence[Layer]) -> str:
    if key == "name":
        return "name of the file"
    for layer in layers:
        if says(layer.data, key):
            own = layer.path.parent == FOLDER
            kind = "extended profile" if layer.extended else "profile"
            return f"{kind} {layer.path.stem} ({f'profiles/{layer.path.name}' if own else layer.path})"
    return "default"


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        nested = isinstance(value, dict) and value
        found += _flat(value, f"{before}{name}.") if nested else [(f"{before}{name}", value)]
    return found


def _validated(name: str, layers: Sequence[Layer]) -> Profile:
    try:
        return Profile.model_validate(merged(layers) | {"name": name})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        file = next((layer.path.name for layer in layers if key and says(layer.data, key)), layers[0].path.name)
        where = f"{file}, {key}: {clipped(problem['input'])} is not allowed;" if key else f"{file}:"
        if isinstance(problem["input"], dict) or problem["type"] == "missing":
            where = f"{file}, {key}:" if key else f"{file}:"
        raise UsageError(f"{where} {allowed(problem, _range(problem['loc']))}.", code="profile") from error


def _range(place: Sequence[int | str]) -> tuple[float, float] | None:
    """Both ends of what a key allows, where it has both: a message that names one end invites the next mistake."""
    from annotated_types import Ge, Le

    kind: Any = Profile
    field = None
    for part in place:
        fields = getattr(kind, "model_fields", {})
        if part not in fields:
            return None
        field = fields[str(part)]
        kind = next((one for one in _inside(field.annotation) if hasattr(one, "model_fields")), None)
    rules = [*field.metadata, *_rules(field.annotation)] if field else []
    least = next((rule.ge for rule in rules if isinstance(rule, Ge)), None)
    most = next((rule.le for rule in rules if isinstance(rule, Le)), None)
    return (least, most) if least is not None and most is not None else None  # type: ignore[return-value]  # numbers


def _inside(annotation: Any) -> list[Any]:
    return [annotation, *(getattr(annotation, "__args__", ()))]


def _rules(annotation: Any) -> list[Any]:
    """The rules on the members of a union, such as `Annotated[int, Field(ge=1)] | None`."""
    found: list[Any] = []
    for one in getattr(annotation, "__args__", ()):
        for note in getattr(one, "__metadata__", ()):
            found += getattr(note, "metadata", [note])
    return found
