"""Sphinx, with reStructuredText or MyST: sphinx-doc.org/en/master/usage and myst-parser.readthedocs.io."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from rag.ingest.anchors import AnchorRule, HeadingText, docutils_anchors, docutils_id, notebook_anchors
from rag.ingest.data_values import unicode_values
from rag.ingest.dialects import with_dashes
from rag.ingest.formats.file_format import Loader
from rag.ingest.formats.known_formats import BY_SUFFIX, MARKUP
from rag.ingest.generators.config_files import config_text, listed, mapping, strings
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.myst import MystPlace, rewrite_myst, unfolded_myst
from rag.ingest.includes import Includes
from rag.ingest.page import MarkdownText, plain_inline
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import glob_regex
from rag.ingest.rst_syntax import BookPlace
from rag.ingest.source_files import is_file

_LEFT_OUT: Final = ("_build", "Thumbs.db", ".DS_Store", "_templates", "**/_build")
_LINE: Final = r"[=\-`:'\"~^_*+#<>.!$%&(),/;?@\[\\\]{|}]"
ADDED: Final = 20_000  # characters, at most, that the configuration puts into each page
_LABEL: Final = re.compile(
    r"^[ \t]*\.\. _(?P<rst>`[^`\n]+`|[^:\n`]+):[ \t]*$|^\((?P<myst>[^()\n]+)\)=[ \t]*$", re.MULTILINE
)
_ABOVE_TITLE: Final = (
    r"\A(?:[ \t]*\n|\.\.[ \t_][^\n]*\n(?:[ \t]+[^\n]*\n)*+|\([^()\n]+\)=[ \t]*\n|:[\w-]+:[^\n]*\n){0,30}"
)
_TITLE: Final = re.compile(
    rf"{_ABOVE_TITLE}(?:#{{1,6}}[ \t]+(?P<atx>[^\n]+)|(?:{_LINE}{{3,}}[ \t]*\n)?"
    rf"(?P<lined>[ ]?[^\s][^\n]*)\n(?P<under>{_LINE})(?P=under){{2,}}[ \t]*$)",
    re.MULTILINE,
)
_TOCTREE: Final = re.compile(
    r"^\.\. toctree::[^\n]*\n(?P<rst>(?:[ \t]+\S[^\n]*\n|[ \t]*\n)*+)"
    r"|^(?:`{3,}|:{3,})\{toctree\}[^\n]*\n(?P<myst>(?:(?![`:]{3})[^\n]*\n)*+)",
    re.MULTILINE,
)
_DEFINITION: Final = re.compile(
    r"^(\.\. (?:\|[^|\n]{1,100}\| \w+::|_[^:\n]{1,100}:))[^\n]*(?:\n[ \t]+[^\n]+)*", re.MULTILINE
)
_CAPTION: Final = re.compile(r"^[ \t]*:caption:[ \t]*(\S[^\n]*)", re.MULTILINE)
_ENTRY_PATH: Final = re.compile(r".*<([^<>]+)>")
_OBJECT: Final = re.compile(r"[a-zA-Z_][\w.]*(?<!\.html)")
_COMPUTED: Final = re.compile(r"^[ \t]*(?:\.\. |[`:~]{3,}\{)(?:auto[a-z]+|towncrier-draft-entries)\b", re.MULTILINE)
_BUILT_IN: Final = {"genindex": "Index", "modindex": "Module Index", "search": "Search Page"}


class Sphinx(Generator):
    """One `.html` file for each source, labels that reach through the whole book, and ids of docutils."""

    name = "sphinx"
    tells_missing = True
    configurations = ("conf.py", "source/conf.py")
    title_options = (("html_title",), ("project",))
    sign = ("a toctree", re.compile(r"^\.\. toctree::|^(?:`{3,}|:{3,})\{toctree\}", re.MULTILINE))
    signed = MARKUP

    @cached_property
    def options(self) -> dict[str, Any]:
        """The plain values that `conf.py` assigns. It is not run."""
        found: dict[str, Any] = {}
        try:
            tree = ast.parse(config_text(self.config))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return found
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    found[node.targets[0].id] = unicode_values(ast.literal_eval(node.value))
                except (ValueError, TypeError, RecursionError, MemoryError):
                    continue
        return found

    @cached_property
    def content(self) -> Path:
        return self.config.parent if self.config is not None else self.source

    @cached_property
    def _suffixes(self) -> dict[str, str]:
        """The kinds of the sources by their endings, such as `{".txt": "restructuredtext"}`."""
        given = self.options.get("source_suffix")
        found = {str(one): "" for one in listed(given)}
        if isinstance(given, dict):
            found = {str(suffix): str(kind or "restructuredtext") for suffix, kind in given.items()}
        used = strings(self.options.get("extensions", ["myst_parser"]))
        notebooks = "myst" if "myst_nb" in used else "nbsphinx" if "nbsphinx" in used else ""
        found = found or {".rst": ""}
        if any("myst" in one or "recommonmark" in one for one in used):
            found.setdefault(".md", "markdown")
        return found | ({".ipynb": notebooks} if notebooks else {})

    @cached_property
    def _definitions(self) -> dict[str, str]:
        """The substitutions and targets that the configuration puts into each page, by how they begin."""
        given = (self.options.get(name) for name in ("rst_prolog", "rst_epilog"))
        texts = (text[:ADDED] for text in given if isinstance(text, str))
        return {match[1]: match[0] for text in texts for match in _DEFINITION.finditer(text)}

    def rst_text(self, text: str, place: BookPlace, page: PageFile) -> MarkdownText:
        own = [whole for begin, whole in self._definitions.items() if begin not in text]
        return super().rst_text("\n\n".join([text, *own]), place, page)

    def reads(self, suffix: str) -> bool:
        return suffix in self._suffixes

    def loader(self, suffix: str) -> Loader:
        return BY_SUFFIX[".rst" if self._suffixes.get(suffix) == "restructuredtext" else suffix]

    def anchor_rule(self, page: PageFile) -> AnchorRule:
        by_nbsphinx = page.file.suffix == ".ipynb" and self._suffixes[".ipynb"] == "nbsphinx"
        if by_nbsphinx:
            return notebook_anchors
        return _without_numbers if _COMPUTED.search(page.body) else self.anchors

    def covers(self) -> bool:
        """Other tools have a `conf.py` too; that of Sphinx names its extensions, its project or its theme."""
        return super().covers() and bool({"extensions", "project", "html_theme", "master_doc"} & self.options.keys())

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        patterns = [*_LEFT_OUT, *strings(self.option("exclude_patterns")), *strings(self.option("templates_path"))]
        inner = self.inner(file)
        parts = [inner, *(parent.as_posix() for parent in Path(inner).parents)]
        return not any(glob_regex(pattern.rstrip("/")).fullmatch(part) for pattern in patterns for part in parts)

    def site_path(self, page: PageFile) -> str:
        return f"/{posixpath.splitext(self.inner(page.file))[0]}.html"

    def usual_title(self, page: PageFile) -> str:
        return _first_title(page.body) or super().usual_title(page)

    def folder_title(self, folder: Path) -> str:
        """The title of the folder's start page, or the caption above the list of contents that has its pages."""
        starts = (self.by_real_file.get(folder / f"index{suffix}") for suffix in self._suffixes)
        title = next((_first_title(page.body) for page in starts if page is not None), "")
        captions = self._captions.get(folder, set())
        return title or (next(iter(captions)) if len(captions) == 1 else "") or super().folder_title(folder)

    @cached_property
    def _captions(self) -> dict[Path, set[str]]:
        """The captions of the lists of contents in which the pages of each folder stand; empty for one without."""
        found: dict[Path, set[str]] = {}
        for page in self.pages.values():
            for listing in _TOCTREE.finditer(f"{page.body}\n"):
                lines = listing["rst"] or listing["myst"] or ""
                caption = _CAPTION.search(lines)
                named = [_ENTRY_PATH.sub(r"\1", line.strip()) for line in lines.split("\n")]
                for target in (self.target(page, name) for name in named if name and not name.startswith(":")):
                    if target is not None:
                        found.setdefault(target.file.parent, set()).add(plain_inline(caption[1]) if caption else "")
        return found

    @cached_property
    def _labels(self) -> dict[str, tuple[str, PageFile]]:
        """The title that each label stands before, and its page."""
        found: dict[str, tuple[str, PageFile]] = {}
        for page in self.pages.values():
            for label in _LABEL.finditer(page.body):
                name = (label["rst"] or label["myst"]).strip("` ")
                title = _first_title(page.body[label.end() : label.end() + 1000].lstrip("\n"))
                found[" ".join(name.lower().split())] = title, page
        return found

    def label(self, name: str) -> tuple[str, str] | None:
        """The title and the address of a label."""
        if name in _BUILT_IN:
            return _BUILT_IN[name], ""
        found = self._labels.get(name)
        return (found[0], f"{self.url(found[1])}#{docutils_id(name)}") if found else None

    def document(self, page: PageFile, name: str) -> tuple[str, str] | None:
        """The title and the address of the page that a path without its ending names."""
        target = self.target(page, name)
        return (_first_title(target.body) or name, self.url(target)) if target else None

    def external(self, role: str, target: str) -> tuple[str, str] | None:
        """The words and the address of a role that `extlinks` in the configuration makes a link."""
        given = self.option("extlinks", role)
        if not isinstance(given, list) or not given or not isinstance(given[0], str):
            return None
        address = given[0].replace("%s", target, 1).replace("%%", "%")
        words = given[1] if len(given) > 1 and isinstance(given[1], str) else ""
        return words.replace("%s", target, 1).replace("%%", "%") or address, address

    def link(self, page: PageFile, destination: str) -> str:
        """The address of a link, which may name a label, as MyST allows; empty for an object, which is not read."""
        if (found := self._named(page, destination)) is not None:
            return found[1]
        is_object = _OBJECT.fullmatch(destination) and self.target(page, destination) is None
        is_object = is_object and not is_file(page.file.parent / destination)
        return "" if is_object else super().link(page, destination)

    def _named(self, page: PageFile, destination: str) -> tuple[str, str] | None:
        """The title and the address of the label or of the page that a link of MyST names."""
        name = destination.removeprefix("project:")
        label = self.label(" ".join(unquote(name).removeprefix("#").lower().split()))
        if label is not None and label[1] and (name.startswith("#") or self.target(page, name) is None):
            return label
        return self.document(page, name) if name != destination or name.endswith((".md", ".rst")) else None

    def target(self, page: PageFile, path: str) -> PageFile | None:
        file = path[1:] if path.startswith("/") else posixpath.join(posixpath.dirname(self.inner(page.file)), path)
        bare = posixpath.normpath(file).removesuffix(".html")
        return next(
            (found for suffix in self._suffixes if (found := self._by_file.get(bare + suffix))),
            super().target(page, path),
        )

    # Text

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        return docutils_anchors(headings)

    @property
    def _default_role(self) -> str:
        named = str(self.option("default_role") or "")
        return named if re.fullmatch(r"[a-zA-Z][\w.:+-]{0,60}", named) else ""

    def place(self, page: PageFile, includes: Includes) -> MystPlace:
        def read(name: str) -> str | None:
            """A path that begins with a slash is relative to the docs."""
            return includes.read(name.lstrip("/"), self.content if name.startswith("/") else page.file.parent)

        return MystPlace(
            *(read, self.label, partial(self.document, page), self.external, self._default_role),
            restructured=lambda text: self.rst_text(text, self.place(page, includes), page).text,
            values=mapping(self.option("myst_substitutions")) | mapping(page.fields.get("substitutions")),
            named=partial(self._named, page),
        )

    def expanded(self, page: PageFile, includes: Includes) -> str:
        return unfolded_myst(page.body, self.place(page, includes))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        rewrite_myst(draft, self.place(page, Includes()))


def _without_numbers(headings: Sequence[HeadingText]) -> list[str]:
    """docutils' anchors without those that are only a number, since sections that are computed take numbers too."""
    return ["" if re.fullmatch(r"id\d+", anchor) else anchor for anchor in docutils_anchors(headings)]


def _first_title(text: str) -> str:
    """The title at the beginning of a text, with its roles as their texts; empty if there is none."""
    found = _TITLE.match(text)
    title = (found["atx"] or found["lined"]) if found else ""
    words = re.sub(r":[\w.:+-]+:`([^`<]*?)(?:\s*<[^`]*>)?`", r"\1", title).replace("``", "`")
    return plain_inline(with_dashes(words).strip())
