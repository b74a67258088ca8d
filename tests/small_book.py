"""A small book that exists in every format: `tests/data/small_book`. The EPUB is made here, from the pages below."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "data" / "small_book"
_CONTAINER: Final = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
_PACKAGE: Final = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Small Book of Robots</dc:title></metadata>
<manifest><item id="toc" href="toc.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>{items}</manifest>
<spine toc="ncx"><itemref idref="toc"/>{spine}</spine></package>"""
_PAGE: Final = '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'


def chapters() -> dict[str, str]:
    """The HTML of each chapter of the small book, by its name: the book's beginning and its three sections."""
    html = (FOLDER / "book.html").read_text()
    main = html[html.index("<main>") + 6 : html.index("</main>")].replace('<section id="sensing">', "")
    parts = re.split(r"(?=<h2)", main.replace("</section>", ""))
    return {f"text/chapter-{n}.xhtml": part for n, part in enumerate(parts)}


def epub(file: Path, pages: Mapping[str, str], extra: Mapping[str, bytes] | None = None) -> Path:
    """Write an EPUB with these pages in its spine, in reverse order in the archive, and `extra` files."""
    labels = {
        name: (re.findall(r"<h[12][^>]*>(.*?)<a|<h[12][^>]*>.*?>(.*?)<|<h[12][^>]*>(.*?)<", body) or [("",)])[0]
        for name, body in pages.items()
    }
    entries = "".join(f'<li><a href="{name}#x">{"".join(label)}</a></li>' for name, label in labels.items())
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(pages)))
    files = {
        "META-INF/container.xml": _CONTAINER.encode(),
        "OEBPS/book.opf": _PACKAGE.format(items=items, spine=spine).encode(),
        "OEBPS/toc.xhtml": _PAGE.format(body=f'<nav role="toc"><ol>{entries}</ol></nav>').encode(),
        **{f"OEBPS/{name}": _PAGE.format(body=body).encode() for name, body in reversed(list(pages.items()))},
        **(extra or {}),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file
