"""Documents of office programs become Markdown without anchors, and each failure of the library is one line."""

from __future__ import annotations

import io
import sys
import zipfile
from types import SimpleNamespace
from typing import Any

import pytest

from rag.ingest.formats.office_files import office_texts


class FailedError(Exception):
    limit = "max_entry_bytes"


class LockedError(FailedError):
    pass


class LargeError(FailedError):
    pass


def read(monkeypatch: pytest.MonkeyPatch, found: str | Exception) -> str:
    """What is read where the library writes or raises this."""

    def write(raw: bytes) -> str:
        if isinstance(found, Exception):
            raise found
        return found

    library: Any = SimpleNamespace(
        to_markdown_bytes=write, ConvertError=FailedError, EncryptedError=LockedError, ResourceLimitError=LargeError
    )
    monkeypatch.setitem(sys.modules, "anydoc", library)
    return office_texts(b"")[0].body


def test_headings_have_no_anchors_and_code_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, "# A\n\ncafe\u0301\n\n```\n# b\n```") == "# A {#}\n\ncafé\n\n```\n# b\n```"


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (FailedError(), "it is not a document of an office program, or it is broken"),
        (LockedError(), "it is encrypted; save it without a password"),
        (LargeError(), "it becomes too large when it is unpacked"),
        (" \n", "it has no text"),
    ],
)
def test_what_cannot_be_read_is_one_line(found: str | Exception, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=says):
        read(monkeypatch, found)


TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="'
    'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def test_a_document_of_word_is_read() -> None:
    pytest.importorskip("anydoc", reason="the extra office is not installed")
    words = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", LINKS)
        archive.writestr("word/document.xml", f"{words}Robots act.</w:t></w:r></w:p></w:body></w:document>")
    assert office_texts(file.getvalue())[0].body.strip() == "Robots act."
