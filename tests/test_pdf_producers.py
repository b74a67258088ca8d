"""What programs that make PDFs do differently: where they put marks, spaces, sizes, formulas and turned pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reportlab.lib.pagesizes import A5

from rag.ingest.formats.pdf_files import pdf_texts
from rag.ingest.formats.printed_lines import Bookmark
from tests.test_pdf import LONG, line, text, written

SENTENCE = ("The pump opens its valve when the pressure of the water rises,", "and closes it again.")


def body(file: Path) -> str:
    return pdf_texts(file.read_bytes())[0].body


def test_a_font_of_size_one_that_is_enlarged_has_the_size_that_is_seen(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.scale(10, 10)
        for y, words, size in ((50, "Pumps", 1.6), (47, SENTENCE[0], 1), (45.8, SENTENCE[1], 1)):
            canvas.setFont("Helvetica", 1)
            canvas.saveState()
            canvas.translate(4, y)
            canvas.scale(size, size)
            canvas.drawString(0, 0, words)
            canvas.restoreState()

    assert body(written(tmp_path / "a.pdf", draw)) == f"# Pumps {{#}}\n\n{' '.join(SENTENCE)}"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_is_read_as_it_is_seen(turn: int, tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        width, height = A5
        canvas.setPageRotation(turn)
        canvas.translate(*{90: (width, 0), 180: (width, height), 270: (0, height)}[turn])
        canvas.rotate(turn)
        canvas.setFont("Helvetica", 16)
        canvas.drawString(40, 380, "Pumps")
        canvas.setFont("Helvetica", 10)
        canvas.drawString(40, 340, SENTENCE[0])
        canvas.drawString(40, 328, SENTENCE[1])

    assert body(written(tmp_path / "a.pdf", draw)) == f"# Pumps {{#}}\n\n{' '.join(SENTENCE)}"


def with_unicode(code: str, *lines: tuple[str, int, int]) -> bytes:
    """A PDF in which the letter `~` stands for the character with the UTF-16 code."""
    content = b"".join(f"BT /F {size} Tf 40 {y} Td ({words}) Tj ET\n".encode() for words, y, size in lines)
    table = f"""/CIDInit /ProcSet findresource begin begincmap
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <20> <7D> <0020> endbfrange
1 beginbfchar <7E> <{code}> endbfchar
endcmap end""".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 420 595]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(table), table),
    ]
    found = b"%PDF-1.4\n"
    for number, one in enumerate(objects, 1):
        found += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    return found + b"trailer<</Root 1 0 R>>\n%%EOF\n"


def test_letters_of_formulas_beyond_the_first_plane_do_not_shift_what_follows() -> None:
    lines = [("The flow ~~~~~~~~ grows.", 500, 10), ("Pumps", 460, 16), (SENTENCE[0], 430, 10), (SENTENCE[1], 418, 10)]
    found = pdf_texts(with_unicode("D835DC44", *lines))[0].body
    assert found == f"The flow {'𝑄' * 8} grows.\n\n# Pumps {{#}}\n\n{' '.join(SENTENCE)}"


def test_code_a_little_above_the_end_of_its_line_stays_where_it_is() -> None:
    lines = [
        line("ls", 480, fixed=True),
        line("touch foo", 468, fixed=True),
        line("rm foo", 468.4, left=60, fixed=True),
    ]
    assert text([line(LONG, 500), *lines]).endswith("```\nls\ntouch foo\n  rm foo\n```")


def drawn(canvas: Any, y: float, *pieces: tuple[str, float, float]) -> None:
    """A line of pieces, each with its size of type and how far it is raised."""
    line = canvas.beginText(50, y)
    for words, size, rise in pieces:
        line.setFont("Times-Roman", size)
        line.setRise(rise)
        line.textOut(words)
    canvas.drawText(line)


def test_a_raised_number_inside_a_line_of_the_file_is_a_power(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        drawn(
            canvas,
            300,
            ("It has 2", 11, 0),
            ("32", 7, 4),
            (" states and 10", 11, 0),
            ("-6", 7, 4),
            (" J in 1984,", 11, 0),
        )
        drawn(
            canvas,
            286,
            ("which is said in the note", 11, 0),
            ("3", 7, 4),
            (" and by x", 11, 0),
            ("2", 7, -2),
            (" too.", 11, 0),
        )

    expected = "It has 2^32 states and 10^-6 J in 1984, which is said in the note3 and by x2 too."
    assert body(written(tmp_path / "a.pdf", draw)) == expected


def test_marks_and_numbers_in_a_larger_type_make_no_headings(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        drawn(canvas, 300, ("• ", 14, 0), ("Bring a ticket.", 10, 0))
        drawn(canvas, 286, ("1 ", 14, 0), ("Open the gate.", 10, 0))
        drawn(canvas, 272, ("The gate is closed in winter and at night.", 10, 0))

    assert "#" not in body(written(tmp_path / "a.pdf", draw))


@pytest.mark.parametrize("title", ["(anonymous)", "untitled"])
def test_a_title_that_a_program_made_up_is_none(title: str, tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.setTitle(title)
        canvas.drawString(50, 300, "Some words.")

    assert not pdf_texts(written(tmp_path / "a.pdf", draw).read_bytes())[0].fields


def test_headings_with_numbers_at_the_top_of_pages_are_no_running_titles() -> None:
    lines = [
        one
        for page in range(4)
        for one in (
            line(f"Section {page}.1 of the book", 580, page=page, size=16),
            line(f"Running title {page}", 592, page=page),
            line(LONG, 500, page=page),
        )
    ]
    found = text(lines, pages=4)
    assert [row for row in found.split("\n") if row.startswith("#")] == [
        f"## Section {page}.1 of the book {{#}}" for page in range(4)
    ]
    assert "Running" not in found


def test_a_heading_is_found_where_the_outline_leads_and_not_in_a_list_above() -> None:
    lines = [line("Valves", 590), line(LONG, 560), line("Valves", 300), line("Words of the section.", 280)]
    assert text(lines, Bookmark(0, "Valves", 0, y=310.0)).endswith("# Valves {#}\n\nWords of the section.")


def test_a_word_with_a_typographic_hyphen_is_joined_also_over_the_end_of_a_page() -> None:
    lines = [line("The configura\u2010", 500), line("tion of fil\u2010", 488), line("ters is easy.", 590, page=1)]
    assert text(lines, pages=2) == "The configuration of filters\nis easy."
