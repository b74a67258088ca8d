"""Where profiles are kept, and how a file, with those that it extends, becomes one set of values.

The folders are looked through from the last to the first: a user's own file wins over the one of the same name that
askbook brings. A file that extends its own name means the one that it hides.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rag.errors import UsageError
from rag.settings import Settings

FOLDER: Final = Path(__file__).parent.parent / "profiles"
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
