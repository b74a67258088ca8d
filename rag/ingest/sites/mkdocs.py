"""MkDocs, its fork ProperDocs, and Zensical, with Material's extensions.

Described at mkdocs.org, squidfunk.github.io/mkdocs-material, properdocs.org and zensical.org.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any, Final

from rag.ingest.anchors import (
    AnchorRule,
    HeadingText,
    ascii_slug,
    notebook_anchors,
    python_markdown_anchors,
    unicode_slug,
)
from rag.ingest.dialects import admonitions, own_id, unfolded, without_templates
from rag.ingest.fences import FENCE
from rag.ingest.formats.known_formats import MARKUP
from rag.ingest.includes import Includes, with_include_tags, with_snippets
from rag.ingest.page import MarkdownText, plain_inline
from rag.ingest.page_draft import PageDraft
from rag.ingest.patterns import is_ignored
from rag.ingest.sites.config_files import as_text, config_text, is_false, listed, mapping, option, strings
from rag.ingest.sites.site_rules import PageFile, Site
from rag.ingest.source_files import is_file, resolved

_LEFT_OUT: Final = ".*\n/templates/"  # what MkDocs itself leaves out
_UNICODE_SLUGS: Final = re.compile(
    r"slugify:\s*!!python/\S*(?:pymdownx\.slugs|slugify_unicode)|slugify\b.{0,50}pymdownx\.slugs"
)
_SNIPPETS: Final = "pymdownx.snippets"
_PACKAGES: Final = frozenset({"pymdownx", "markdown"})
_REFERENCES: Final = frozenset({"autorefs", "mkdocstrings"})  # plugins for which `[text][name]` names an object
_VARIABLES: Final = ("macros", "markdownextradata")  # plugins that take a page as a template of Jinja
_POSTS: Final = "blog/posts/"  # where the blog plugin of Material has its posts, unless it is told otherwise
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_KEYED: Final = r"#[^\s{}#=\"']+|\.[^\s{}#.=\"']+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+)"
_ITEM: Final = rf"(?:{_KEYED}|(?:markdown|data-[\w-]+))"
_ANY_ITEM: Final = rf"(?:{_KEYED}|[\w-]+(?=[ }}]))"  # in a list with a colon, `{: #start new }`, also any word
_ATTRIBUTES: Final = re.compile(
    r"(?P<formula>\$\$[^$]{1,5000}\$\$|(?<![\\$\w])\$(?=\S)[^$\n]{1,500}(?<=\S)\$(?!\w)"
    r"|\\\((?:[^\\\n]|\\(?![()])){1,500}\\\)|\\\[(?:[^\\]|\\(?![\[\]])){1,5000}\\\])"
    rf"|\{{(?:[ ]*(?P<list>{_ITEM}(?:[ ]+{_ITEM}){{0,20}})"
    rf"|:[ ]*(?P<words>{_ANY_ITEM}(?:[ ]+{_ANY_ITEM}){{0,20}}))[ ]*\}}"
)
_HAS_ATTRIBUTES: Final = re.compile(r"[ >]*(?:#|[-*+][ ]|\d+[.)][ ]|\||$)")  # a line whose block may end with a list
_LINE_END: Final = re.compile(r"[ ]*#*[ ]*(?:$|\n(?P<setext>=+|-+)?)")
_ICON: Final = re.compile(
    r":(?:material|octicons|fontawesome|simple|twemoji|custom)-[\w-]{1,100}:(?:\{[^{}\n]*\})?[ ]?"
)
_KEY: Final = r"(?:\"[^\"\n]{1,20}\"|\w[\w -]{0,40})"
_KEYS: Final = re.compile(rf"\+\+(?P<keys>{_KEY}(?:\+{_KEY}){{0,5}})\+\+")
_ABBREVIATION: Final = re.compile(r"^\*\[[^\]\n]{1,100}\]:[^\n]*\n?", re.MULTILINE)
_DEFINITION: Final = re.compile(r"^[ ]{0,3}:[ ]{1,3}(?=\S)", re.MULTILINE)
_CONTENTS: Final = re.compile(r"^\[\[?(?:TOC|toc|_TOC_)\]\]?[ ]*$", re.MULTILINE)
_OBJECT: Final = re.compile(
    r"^(?:#{1,6}[ ]+)?:::[ ]+[\w.:-]+[ ]*$(?:\n(?:[ ]{4}[^\n]*|[ ]*(?=\n[ ]{4})))*", re.MULTILINE
)
_MARKS: Final = {
    re.compile(r"(?<![=\w])==(?=\S)([^=\n]{1,500})(?<=\S)==(?![=\w])"): ("mark", r"\1"),
    re.compile(r"\^\^(?=\S)([^^\n]{1,500})(?<=\S)\^\^"): ("caret", r"\1"),
    re.compile(r"(?<![\\^])\^(\w{1,50}(?=\^(?!\^))|[\w+.,()-]{1,50}(?=\^(?![\w^])))\^"): ("caret", r"<sup>\1</sup>"),
    re.compile(r"(?<![\\~])~([\w+.,()-]{1,50})~(?!~)"): ("tilde", r"\1"),
}
# Termynal shows such a block as a terminal, with the colours that its HTML sets.
_TERMINAL: Final = re.compile(
    r"(<div[^<>\n]{0,200}\bclass=[\"']?[^<>\"'\n]{0,200}\btermy\b[^<>\n]{0,200}>\s{0,20})(\0\d+\0)"
)
_COLOUR: Final = re.compile(r"</?(?:font|span|b|i|u|strong|em)(?:\s[^<>\n]{0,200})?>")
_IMAGE: Final = re.compile(r"!\[[^\[\]\n]{0,300}\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_IMAGE_HEADING: Final = re.compile(r"^#{1,6}[ ]+((?=[^\n]*!\[)[^\n]{1,2000})$", re.MULTILINE)
_CODE_BLOCK: Final = re.compile(r"^\0\d+\0$", re.MULTILINE)
_RUN: Final = re.compile(r"\bexec=[\"']?(?:1|true|yes|on)\b(?!.*\bsource=)", re.IGNORECASE)
_LANGUAGE_MARK: Final = re.compile(r"^(`+)[ ]?(?:#!|:::)\S+[ ]+")


class MkDocs(Site):
    """A folder for each page, titles from `nav`, and anchors of Python-Markdown."""

    name = "mkdocs"
    configurations = ("mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "properdocs.yaml", "zensical.toml")

    @property
    def kinds(self) -> frozenset[str]:  # type: ignore[override]  # it depends on the configuration
        return MARKUP | ({".ipynb"} if "mkdocs-jupyter" in self.plugins else set())

    @cached_property
    def options(self) -> dict[str, Any]:
        is_zensical = self.config is not None and self.config.suffix == ".toml"
        return mapping(super().options.get("project")) if is_zensical else super().options

    @cached_property
    def content(self) -> Path:
        if self.config is None:
            return self.source
        return resolved(self.config.parent / (as_text(self.option("docs_dir")) or "docs"))

    @cached_property
    def _nav(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The title and the titles above it of each page in `nav`, by its path. A title may be empty."""
        return {path: (title, above) for path, title, above in _entries(self.options.get("nav"), ())}

    @cached_property
    def extensions(self) -> dict[str, Any]:
        """The options of each Markdown extension, by its name."""
        return _named(self.options.get("markdown_extensions"))

    @cached_property
    def plugins(self) -> dict[str, Any]:
        """The options of each plugin, by its name."""
        return _named(self.options.get("plugins"))

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        if file.stem == "README" and is_file(file.parent / "index.md"):
            return False
        left_out = [str(self.options.get(name) or "") for name in ("exclude_docs", "draft_docs")]
        return not is_ignored(self.inner(file), "\n".join([_LEFT_OUT, *left_out]))

    def _is_post(self, page: PageFile) -> bool:
        return self.inner(page.file).startswith(_POSTS) and not {"blog", "material/blog"}.isdisjoint(self.plugins)

    def is_published(self, page: PageFile) -> bool:
        return not (page.is_set("draft") and self._is_post(page))

    def site_path(self, page: PageFile) -> str:
        inner = self._post_path(page) if self._is_post(page) else self.inner(page.file)
        folder, stem = posixpath.split(posixpath.splitext(inner)[0])
        is_index = stem in ("index", "README")
        if is_false(self.options.get("use_directory_urls")):
            return "/" + posixpath.join(folder, "index.html" if is_index else f"{stem}.html")
        path = folder if is_index else posixpath.join(folder, stem)
        return f"/{path}/" if path else "/"

    def _post_path(self, page: PageFile) -> str:
        """The path that Material's blog gives to a post: its date and the slug of its title."""
        date = page.fields.get("date")
        day = _DATE.match(str(option(date, "created") or date or ""))
        title = plain_inline(page.text_field("title")) or MarkdownText(page.body).title or page.file.stem
        name = page.text_field("slug") or unicode_slug(title)
        return "/".join(["blog", *(day.groups() if day else ()), f"{name}.md"])

    def site_title(self) -> str:
        return as_text(self.option("site_name"))

    def site_description(self) -> str:
        return as_text(self.option("site_description"))

    def title(self, page: PageFile) -> str:
        return self._nav.get(self.inner(page.file), ("", ()))[0] or super().title(page)

    def breadcrumb(self, page: PageFile) -> tuple[str, ...]:
        entry = self._nav.get(self.inner(page.file))
        return entry[1] if entry else super().breadcrumb(page)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        toc = self.extensions.get("toc") or self.extensions.get("markdown.extensions.toc") or {}
        separator = toc.get("separator") or "-"
        slug = unicode_slug if _UNICODE_SLUGS.search(config_text(self.config)) else ascii_slug
        return python_markdown_anchors(headings, lambda text: slug(text, separator))

    def anchor_rule(self, page: PageFile) -> AnchorRule:
        return notebook_anchors if page.file.suffix == ".ipynb" else self.anchors

    # Its syntax

    @cached_property
    def _snippet_folders(self) -> list[Path]:
        """The folders that the configuration names for snippets, and those of the files that it names."""
        home = self.config.parent if self.config is not None else self.content
        places = [home / path for path in strings(option(self.extensions, _SNIPPETS, "base_path")) or ["."]]
        return [one.parent if is_file(one) else one for one in places]

    def expanded(self, page: PageFile, includes: Includes) -> str:
        added = strings(option(self.extensions, _SNIPPETS, "auto_append"))
        has_tags = "include-markdown" in self.plugins
        text = with_include_tags(page.body, page.file, self.content, includes) if has_tags else page.body
        text = "\n\n".join([text, *(f'--8<-- "{name}"' for name in added)])
        return unfolded(with_snippets(text, [*self._snippet_folders, self.content, page.file.parent], includes))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        text = _TERMINAL.sub(lambda block: block[1] + draft.keep(_COLOUR.sub("", draft.code(block[2]))), draft.text)
        templated = any(name in self.plugins for name in _VARIABLES)
        if templated:
            text = without_templates(text, draft.keep, self._variable)
            draft.rewrite_code(lambda code: re.sub(r"\{%-?[ ]*(?:end)?raw[ ]*-?%\}\n?", "", code))
        text = _ATTRIBUTES.sub(_attributes, text)
        text = _IMAGE_HEADING.sub(_without_alt, text)
        text = _CODE_BLOCK.sub(lambda block: "" if _only_runs(draft.code(block[0])) else block[0], text)
        text = _OBJECT.sub("", _CONTENTS.sub("", _ABBREVIATION.sub("", _ICON.sub("", text))))
        if "pymdownx.keys" in self.extensions:
            text = _KEYS.sub(lambda keys: re.sub(_KEY, _key, keys["keys"]), text)
        if not {"def_list", "markdown.extensions.def_list"}.isdisjoint(self.extensions):
            text = _DEFINITION.sub("", text)  # a definition as a paragraph below its term
        for mark, (name, shown) in _MARKS.items():
            if f"pymdownx.{name}" in self.extensions:
                text = mark.sub(shown, text)
        draft.text = admonitions(text)
        if "pymdownx.inlinehilite" in self.extensions:
            draft.rewrite_code(lambda code: _LANGUAGE_MARK.sub(r"\1", code))

    def unknown_reference(self, text: str, label: str) -> str | None:
        return (text or label) if _REFERENCES & self.plugins.keys() else None

    def _variable(self, name: str) -> str:
        """The value of a variable of the macros plugin; empty for one that is computed."""
        value = self.option("extra", *name.split("."))
        return value if isinstance(value, str) else ""


def _named(given: Any) -> dict[str, Any]:
    """The options of plugins or extensions, which are a list of names and of mappings, or one mapping."""
    found: dict[str, Any] = {}
    for one in listed(given):
        named = {one: {}} if isinstance(one, str) else mapping(one)
        found |= {str(name): mapping(options) for name, options in named.items()}
    for package in _PACKAGES & found.keys():  # `[markdown_extensions.pymdownx.keys]` of TOML is nested
        found |= {f"{package}.{name}": mapping(one) for name, one in found[package].items()}
    return found


def _entries(nav: Any, above: tuple[str, ...], depth: int = 0) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The path, the title and the titles above it of each page in a `nav`."""
    for item in nav if isinstance(nav, list) and depth < 20 else ():
        for title, value in item.items() if isinstance(item, dict) else [("", item)]:
            if isinstance(value, str):
                yield posixpath.normpath(value), plain_inline(str(title)), above
            else:
                yield from _entries(value, (*above, plain_inline(str(title))), depth + 1)


def _without_alt(heading: re.Match[str]) -> str:
    """A heading with the text of its anchor: its own text without the descriptions of its images."""
    return heading[0] if "{#" in heading[0] else f"{heading[0].rstrip()} {{#~{_IMAGE.sub('', heading[1]).strip()}}}"


def _only_runs(code: str) -> bool:
    """Whether markdown-exec runs a block of code when the site is made, and shows only its output."""
    opening = FENCE.match(code)
    return opening is not None and bool(_RUN.search(opening["info"]))


def _attributes(found: re.Match[str]) -> str:
    """What stays of an attribute list: the id, at the end of a heading. All stays of braces that are no such list.

    In running text a list belongs to the link, image, code or emphasis just before it.
    """
    text, begin = found.string, found.start()
    if found["formula"]:
        return found[0]
    end = _LINE_END.match(text, found.end())
    reach = max(0, begin - 1_000)  # a hostile page has many lists in one long line
    line = max(reach, text.rfind("\n", reach, begin) + 1)
    if end is not None and (end["setext"] or text.startswith("#", line)):
        return own_id(found["list"] or found["words"])
    of_inline = text[begin - 1 : begin] in (*")]*_`>:\0", "")
    return "" if of_inline or found[0][1] == ":" or _HAS_ATTRIBUTES.match(text, line, begin) else found[0]


def _key(name: re.Match[str]) -> str:
    return unescape(name[0].strip('"')) if name[0].startswith('"') else name[0].replace("-", " ").title()
