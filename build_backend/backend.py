"""The build backend: setuptools, over a copy of the repository in which everything is inside the package `askbook`.

The repository keeps its modules at the top, where they are short to read and to import. Installed like that, `graph` or
`state` would collide with a user's own. So the wheel holds them as `askbook.graph` and `askbook.state`, and their
imports are rewritten. An editable installation, and an archive of the source, leave the repository as it is.
"""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

from rag.system.process import PACKAGE, as_packaged

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("cli", "docs", "graph", "nodes", "profiles", "rag")
MODULES: Final = ("run", "state")
ABOUT: Final = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "rag/data/LICENSE-APACHE-2.0")
_OURS: Final = frozenset({*FOLDERS, *MODULES})
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "decisions", ".*")  # decisions are not part of the manual


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, _metadata: str | None = None
) -> str:
    """The wheel, with everything inside the package `askbook`. Returns its file name."""
    goal = str(Path(wheel_directory).resolve())
    with _packaged():
        return build_meta.build_wheel(goal, config_settings)


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """An installation that puts the repository itself on the path, with its modules at the top."""
    options = {"editable_mode": "compat"} | (config_settings or {})
    return build_meta.build_editable(wheel_directory, options, metadata_directory)


@contextmanager
def _packaged() -> Iterator[None]:
    """Work in a temporary folder that holds the package."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def lay_out(folder: Path) -> None:
    """Write the package, and what setuptools reads about it, into an empty folder."""
    package = folder / PACKAGE
    shutil.copytree(ROOT / PACKAGE, package, ignore=_LEFT_OUT)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, package / name, ignore=_LEFT_OUT)
    for name in MODULES:
        shutil.copy2(ROOT / f"{name}.py", package)
    for name in ABOUT:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for path in package.rglob("*.py"):
        _change(path, rewritten(path.read_text(encoding="utf-8")))
    for path in (package / "docs").rglob("*.md"):
        _change(path, as_packaged(path.read_text(encoding="utf-8")))


def rewritten(source: str) -> str:
    """The module with each import of ours from inside the package.

    >>> rewritten("from rag.types import Phase")
    'from askbook.rag.types import Phase'

    Raises `ValueError` for `import rag.types`, which would bind another name.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(_is_ours(name.name) for name in node.names):
            raise ValueError(f'line {node.lineno}: write "from ... import", which can be rewritten')
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            line = lines[node.lineno - 1]
            before, after = line[: node.col_offset], line[node.col_offset :]
            lines[node.lineno - 1] = before + after.replace("from ", f"from {PACKAGE}.", 1)
    return "".join(lines)


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in _OURS


def _change(path: Path, text: str) -> None:
    """Replace a file's text and keep its time, so that a wheel built twice is the same."""
    times = path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
