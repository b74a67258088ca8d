"""The Dockerfile, the compose file and `.dockerignore`, read as Docker reads them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pathspec
import yaml

from tests.rooms import ROOT

_CONTINUED: Final = re.compile(r"\\\n")


@dataclass
class Stage:
    """One stage of a Dockerfile: its base image, and the arguments of its instructions in order."""

    image: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        return [arguments for instruction, arguments in self.instructions if instruction == name]

    def last(self, name: str) -> str:
        return self.all(name)[-1]

    def command(self, name: str) -> list[str]:
        """The last instruction of this name in its exec form, which needs no shell."""
        found: list[str] = json.loads(self.last(name)[self.last(name).index("[") :])
        return found

    @property
    def environment(self) -> dict[str, str]:
        words = [word for arguments in self.all("ENV") for word in shlex.split(arguments)]
        return dict(word.split("=", 1) for word in words)


def stages(dockerfile: str) -> list[Stage]:
    """The stages of a Dockerfile."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    found: list[Stage] = []
    for line in _CONTINUED.sub(" ", "\n".join(lines)).splitlines():
        name, _, arguments = line.strip().partition(" ")
        if name.upper() == "FROM":
            found.append(Stage(arguments.strip()))
        elif name:
            found[-1].instructions.append((name.upper(), arguments.strip()))
    return found


def services() -> dict[str, Any]:
    """The services of the compose file."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def sent_to_docker(paths: list[str]) -> list[str]:
    """Those of the paths that `.dockerignore` lets into the build. Its patterns begin at the root, unlike git's."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rooted = [_rooted(line) for line in lines if line and not line.startswith("#")]
    ignored = pathspec.GitIgnoreSpec.from_lines(rooted)
    return [path for path in paths if not ignored.match_file(path)]


def _rooted(pattern: str) -> str:
    negated, rest = pattern.startswith("!"), pattern.removeprefix("!")
    return ("!" if negated else "") + (rest if rest.startswith("**/") else f"/{rest}")


def build_context(tracked: list[str], to: Path) -> Path:
    """A copy of the files that `COPY . .` would see."""
    for name in sent_to_docker(tracked):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return to
