"""Documents of Word, OpenDocument, PowerPoint and RTF, which the library anydoc writes as Markdown."""

from __future__ import annotations

import re
from typing import Final

from rag.ingest.fences import fenced_lines
from rag.ingest.formats.file_format import LoadedText
from rag.ingest.text_form import one_form

LONGEST: Final = 20_000_000  # characters
_HEADING: Final = re.compile(r"(#{1,6} .*?)\s*")


def office_texts(raw: bytes) -> list[LoadedText]:
    """The whole document as one text; its headings have no anchors. Raises `ValueError` if it cannot be read."""
    import anydoc

    try:
        text = one_form(anydoc.to_markdown_bytes(raw))
    except anydoc.EncryptedError:
        raise ValueError("it is encrypted; save it without a password") from None
    except anydoc.ResourceLimitError as error:
        raise ValueError(f"it becomes too large when it is unpacked ({error.limit}); split it") from None
    except anydoc.ConvertError:
        raise ValueError("it is not a document of an office program, or it is broken") from None
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters; split it")
    if not any(map(str.isalnum, text)):
        raise ValueError("it has no text")
    lines = text.split("\n")
    code = fenced_lines(lines)
    for n, line in enumerate(lines):
        if n not in code and (heading := _HEADING.fullmatch(line)):
            lines[n] = f"{heading[1]} {{#}}"
    return [LoadedText("\n".join(lines), "plain")]
