"""Hugo: gohugo.io/content-management/urls, /page-bundles, /build-options and /organization."""

from __future__ import annotations

import datetime
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rag.ingest.anchors import HeadingText, goldmark_anchors
from rag.ingest.dialects import with_own_ids
from rag.ingest.generators.config_files import as_text, config_options, is_false, is_true, listed, mapping, option
from rag.ingest.generators.generator import Generator, PageFile
from rag.ingest.generators.shortcodes import ShortcodePage, expand_shortcodes
from rag.ingest.includes import Includes
from rag.ingest.page_draft import PageDraft
from rag.ingest.source_files import is_file, is_folder, resolved

_DROPPED: Final = re.compile(r"[^\w./\\#+~@ -]")
_BLOCK_ATTRIBUTES: Final = re.compile(
    r"^\{[ ]*(?:[.#][^{}\n]*|[\w-]+=(?:\"[^\"\n]*\"|'[^'\n]*')[^{}\n]*)\}[ ]*$\n?", re.MULTILINE
)
_ENDINGS: Final = (".toml", ".yaml", ".yml", ".json")
_WHOLE: Final = ("hugo", "config")  # the names of files with options of all sections
_FOLDERS: Final = ("config/_default", "config/production")  # a later one counts more
_SECTIONS: Final = ("languages", "permalinks", "module", "markup", "params")


class Hugo(Generator):
    """Lower-case addresses with a folder for each page, shortcodes, and GitHub's anchors."""

    name = "hugo"
    configurations = tuple(
        f"{folder}{name}{ending}" for folder in ("", "config/_default/") for name in _WHOLE for ending in _ENDINGS
    )

    sign = ("a shortcode", re.compile(r"\{\{[<%]\s*/?[\w./-]+[^{}]*[>%]\}\}"))

    @classmethod
    def own_file(cls, source: Path, files: Sequence[Path]) -> Path | None:
        return next((file for file in files if file.name == "_index.md"), None)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The configuration, with the names of options in lower case. Files of the folder `config` add to it."""
        found = mapping(_lower(config_options(self.config)))
        if self.config is None:
            return found
        for folder in _FOLDERS:
            for name in (*_WHOLE, *_SECTIONS):
                file = next((f for end in _ENDINGS if is_file(f := self.home / folder / f"{name}{end}")), None)
                options = mapping(_lower(config_options(file))) if file is not None and file != self.config else {}
                for key, value in (options if name in _WHOLE else {name: options} if options else {}).items():
                    old = found.get(key)
                    found[key] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
        return found

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
        mounts = [mapping(one) for one in listed(self.option("module", "mounts"))]
        return [str(one.get("source") or "content") for one in mounts if str(one.get("target")).strip("/") == "content"]

    @property
    def _language(self) -> str:
        return str(self.options.get("defaultcontentlanguage") or "en").lower()

    @cached_property
    def _language_folders(self) -> dict[str, str]:
        """The content folders of the languages that name one, the default language's first."""
        languages = mapping(self.options.get("languages"))
        found = {name: folder for name in languages if (folder := as_text(option(languages, name, "contentdir")))}
        return dict(sorted(found.items(), key=lambda item: item[0] != self._language))

    @property
    def _prefix(self) -> str:
        """The language in the addresses of the content folder: that of another language, or where all have theirs."""
        folders = {resolved(self.home / folder): name for name, folder in self._language_folders.items()}
        language = folders.get(self.content, self._language)
        is_prefixed = is_true(self.options.get("defaultcontentlanguageinsubdir")) or language != self._language
        return f"/{language}" if is_prefixed and self.config is not None else ""

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
        """A section's page may say that no page below it is built."""
        hidden = [page.file.parent for page in pages if any(map(_is_unbuilt, listed(page.fields.get("cascade"))))]
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
        templates = self.option("permalinks", "page") or self.options.get("permalinks")
        found = as_text(option(templates, inner.split("/")[0].lower()))
        return found if posixpath.basename(inner) != "_index" else ""

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """A page by its file, its address or an alias, in any case, from the page's place or the content folder."""
        if found := super().target(page, path):
            return found
        whole = posixpath.normpath(path.strip("/")).lower()
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self._place(page)), path)).lower()
        places = (whole,) if path.startswith("/") else (beside, whole, f"*{whole}")
        return next((self._by_name[name] for name in places if name in self._by_name), None)

    @cached_property
    def _by_name(self) -> dict[str, PageFile]:
        """The pages by their paths in lower case, with and without endings, and those of folders by the folder.

        A name that only one page has leads to it from anywhere, as in `relref`; it has a star before it.
        """
        found: dict[str, PageFile] = {}
        for page in self.pages.values():
            path = self.inner(page.file).lower()
            name = posixpath.splitext(path)[0]
            folder, stem = posixpath.split(name)
            names = (path, name, folder) if stem in ("index", "_index") else (path, name)
            for one in names:
                found.setdefault(one, page)
        counts = Counter(map(posixpath.basename, found))
        return found | {f"*{name}": page for one, page in found.items() if counts[name := posixpath.basename(one)] == 1}

    def link(self, page: PageFile, destination: str) -> str:
        """The address of a link. A single word that names no page means something only to a theme, so the link goes."""
        address = super().link(page, destination)
        is_word = bool(re.fullmatch(r"[\w-]+", destination)) and self.target(page, destination) is None
        return "" if is_word else address

    def other_names(self, page: PageFile) -> Iterable[object]:
        return listed(page.fields.get("aliases"))

    def site_title(self) -> str:
        return as_text(self.option("languages", self._language, "title")) or as_text(self.options.get("title"))

    def folder_title(self, folder: Path) -> str:
        page = self._by_file.get((folder / "_index.md").relative_to(self.content).as_posix())
        title = (page.text_field("title") or page.text_field("linkTitle")) if page else ""
        return title or super().folder_title(folder)

    # Syntax

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        goldmark = self.option("markup", "goldmark")
        if is_false(option(goldmark, "parser", "autoheadingid")):
            return [heading.custom or "" for heading in headings]
        kinds = (as_text(option(goldmark, "parser", name)) for name in ("autoheadingidtype", "autoidtype"))
        typographer = option(goldmark, "extensions", "typographer")
        off = is_false(typographer) or is_true(option(typographer, "disable"))
        return goldmark_anchors(headings, kind=next(filter(None, kinds), ""), typographer=not off)

    def expanded(self, page: PageFile, includes: Includes) -> str:
        folders = (self.content, page.file.parent, self.home)
        params = mapping(self.options.get("params"))
        return expand_shortcodes(page.body, ShortcodePage(page, folders, includes, params))

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.text = _BLOCK_ATTRIBUTES.sub("", with_own_ids(draft.text))


def _lower(options: Any) -> Any:
    """Options with their names in lower case, at any depth."""
    if isinstance(options, list):
        return [_lower(one) for one in options]
    return {str(key).lower(): _lower(one) for key, one in options.items()} if isinstance(options, dict) else options


def _date(value: object) -> str:
    """A date of the front matter as `2024-01-31`; empty for anything else."""
    found = re.match(r"\d{4}-\d{2}-\d{2}", str(value or ""))
    return found[0] if found else ""


def _is_unbuilt(fields: object) -> bool:
    render = option(fields, "build", "render") or option(fields, "_build", "render")
    return render in ("never", "link") or is_false(render)


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
