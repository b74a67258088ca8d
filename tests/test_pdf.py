"""A PDF gives the passages of the book that was printed, with page numbers, and a file that is none gives one line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reportlab
from reportlab.lib.pagesizes import A5
from reportlab.pdfgen.canvas import Canvas

from rag.ingest.formats import file_format
from rag.ingest.formats.pdf_files import pdf_texts
from rag.ingest.formats.printed_lines import Bookmark, PrintedLine
from rag.ingest.formats.printed_text import printed_text
from rag.ingest.formats.reader_process import read_apart
from rag.ingest.loaders import load_source
from tests.small_book import FOLDER
from tests.test_readers import passages, reason

LONG = "This line of text goes on until it has reached the right margin of the page"


def words(text: str) -> list[str]:
    """The words of a passage without what is not printed: the language of code and the addresses of links."""
    return re.findall(r"\w+", re.sub(r"```\w+|\(https?://[^)]*\)", "", text))


def written(file: Path, draw: Callable[[Any], None], **options: Any) -> Path:
    canvas = Canvas(str(file), pagesize=A5, invariant=1, **options)
    draw(canvas)
    canvas.save()
    return file


def text(lines: list[PrintedLine], *bookmarks: Bookmark, pages: int = 1, titled: bool = True) -> str:
    return printed_text(lines, [600.0] * pages, bookmarks, titled=titled)[0]


def line(words: str, y: float, left: float = 50, page: int = 0, size: float = 10, **more: Any) -> PrintedLine:
    return PrintedLine(words, page, left, left + 5 * len(words), y, size, 5.0, **more)


def test_the_passages_of_a_pdf_say_what_those_of_markdown_say() -> None:
    expected = passages(FOLDER / "book.md")
    found = passages(FOLDER / "book.pdf")
    assert [(c.breadcrumb, words(c.text)) for c in found] == [(c.breadcrumb, words(c.text)) for c in expected]
    assert "    # The larger the error, the stronger the answer.\n    error" in found[3].text


def test_a_passage_of_a_pdf_has_the_number_and_the_address_of_its_page() -> None:
    found = passages(FOLDER / "book.pdf")
    assert [(c.heading, c.page_number, c.link) for c in found[-2:]] == [
        ("Deciding", 1, "book.pdf#page=1"),
        ("Acting", 2, "book.pdf#page=2"),
    ]
    assert passages(FOLDER / "book.pdf", "https://robots.example")[-1].link == "https://robots.example/book.pdf#page=2"
    assert found[-1].chapter == "Acting"


def test_a_paragraph_ends_where_the_next_word_would_have_fitted() -> None:
    lines = [line(LONG, 500), line("and ends here.", 488), line("Another one begins.", 476)]
    assert text(lines) == f"{LONG} and ends here.\n\nAnother one begins."


def test_a_paragraph_goes_on_over_the_end_of_a_page() -> None:
    lines = [line("A" + LONG, 100), line("and goes on.", 500, page=1)]
    body, page_lines = printed_text(lines, [600.0, 600.0], [], titled=True)
    assert (body, page_lines) == (f"A{LONG}\nand goes on.", [0, 1])


def test_a_page_without_text_begins_where_the_next_one_does() -> None:
    lines = [line("One.", 500), line("Three.", 500, page=2)]
    assert printed_text(lines, [600.0] * 4, [], titled=True)[1] == [0, 2, 2, 3]


def test_a_hyphen_at_the_end_of_a_line_goes_unless_the_book_writes_the_word_with_it() -> None:
    lines = [
        line(f"{LONG} of a well-known prob-", 500),
        line(f"lem, {LONG} of a well-", 488),
        line("known kind.", 476),
    ]
    assert text(lines) == f"{LONG} of a well-known problem, {LONG} of a well-known kind."


def test_running_titles_and_page_numbers_are_left_out() -> None:
    lines = []
    for page in range(3):
        lines += [line("The Book", 580, page=page), line(f"Words of page {page} are here.", 400, page=page)]
        lines.append(line(f"– {page + 1} –", 20, page=page))
    assert text(lines, pages=3) == "\n\n".join(f"Words of page {page} are here." for page in range(3))


def pages_of(*edges: tuple[str, float]) -> list[PrintedLine]:
    """Pages with two lines of text each, and one more line at a height."""
    found: list[PrintedLine] = []
    for page, (words, y) in enumerate(edges):
        found += [line(LONG, 400, page=page), line("It ends here.", 388, page=page), line(words, y, page=page)]
    return found


def test_page_numbers_close_to_the_text_are_left_out_where_they_count_the_pages() -> None:
    numbered = text(pages_of(("23", 300), ("24", 300), ("25", 300)), pages=3)
    assert "23" not in numbered
    assert "It ends here." in numbered
    assert "24" in text(pages_of(("23", 300), ("24", 300), ("80", 300)), pages=3), "two numbers may be chance"
    assert "xiv" not in text(pages_of(("xiii", 300), ("xiv", 300), ("xv", 300)), pages=3)


def test_a_running_title_beside_the_number_of_the_page_is_left_out_though_it_changes() -> None:
    found = text(pages_of(("4 Sensing", 500), ("Thinking 5", 500), ("6 Acting", 500)), pages=3)
    assert not re.search("Sensing|Thinking|Acting", found)
    assert "4 robots" in text(pages_of(("4 robots", 410), ("5 robots", 410), ("6 robots", 410)), pages=3), "no space"


def test_a_table_of_contents_is_left_out() -> None:
    entries = ["1 Robots 3", "1.1 Sensing . . . . . . . 3", "1.2 A title that takes two", "lines of the page ..... 5"]
    entries += [f"1.{n} Part {n} ........ {n + 5}" for n in range(3, 7)]
    lines = [line(one, 500 - 12 * n) for n, one in enumerate(entries)]
    assert text([*lines, line("A robot acts.", 400, page=1)], pages=2) == "A robot acts."
    assert text([line("One entry ....... 5", 500), line("A robot acts.", 400)]) == "A robot acts."


def test_an_address_that_a_line_break_parts_is_one_word() -> None:
    first = "Write to the list of the people who maintain this book, debian-devel@lists."
    assert "debian-devel@lists.debian.org or" in text([line(first, 500), line("debian.org or ask", 488)])
    second = "This and a good deal more stands in the list at https://qa.example.org/"
    assert "https://qa.example.org/security for" in text([line(second, 500), line("security for all", 488)])


def test_the_lines_of_a_column_end_at_its_own_margin() -> None:
    words = "The words of a paragraph in a narrow column go on"
    left = [line(words, 500 - 12 * n) for n in range(6)]
    right = [line(words, 500 - 12 * n, left=320) for n in range(6)]
    assert text([*left, *right]) == " ".join([words] * 12)


def test_code_that_runs_over_the_margin_does_not_widen_it() -> None:
    code = line("call(" + "argument, " * 12 + ")", 476, fixed=True)
    assert text([line(LONG, 500), line("and ends.", 488), code]).startswith(f"{LONG} and ends.\n\n```")


def test_the_mark_of_a_broken_word_is_left_out_of_code_and_headings() -> None:
    found = text([line("On igno\ufffering", 500, size=20), line("IGNORE_\ufffeALL", 470, fixed=True), line(LONG, 440)])
    assert "\ufffe" not in found
    assert "On ignoring" in found
    assert "IGNORE_ALL" in found


def one_font(name: str, widths: dict[str, int], words: str) -> bytes:
    """A PDF with one line in an embedded font; characters without a width have 900 thousandths."""
    glyphs = (Path(reportlab.__file__).parent / "fonts" / "Vera.ttf").read_bytes()
    every = " ".join(str(widths.get(chr(code), 900)) for code in range(32, 127))
    font = f"/Type /Font /Subtype /TrueType /BaseFont /{name} /FirstChar 32 /LastChar 126 /Widths [{every}]"
    descriptor = f"/Type /FontDescriptor /FontName /{name} /Flags 32 /ItalicAngle 0 /Ascent 800 /Descent -200"
    content = f"BT /F1 10 Tf 40 300 Td ({words}) Tj ET".encode()
    page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 400 400] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< {page} >>".encode(),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
        f"<< {font} /Encoding /WinAnsiEncoding /FontDescriptor 6 0 R >>".encode(),
        f"<< {descriptor} /FontFile2 7 0 R >>".encode(),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(glyphs), glyphs),
    ]
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % (n, one) for n, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Root 1 0 R /Size 8 >>\n%%EOF\n"


@pytest.mark.parametrize(("widths", "is_code"), [({}, True), ({"i": 300, "l": 300, "t": 300}, False)])
def test_a_font_whose_characters_have_one_width_is_one_of_code_whatever_its_name(
    widths: dict[str, int], is_code: bool
) -> None:
    [found] = pdf_texts(one_font("XTT", widths, "time mail in"))
    assert found.body == ("```\ntime mail in\n```" if is_code else "time mail in")


def test_without_an_outline_large_short_lines_are_headings() -> None:
    lines = [line("Sensing", 500, size=16), line("Noise", 470, size=13), line(LONG, 440), line("goes on.", 428)]
    assert text(lines, titled=False) == f"# Sensing {{#}}\n\n## Noise {{#}}\n\n{LONG} goes on."


def test_an_entry_of_the_outline_that_is_not_printed_begins_its_page() -> None:
    lines = [line("1.2 Sensing the", 500, size=16), line("world", 482, size=16), line("Words.", 440)]
    assert text(lines, Bookmark(0, "Sensing the world", 0)) == "# Sensing the world {#}\n\nWords."
    assert text(lines[2:], Bookmark(0, "Preface", 0)) == "# Preface {#}\n\nWords."


def test_a_line_that_only_looks_like_markdown_stays_text() -> None:
    assert text([line("# not a heading.", 500), line("----------", 450)]) == "\\# not a heading.\n\n—"


def test_an_encrypted_pdf_gives_one_line(tmp_path: Path) -> None:
    written(tmp_path / "a.pdf", lambda canvas: canvas.drawString(50, 300, "Some words."), encrypt="secret")
    assert reason(tmp_path / "a.pdf") == "it is encrypted; save it without a password"


def test_a_scanned_pdf_gives_one_line(tmp_path: Path) -> None:
    written(tmp_path / "a.pdf", lambda canvas: canvas.rect(50, 50, 100, 100, fill=1))
    assert "no text, only pictures" in reason(tmp_path / "a.pdf")


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"no pdf", b"%PDF-1.4\n" + b"\xff" * 1000])
def test_a_broken_pdf_gives_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    assert reason(tmp_path / "a.pdf") == "it is not a PDF, or it is broken"


def test_the_number_of_pages_that_a_pdf_names_is_not_believed(tmp_path: Path) -> None:
    content = (FOLDER / "book.pdf").read_bytes()
    (tmp_path / "a.pdf").write_bytes(re.sub(rb"/Count 2 (?=/Kids)", b"/Count 2000000000 ", content))
    assert (tmp_path / "a.pdf").read_bytes() != content
    assert [c.text for c in passages(tmp_path / "a.pdf")] == [c.text for c in passages(FOLDER / "book.pdf")]


def test_a_page_tree_that_contains_itself_gives_one_line(tmp_path: Path) -> None:
    content = (FOLDER / "book.pdf").read_bytes()
    (number,) = set(re.findall(rb"(\d+) 0 obj\s*<<[^>]*?/Type /Pages\b", content))
    (tmp_path / "a.pdf").write_bytes(re.sub(rb"/Kids \[.*?\]", b"/Kids [ " + number + b" 0 R ]", content))
    assert reason(tmp_path / "a.pdf")


def test_a_pdf_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(*given: Any, seconds: float, alone: bool) -> Any:
        assert (seconds, alone) == (180.0, True)
        return read_apart(*given, seconds=0.001, alone=alone)

    monkeypatch.setattr(file_format, "read_apart", hasty)
    (tmp_path / "a.pdf").write_bytes((FOLDER / "book.pdf").read_bytes())
    assert "takes longer than" in reason(tmp_path / "a.pdf")


def test_too_many_pages_are_refused_before_they_are_read(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        for _ in range(5_001):
            canvas.showPage()

    written(tmp_path / "a.pdf", draw)
    assert reason(tmp_path / "a.pdf") == "it has 5,001 pages; at most 5,000 are read, so split it"


def test_a_pdf_is_read_by_a_process_without_the_keys_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    start = subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> Any:
        seen.append(options["env"])
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    assert load_source(FOLDER / "book.pdf").documents
    assert seen == [{}]
