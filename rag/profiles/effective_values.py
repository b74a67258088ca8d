"""Where each value of a profile comes from in this process: a variable, one of its files, or a default."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag.profiles.profile import FOLDER, Layer, profile_folders, profile_of, read_layers
from rag.settings import Settings

# As `Profile.in_environment` overrides a profile: the variable, the profile's key and the field of `Settings`.
_VARIABLES: Final = (
    ("OPENAI_MODEL", "model.name", "openai_model"),
    ("AGENT_TOP_K", "retrieval.top_k", "agent_top_k"),
    ("AGENT_SCORE_THRESHOLD", "retrieval.score_threshold", "agent_score_threshold"),
    ("AGENT_MAX_TURNS", "limits.max_turns", "agent_max_turns"),
    ("ASKBOOK_GROUNDING", "answer.grounding", "grounding"),
    ("ASKBOOK_JUDGE", "answer.judge", "judge"),
    ("QDRANT_COLLECTION_NAME", "book.collection", "qdrant_collection_name"),
)
_SECRETS: Final = re.compile(r"(?<=//)[^/\s]*@|[?#].*", re.DOTALL)  # of an address, also of a malformed one


class EffectiveValue(NamedTuple):
    """One value of a profile in this process: its dotted key, the value and its source."""

    key: str
    value: Any
    source: str


def effective(name: str, settings: Settings) -> list[EffectiveValue]:
    """Every value of the profile in this process with its source. API keys are not among them."""
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
        found.append(("OPENAI_BASE_URL", "model.base_url", _SECRETS.sub("", settings.openai_base_url)))
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
