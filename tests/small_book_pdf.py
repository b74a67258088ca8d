"""Writes `tests/data/small_book/book.pdf`, the small book as a printed one: python -m tests.small_book_pdf

Pages have a running title and a number, headings are in the outline, and paragraphs run over the end of a page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib.pagesizes import A6
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    ListFlowable,
    ListItem,
    PageTemplate,
    Paragraph,
    Preformatted,
    Table,
)

FOLDER = Path(__file__).parent / "data" / "small_book"
STYLES = getSampleStyleSheet()
CODE = ParagraphStyle("code", fontName="Courier", fontSize=7, leading=9, leftIndent=8)


class Book(BaseDocTemplate):  # type: ignore[misc]
    """A document whose headings become its outline."""

    def afterFlowable(self, flowable: Any) -> None:
        level = {"Heading1": 0, "Heading2": 1, "Heading3": 2}.get(getattr(getattr(flowable, "style", None), "name", ""))
        if level is not None:
            key = f"heading-{id(flowable)}"
            self.canv.bookmarkHorizontal(key, 0, flowable.height)
            self.canv.addOutlineEntry(flowable.getPlainText(), key, level)


def numbered(canvas: Canvas, document: Any) -> None:
    canvas.setFont("Helvetica", 7)
    canvas.drawString(40, A6[1] - 25, "The Small Book of Robots")
    canvas.drawCentredString(A6[0] / 2, 20, str(document.page))


def inline(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", escape(" ".join(text.split())))
    return re.sub(r"`([^`]+)`", r'<font name="Courier">\1</font>', text)


def flowable(block: str) -> Any:
    first = block.split("\n")[0]
    if heading := re.match(r"(#+) (.*)", first):
        return Paragraph(inline(heading[2]), STYLES[f"Heading{len(heading[1])}"])
    if block.startswith("```"):
        return Preformatted("\n".join(block.split("\n")[1:-1]), CODE)
    if block.startswith("|"):
        rows = [line.strip("| ").split(" | ") for line in block.split("\n")]
        return Table([row for row in rows if not row[0].startswith("---")], hAlign="LEFT")
    if re.match(r"- |\d\. ", first):
        items = [ListItem(Paragraph(inline(line.split(" ", 1)[1]), STYLES["Normal"])) for line in block.split("\n")]
        return ListFlowable(
            items, bulletType="bullet" if first[0] == "-" else "1", bulletFormat=None if first[0] == "-" else "%s."
        )
    return Paragraph(inline(block), STYLES["Normal"])


def main() -> None:
    text = (FOLDER / "book.md").read_text()
    blocks = [block for block in re.split(r"\n\n(?!    )", text.strip())]
    book = Book(str(FOLDER / "book.pdf"), pagesize=A6, title="The Small Book of Robots", invariant=1)
    frame = Frame(30, 35, A6[0] - 60, A6[1] - 70)
    book.addPageTemplates([PageTemplate(frames=[frame], onPage=numbered)])
    book.build([flowable(block) for block in blocks])


if __name__ == "__main__":
    main()
