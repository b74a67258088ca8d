"""Hugo: gohugo.io/content-management/urls, /page-bundles, /build-options and /organization."""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rag.ingest.admonitions import alerts
from rag.ingest.anchors import HeadingText, goldmark_anchors
from rag.ingest.generators.config_files import as_text, is_false, is_true
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.hugo_config import hugo_options
from rag.ingest.generators.shortcodes import ShortcodePage, expand_shortcodes
from rag.ingest.includes import Allowance
from rag.ingest.masking import PageDraft
from rag.ingest.source_files import is_file, is_folder, read_inside, resolved

_SHORTCODE: Final = re.compile(r"\{\{[<%]\s*/?[\w./-]+[^{}]*[>%]\}\}")
_DROPPED: Final = re.compile(r"[^\w./\\#+~@ -]")
_BLOCK_ATTRIBUTES: Final = re.compile(r"^\{[ ]*[.#][^{}\n]*\}[ ]*$\n?", re.MULTILINE)
_CONFIGS: Final = tuple(
    f"{folder}{name}.{suffix}"
    for folder in ("", "config/_default/")
    for name in ("hugo", "config")
    for suffix in ("toml", "yaml", "yml", "json")
)


class Hugo(Generator):
    """Lower-case addresses with a folder for each page, shortcodes, and GitHub's anchors."""

    name = "hugo"
    configurations = _CONFIGS

    @classmethod
    def recognises(cls, source: Path, files: Sequence[Path]) -> str:
        for file in files:
            if file.name == "_index.md":
                return file.relative_to(source).as_posix()
        for file in files:
            if file.suffix.lower() != ".rst" and _SHORTCODE.search(read_inside(source, file) or ""):
                return f"a shortcode in {file.relative_to(source).as_posix()}"
        return ""

    @cached_property
    def options(self) -> dict[str, Any]:
        return hugo_options(self.home, self.config)

    @property
    def home(self) -> Path:
        """The folder of the site."""
        if self.config is None:
            return self.source
        return self.config.parents[2] if self.config.parent.name == "_default" else self.config.parent

    @property
    def include_root(self) -> Path:
        return self.source if self.config is None else self.home

    @cached_property
    def content(self) -> Path:
        usual = self.options.get("contentdir") or "content"
        folders = [self.home / str(folder) for folder in (*self._language_folders.values(), *self._mounts, usual)]
        if self.config is None:
            return next((folder for folder in folders if is_folder(folder)), self.source)
        return resolved(next((f for f in folders if self.source.is_relative_to(f)), folders[0]))

    @property
    def _mounts(self) -> list[str]:
        """The folders that the configuration mounts as the content."""
        module = self.options.get("module")
        mounts = module.get("mounts") if isinstance(module, dict) else None
        found = [one for one in mounts if isinstance(one, dict)] if isinstance(mounts, list) else []
        return [str(one.get("source") or "content") for one in found if str(one.get("target")).strip("/") == "content"]

    @property
    def _language(self) -> str:
        return str(self.options.get("defaultcontentlanguage") or "en")

    @cached_property
    def _language_folders(self) -> dict[str, str]:
        """The content folders of the languages that name one, the default language's first."""
        languages = self.options.get("languages")
        found: dict[str, str] = {}
        for name, options in languages.items() if isinstance(languages, dict) else ():
            given = options.items() if isinstance(options, dict) else ()
            folder = next((value for key, value in given if key.lower() == "contentdir"), "")
            if isinstance(folder, str) and folder:
                found[name] = folder
        return dict(sorted(found.items(), key=lambda item: item[0] != self._language))

    @property
    def _prefix(self) -> str:
        """The language in the addresses of the content folder: that of another language, or where all have theirs."""
        folders = {resolved(self.home / folder): name for name, folder in self._language_folders.items()}
        language = folders.get(self.content, self._language)
        is_prefixed = is_true(self.options.get("defaultcontentlanguageinsubdir")) or language != self._language
        return f"/{language.lower()}" if is_prefixed and self.config is not None else ""

    # Pages

    def covers(self) -> bool:
        return super().covers() and (bool(self.options) or self.content.name == "content")

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content) or file.suffix not in (".md", ".markdown"):
            return False
        if re.search(r"\.[a-z]{2}(?:-[a-z]{2})?$", file.stem.lower()) and not file.stem.endswith(f".{self._language}"):
            return False  # a translation: `page.fr.md`
        folders = [folder for folder in file.parents if folder.is_relative_to(self.content) and folder != self.content]
        # Files beside `index.md`, or below it, belong to that page.
        return not any(is_file(f / "index.md") and f / "index.md" != file for f in folders)

    def is_published(self, page: PageFile) -> bool:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        begins = _date(page.fields.get("publishDate") or page.fields.get("date"))
        ends = _date(page.fields.get("expiryDate"))
        if page.is_set("draft") or page.is_set("headless") or begins > today or (ends and ends < today):
            return False
        return not _is_unbuilt(page.fields)

    def enter(self, pages: Collection[PageFile], base_url: str | None) -> None:
        super().enter(pages, base_url)
        hidden = [page.file.parent for page in pages if _is_cascading(page)]
        kept = [page for page in pages if not any(page.file.is_relative_to(folder) for folder in hidden)]
        super().enter(kept, base_url)

    # Addresses

    def site_path(self, page: PageFile) -> str:
        return self._prefix + self._path(page)

    def _path(self, page: PageFile) -> str:
        """The address of a page in its language."""
        url = page.text_field("url")
        if url:
            return "/" + url.lstrip("/")
        inner = posixpath.splitext(self.inner(page.file))[0].removesuffix(f".{self._language}")
        folder, stem = posixpath.split(inner)
        is_bundle = stem in ("index", "_index")
        slug = page.text_field("slug")
        if template := self._template(inner):
            return _filled(template, page, folder, slug or stem)
        if slug and is_bundle and stem == "index":
            folder = posixpath.join(posixpath.dirname(folder), slug)
        path = self._sanitized(folder if is_bundle else posixpath.join(folder, slug or stem))
        if is_true(self.options.get("uglyurls")) and not is_bundle:
            return f"/{path}.html"
        return f"/{path}/" if path else "/"

    def _sanitized(self, path: str) -> str:
        kept = _DROPPED.sub("", path).replace(" ", "-")
        return kept if is_true(self.options.get("disablepathtolower")) else kept.lower()

    def _template(self, inner: str) -> str:
        """The address of the pages of a section as the configuration has it; empty if it has none."""
        templates = self.options.get("permalinks")
        if isinstance(templates, dict) and isinstance(templates.get("page"), dict):
            templates = templates["page"]
        found = templates.get(inner.split("/")[0]) if isinstance(templates, dict) else None
        return found if isinstance(found, str) and posixpath.basename(inner) != "_index" else ""

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """A page by its file, its address or an alias, in any case, from the page's place or the content folder."""
        if (found := super().target(page, path)) or (found := self._aliases.get(path.strip("/"))):
            return found
        whole = posixpath.normpath(path.strip("/")).lower()
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self._place(page)), path)).lower()
        places = (whole,) if path.startswith("/") else (beside, whole)
        return next((self._by_name[name] for name in places if name in self._by_name), None)

    @cached_property
    def _by_name(self) -> dict[str, PageFile]:
        """The pages by their paths in lower case, with and without endings, and those of folders by the folder."""
        found: dict[str, PageFile] = {}
        for page in self.pages.values():
            path = self.inner(page.file).lower()
            name = posixpath.splitext(path)[0]
            folder, stem = posixpath.split(name)
            names = (path, name, folder) if stem in ("index", "_index") else (path, name)
            for one in names:
                found.setdefault(one, page)
        return found

    def link(self, page: PageFile, destination: str) -> str:
        """The address of a link. A single word that names no page means something only to a theme, so the link goes."""
        address = super().link(page, destination)
        is_word = bool(re.fullmatch(r"[\w-]+", destination)) and self.target(page, destination) is None
        return "" if is_word else address

    @cached_property
    def _aliases(self) -> dict[str, PageFile]:
        found = {}
        for page in self.pages.values():
            aliases = page.fields.get("aliases")
            for alias in aliases if isinstance(aliases, list) else ():
                found[str(alias).strip("/")] = page
        return found

    def site_title(self) -> str:
        languages = self.options.get("languages")
        own = languages.get(self._language) if isinstance(languages, dict) else None
        return as_text(own.get("title") if isinstance(own, dict) else None) or as_text(self.options.get("title"))

    def folder_title(self, folder: Path) -> str:
        page = self._by_file.get((folder / "_index.md").relative_to(self.content).as_posix())
        title = (page.text_field("title") or page.text_field("linkTitle")) if page else ""
        return title or super().folder_title(folder)

    # Syntax

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        if is_false(self._goldmark("parser", "autoheadingid")):
            return [heading.custom or "" for heading in headings]
        kind = as_text(self._goldmark("parser", "autoheadingidtype")) or as_text(self._goldmark("parser", "autoidtype"))
        typographer = self._goldmark("extensions", "typographer")
        off = is_false(typographer) or is_true(_lower_named(typographer, "disable"))
        return goldmark_anchors(headings, kind=kind, typographer=not off)

    def _goldmark(self, *names: str) -> Any:
        """An option of the section `markup.goldmark`; the case of its name does not count."""
        found: Any = self.options.get("markup")
        for name in ("goldmark", *names):
            found = _lower_named(found, name)
        return found

    def expanded(self, page: PageFile, allowance: Allowance) -> str:
        place = ShortcodePage(page, self.include_root, (self.content, page.file.parent, self.home), allowance)
        return expand_shortcodes(page.body, place)

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.text = alerts(_BLOCK_ATTRIBUTES.sub("", draft.text))


def _lower_named(options: Any, name: str) -> Any:
    """The option with that name in lower case; None where there is none."""
    found = options.items() if isinstance(options, dict) else ()
    return next((value for key, value in found if str(key).lower() == name), None)


def _date(value: object) -> str:
    """A date of the front matter as `2024-01-31`; empty for anything else."""
    found = re.match(r"\d{4}-\d{2}-\d{2}", str(value or ""))
    return found[0] if found else ""


def _is_unbuilt(fields: Mapping[str, Any]) -> bool:
    build = fields.get("build") or fields.get("_build")
    render = build.get("render") if isinstance(build, dict) else None
    return render in ("never", "link") or is_false(render)


def _is_cascading(page: PageFile) -> bool:
    """Whether a section's page says that no page below it is built."""
    cascade = page.fields.get("cascade")
    return any(isinstance(one, dict) and _is_unbuilt(one) for one in _listed(cascade))


def _listed(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list) else (value,)


def _filled(template: str, page: PageFile, folder: str, name: str) -> str:
    """The address that a template such as `/:year/:slug/` makes."""
    date = _date(page.fields.get("date")) or "0001-01-01"
    values = {
        "year": date[:4],
        "month": date[5:7],
        "day": date[8:10],
        "section": folder.split("/")[0],
        "sections": folder,
        "title": page.text_field("title"),
        **dict.fromkeys(("slug", "slugorfilename", "slugorcontentbasename", "filename", "contentbasename"), name),
    }
    filled = re.sub(r":(\w+)", lambda match: values.get(match[1], ""), template)
    return "/" + _DROPPED.sub("", filled).replace(" ", "-").lower().lstrip("/")
