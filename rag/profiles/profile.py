"""Profiles: the settings of one tutor, as data in `profiles/NAME.toml`, which may extend another file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator

from rag.errors import UsageError
from rag.profiles import schema
from rag.settings import Settings
from rag.system.trusted_files import is_trusted, untrusted
from rag.validation import allowed

FOLDER: Final = Path(__file__).parent.parent.parent / "profiles"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MAX_BYTES: Final = 1_000_000  # a larger file is not a profile
_MAX_SHOWN: Final = 100  # characters of a rejected value in an error message

# What a run or the environment may override: the value's place in a profile, by the name that it has there.
_OVERRIDES: Final = {
    "model": "model.name", "temperature": "model.temperature", "max_tokens": "model.max_tokens",
    "top_k": "retrieval.top_k", "neighbours": "retrieval.neighbours", "score_threshold": "retrieval.score_threshold",
    "citation_style": "answer.citation_style", "grounding": "answer.grounding", "judge": "answer.judge",
    "max_turns": "limits.max_turns",
}  # fmt: skip


class Profile(schema.Section):
    """The instructions and limits of one tutor. Immutable; `overridden` returns a changed copy."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    display_name: schema.OneLine | None = None
    description: schema.OneLine
    instructions: schema.Text
    model: schema.ModelSection = schema.ModelSection()
    prompt: schema.PromptSection = schema.PromptSection()
    retrieval: schema.RetrievalSection = schema.RetrievalSection()
    tool: schema.ToolSection | None = None
    answer: schema.AnswerSection = schema.AnswerSection()
    limits: schema.LimitsSection = schema.LimitsSection()
    budget: schema.BudgetSection | None = None
    memory: schema.MemorySection = schema.MemorySection()
    book: schema.BookSection = schema.BookSection()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        total, window = self.budget.total() if self.budget else 0, self.model.context_window
        if total > window:
            raise ValueError(f"the budget adds up to {total} tokens, more than context_window ({window})")
        return self

    def said(self) -> str:
        """The description, preceded by the display name if there is one."""
        return f"{self.display_name}: {self.description}" if self.display_name else self.description

    def overridden(self, **values: Any) -> Self:
        """A copy with the given values; None keeps the profile's. `top_k` is then the number of all passages."""
        given = {name: value for name, value in values.items() if value is not None}
        if "top_k" in given:
            given["neighbours"] = 0
        update: dict[str, Any] = {}
        for name, value in given.items():
            section, key = _OVERRIDES[name].split(".")
            update[section] = update.get(section, getattr(self, section)).model_copy(update={key: value})
        return self.model_copy(update=update)

    def in_environment(self, settings: Settings) -> Self:
        """A copy with the overrides of the environment."""
        return self.overridden(
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            max_turns=settings.agent_max_turns,
            grounding=settings.grounding,
            judge=settings.judge,
            model=settings.openai_model,
        )


def load_profile(name: str, folders: Sequence[Path] = (FOLDER,)) -> Profile:
    """Read and check `NAME.toml` and the files that it extends; a later folder hides an earlier one.

    Raises `UsageError` for an unknown name, and for a broken file with the key, the value and what is allowed.
    """
    return _validated(name, read_layers(name, folders))


def profile_of(settings: Settings, name: str | None = None) -> Profile:
    """The named profile, or the one of the settings. Raises `UsageError` like `load_profile`, and for a file of the
    user's folder that is not trusted although it names an endpoint or replaces a profile of askbook.
    """
    wanted = name or settings.profile
    try:
        layers = read_layers(wanted, profile_folders(settings))
    except UsageError as error:
        if wanted != settings.profile or error.code != "unknown_profile":
            raise
        raise UsageError(f"ASKBOOK_PROFILE: {error.message}", code=error.code, hint=error.hint) from None
    profile = _validated(wanted, layers)
    check_trust(layers)
    return profile


def profile_files(settings: Settings, name: str) -> tuple[Path, ...]:
    """The files that a profile is made of. Raises `UsageError` as `profile_of` does."""
    return tuple(layer.path for layer in read_layers(name, profile_folders(settings)))


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


class Layer(NamedTuple):
    """The content of one file of a profile. `extended` is true for a file that another one extends."""

    path: Path
    raw: bytes
    data: Mapping[str, Any]
    extended: bool

    def has(self, place: Sequence[int | str]) -> bool:
        """Whether the file sets the key, or a key in the table, at `place`."""
        part: Any = self.data
        for step in place:
            if not isinstance(part, Mapping) or step not in part:
                return False
            part = part[step]
        return True


def profile_folders(settings: Settings) -> tuple[Path, ...]:
    """The folders of profiles: askbook's own, then the user's, whose trusted files hide askbook's of the same name."""
    return (FOLDER, settings.home / "profiles")


def profile_names(folders: Sequence[Path] = (FOLDER,)) -> list[str]:
    """The names of all profiles, sorted."""
    files = (path for folder in folders for path in folder.glob("*.toml"))
    return sorted({path.stem for path in files if NAME.fullmatch(path.stem) and path.is_file()})


def read_layers(name: str, folders: Sequence[Path]) -> list[Layer]:
    """The files of a profile, the named one first, each extending the next.

    Raises `UsageError` for an unknown name, an unreadable file, and files that extend each other in a circle.
    """
    layers: list[Layer] = []
    wanted: Any = name
    while wanted is not None:
        path = _find(wanted, folders, [layer.path for layer in layers])
        raw, data = _read(path)
        layers.append(Layer(path, raw, data, extended=bool(layers)))
        wanted = data.get("extends")
        if wanted is not None and not isinstance(wanted, str):
            raise UsageError(f"{path.name}, extends: {wanted!r} is not allowed; it must be a name.", code="profile")
    return layers


def _find(name: str, folders: Sequence[Path], taken: Sequence[Path]) -> Path:
    """The file of a profile that the last of `taken` extends, or of the profile asked for if `taken` is empty.

    A file that extends its own name extends the file that it hides in an earlier folder.
    """
    candidates = [folder / f"{name}.toml" for folder in reversed(folders)] if NAME.fullmatch(str(name)) else []
    found = [path for path in candidates if path.is_file()]
    extending = taken[-1] if taken else None
    hides = extending is not None and extending.stem == name
    free = [path for path in found if path not in taken] if hides else found
    if free and free[0] not in taken:
        return free[0]
    if found and extending is not None:
        circle = " → ".join([*(path.stem for path in taken), name])
        problem = f"{name!r} is not allowed; the profiles extend each other in a circle: {circle}"
        raise UsageError(f"{extending.name}, extends: {problem}.", code="profile")
    known = f"Profiles: {', '.join(profile_names(folders))}."
    if extending is not None:
        raise UsageError(f"{extending.name}, extends: there is no profile {name!r}.", code="profile", hint=known)
    raise UsageError(f'There is no profile "{name}".', code="unknown_profile", hint=known)


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _unreadable(path, "it is larger than a megabyte")
        raw = path.read_bytes()
        data = tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))  # some editors write a byte order mark
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8 text") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, " ".join(str(error).split())) from error
    except (RecursionError, ValueError) as error:  # deeply nested brackets, a number of thousands of digits
        raise _unreadable(path, "a value in it is too large") from error
    if "name" in data:
        problem = "this key is not allowed; a profile is named after its file"
        raise UsageError(f"{path.name}, name: {problem}.", code="profile")
    return raw, data


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(f"{path.name} cannot be read: {why}.", code="profile")


def check_endpoint(layer: Layer) -> None:
    """Raise `UsageError` if the file names an address without a key: it would get the key of the extended profile."""
    model = layer.data.get("model")
    if isinstance(model, Mapping) and ("base_url" in model) != ("api_key_env" in model):
        problem = "base_url and api_key_env are only allowed together, in one file"
        raise UsageError(f"{layer.path.name}, model: {problem}.", code="profile")


def check_trust(layers: Sequence[Layer]) -> None:
    """Raise `UsageError` for the first file of the user's folder that needs trust and does not have it."""
    for layer in layers:
        if layer.path.parent == FOLDER or is_trusted(layer.path, layer.raw):
            continue
        model = layer.data.get("model", {})
        if "api_key_env" in model:
            raise untrusted(layer.path, f"sends {model['api_key_env']} to {urlsplit(model['base_url']).hostname}")
        if (FOLDER / layer.path.name).is_file():
            raise untrusted(layer.path, f'replaces the profile "{layer.path.stem}" of askbook')
