"""Find the generator of a source by its configuration file.

It is looked for in the source, in up to three folders above it, and beside either in a folder such as `website`; it
counts only if its pages are in the source, or the source among its pages. Nothing is guessed from the pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rag.errors import UsageError
from rag.ingest.sites.docusaurus import Docusaurus
from rag.ingest.sites.hugo import Hugo
from rag.ingest.sites.mdbook import MdBook
from rag.ingest.sites.mkdocs import MkDocs
from rag.ingest.sites.site_rules import Site
from rag.ingest.source_files import is_file, is_folder, read_inside

KNOWN: Final[tuple[type[Site], ...]] = (Docusaurus, MkDocs, MdBook, Hugo)
_ALL: Final[tuple[type[Site], ...]] = (*KNOWN, Site)
NAMES: Final = [one.name for one in _ALL]
ABOVE: Final = 3  # folders above the source in which a configuration is looked for
_SITE_FOLDERS: Final = ("website", "docs", "doc", "documentation", "site", "www", "book", "guide")
# Generators whose sources are read as plain pages, by their configuration file and a word that it must have.
_UNKNOWN: Final = {"conf.py": ("Sphinx", "project"), "_config.yml": ("Jekyll", "")}
_PROJECT: Final = ("pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod")  # of an unpacked archive
_ADVICE: Final = (
    "{name} publishes these pages ({file}), and only its built site has their addresses and all of their text. "
    "Give the folder that it builds, or the site's address; its sources are read as plain pages."
)


def site_of(source: Path, named: str | None = None) -> Site:
    """The rules for a source folder, by its configuration or by the generator that is `named`.

    Raises `UsageError` for a name that is not known.
    """
    wanted = next((kind for kind in _ALL if kind.name == named), None)
    if named is not None and wanted is None:
        hint = f"Choose one of {', '.join(NAMES)}."
        raise UsageError(f"There is no generator {named!r}.", code="generator", hint=hint)
    root = repository(source)
    if wanted is Site:
        return Site(source, reason="named by --generator", root=root)
    found = _configured(source, KNOWN if wanted is None else (wanted,), root)
    if wanted is not None:
        reason = f"named by --generator; {found.reason}" if found else "named by --generator"
        config = found.config if found else None
        return wanted(source, config=config, reason=reason, root=root or _above_both(source, config))
    return found or Site(source, reason="no generator's configuration was found", advice=_advice(source), root=root)


def repository(source: Path) -> Path | None:
    """The repository that a folder belongs to, known by `.git`, or the project, known by its file; None outside one.

    A home folder that is a repository as a whole is none.
    """
    project = None
    for folder in (source, *source.parents):
        if folder in (Path.home(), folder.parent):
            break
        if is_folder(folder / ".git") or is_file(folder / ".git"):  # a file in a worktree
            return folder
        if project is None and any(is_file(folder / name) for name in _PROJECT):
            project = folder
    return project


def _configured(source: Path, kinds: Sequence[type[Site]], root: Path | None) -> Site | None:
    names = [(kind, name) for kind in kinds for name in kind.configurations]
    for folder in _folders(source):
        for kind, name in names:
            if is_file(config := folder / name):
                shown = config.relative_to(source) if config.is_relative_to(source) else config
                site = kind(source, config=config, reason=shown.as_posix(), root=root or _above_both(source, config))
                if site.covers():
                    return site
    return None


def _folders(source: Path) -> Iterator[Path]:
    """Where a configuration may be: the source, the folders above it, and the usual folders beside either."""
    for folder in (source, *source.parents[:ABOVE]):
        yield folder
        yield from (folder / name for name in _SITE_FOLDERS if is_folder(folder / name))


def _above_both(source: Path, config: Path | None) -> Path:
    """The deepest folder that holds the source and its configuration; the source if that would be the whole disk."""
    if config is None:
        return source
    above = next(folder for folder in (source, *source.parents) if config.is_relative_to(folder))
    return above if above != above.parent else source


def _advice(source: Path) -> str:
    """What to say of sources whose generator has no rules here; empty where there is no sign of one."""
    for folder in (*_folders(source), source / "source"):
        for file, (name, word) in _UNKNOWN.items():
            if is_file(folder / file) and word in (read_inside(folder, folder / file) or ""):
                return _ADVICE.format(name=name, file=file)
    return ""
