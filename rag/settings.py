"""The settings of the process: keys, addresses and paths, read only here from the environment and `.env`.

Settings are not part of a run and never reach a prompt, a checkpoint or a log. Keys are `SecretStr` and addresses
`Address`, so that no key or password is in what `repr` and JSON show. docs/settings.md lists the variables.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISDIR
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)

from rag.errors import UsageError
from rag.system.trusted_files import is_trusted, untrusted
from rag.types import GroundingMode
from rag.validation import allowed

FOUND: Final = Path(".env")  # the file in the folder where askbook is started, which may be a stranger's
# What an untrusted `.env` may set: no keys, and nothing that decides where something is sent or stored.
_HARMLESS: Final = frozenset({
    "OPENAI_MODEL", "COHERE_MODEL", "QDRANT_COLLECTION_NAME", "AGENT_TOP_K", "AGENT_SCORE_THRESHOLD",
    "AGENT_MAX_TURNS", "ASKBOOK_GROUNDING", "ASKBOOK_PROFILE", "ASKBOOK_PROFILES", "ASKBOOK_MODELS",
    "ASKBOOK_KEEP_TURNS", "ASKBOOK_LOG",
})  # fmt: skip
_CREDENTIALS: Final = re.compile(r"(?P<scheme>\A(?:[a-z][a-z0-9+.-]*:)?//|\A)\S*@", re.IGNORECASE)  # of an address
# A key and the address that it is sent to. Both come from the environment, or both from the file.
_ADDRESS_OF: Final = {
    "OPENAI_API_KEY": "OPENAI_BASE_URL",
    "COHERE_API_KEY": "COHERE_BASE_URL",
    "QDRANT_API_KEY": "QDRANT_URL",
}


class EnvFile(NamedTuple):
    """The values that a file sets, by variable; empty ones count as unset."""

    path: Path
    values: Mapping[str, str]
    trusted: bool


class Address(str):
    """An address, whose `repr` and JSON hide the credentials in it, as those of a `SecretStr` do."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.shown)

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return _CREDENTIALS.sub(r"\g<scheme>***@", self)


_Address = Annotated[
    str, AfterValidator(Address), PlainSerializer(lambda address: address.shown, return_type=str, when_used="json")
]


def _env(name: str, default: Any = None, **rules: Any) -> Any:
    """A field read only from the variable `name`; in Python it is set by its field name."""
    return Field(default=default, validation_alias=name, **rules)


class Settings(BaseModel):
    """The configuration of the process. An empty variable counts as unset; the environment overrides `.env`.

    `Settings.from_env()` reads `.env`; `Settings(...)` reads only the environment.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    openai_api_key: SecretStr | None = _env("OPENAI_API_KEY", description="API key of the chat model's endpoint")
    openai_model: str | None = _env("OPENAI_MODEL", description="chat model")
    openai_base_url: _Address | None = _env("OPENAI_BASE_URL", description="base URL of an OpenAI-compatible endpoint")
    cohere_api_key: SecretStr | None = _env("COHERE_API_KEY", description="API key of Cohere")
    cohere_model: str | None = _env("COHERE_MODEL", description="Cohere embedding model")
    cohere_base_url: _Address | None = _env("COHERE_BASE_URL", description="base URL of a Cohere-compatible endpoint")
    qdrant_url: _Address | None = _env("QDRANT_URL", description="address of a Qdrant server")
    qdrant_api_key: SecretStr | None = _env("QDRANT_API_KEY", description="API key of the Qdrant server")
    qdrant_collection_name: str | None = _env("QDRANT_COLLECTION_NAME", description="book to ask")
    qdrant_grpc_port: Annotated[int | None, Field(ge=1, le=65535)] = _env(
        "QDRANT_GRPC_PORT", description="gRPC port of the Qdrant server"
    )
    agent_top_k: Annotated[int | None, Field(ge=1, le=20)] = _env("AGENT_TOP_K", description="passages per question")
    agent_score_threshold: Annotated[float | None, Field(ge=0, le=1)] = _env(
        "AGENT_SCORE_THRESHOLD", description="minimum score of a passage"
    )
    agent_max_turns: Annotated[int | None, Field(ge=1, le=100_000)] = _env(
        "AGENT_MAX_TURNS", description="maximum number of turns of a conversation"
    )
    grounding: GroundingMode | None = _env("ASKBOOK_GROUNDING", description="how unsupported sentences are treated")
    judge: Literal["auto", "none"] | None = _env("ASKBOOK_JUDGE", description="whether a model judges answers")
    home: Path = _env("ASKBOOK_HOME", Path(".askbook"), description="folder for index, memory and caches")
    profile: str = _env("ASKBOOK_PROFILE", "default", description="profile to use")
    profiles: str | None = _env("ASKBOOK_PROFILES", description="profiles that others may choose, comma-separated")
    models: str | None = _env("ASKBOOK_MODELS", description="models that others may choose, comma-separated")
    embedding_model: Path | None = _env(
        "ASKBOOK_EMBEDDING_MODEL", description="embedding model: a folder, a hosted model's name, or packaged"
    )
    rerank: Literal["off", "cohere"] = _env("ASKBOOK_RERANK", "off", description="reranker of the passages")
    database_url: SecretStr | None = _env("ASKBOOK_DATABASE_URL", description="PostgreSQL database for conversations")
    encryption_key: SecretStr | None = _env("ASKBOOK_ENCRYPTION_KEY", description="key to encrypt conversations with")
    keep_turns: Annotated[int, Field(ge=1, le=10_000)] = _env(
        "ASKBOOK_KEEP_TURNS", 20, description="number of turns whose checkpoints are kept"
    )

    log: Literal["off", "text", "json"] = _env(
        "ASKBOOK_LOG", "off", description="log of turns on standard error: off, text or json"
    )
    traces: Literal["off", "otel"] = _env("ASKBOOK_TRACES", "off", description="spans of turns: off or otel")

    api_keys: SecretStr | None = _env("ASKBOOK_API_KEYS", description="keys of serve: name:key, comma-separated")
    books: str | None = _env("ASKBOOK_BOOKS", description="books that people may choose: BOOK or NAME:BOOK")
    allowed_origins: str | None = _env(
        "ASKBOOK_ALLOWED_ORIGINS", description="sites whose pages may call serve, comma-separated"
    )

    turns_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = _env(
        "ASKBOOK_TURNS_PER_MINUTE", 60, description="questions that each key of serve may ask in a minute"
    )
    concurrent_turns: Annotated[int, Field(ge=1, le=10_000)] = _env(
        "ASKBOOK_CONCURRENT_TURNS", 8, description="turns that each key of serve may run at once"
    )

    _file: EnvFile = PrivateAttr(default=EnvFile(FOUND, {}, trusted=True))  # what is no setting; it may hold other keys

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models in ASKBOOK_MODELS, besides the profile's own; none if it is not set."""
        return tuple(dict.fromkeys(name.strip() for name in (self.models or "").split(",") if name.strip()))

    @model_validator(mode="before")
    @classmethod
    def _with_environment(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Add what the environment sets, and let `Settings(home=...)` set ASKBOOK_HOME.

        A second alias would be read from the environment too, where HOME is always set. None is not given to a field
        that always has a value.
        """
        names = {name: str(field.validation_alias) for name, field in cls.model_fields.items()}
        always = {name for name, field in cls.model_fields.items() if field.default is not None}
        given = {name: value for name, value in data.items() if value is not None or name not in always}
        return _environment() | {names.get(name, name): value for name, value in given.items()}

    @classmethod
    def from_env(cls, env_file: Path | None = FOUND) -> Self:
        """Read the environment and `env_file` (None: no file).

        Raises `UsageError` with one line: the variable, where it is set, its value and what is allowed. The `.env` of
        the current folder needs the user's trust to set keys and addresses; a file that the caller names does not.
        """
        file = read_env_file(env_file)
        present = _environment().keys()
        known = variables().keys() - present
        given: dict[str, Any] = {name: value for name, value in file.values.items() if name in known}
        needs = [name for name in variables() if name in given and name not in _HARMLESS]
        if needs and not file.trusted:
            raise untrusted(file.path, f"sets {', '.join(needs)}")
        for key, address in _ADDRESS_OF.items():
            if {key, address} <= given.keys() | present and (key in given) != (address in given):
                raise _in_two_places(key, address, file.path, key_in_file=key in given)
        try:
            settings = cls(**given)
        except ValidationError as error:
            raise UsageError(_first_problem(error), code="settings") from error
        for field in _NAMES_AND_PATHS:
            if len(str(getattr(settings, field))) > _LONGEST:
                name = cls.model_fields[field].validation_alias
                raise UsageError(f"{name} has more than {_LONGEST:,} characters, so it names nothing.", code="settings")
        for field in _PATHS:
            _check_path(str(cls.model_fields[field].validation_alias), getattr(settings, field))
        if others := {name: value for name, value in file.values.items() if name not in variables()}:
            settings._file = file._replace(values=others)
        return settings

    def key(self, variable: str) -> SecretStr | None:
        """The key in the variable that a profile names for its endpoint; None if it is not set.

        Raises `UsageError` if only a `.env` that is not trusted sets it.
        """
        value = os.environ.get(variable)
        if not value and variable in self._file.values:
            if not self._file.trusted:
                raise untrusted(self._file.path, f"sets {variable}")
            value = self._file.values[variable]
        return SecretStr(value) if value else None


_MAX_BYTES: Final = 100_000  # of a file `.env`
_LONGEST: Final = 4096  # characters; Linux has no longer path
_SHOWN: Final = 200  # characters of a value in a message
_PATHS: Final = ("home", "embedding_model")
_NAMES_AND_PATHS: Final = (
    *_PATHS, "profile", "qdrant_collection_name", "openai_model", "openai_base_url", "cohere_model", "cohere_base_url",
    "qdrant_url",
)  # fmt: skip


def _check_path(variable: str, value: Path | str | None) -> None:
    """Raise `UsageError` for a home that cannot be a folder, and for what is too long for a path; the others may be
    names.
    """
    wrong = 0
    try:
        if value is not None and not S_ISDIR(Path(value).stat().st_mode):
            wrong = errno.ENOTDIR
    except (OSError, ValueError) as error:
        wrong = getattr(error, "errno", 0)
    if wrong == errno.ENAMETOOLONG or (wrong == errno.ENOTDIR and variable == "ASKBOOK_HOME"):
        shown = f"{str(value)[:_SHOWN]}…" if len(str(value)) > _SHOWN else value
        raise UsageError(f"{variable} cannot be used: {os.strerror(wrong)}: {shown}", code="settings")


def read_env_file(path: Path | None) -> EnvFile:
    """Read the file; None and a missing file have no values. Raises `UsageError` for a file that is not text.

    A file that the caller names is trusted; `FOUND` itself only if the user has trusted this content.
    """
    if path is None or not path.is_file():
        return EnvFile(path or FOUND, {}, trusted=True)
    from dotenv import dotenv_values

    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:  # reading one takes long, also if nothing of it is used
            raise UsageError(f"{path} is larger than {_MAX_BYTES // 1000} kilobytes.", code="settings")
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", code="settings") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", code="settings") from error
    trusted = path is not FOUND or is_trusted(path, raw)
    # A stranger's `${NAME}` would copy a variable of the environment into a value.
    found = dotenv_values(stream=io.StringIO(text), interpolate=trusted)
    return EnvFile(path, {name.upper(): value for name, value in found.items() if value}, trusted)


def _environment() -> dict[str, str]:
    return {name.upper(): value for name, value in os.environ.items() if value}


def _in_two_places(key: str, address: str, file: Path, *, key_in_file: bool) -> UsageError:
    places = (str(file), "the environment") if key_in_file else ("the environment", str(file))
    message = f"{key} is set in {places[0]} and {address} in {places[1]}, so the key may belong to another address."
    hint = f"Set both in the environment, or both in {file}."
    return UsageError(message, code="key_elsewhere", hint=hint)


def variables() -> dict[str, str]:
    """Every variable that is read, with its description."""
    return {str(field.validation_alias): field.description or "" for field in Settings.model_fields.values()}


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])
    place = "the environment" if name in os.environ else ".env"
    shown = "the value" if "KEY" in name or name == "ASKBOOK_DATABASE_URL" else repr(problem["input"])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return f"{name} in {place}: {shown} is not allowed; {allowed(problem, Settings)}."
