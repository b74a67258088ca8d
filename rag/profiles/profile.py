"""Profiles: what differs between one tutor and another, as data in `profiles/NAME.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator

from rag.errors import UsageError
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
    clipped,
)
from rag.settings import Settings
from rag.types import CitationStyle, GroundingMode
from rag.validation import allowed

FOLDER: Final = Path(__file__).parent.parent.parent / "profiles"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_LARGEST: Final = 1_000_000  # bytes; no profile is that long, so this is another file


class Layer(NamedTuple):
    """One file of a profile: the whole of what it says. `extended` says that another file extends it."""

    path: Path
    data: Mapping[str, Any]
    extended: bool


def profile_folders(settings: Settings) -> tuple[Path, ...]:
    """Where the profiles of this process are: askbook's own, then the user's."""
    return (FOLDER, settings.home / "profiles")


def profile_names(folders: Sequence[Path] = (FOLDER,)) -> list[str]:
    """The names that there are, sorted."""
    files = (path for folder in folders for path in folder.glob("*.toml"))
    return sorted({path.stem for path in files if NAME.fullmatch(path.stem) and path.is_file()})


def read_layers(name: str, folders: Sequence[Path]) -> list[Layer]:
    """The files of a profile, the named one first, each extending the next.

    Raises `UsageError` for an unknown name, a file that cannot be read, and files that extend each other in a circle.
    """
    layers: list[Layer] = []
    wanted: Any = name
    while wanted is not None:
        path = _find(wanted, folders, [layer.path for layer in layers])
        data = _read(path)
        layers.append(Layer(path, data, extended=bool(layers)))
        wanted = data.get("extends")
        if wanted is not None and not isinstance(wanted, str):
            raise UsageError(f"{path.name}, extends: {wanted!r} is not allowed; it must be a name.", code="profile")
    return layers


def merged(layers: Sequence[Layer]) -> dict[str, Any]:
    """One set of values: what a file says beats what it extends, key by key; a list is one value."""
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values = _over(values, {key: value for key, value in layer.data.items() if key != "extends"})
    return values


def says(data: Mapping[str, Any], place: Sequence[int | str]) -> bool:
    """Whether a layer has a value at the place, key by key, or in the table that it begins."""
    part: Any = data
    for step in place:
        if not isinstance(part, Mapping) or step not in part:
            return False
        part = part[step]
    return True


def _find(name: str, folders: Sequence[Path], taken: Sequence[Path]) -> Path:
    there = [folder / f"{name}.toml" for folder in reversed(folders)] if NAME.fullmatch(name) else []
    found = [path for path in there if path.is_file()]
    by = taken[-1] if taken else None
    # A file that extends its own name means the one that it hides.
    left = [path for path in found if path not in taken] if by is not None and by.stem == name else found
    if left and left[0] not in taken:
        return left[0]
    if found and by is not None:
        circle = " → ".join([*(path.stem for path in taken), name])
        raise UsageError(f"{by.name}, extends: {name!r} is not allowed; it goes in a circle: {circle}.", code="profile")
    known = f"Profiles: {', '.join(profile_names(folders))}."
    if by is not None:
        raise UsageError(f"{by.name}, extends: there is no profile {name!r}.", code="profile", hint=known)
    raise UsageError(f'There is no profile "{name}".', code="unknown_profile", hint=known)


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise _unreadable(path, "it is larger than a megabyte")
        raw = path.read_bytes()
        data = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))  # editors write a mark at the beginning
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8 text") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, " ".join(str(error).split())) from error
    except (RecursionError, ValueError) as error:  # brackets in brackets, a number of thousands of digits
        raise _unreadable(path, "a value in it is too large") from error
    if "name" in data:
        raise UsageError(f"{path.name}, name: it is not allowed; the name of a profile is its file's.", code="profile")
    return data


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(f"{path.name} cannot be read: {why}.", code="profile")


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(below)
    for key, value in above.items():
        old = values.get(key)
        values[key] = _over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return values


class Profile(Section):
    """One agent's character and limits. Immutable; `overridden` gives a changed copy."""

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
        if self.budget and self.budget.total() > self.model.context_window:
            window = self.model.context_window
            raise ValueError(f"the parts of the budget are {self.budget.total()} tokens, the window {window}")
        return self

    def said(self) -> str:
        """What the profile says of itself in a list: its description, after its own name where it has one."""
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
        max_turns: int | None = None,
        model: str | None = None,
    ) -> Self:
        """The profile with the given values instead of its own; None keeps the profile's.

        A `top_k` that is given is how many passages there are at most: none comes on top as a neighbour.
        """
        changes: dict[str, dict[str, Any]] = {
            "model": {"temperature": temperature, "max_tokens": max_tokens, "name": model},
            "retrieval": {"top_k": top_k, "score_threshold": score_threshold} | ({"neighbours": 0} if top_k else {}),
            "answer": {"citation_style": citation_style, "grounding": grounding},
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
            grounding=settings.grounding,
            model=settings.openai_model,
        )


def load_profile(name: str, folders: Sequence[Path] = (FOLDER,)) -> Profile:
    """Read and check `NAME.toml` and what it extends; see `rag.profiles.profile` for the order of the folders.

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
    ("ASKBOOK_GROUNDING", "answer.grounding", "grounding"),
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
    if settings.agent_top_k is not None:
        from_environment["retrieval.neighbours"] = (0, "environment variable AGENT_TOP_K")
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
        if says(layer.data, key.split(".")):
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
        raise UsageError(_told(error.errors(include_url=False)[0], layers), code="profile") from error


def _told(problem: Any, layers: Sequence[Layer]) -> str:
    """A mistake in one line: the file that makes it, the key, the value, and what is allowed."""
    place = problem["loc"]
    while place and not any(says(layer.data, place) for layer in layers) and problem["type"] != "missing":
        place = place[:-1]  # pydantic goes on to the member of a union that it tried
    key = ".".join(str(part) if str(part).isprintable() else ascii(part) for part in place)[:200]
    file = next((layer.path.name for layer in layers if place and says(layer.data, place)), layers[0].path.name)
    where = f"{file}, {key}:" if key else f"{file}:"
    if place and not isinstance(problem["input"], dict) and problem["type"] != "missing":
        where += f" {_shown(problem, str(place[-1]))} is not allowed;"
    top = ["extends", *(field for field in Profile.model_fields if field != "name")]
    return f"{where} {allowed(problem, Profile, top)}."


def _shown(problem: Any, key: str) -> str:
    """The refused value, unless somebody may have written a key or an address with a password there."""
    value = problem["input"]
    unknown = problem["type"] == "extra_forbidden" and isinstance(value, str)
    pasted = key == "api_key_env" and not re.fullmatch(r"[A-Z][A-Z0-9_]*", str(value))
    return "the value" if unknown or pasted or key == "base_url" else clipped(value)
