"""The files of a profile: where they are found, how they extend each other, and which of them need the user's trust."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from rag.errors import UsageError
from rag.settings import Settings
from rag.system.trusted_files import is_trusted, untrusted

FOLDER: Final = Path(__file__).parent.parent.parent / "profiles"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_MAX_BYTES: Final = 1_000_000  # a larger file is not a profile


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
    candidates = [folder / f"{name}.toml" for folder in reversed(folders)] if NAME.fullmatch(name) else []
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
    """Raise `UsageError` unless the file names both the address and the variable of its key, or neither.

    With the address alone, a file would send the key of the profile that it extends to another host.
    """
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
