"""The generators that are known, and how the one of a source is found.

A generator is found by its configuration file: in the source, in a folder above it, or beside either in a folder such
as `website`. A configuration counts only if its pages are in the source, or the source among its pages. Without one,
files and syntax that only one generator has decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rag.errors import UsageError
from rag.ingest.formats.known_formats import MARKUP
from rag.ingest.generators.docusaurus import Docusaurus
from rag.ingest.generators.generator import Generator
from rag.ingest.generators.hugo import Hugo
from rag.ingest.generators.jekyll import Jekyll
from rag.ingest.generators.mdbook import MdBook
from rag.ingest.generators.mkdocs import MkDocs
from rag.ingest.generators.plain import PlainFolder
from rag.ingest.generators.sphinx import Sphinx
from rag.ingest.source_files import is_file, is_folder, read_inside
from rag.text.sentences import code_spans

KNOWN: Final[tuple[type[Generator], ...]] = (Docusaurus, MkDocs, MdBook, Hugo, Jekyll, Sphinx)
_ALL: Final[tuple[type[Generator], ...]] = (*KNOWN, PlainFolder)
NAMES: Final = [one.name for one in _ALL]
ABOVE: Final = 3  # folders above the source in which a configuration is looked for
_SITE_FOLDERS: Final = ("website", "docs", "doc", "documentation", "site", "www", "book", "guide")


def generator_of(source: Path, files: Sequence[Path], named: str | None = None) -> Generator:
    """The generator of a source folder by its `files` that could be pages, or the one that is `named`.

    Raises `UsageError` for a name that is not known.
    """
    wanted = next((kind for kind in _ALL if kind.name == named), None)
    if named is not None and wanted is None:
        hint = f"Choose one of {', '.join(NAMES)}."
        raise UsageError(f"There is no generator {named!r}.", code="generator", hint=hint)
    kinds = KNOWN if wanted is None else (wanted,)
    found = _by_configuration(source, kinds)
    suffixes = {file.suffix.lower() for file in files}
    if wanted is None and not any(map(found.reads if found else MARKUP.__contains__, suffixes)):
        return PlainFolder(source, config=None, reason="it holds no sources of a generator")
    files = [file for file in files if file.suffix.lower() in MARKUP]
    if wanted is not None:
        reason = f"named by --generator; {found.reason}" if found else "named by --generator"
        return wanted(source, config=found.config if found else None, reason=reason)
    if found is not None:
        return found
    for kind in KNOWN:
        if reason := _sign(kind, source, files):
            return kind(source, config=None, reason=reason)
    return PlainFolder(source, config=None, reason="no generator's configuration was found")


def _by_configuration(source: Path, kinds: Sequence[type[Generator]]) -> Generator | None:
    names = [(kind, name) for kind in kinds for name in kind.configurations]
    for folder in _folders(source):
        for kind, name in names:
            if is_file(config := folder / name):
                shown = config.relative_to(source) if config.is_relative_to(source) else config
                generator = kind(source, config=config, reason=shown.as_posix())
                if generator.covers():
                    return generator
    return None


def _folders(source: Path) -> Iterator[Path]:
    """Where a configuration may be: the source, the folders above it, and the usual folders beside either."""
    for folder in (source, *source.parents[:ABOVE]):
        yield folder
        yield from (folder / name for name in _SITE_FOLDERS if is_folder(folder / name))


def _sign(kind: type[Generator], source: Path, files: Sequence[Path]) -> str:
    """Why a source without a configuration file is of a kind: a file of its own, or a sign in a page; else empty."""
    if (own := kind.own_file(source, files)) is not None:
        return own.relative_to(source).as_posix()
    what, pattern = kind.sign or ("", None)
    for file in files if pattern is not None else ():
        if pattern and file.suffix.lower() in kind.signed and _has_sign(read_inside(source, file) or "", pattern):
            return f"{what} in {file.relative_to(source).as_posix()}"
    return ""


def _has_sign(text: str, sign: re.Pattern[str]) -> bool:
    """Whether a page has a sign outside code: a page about Ansible has the tags of Jinja in its code."""
    found = [match.start() for match in sign.finditer(text)]
    spans = code_spans(text) if found else []
    return any(not any(begin < at < end for begin, end in spans) for at in found)
