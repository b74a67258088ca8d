"""EPUB books (w3.org/TR/epub-33): the chapters in the order of the spine, with the titles of the table of contents."""

from __future__ import annotations

import io
import lzma
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from rag.ingest.formats.file_format import LARGEST, LoadedText
from rag.ingest.formats.html_files import drop_furniture, parsed_html
from rag.ingest.formats.html_markdown import markdown_of
from rag.ingest.formats.html_tree import Element, shape, words
from rag.ingest.text_form import one_form

UNPACKED: Final = 100_000_000  # bytes that are read of all chapters
ENTRIES: Final = 10_000  # chapters, and entries of the table of contents
DEPTH: Final = 20  # levels of the table of contents
_BROKEN: Final = "it is not an EPUB, or it is broken"
# What zipfile and the libraries that unpack raise for damaged archives; `LZMAError` has no other base.
_DAMAGES: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError, OSError, ValueError)
# The titles of the table of contents: for each file of the book its own, and those above it.
_Contents = dict[str, tuple[str, tuple[str, ...]]]


def epub_texts(raw: bytes) -> list[LoadedText]:
    """A text for each chapter that has words or is missing, without anchors. Raises `ValueError` if none has words."""
    try:
        file = zipfile.ZipFile(io.BytesIO(raw))
    except _DAMAGES as error:
        raise ValueError(_BROKEN) from error
    with file:
        try:
            texts = list(_chapters(_Archive(file)))
        except KeyError as error:
            raise ValueError(_BROKEN) from error
    if not any(text.body for text in texts):
        raise ValueError("it has no text")
    return texts


@dataclass(slots=True)
class _Archive:
    """A zip file of which at most `UNPACKED` bytes are read."""

    file: zipfile.ZipFile
    left: int = UNPACKED

    def read(self, name: str) -> bytes:
        """Raises KeyError for a missing file, and ValueError for one that is encrypted or too large."""
        entry = self.file.getinfo(name)
        if entry.flag_bits & 1:
            raise ValueError("it is encrypted; save it without a password")
        try:
            with self.file.open(entry) as stream:  # the entry may state a false size
                content = stream.read(min(LARGEST, self.left) + 1)
        except _DAMAGES as error:
            raise ValueError(_BROKEN) from error
        self.left -= len(content)
        if len(content) > LARGEST or self.left < 0:
            raise ValueError(f"its texts are larger than {UNPACKED // 10**6} megabytes when they are unpacked")
        return content

    def xml(self, name: str) -> Element:
        """The root of a file of XML. Entities and external files are refused."""
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring

        content = self.read(name)
        try:
            return fromstring(content)
        except DefusedXmlException as error:
            raise ValueError("its XML defines entities, which are not read") from error
        except (ParseError, RecursionError, LookupError) as error:
            raise ValueError(_BROKEN) from error


def _chapters(archive: _Archive) -> Iterator[LoadedText]:
    package_name = next(
        (one.get("full-path", "") for one in _all(archive.xml("META-INF/container.xml"), "rootfile")), ""
    )
    if not package_name:
        raise ValueError(_BROKEN)
    package = archive.xml(package_name)
    items = {one.get("id", ""): one for one in _all(package, "item")}
    spine = [items[ref] for one in _all(package, "itemref") if (ref := one.get("idref", "")) in items][:ENTRIES]
    chapters = [one for one in spine if "html" in one.get("media-type", "") and "nav" not in one.get("properties", "")]
    names = [_inside(package_name, one.get("href", "")) for one in chapters]
    _refuse_protected(archive, set(names))
    contents = _table_of_contents(archive, package_name, package, items)
    book = " ".join(one_form(next((_text(one) for one in _all(package, "title")), "")).split())
    for name in dict.fromkeys(filter(None, names)):
        try:
            body = parsed_html(archive.read(name)).find("body")
        except KeyError:
            yield LoadedText("", "plain", part=name, problem="the book lists this chapter, but its file is missing")
            continue
        drop_furniture(body)
        shape(body, anchors=False)
        if text := markdown_of(body):
            title, above = contents.get(name, ("", ()))
            yield LoadedText(text, "plain", {"title": title}, part=name, above=(*([book] if book else []), *above))


def _refuse_protected(archive: _Archive, names: set[str]) -> None:
    """Raise `ValueError` if chapters are encrypted. Fonts may be."""
    if "META-INF/encryption.xml" in archive.file.namelist():
        locked = {
            unquote(one.get("URI", "")) for one in _all(archive.xml("META-INF/encryption.xml"), "CipherReference")
        }
        if names & locked:
            raise ValueError("its text is encrypted, as books with copy protection are")


def _table_of_contents(archive: _Archive, package_name: str, package: Element, items: dict[str, Any]) -> _Contents:
    """The titles in the navigation document of EPUB 3, or in the NCX of EPUB 2; none if it is missing or broken."""
    contents: _Contents = {}
    spine = next(_all(package, "spine"), None)
    ncx = items.get(spine.get("toc", "")) if spine is not None else None
    document = next((one for one in items.values() if "nav" in one.get("properties", "").split()), ncx)
    if document is None:
        return contents
    name = _inside(package_name, document.get("href", ""))
    try:
        if document is ncx:
            _enter(next(_all(archive.xml(name), "navMap"), ()), "navPoint", name, contents, ())
        else:
            for navigation in parsed_html(archive.read(name)).iter("nav"):
                if "toc" in str(navigation.get("epub:type") or navigation.get("role") or "toc"):
                    _enter(navigation.find("ol"), "li", name, contents, ())
    except KeyError:
        pass
    return contents


def _enter(level: Any, kind: str, base: str, contents: _Contents, above: tuple[str, ...]) -> None:
    """Enter the titles of a level of the table, whose items are `li` or `navPoint`, and of those below it."""
    for item in level if level is not None and len(above) < DEPTH else ():
        if not _is(item, kind):
            continue
        title, target, inner = "", "", None
        for part in item:
            if kind == "li" and part.tag in ("a", "span"):
                title, target = words(part), str(part.get("href") or "")
            elif _is(part, "ol"):
                inner = part
            elif _is(part, "navLabel"):
                title = " ".join(_text(part).split())
            elif _is(part, "content"):
                target = part.get("src", "")
        title, name = one_form(title), _inside(base, target)
        if name and title and len(contents) < ENTRIES:
            contents.setdefault(name, (title, above))
        _enter(item if kind == "navPoint" else inner, kind, base, contents, (*above, title) if title else above)


def _inside(base: str, target: str) -> str:
    """The name in the archive of a file that another one names; empty if it would lie outside."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(target.partition("#")[0])))
    return "" if path.startswith(("/", "../")) or path in (".", "..") else path


def _all(root: Element, name: str) -> Iterator[Element]:
    """The elements of a name in any namespace."""
    return (one for one in root.iter() if _is(one, name))


def _is(element: Element, name: str) -> bool:
    return isinstance(element.tag, str) and element.tag.rpartition("}")[2] == name


def _text(element: Element) -> str:
    return "".join(element.itertext())
