"""Typewriter words, lone signs and set lines of a page are code, since they are shown letter by letter."""

from __future__ import annotations

import pytest

from rag.ingest.formats.html_files import page_texts


def text(body: str, *, generator: str = "") -> str:
    head = f'<head><meta name="generator" content="{generator}"></head>'
    return page_texts(f"<html>{head}<body>{body}</body></html>".encode())[0].body


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p><i>.</i> - Matches any character.</p>", "`.` - Matches any character."),
        ("<p> <span><i>*</i></span>\n - Matches.</p>", "`*` - Matches."),
        ("<ul><li><b>[ ]</b> - One of these.</li></ul>", "- `[ ]` - One of these."),
        ("<p><em>\\</em> - The escape.</p>", "`\\` - The escape."),
        ("<p>Tips <b>&amp;</b> tricks <b>!</b></p>", "Tips **&** tricks **!**"),
        ("<p><b>*</b></p>", "**\\***"),
        ("<p><b>(</b>see below)</p>", "(see below)"),
    ],
)
def test_a_sign_in_emphasis_that_begins_a_block_is_code(html: str, markdown: str) -> None:
    assert text(html) == markdown


def test_signs_in_quotation_marks_that_would_need_backslashes_are_code() -> None:
    html = '<p>A "*" stands for ".*", "?" for one.</p>'
    assert text(html) == 'A "`*`" stands for "`.*`", "?" for one.'


def test_typewriter_words_are_code() -> None:
    html = "<p>Use <tt>*ad*.example.com</tt> or <a href='x'><tt>*.*</tt></a>.</p>"
    assert text(html) == "Use `*ad*.example.com` or [`*.*`](x)."


def test_typewriter_words_of_a_page_that_has_its_prose_in_them_are_no_code() -> None:
    assert text(f"<p><tt>{'word ' * 30}</tt></p><p><tt>a</tt></p>") == f"{'word ' * 30}".strip() + "\n\na"


@pytest.mark.parametrize(
    ("html", "generator"),
    [
        (
            '<P CLASS="LITERALLAYOUT">&nbsp;debug&nbsp;&nbsp;1&nbsp;#&nbsp;Log<br>\n&nbsp;debug 16</P>',
            "Modular DocBook",
        ),
        ('<div class="literallayout"><p>debug&nbsp;&nbsp;1&nbsp;#&nbsp;Log<br>debug 16</p></div>', "DocBook XSL"),
    ],
)
def test_lines_that_docbook_keeps_are_a_block_of_code(html: str, generator: str) -> None:
    assert text(f"<h1>T</h1>{html}", generator=generator) == "# T {#}\n\n```\ndebug  1 # Log\ndebug 16\n```"
