"""Hugo: gohugo.io/content-management/urls, /page-bundles and /organization."""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rag.ingest.anchors import HeadingText, github_anchors, typeset_anchors
from rag.ingest.dialects import without_shortcodes
from rag.ingest.fences import fenced, language_of
from rag.ingest.formats.text_files import front_matter
from rag.ingest.includes import Includes
from rag.ingest.page_draft import PageDraft
from rag.ingest.sites.config_files import as_text, config_options, is_false, is_true, listed, mapping, option
from rag.ingest.sites.site_rules import PageFile, Site
from rag.ingest.source_files import is_file, resolved

_DROPPED: Final = re.compile(r"[^\w./\\#+~@ -]")
_BLOCK_ATTRIBUTES: Final = re.compile(
    r"^\{[ ]*(?:[.#][^{}\n]*|[\w-]+=(?:\"[^\"\n]*\"|'[^'\n]*')[^{}\n]*)\}[ ]*$\n?", re.MULTILINE
)
_ENDINGS: Final = (".toml", ".yaml", ".yml", ".json")
_WHOLE: Final = ("hugo", "config")  # the names of files with options of all sections
_SECTIONS: Final = ("languages", "permalinks", "module", "markup")
_TRANSLATION: Final = re.compile(r"\.[a-z]{2}(?:-[a-z]{2})?$", re.IGNORECASE)


class Hugo(Site):
    """Lower-case addresses with a folder for each page, and GitHub's anchors."""

    name = "hugo"
    configurations = tuple(
        f"{folder}{name}{ending}" for folder in ("", "config/_default/") for name in _WHOLE for ending in _ENDINGS
    )
    kinds = frozenset({".md", ".markdown"})

    @cached_property
    def options(self) -> dict[str, Any]:
        """The configuration, with the names of options in lower case. The files of `config/_default` add to it."""
        found = mapping(_lower(config_options(self.config)))
        for name in (*_WHOLE, *_SECTIONS) if self.config is not None else ():
            folder = self.home / "config" / "_default"
            file = next((f for end in _ENDINGS if is_file(f := folder / f"{name}{end}")), None)
            options = mapping(_lower(config_options(file))) if file != self.config else {}
            found |= options if name in _WHOLE else {name: options} if options else {}
        return found

    @property
    def home(self) -> Path:
        """The folder of the site."""
        if self.config is None:
            return self.source
        return self.config.parents[2] if self.config.parent.name == "_default" else self.config.parent

    @cached_property
    def content(self) -> Path:
        folders = [self.home / folder for folder in self._language_folders.values()]
        folders.append(self.home / (as_text(self.options.get("contentdir")) or "content"))
        if self.config is None:
            return folders[-1] if folders[-1].is_dir() else self.source
        return resolved(next((f for f in folders if self.source.is_relative_to(f)), folders[0]))

    def covers(self) -> bool:
        """A `config.toml` may be of any program; that of Hugo says something, or its pages are in `content`."""
        return super().covers() and (
            self.config is None or self.config.stem == "hugo" or self.content.name == "content"
        )

    @property
    def _language(self) -> str:
        return str(self.options.get("defaultcontentlanguage") or "en").lower()

    @cached_property
    def _language_folders(self) -> dict[str, str]:
        """The content folders of the languages that name one, the default language's first."""
        languages = mapping(self.options.get("languages"))
        found = {name: folder for name in languages if (folder := as_text(option(languages, name, "contentdir")))}
        return dict(sorted(found.items(), key=lambda item: item[0] != self._language))

    @cached_property
    def _prefix(self) -> str:
        """The language in the addresses of the content folder: that of another language, or where all have theirs."""
        folders = {resolved(self.home / folder): name for name, folder in self._language_folders.items()}
        language = folders.get(self.content, self._language)
        is_prefixed = is_true(self.options.get("defaultcontentlanguageinsubdir")) or language != self._language
        return f"/{language}" if is_prefixed and self.config is not None else ""

    def is_page(self, file: Path) -> bool:
        if not file.is_relative_to(self.content):
            return False
        if _TRANSLATION.search(file.stem) and not file.stem.endswith(f".{self._language}"):
            return False  # `page.fr.md`
        folders = [folder for folder in file.parents if folder.is_relative_to(self.content) and folder != self.content]
        # Files beside `index.md`, or below it, belong to that page.
        return not any(is_file(f / "index.md") and f / "index.md" != file for f in folders)

    def is_published(self, page: PageFile) -> bool:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        begins, ends = (str(page.fields.get(name) or "")[:10] for name in ("publishDate", "expiryDate"))
        begins = begins or str(page.fields.get("date") or "")[:10]
        if page.is_set("draft") or page.is_set("headless") or begins > today or (ends and ends < today):
            return False
        rules = [page.fields, *(listed(page.fields.get("cascade")) if page.file.stem == "_index" else ())]
        render = [option(one, name, "render") for one in rules for name in ("build", "_build")]
        return not any(one in ("never", "link") or is_false(one) for one in render)

    def site_path(self, page: PageFile) -> str:
        if url := page.text_field("url"):
            return f"{self._prefix}/{url.lstrip('/')}"
        inner = posixpath.splitext(self.inner(page.file))[0].removesuffix(f".{self._language}")
        folder, stem = posixpath.split(inner)
        slug = page.text_field("slug")
        template = as_text(option(self.options.get("permalinks"), folder.split("/")[0].lower()))
        template = template or as_text(self.option("permalinks", "page", folder.split("/")[0].lower()))
        is_bundle = stem in ("index", "_index")
        if template and stem != "_index":
            return self._prefix + _filled(template, page, folder, slug or stem)
        if slug and stem == "index":
            folder = posixpath.join(posixpath.dirname(folder), slug)
        path = self._sanitized(folder if is_bundle else posixpath.join(folder, slug or stem))
        if is_true(self.options.get("uglyurls")) and not is_bundle:
            return f"{self._prefix}/{path}.html"
        return f"{self._prefix}/{path}/" if path else f"{self._prefix}/"

    def _sanitized(self, path: str) -> str:
        kept = _DROPPED.sub("", path).replace(" ", "-")
        return kept if is_true(self.options.get("disablepathtolower")) else kept.lower()

    def target(self, page: PageFile, path: str) -> PageFile | None:
        """A page by its file or its address, in any case, from the page's place, the content folder, or by its name."""
        if found := super().target(page, path):
            return found
        whole = posixpath.normpath(path.strip("/")).lower()
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self.inner(page.file)), path)).lower()
        places = (whole,) if path.startswith("/") else (beside, whole, f"*{whole}")
        return next((self._by_name[name] for name in places if name in self._by_name), None)

    @cached_property
    def _by_name(self) -> dict[str, PageFile]:
        """The pages by their paths in lower case, with and without endings, by aliases, and by `*` and their names."""
        found: dict[str, PageFile] = {}
        for page in self.pages.values():
            name, _ = posixpath.splitext(path := self.inner(page.file).lower())
            folder, stem = posixpath.split(name)
            names = [path, folder if stem in ("index", "_index") else name, f"*{posixpath.basename(name)}"]
            for one in [*names, *(str(alias).strip("/").lower() for alias in listed(page.fields.get("aliases")))]:
                found.setdefault(one, page)
        return found

    def link(self, page: PageFile, destination: str) -> str:
        """The address of a link. A single word that names no page means something only to a theme, so the link goes."""
        is_word = bool(re.fullmatch(r"[\w-]+", destination)) and self.target(page, destination) is None
        return "" if is_word else super().link(page, destination)

    def site_title(self) -> str:
        return as_text(self.option("languages", self._language, "title")) or as_text(self.options.get("title"))

    def folder_title(self, folder: Path) -> str:
        page = self.by_file.get(folder / "_index.md")
        title = (page.text_field("title") or page.text_field("linkTitle")) if page else ""
        return title or super().folder_title(folder)

    def anchors(self, headings: Sequence[HeadingText]) -> list[str]:
        typographer = self.option("markup", "goldmark", "extensions", "typographer")
        off = is_false(typographer) or is_true(option(typographer, "disable"))
        return github_anchors(headings) if off else typeset_anchors(headings)

    def expanded(self, page: PageFile, includes: Includes) -> str:
        def included(name: str) -> str:
            text = includes.read(name.lstrip("/"), self.content, page.file.parent, self.home)
            if text is None:
                return ""
            if posixpath.splitext(name)[1].lower() not in (".md", ".markdown", ".html", ".txt", ""):
                return f"\n{fenced(text.strip(chr(10)), language_of(name))}\n"
            return without_shortcodes(front_matter(text)[1]).strip("\n")

        return without_shortcodes(page.body, included)

    def rewrite(self, draft: PageDraft, page: PageFile) -> None:
        draft.text = _BLOCK_ATTRIBUTES.sub("", draft.text)


def _lower(options: Any) -> Any:
    """Options with their names in lower case, at any depth."""
    if isinstance(options, list):
        return [_lower(one) for one in options]
    return {str(key).lower(): _lower(one) for key, one in options.items()} if isinstance(options, dict) else options


def _filled(template: str, page: PageFile, folder: str, name: str) -> str:
    """The address that a template such as `/:year/:slug/` makes."""
    date = str(page.fields.get("date") or "0001-01-01")
    values = {"year": date[:4], "month": date[5:7], "day": date[8:10], "title": page.text_field("title")}
    values |= {"section": folder.split("/")[0], "sections": folder}
    values |= dict.fromkeys(("slug", "slugorfilename", "slugorcontentbasename", "filename", "contentbasename"), name)
    filled = re.sub(r":(\w+)", lambda match: values.get(match[1], ""), template)
    return "/" + _DROPPED.sub("", filled).replace(" ", "-").lower().lstrip("/")
