"""The wheel, built and installed into an environment of its own, outside the repository.

The environment sees the libraries of the environment that runs the tests, so it takes seconds and no network.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fork_server import ForkServer

ROOT: Final = Path(__file__).parent.parent
_UV: Final = (sys.executable, "-m", "uv")

PROGRAM: Final = """\
import asyncio

import graph
import state
from askbook import Context, Settings, open_agent


async def main() -> None:
    async with open_agent(Settings.from_env()) as agent:
        response = await agent.ask("How many teeth does a widget have?", context=Context(top_k=graph.PASSAGES))
        print(state.BEFORE, response.content, response.citations[0].quote)


asyncio.run(main())
"""


@dataclass(frozen=True)
class Package:
    """The wheel's file and the Python of an environment in which it is installed."""

    wheel: Path
    python: Path

    @property
    def names(self) -> set[str]:
        """The files in the wheel."""
        return set(zipfile.ZipFile(self.wheel).namelist())


@dataclass(frozen=True)
class Stranger:
    """A folder of somebody else's, in which the installed package is used."""

    package: Package
    folder: Path
    server: ForkServer | None = None

    @property
    def command(self) -> Path:
        return self.package.python.parent / "askbook"

    def run(self, *command: str, module: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """The command `askbook`, or Python with `module`, in that folder and in an empty environment."""
        program = [str(self.package.python), "-m", module] if module else [str(self.command)]
        return self.python_run([*program, *command], **environment)

    def forked(self, program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command or a Python file of that folder, without the time that importing the package takes."""
        assert self.server is not None
        forked = self.server.start(*arguments, program=program, cwd=self.folder, env=self._environment(environment))
        out, err = forked.communicate()
        return subprocess.CompletedProcess([program, *arguments], forked.wait(), out.decode(), err.decode())

    def python_run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        variables = self._environment(environment)
        return subprocess.run(command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False)

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SSL_CERT_FILE") if name in os.environ}
        return kept | {"HOME": str(self.folder), "ASKBOOK_HOME": str(self.folder / "home")} | more

    def mypy(self, *files: str) -> subprocess.CompletedProcess[str]:
        """`mypy --strict` over files of that folder, with the package as any other library.

        The libraries are known already where mypy has read them for the repository.
        """
        environment = ["--python-executable", str(self.package.python)]
        options = ["--strict", "--cache-dir", str(ROOT / ".mypy_cache"), *environment]
        return self.python_run([sys.executable, "-m", "mypy", *options, *files])


def project(package: Package, folder: Path, server: ForkServer | None = None) -> Stranger:
    """A program in that folder, with a `state.py` and a `graph` of its own beside it."""
    (folder / "state.py").write_text('BEFORE = "Answer:"\n')
    (folder / "graph").mkdir()
    (folder / "graph" / "__init__.py").write_text("PASSAGES = 3\n")
    (folder / "mine.py").write_text(PROGRAM)
    # Thousands of files that only libraries use, and whose types the program does not see.
    (folder / "mypy.ini").write_text(f"[mypy-{','.join(_skipped())}]\nfollow_imports = skip\n")
    return Stranger(package, folder, server)


def _skipped() -> list[str]:
    """The modules that mypy skips in this repository."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]
    (found,) = (one["module"] for one in settings if one.get("follow_imports") == "skip")
    return [str(name) for name in found]


def build(folder: Path, *kind: str, source: Path = ROOT) -> Path:
    """Build the package from `source` into a folder; returns the file. `kind` are options of `uv build`."""
    command = [*_UV, "build", "--quiet", "--offline", "--no-build-isolation", *kind, "--out-dir", str(folder)]
    subprocess.run([*command, str(source)], check=True)
    (built,) = [path for path in folder.iterdir() if path.name.startswith("askbook-")]
    return built


def install(wheel: Path, folder: Path, *options: str) -> Package:
    """A new environment with the wheel (or a source) in it, and with the libraries of this one."""
    subprocess.run([*_UV, "venv", "--quiet", "--offline", "--python", sys.executable, str(folder)], check=True)
    python = folder / "bin" / "python"
    (libraries,) = (folder / "lib").glob("python*/site-packages")
    (libraries / "libraries.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    install = ["pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), *options, str(wheel)]
    subprocess.run([*_UV, *install], check=True)
    return Package(wheel, python)
